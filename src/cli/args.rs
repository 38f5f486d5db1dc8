//! The arguments as types; their documentation is the help.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

pub use super::checks::Checks;
pub use super::mcp::Mcp;
pub use super::run::args::Run;
pub use super::runs::args::{Agents, Replay, Runs};
pub use super::scout::args::Scout;
use crate::config::Overrides;
use crate::domain::Severity;

/// A self-hosted GitHub App that reviews pull requests and turns issues into them: one binary, no model required.
#[derive(Debug, Parser)]
#[command(name = "octoswarm", version, propagate_version = true)]
pub struct Args {
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Watch the main job on this machine: a GitHub in a box, the real server, people who act.
    Demo(Demo),
    /// Review the change between two revisions of a local repository; no GitHub needed.
    Review(Review),
    /// Scan files and folders whole; no GitHub needed.
    Scan(Scan),
    /// Run a local repository's own formatter, linter, build and tests in the sandbox; no GitHub needed.
    Checks(Checks),
    /// Document a whole codebase, and list its debt, improvements and critical issues; no GitHub needed.
    Audit(Audit),
    /// Make the change that an issue asks for in a local repository; no GitHub needed.
    Fix(Fix),
    /// Plan the work that a described feature needs in a local repository; no GitHub needed.
    Plan(Plan),
    /// Rank the open issues of a repository: which to work on, and why. Changes nothing.
    Scout(Scout),
    /// Plan, change, test and review what a described feature needs in a local repository; no GitHub needed.
    Run(Run),
    /// List the static rules, or explain one.
    Rules(Rules),
    /// List the kinds of documents that agents hand to each other, print the schema of one, or check a document against it.
    Schema(Schema),
    /// Run the GitHub App's server.
    Serve(Serve),
    /// Offer the agents as tools to other agents: an MCP server on standard input and output; no GitHub needed.
    Mcp(Mcp),
    /// See what the server did and does: list, show and watch its runs, cancel one, try one again.
    Runs(Runs),
    /// Run the agents of a run again on what it started from, and show what differs; posts nothing.
    Replay(Replay),
    /// List the agents, with their versions, documents, retries and tasks.
    Agents(Agents),
    /// Look at everything the server needs, and say what to do about what is wrong. Changes nothing.
    Doctor(Doctor),
    /// Look at the configuration.
    Config(Config),
    /// Print as JSON every call to GitHub that this program can make, with the permission each takes.
    #[command(hide = true)]
    Calls,
    /// Ask the running server whether it can take deliveries; for container health checks.
    Health(Health),
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "The App's id, key and webhook secret come from the file or the environment, never from here: \
                        see docs/configuration.md.")]
pub struct Serve {
    #[command(flatten)]
    pub server: Server,
    /// Serve the HTTP API alone, without a GitHub App: it needs a token, see docs/api.md
    #[arg(long, conflicts_with = "poll")]
    pub api_only: bool,
    /// End at once when standard input does: whoever started this server and held its other end is gone
    #[arg(long, hide = true)]
    pub until_input_ends: bool,
}

// What several verbs take; a documentation comment here would replace the verb's own.
#[derive(Debug, ClapArgs)]
pub struct Server {
    #[command(flatten)]
    pub address: Address,
    /// Folder for database and mirrors [default: the platform's state directory; env: OCTOSWARM_STATE]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Deliveries are taken from the App's delivery log: needs no public address and no webhook secret [env: OCTOSWARM_POLL]
    #[arg(long)]
    pub poll: bool,
}

fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "it is not an address and a port, like 127.0.0.1:3000")
}

fn number(text: &str) -> Result<u64, &'static str> {
    text.parse().map_err(|_| "it is not a whole number")
}

#[derive(Debug, ClapArgs)]
pub struct Address {
    /// Configuration file [default: octoswarm.toml, if it exists; env: OCTOSWARM_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address that the server listens on [default: 127.0.0.1:3000; env: OCTOSWARM_LISTEN]
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub listen: Option<SocketAddr>,
}

impl From<Server> for Overrides {
    fn from(Server { address, state, poll }: Server) -> Self {
        Self { state, poll, ..address.into() }
    }
}

