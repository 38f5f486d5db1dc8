//! `octoswarm scan`: whole files and folders, changed or not.

use super::{Exit, Failure, args, report};
use crate::app::local;

pub async fn cmd_scan(args: args::Scan) -> Exit {
    if let Some(missing) = args.paths.iter().find(|path| !path.exists()) {
        return Err(Failure::Usage(anyhow::anyhow!("there is no `{}`", missing.display())));
    }
    report::print(&local::scan(args.paths).await?, &args.output)
}
