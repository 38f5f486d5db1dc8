//! `octoswarm review`: the change between two revisions of any local repository.

use super::{Exit, Failure, args, report};
use crate::app::local;

pub async fn cmd_review(args: args::Review) -> Exit {
    if !args.path.exists() {
        return Err(Failure::Usage(anyhow::anyhow!("there is no `{}`", args.path.display())));
    }
    let reviewed = local::review(&args.path, args.base.as_deref(), args.head.as_deref(), !args.output.no_config)
        .await
        .map_err(|error| if error.is_usage() { Failure::Usage(error.into()) } else { Failure::Failed(error.into()) })?;
    report::print(&reviewed, &args.output)
}