impl From<Address> for Overrides {
    fn from(Address { config: file, listen }: Address) -> Self {
        Self { file, listen, ..Self::default() }
    }
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Exit code: 0 it can, 1 it cannot or does not answer, 2 wrong usage or configuration.")]
pub struct Health {
    #[command(flatten)]
    pub address: Address,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Exit code: 0 nothing failed (warnings are allowed), 1 a check failed, 2 wrong usage.")]
pub struct Doctor {
    #[command(flatten)]
    pub server: Server,
    /// Look at this machine only: ask GitHub nothing
    #[arg(long)]
    pub offline: bool,
    #[arg(long, value_enum, default_value_t = PlainFormat::Text)]
    pub format: PlainFormat,
}

#[derive(Debug, ClapArgs)]
pub struct Config {
    #[command(subcommand)]
    pub verb: ConfigVerb,
}

#[derive(Debug, Subcommand)]
pub enum ConfigVerb {
    /// Show every setting with where it comes from, and every fault; or look at a repository's file
    Check(ConfigCheck),
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Exit code: 0 valid (warnings are allowed), 2 invalid or wrong usage.")]
pub struct ConfigCheck {
    /// A repository's `.github/octoswarm.yml`; without it, the server's settings are looked at
    #[arg(value_name = "PATH", conflicts_with_all = ["config", "listen", "state", "poll"])]
    pub path: Option<PathBuf>,
    #[command(flatten)]
    pub server: Server,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlainFormat {
    /// For people
    Text,
    Json,
}

#[derive(Debug, ClapArgs)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Exit code: 0 every step came out right, 1 one did not, 2 wrong usage, 3 could not be done. Ended before that: \
                  130 by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP; keys, folders and server are gone then, too."
)]
pub struct Demo {
    /// End when the story is over; exit 0 only if every step came out right [implied without a terminal]
    #[arg(long)]
    pub once: bool,
    /// Print one JSON document on standard output instead of the live view; implies --once
    #[arg(long)]
    pub json: bool,
    /// Only a GitHub in a box that has no App yet, to try the set-up pages of `octoswarm serve`; until Ctrl-C
    #[arg(long, conflicts_with_all = ["once", "json", "record", "api_url"])]
    pub set_up: bool,
    /// Append every call that reaches the box, and every delivery it sends, to this file as JSON lines
    #[arg(long, value_name = "FILE", hide = true)]
    pub record: Option<PathBuf>,
    /// Port of the box on 127.0.0.1, for whatever shall stand between the server and it
    #[arg(long, value_name = "PORT", hide = true, default_value_t = 0)]
    pub box_port: u16,
    /// Where the server finds GitHub's API instead of at the box itself
    #[arg(long, value_name = "URL", hide = true)]
    pub api_url: Option<String>,
    #[command(subcommand)]
    pub play: Option<Play>,
}

/// From another terminal, while a demo stays up.
#[derive(Debug, Subcommand)]
pub enum Play {
    /// Comment on an issue or pull request as a person
    Comment {
        /// Number of the issue or pull request
        #[arg(value_parser = number)]
        number: u64,
        body: String,
        /// Who comments
        #[arg(long = "as", value_name = "LOGIN", default_value = "mona")]
        who: String,
    },
    /// Commit a file to a branch
    Push {
        branch: String,
        /// Path in the repository
        path: String,
        /// File on this machine whose content is committed; `-` reads standard input
        from: PathBuf,
        #[arg(long, default_value = "Change a file")]
        message: String,
        #[arg(long = "as", value_name = "LOGIN", default_value = "mona")]
        who: String,
    },
    /// Open a pull request from a branch
    Open {
        branch: String,
        title: String,
        #[arg(long, default_value = "main")]
        base: String,
        #[arg(long = "as", value_name = "LOGIN", default_value = "mona")]
        who: String,
    },
    /// Open an issue
    Issue {
        title: String,
        /// File on this machine that holds its text; `-` reads standard input
        from: PathBuf,
        #[arg(long = "as", value_name = "LOGIN", default_value = "mona")]
        who: String,
    },
    /// Label an issue or pull request; `swarm` on an issue asks for a pull request
    Label {
        /// Number of the issue or pull request
        #[arg(value_parser = number)]
        number: u64,
        #[arg(default_value = "swarm")]
        label: String,
        /// Who sets it
        #[arg(long = "as", value_name = "LOGIN", default_value = "mona")]
        who: String,
    },
    /// Review a pull request
    Review {
        #[arg(value_parser = number)]
        number: u64,
        verdict: Verdict,
        #[arg(default_value = "Looked at it.")]
        body: String,
        /// Who reviews; nobody approves a pull request of their own
        #[arg(long = "as", value_name = "LOGIN", default_value = "mona")]
        who: String,
    },
    /// Merge a pull request
    Merge {
        #[arg(value_parser = number)]
        number: u64,
        /// Who merges
        #[arg(long = "as", value_name = "LOGIN", default_value = "mona")]
        who: String,
    },
}

/// What a review comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Verdict {
    Approve,
    RequestChanges,
    Comment,
}

impl Verdict {
    /// As GitHub spells it.
    pub fn event(self) -> &'static str {
        match self {
            Self::Approve => "APPROVE",
            Self::RequestChanges => "REQUEST_CHANGES",
            Self::Comment => "COMMENT",
        }
    }
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit code: 0 clean, below the bar or nothing to review, 1 findings at or above the bar, 2 wrong usage, \
                  3 could not review, or could not write."
)]
pub struct Review {
    /// Repository, or a folder in it that the review is limited to
    #[arg(default_value = ".")]
    pub path: PathBuf,
    /// Revision that the change is against; the old side is its merge base with the new one [default: the default branch]
    #[arg(long, value_name = "REV")]
    pub base: Option<String>,
    /// New side [default: the work tree as it is]
    #[arg(long, value_name = "REV")]
    pub head: Option<String>,
    /// Tell what this SARIF log says of the change, too; `-` reads standard input. May be given several times
    #[arg(long, value_name = "FILE")]
    pub sarif: Vec<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit code: 0 clean, below the bar or nothing to scan, 1 findings at or above the bar, 2 wrong usage, \
                  3 could not scan, or could not write."
)]
pub struct Scan {
    /// Files and folders; a file larger than 1 MiB is not read. `-` alone reads standard input
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// What standard input is called, with `-`: its ending tells the language, and its place which configuration holds
    #[arg(long, value_name = "PATH")]
    pub stdin_filename: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit code: 0 audited, whatever was found, 2 wrong usage, 3 nothing could be read or an agent failed."
)]
pub struct Audit {
    /// Repository or folder
    #[arg(default_value = ".")]
    pub path: PathBuf,
    /// Write the documents and review.json into this folder
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Overwrite files in DIR that no audit wrote, or that changed since
    #[arg(long, requires = "output")]
    pub force: bool,
    #[arg(long, value_enum, default_value_t = PlainFormat::Text)]
    pub format: PlainFormat,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit code: 0 a change was made, 1 nothing that it could do (standard error says why), 2 wrong usage, \
                  3 could not be done."
)]
pub struct Fix {
    /// Repository, or a folder in it
    #[arg(default_value = ".")]
    pub path: PathBuf,
    /// File with the issue's text, its title on the first line; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub issue: PathBuf,
    #[command(flatten)]
    pub target: FixTarget,
    /// Run the repository's own formatter, linter, build and tests over the change, in the sandbox (docs/checks.md)
    #[arg(long)]
    pub checks: bool,
    /// Leave the repository's `.github/octoswarm.yml` out; by default its limits and paths hold
    #[arg(long)]
    pub no_config: bool,
}

