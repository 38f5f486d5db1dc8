//! The way to GitHub, the clocks on both ends, and whether it knows us.

use crate::config::ServerConfig;
use crate::domain::{Clock, Millis};
use crate::github::{self, AppInfo, Error, Github, InstallationInfo, Meeting, Rate, Unreached};
use crate::stdx::error::chain;

use super::{Exam, PATIENCE, advice, answer};

/// GitHub refuses a token that was made in its future; ours are dated a minute back.
const LATE: Millis = 20_000;
const TOO_LATE: Millis = 55_000;
/// The first GitHub Enterprise Server that tells an App the rules of a branch, which every commit of ours asks for.
const OLDEST_SERVER: (u32, u32) = (3, 11);

/// A GitHub that knows us.
pub(super) struct Found {
    pub github: Github,
    pub app: AppInfo,
    pub installations: Vec<InstallationInfo>,
}

pub(super) fn skip(exam: &mut Exam<'_>, why: &str) {
    exam.group = "github";
    ["reach", "clock", "sign-in", "rate limit"].iter().for_each(|name| exam.skip(name, why));
}

/// # Errors
/// Why nothing about the App can be asked.
pub(super) async fn reach(exam: &mut Exam<'_>, config: &ServerConfig, clock: &Clock) -> Result<Found, String> {
    exam.group = "github";
    let github = match client(config, clock.clone()) {
        Ok(github) => github,
        Err(error) => {
            exam.fail("reach", chain(&error), advice(&error));
            let why = "GitHub cannot be asked";
            ["clock", "sign-in", "rate limit"].iter().for_each(|name| exam.skip(name, why));
            return Err(why.to_owned());
        }
    };
    let met = answer(github.meet()).await;
    let Some(meeting) = meeting(exam, config, met) else {
        let why = "GitHub was not reached";
        ["clock", "sign-in", "rate limit"].iter().for_each(|name| exam.skip(name, why));
        return Err(why.to_owned());
    };
    let ahead = meeting.clock_ahead;
    clocks(exam, ahead);
    let Some((github, app)) = sign_in(exam, config, github, ahead, clock).await else {
        exam.skip("rate limit", "GitHub does not know us");
        return Err("GitHub does not know us".to_owned());
    };
    let installations = match answer(github.installations()).await {
        Ok(installations) => installations,
        Err(error) => {
            exam.fail("rate limit", chain(&error), advice(&error));
            return Err("the App's installations cannot be listed".to_owned());
        }
    };
    rate_limit(exam, config, &github, &installations).await;
    Ok(Found { github, app, installations })
}

fn client(config: &ServerConfig, clock: Clock) -> Result<Github, Error> {
    Github::new(github::Options {
        api_base: config.api_url.clone(),
        web_base: config.web_url.clone(),
        clock,
        // Below our own patience, so that its word on what was slow is heard.
        timeout: PATIENCE - std::time::Duration::from_secs(2),
        ..github::Options::new(config.app_id, config.private_key.clone())
    })
}

fn meeting(exam: &mut Exam<'_>, config: &ServerConfig, met: Result<Meeting, Error>) -> Option<Meeting> {
    const NAME: &str = "reach";
    let api = &config.api_url;
    let meeting = match met {
        Ok(meeting) => meeting,
        Err(error) => {
            let (seen, todo) = unreached(api, &error);
            exam.fail(NAME, seen, todo);
            return None;
        }
    };
    if !meeting.is_github {
        let kind = if meeting.content_type.is_empty() { "without a type" } else { &meeting.content_type };
        let seen = format!("{api} answers {} ({kind}), which is not GitHub's API", meeting.status);
        let todo = "set `api_url` to https://api.github.com, or to https://HOST/api/v3 on GitHub Enterprise Server; \
                    a proxy on the way may also have answered";
        exam.fail(NAME, seen, todo);
        return None;
    }
    let took = meeting.round_trip.as_millis();
    match &meeting.version {
        None => exam.pass(NAME, format!("{api} in {took} ms")),
        Some(version) if is_old(version) => {
            let (major, minor) = OLDEST_SERVER;
            let seen = format!("{api} in {took} ms, GitHub Enterprise Server {version}");
            exam.warn(NAME, seen, format!("calls that octoswarm makes came with {major}.{minor}: upgrade the server"));
        }
        Some(version) => exam.pass(NAME, format!("{api} in {took} ms, GitHub Enterprise Server {version}")),
    }
    Some(meeting)
}

fn unreached(api: &str, error: &Error) -> (String, String) {
    let proxies = "HTTPS_PROXY and NO_PROXY are obeyed here";
    match error.unreached() {
        Some(Unreached::Dns) => (
            format!("the name in {api} cannot be resolved"),
            format!("check `api_url` for a slip, and this machine's DNS (/etc/resolv.conf); {proxies}"),
        ),
        Some(Unreached::Tls(why)) => (
            format!("{api} is reached, but TLS fails: {why}"),
            "if GitHub or a proxy on the way uses a certificate of your own authority, add that to this machine's store \
             (or name it with SSL_CERT_FILE); check the clock too"
                .to_owned(),
        ),
        Some(Unreached::Connect) => (
            format!("nothing answers at {api}: {}", innermost(error)),
            format!("check `api_url`, the firewall and the route; {proxies}"),
        ),
        Some(Unreached::Broken) => {
            (format!("the connection to {api} broke: {}", innermost(error)), format!("try again; {proxies}"))
        }
        None => (chain(error), advice(error)),
    }
}

