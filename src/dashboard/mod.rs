//! Pages for the person who runs the server; so far: set-up in the browser.
//!
//! Promise: whoever has not the link that the server printed sees nothing; every page works without scripts and loads nothing from elsewhere.
//! Never: no secret of the App is in a page, and nothing here calls GitHub: `app` does.

mod door;
mod pages;
mod setup;

pub use door::Door;
pub use setup::SetUpPages;