#[derive(Debug, ClapArgs)]
#[group(multiple = false)]
pub struct FixTarget {
    /// Print the change to the work tree as a diff and touch nothing (the default)
    #[arg(long)]
    pub diff: bool,
    /// Make the change on HEAD, without what is not committed, as a new branch; the work tree stays as it is
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,
    /// Write the change into the work tree
    #[arg(long)]
    pub apply: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit code: 0 there is a plan, 1 the text says too little (standard error asks what is missing), 2 wrong \
                  usage, 3 could not be done."
)]
pub struct Plan {
    /// Repository, or a folder in it
    pub path: PathBuf,
    /// What should be there that is not, or what should change: a sentence, or lines with a list; `-` reads standard input
    #[arg(allow_hyphen_values = true)]
    pub feature: String,
    #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
    pub format: PlanFormat,
    /// Write the plan to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Keep the plan as the change of this id, below `agentd/changes/` in the repository; by default it is called after the
    /// plan's title
    #[arg(long, value_name = "ID", conflicts_with = "dry_run")]
    pub change_id: Option<String>,
    /// Print the plan, and leave the repository as it is
    #[arg(long)]
    pub dry_run: bool,
    /// Leave the repository's `.github/octoswarm.yml` out; by default its `ignore` and `protected` hold
    #[arg(long)]
    pub no_config: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlanFormat {
    /// For people
    Text,
    /// The plan's own document
    Json,
    Markdown,
}

#[derive(Debug, ClapArgs)]
pub struct Rules {
    /// Rule to explain
    pub id: Option<String>,
}

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Schema {
    /// Kind of document whose JSON Schema (draft 2020-12) is printed, or `openapi` for the HTTP API; without it, the kinds are listed
    pub name: Option<String>,
    #[command(subcommand)]
    pub verb: Option<SchemaVerb>,
}

#[derive(Debug, Subcommand)]
pub enum SchemaVerb {
    /// Look at a document and print everything that is wrong with it, one line each, with the path in it
    Check(SchemaCheck),
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Exit code: 0 valid (warnings are allowed), 1 invalid or not JSON, 2 wrong usage.")]
pub struct SchemaCheck {
    /// Kind of document, as `octoswarm schema` lists it
    pub name: String,
    /// File that holds the document; `-` reads standard input
    pub file: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub struct Output {
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Lowest severity that makes the exit code 1 [default: `fail_on` in the repository's file, else high]
    #[arg(long, value_enum)]
    pub fail_on: Option<FailOn>,
    /// Leave the repository's `.github/octoswarm.yml` out; by default its `ignore`, `disable`, `min_severity` and `fail_on` hold
    #[arg(long)]
    pub no_config: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people, with source lines
    Text,
    Json,
    /// SARIF 2.1.0
    Sarif,
    Markdown,
    /// GitHub Actions workflow commands, shown as annotations
    Github,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    Low,
    Medium,
    High,
    Never,
}

impl FailOn {
    pub fn bar(self) -> Option<Severity> {
        match self {
            Self::Low => Some(Severity::Low),
            Self::Medium => Some(Severity::Medium),
            Self::High => Some(Severity::High),
            Self::Never => None,
        }
    }
}
