//! `installation` and `installation_repositories`. These purge and revive, so the body must bear out the unsigned name.

use super::json::{Json, Stop, field, ignored, malformed, short};
use crate::domain::{InstallationAction, InstallationEvent, InstallationId, RepoName, RepositoryId};

pub(super) fn installation(json: Json<'_>) -> Result<InstallationEvent, Stop> {
    let action = match action(json)? {
        "created" => InstallationAction::Created,
        "deleted" => InstallationAction::Deleted { repositories: ids(json, "/repositories")? },
        "suspend" => InstallationAction::Suspended,
        "unsuspend" => InstallationAction::Unsuspended,
        "new_permissions_accepted" => InstallationAction::PermissionsAccepted,
        other => return Err(ignored(format!("action `{}` of `installation`", short(other)))),
    };
    if json.get("/repositories_added").is_some() || json.get("/repositories_removed").is_some() {
        return Err(malformed("named `installation`, but the body tells of repositories added or removed"));
    }
    event(json, action)
}

pub(super) fn repositories(json: Json<'_>) -> Result<InstallationEvent, Stop> {
    let action = match action(json)? {
        "added" => InstallationAction::Added { repositories: names(json, there(json, "/repositories_added")?)? },
        "removed" => InstallationAction::Removed { repositories: ids(json, there(json, "/repositories_removed")?)? },
        other => return Err(ignored(format!("action `{}` of `installation_repositories`", short(other)))),
    };
    event(json, action)
}

/// Every repository's event carries the installation's id; only the installation's own carry its account and no repository.
fn action<'a>(json: Json<'a>) -> Result<&'a str, Stop> {
    let action = json.action("installation", &[])?;
    if json.get("/repository").is_some() {
        return Err(malformed("named as an event of `installation`, but the body holds `repository`"));
    }
    json.object("/installation/account")?;
    Ok(action)
}

fn event(json: Json<'_>, action: InstallationAction) -> Result<InstallationEvent, Stop> {
    // An enterprise has a slug in place of a login.
    let account = if json.get("/installation/account/login").is_some() { "login" } else { "slug" };
    Ok(InstallationEvent {
        action,
        installation: InstallationId(json.number("/installation/id")?),
        account: json.text(&format!("/installation/account/{account}"))?.to_owned(),
        sender: json.sender("/sender")?,
    })
}

/// The list that makes the event what it is.
fn there<'a>(json: Json<'_>, list: &'a str) -> Result<&'a str, Stop> {
    if json.get(list).is_some() { Ok(list) } else { Err(malformed(format!("{} is missing", field(list)))) }
}

fn ids(json: Json<'_>, list: &str) -> Result<Vec<RepositoryId>, Stop> {
    let id = |index| json.number(&format!("{list}/{index}/id")).map(RepositoryId);
    (0..json.list(list)?.len()).map(id).collect()
}

fn names(json: Json<'_>, list: &str) -> Result<Vec<RepoName>, Stop> {
    let name = |index| {
        let pointer = format!("{list}/{index}/full_name");
        json.text(&pointer)?
            .parse()
            .map_err(|_| malformed(format!("{} is not of the form owner/name", field(&pointer))))
    };
    (0..json.list(list)?.len()).map(name).collect()
}
