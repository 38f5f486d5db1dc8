//! Whether the server can do its work now.

use super::App;
use crate::domain::Ready;

impl App {
    fn trouble(&self) -> Option<String> {
        self.crew.trouble().map(|trouble| self.without_paths(&trouble))
    }

    /// A delivery can be stored: the only thing that GitHub must be told at once.
    pub async fn ready(&self) -> Ready {
        Ready { trouble: self.trouble(), ..self.desk.ready().await }
    }
}
