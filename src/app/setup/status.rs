//! After the App is made: where it is installed, whether the label is there, whether deliveries arrive.

use std::collections::HashMap;

use tokio::sync::Mutex;

use super::{Made, SetUp, Started};
use crate::app::{App, Error};
use crate::domain::{InstallationId, Millis, RepositoryId};
use crate::github::{InstallationInfo, RepoInfo, Undelivered};

/// Labels that one look asks for: the page comes back for the rest.
const A_LOOK: usize = 25;
/// Repositories that the page lists; the others are counted.
const LISTED: usize = 200;

/// What was found out about labels, so that a page that refreshes itself does not ask again and again.
#[derive(Default)]
pub(super) struct Labels(Mutex<HashMap<RepositoryId, Label>>);

#[derive(Debug, Clone)]
pub struct Status {
    pub slug: String,
    pub app_id: u64,
    pub html_url: String,
    pub install_url: String,
    /// Where its owner changes it.
    pub settings_url: String,
    pub hook_url: String,
    pub poll: bool,
    pub public: bool,
    pub accounts: Vec<String>,
    pub keys: String,
    pub places: Vec<Place>,
    pub deliveries: DeliveryCheck,
    /// Why GitHub could not be asked.
    pub trouble: Option<String>,
}

/// One installation.
#[derive(Debug, Clone)]
pub struct Place {
    pub account: String,
    pub served: bool,
    pub suspended: bool,
    pub labels: Vec<Label>,
    /// Repositories beyond the ones that are listed.
    pub more: usize,
    pub trouble: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Label {
    pub repo: String,
    /// As the repository's configuration calls it.
    pub name: String,
    pub state: LabelState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabelState {
    NotAsked,
    There,
    Made,
    Missing,
    /// Nothing can be written there.
    Archived,
    Failed(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryCheck {
    /// GitHub has sent nothing yet.
    Nothing,
    /// One came in through our own door.
    Arrived {
        event: String,
        at: Millis,
    },
    /// The log can be read, which is all that polling needs.
    LogRead {
        entries: usize,
    },
    /// The first ping came before its secret was known here; it is asked for again.
    Early {
        id: u64,
    },
    /// GitHub sent, and it did not come in here. `id` is for asking again.
    Failed {
        id: u64,
        event: String,
        said: String,
        why: &'static str,
        todo: &'static str,
    },
    /// GitHub says that somebody took it, and we have nothing.
    Elsewhere {
        id: u64,
        event: String,
    },
    Unknown(String),
}

impl Status {
    pub fn installed(&self) -> bool {
        self.places.iter().any(|place| place.served && !place.suspended)
    }

    pub fn labels(&self) -> impl Iterator<Item = &Label> {
        self.places.iter().flat_map(|place| &place.labels)
    }

    pub fn delivered(&self) -> bool {
        matches!(self.deliveries, DeliveryCheck::Arrived { .. } | DeliveryCheck::LogRead { .. })
    }
}

impl LabelState {
    pub fn is_there(&self) -> bool {
        matches!(self, Self::There | Self::Made)
    }
}

impl SetUp {
    /// `None` before there is an App.
    pub async fn status(&self) -> Option<Status> {
        let started = self.0.started.borrow().clone()?;
        let made = self.now().made.clone()?;
        Some(self.look(&started, &made).await)
    }

    async fn look(&self, started: &Started, made: &Made) -> Status {
        let Made { registration, plan, owner, .. } = made;
        let settings_url = match (&plan.organisation, owner) {
            (Some(login), _) => format!("{}/organizations/{login}/settings/apps/{}", plan.web_url, registration.slug),
            (None, _) => format!("{}/settings/apps/{}", plan.web_url, registration.slug),
        };
        let (places, trouble) = match self.places(&started.app, false).await {
            Ok(places) => (places, None),
            Err(error) => (Vec::new(), Some(told(&error))),
        };
        Status {
            slug: registration.slug.clone(),
            app_id: registration.app_id,
            install_url: format!("{}/installations/new", registration.html_url),
            html_url: registration.html_url.clone(),
            settings_url,
            hook_url: plan.hook_url.clone(),
            poll: plan.poll,
            public: plan.public,
            accounts: started.config.accounts.clone(),
            keys: self.keys(),
            places,
            deliveries: started.app.delivery_check(plan.poll).await,
            trouble,
        }
    }

    /// Makes the label where it is missing, and says of each repository how that went.
    ///
    /// # Errors
    /// When it cannot be found out where the App is installed.
    pub async fn offer_labels(&self) -> Result<(), Error> {
        let Some(started) = self.0.started.borrow().clone() else { return Ok(()) };
        self.places(&started.app, true).await.map(drop)
    }

    /// Asks GitHub to send that delivery again.
    ///
    /// # Errors
    /// GitHub's.
    pub async fn redeliver(&self, id: u64) -> Result<(), Error> {
        let Some(started) = self.0.started.borrow().clone() else { return Ok(()) };
        Ok(started.app.github.redeliver(id).await?)
    }

    /// `offer`: missing labels are made, in all repositories, not only in those that one look reaches.
    async fn places(&self, app: &App, offer: bool) -> Result<Vec<Place>, Error> {
        // One at a time: two tabs that refresh themselves ask no more than one.
        let mut known = self.0.labels.0.lock().await;
        let mut left = if offer { usize::MAX } else { A_LOOK };
        let mut places = Vec::new();
        for installation in app.github.installations().await? {
            let mut place = app.place(&installation);
            if place.served && !place.suspended {
                match app.github.repositories(installation.id).await {
                    Ok(repositories) => {
                        for info in &repositories {
                            let label = app.label(installation.id, info, known.get(&info.id), offer, &mut left).await;
                            known.insert(info.id, label.clone());
                            if place.labels.len() < LISTED {
                                place.labels.push(label);
                            }
                        }
                        place.more = repositories.len() - place.labels.len();
                    }
                    Err(error) => place.trouble = Some(told(&error.into())),
                }
            }
            places.push(place);
        }
        Ok(places)
    }
}

impl App {
    fn place(&self, installation: &InstallationInfo) -> Place {
        Place {
            account: installation.account.clone(),
            served: self.serves(&installation.account),
            suspended: installation.suspended,
            labels: Vec::new(),
            more: 0,
            trouble: None,
        }
    }

    async fn label(
        &self,
        installation: InstallationId,
        info: &RepoInfo,
        known: Option<&Label>,
        offer: bool,
        left: &mut usize,
    ) -> Label {
        let worth = match known.map(|label| &label.state) {
            None | Some(LabelState::NotAsked) => true,
            Some(LabelState::Missing | LabelState::Failed(_)) => offer,
            Some(LabelState::There | LabelState::Made | LabelState::Archived) => false,
        };
        let label = |name: &str, state| Label { repo: info.name.to_string(), name: name.to_owned(), state };
        let usual = crate::config::RepoConfig::default().label;
        if let Some(known) = known.filter(|_| !worth || *left == 0) {
            return known.clone();
        }
        if info.archived {
            return label(&usual, LabelState::Archived);
        }
        if *left == 0 {
            return label(&usual, LabelState::NotAsked);
        }
        *left -= 1;
        let repo = self.github.repo(installation, info.id, info.name.clone());
        let name = match self.configuration(&repo, Some(&info.default_branch)).await {
            Ok(configured) => configured.config.label,
            Err(error) => return label(&usual, LabelState::Failed(told(&error))),
        };
        let state = if offer {
            self.publisher.offer_label(&repo, &name).await.map_err(Error::from).map(|made| match made {
                true => LabelState::Made,
                false => LabelState::There,
            })
        } else {
            repo.has_label(&name).await.map_err(Error::from).map(|there| match there {
                true => LabelState::There,
                false => LabelState::Missing,
            })
        };
        label(&name, state.unwrap_or_else(|error| LabelState::Failed(told(&error))))
    }

    /// Whether deliveries come in; if not, what GitHub says of the last one.
    async fn delivery_check(&self, poll: bool) -> DeliveryCheck {
        if !poll {
            match self.store.deliveries(50, None).await {
                Ok(rows) => {
                    // What was taken from the log has no hook.
                    if let Some(row) = rows.into_iter().find(|row| row.target.hook.is_some()) {
                        let at = row.redelivered_at.unwrap_or(row.received_at);
                        return DeliveryCheck::Arrived { event: row.event, at };
                    }
                }
                Err(error) => return DeliveryCheck::Unknown(error.to_string()),
            }
        }
        match self.github.deliveries(None).await {
            Err(error) => DeliveryCheck::Unknown(told(&error.into())),
            Ok(page) if poll => DeliveryCheck::LogRead { entries: page.deliveries.len() },
            Ok(page) => match page.deliveries.into_iter().next() {
                None => DeliveryCheck::Nothing,
                Some(last) if last.event == "ping" && last.status_code == 503 && !last.redelivery => {
                    DeliveryCheck::Early { id: last.id }
                }
                Some(last) => match last.undelivered() {
                    None => DeliveryCheck::Elsewhere { id: last.id, event: last.event },
                    Some(Undelivered { why, todo }) => {
                        let said = last.said();
                        DeliveryCheck::Failed { id: last.id, event: last.event, said, why, todo }
                    }
                },
            },
        }
    }
}

/// With what to do about it.
fn told(error: &Error) -> String {
    match error.hint() {
        Some(hint) => format!("{}; {hint}", error.chain()),
        None => error.chain(),
    }
}