fn innermost(error: &Error) -> String {
    let mut innermost: &dyn std::error::Error = error.root();
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

fn is_old(version: &str) -> bool {
    let mut numbers = version.split('.').map_while(|part| part.parse::<u32>().ok());
    matches!((numbers.next(), numbers.next()), (Some(major), Some(minor)) if (major, minor) < OLDEST_SERVER)
}

fn clocks(exam: &mut Exam<'_>, ahead: Option<Millis>) {
    let Some(ahead) = ahead else { return exam.skip("clock", "the answer bears no date") };
    let seconds = ahead.unsigned_abs() as f64 / 1000.0;
    let side = if ahead > 0 { "behind" } else { "ahead of" };
    let seen = if ahead.abs() < 1_500 {
        "within a second or two of GitHub's".to_owned()
    } else {
        format!("{seconds:.0} s {side} GitHub's")
    };
    let todo = "set this machine's clock by NTP (`timedatectl set-ntp true`): the App signs in with the time, and GitHub refuses \
                what is more than a minute off";
    match ahead.abs() {
        off if off > TOO_LATE => exam.fail("clock", seen, todo),
        off if off > LATE => exam.warn("clock", seen, todo),
        _ => exam.pass("clock", seen),
    }
}

/// Signs in, and where that fails once more by GitHub's clock: then ours alone was to blame, and the rest can be looked at.
async fn sign_in(
    exam: &mut Exam<'_>,
    config: &ServerConfig,
    github: Github,
    ahead: Option<Millis>,
    clock: &Clock,
) -> Option<(Github, AppInfo)> {
    const NAME: &str = "sign-in";
    let id = config.app_id;
    let error = match answer(github.app()).await {
        Ok(app) => {
            exam.pass(NAME, format!("accepted as App {id}, {} ({})", app.slug, app.html_url));
            return Some((github, app));
        }
        Err(error) => error,
    };
    if let (Error::Unauthorized { message, .. }, Some(ahead)) = (&error, ahead.filter(|ahead| ahead.abs() > LATE)) {
        let theirs = client(config, Clock::manual(clock.now() + ahead)).ok()?;
        if let Ok(app) = answer(theirs.app()).await {
            let seen = format!("App {id}, {}, is accepted by GitHub's clock and refused by ours: {message}", app.slug);
            exam.fail(NAME, seen, "set this machine's clock; id and key belong together");
            return Some((theirs, app));
        }
    }
    match &error {
        Error::Unauthorized { message, .. } => {
            let todo = format!(
                "the key does not belong to App {id}, or was deleted on GitHub: compare the id and the key's fingerprint with \
                 the App's settings page, and generate a new key if in doubt"
            );
            exam.fail(NAME, format!("refused: {message}"), todo);
        }
        Error::NotFound { .. } => {
            let todo = "check `app_id`, and that `api_url` is the GitHub on which the App was registered";
            exam.fail(NAME, format!("GitHub knows no App {id}"), todo);
        }
        other => exam.fail(NAME, chain(other), advice(other)),
    }
    None
}

async fn rate_limit(exam: &mut Exam<'_>, config: &ServerConfig, github: &Github, installations: &[InstallationInfo]) {
    const NAME: &str = "rate limit";
    // For a stranger's installation no token is minted, here as in the server.
    let mut served = installations.iter().filter(|one| !one.suspended && config.serves(&one.account));
    let Some(installation) = served.next() else {
        return exam.skip(NAME, "GitHub counts by installation, and there is none to ask for");
    };
    match answer(github.rate_limits(installation.id)).await {
        Ok((rest, graphql)) => {
            let left = |name: &str, rate: Rate| format!("{} of {} {name} requests left", rate.remaining, rate.limit);
            let mut seen = format!("{}: {}", installation.account, left("REST", rest));
            if let Some(graphql) = graphql {
                seen.push_str(&format!(", {}", left("GraphQL", graphql)));
            }
            if [Some(rest), graphql].into_iter().flatten().any(|rate| rate.remaining * 10 < rate.limit) {
                let todo =
                    "jobs wait by themselves until the hour is over; look for another program that uses this App";
                exam.warn(NAME, seen, todo);
            } else {
                exam.pass(NAME, seen);
            }
        }
        Err(Error::NotFound { .. }) => exam.pass(NAME, "switched off on this server"),
        Err(error) => exam.warn(NAME, chain(&error), advice(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_old_when_it_lacks_calls_of_ours() {
        for (version, old) in
            [("3.10.4", true), ("3.11.0", false), ("3.20.1", false), ("4.0", false), ("2.22.9", true), ("?", false)]
        {
            assert_eq!(is_old(version), old, "{version}");
        }
    }

    #[test]
    fn the_clock_is_judged_by_what_a_token_bears() {
        for (ahead, want) in [(0, "pass"), (-19_000, "pass"), (25_000, "warn"), (-25_000, "warn"), (56_000, "fail")] {
            let mut tell = |_: &super::super::Check| {};
            let mut exam = Exam { checks: Vec::new(), group: "", tell: &mut tell };
            clocks(&mut exam, Some(ahead));
            let outcome = serde_json::to_value(exam.checks[0].outcome).unwrap();
            assert_eq!(outcome, want, "{ahead}");
        }
    }
}
