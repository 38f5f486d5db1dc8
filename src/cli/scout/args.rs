//! The arguments of `octoswarm scout`; their documentation is the help.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::config::Overrides;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit code: 0 an issue may be taken up, 1 none may (the reasons are told), 2 wrong usage or configuration, \
                  3 GitHub could not be asked."
)]
pub struct Scout {
    /// Repository, asked for as the App where it is installed, else as anybody may read it; or a file with a list of issues:
    /// what `GET /repos/OWNER/REPO/issues` answers, or what `gh issue list --json
    /// number,title,body,labels,createdAt,comments,assignees,url,author` prints; `-` reads standard input
    #[arg(value_name = "OWNER/REPO|FILE")]
    pub target: String,
    /// Only issues with this label count; given more than once, one of them is enough
    #[arg(long = "label", value_name = "LABEL")]
    pub labels: Vec<String>,
    /// Issues that are shown, and alternatives in the document, 1 to 50
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = shown)]
    pub limit: usize,
    /// Print the scout's document (`current-issue.json`) on standard output
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub server: AppSettings,
}

// Where the App's settings are; a documentation comment here would replace the verb's own.
#[derive(Debug, ClapArgs)]
pub struct AppSettings {
    /// Configuration file [default: octoswarm.toml, if it exists; env: OCTOSWARM_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Folder that may hold an App made by set-up [default: the platform's state directory; env: OCTOSWARM_STATE]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
}

impl From<AppSettings> for Overrides {
    fn from(AppSettings { config: file, state }: AppSettings) -> Self {
        Self { file, state, ..Self::default() }
    }
}

fn shown(text: &str) -> Result<usize, &'static str> {
    let number = text.parse().ok().filter(|number| (1..=50).contains(number));
    number.ok_or("it is not a number from 1 to 50")
}
