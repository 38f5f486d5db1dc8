//! `octoswarm health`: asks the running server whether it is ready, for images that carry no other client.

use std::process::ExitCode;
use std::time::Duration;

use super::{Exit, Failure, args, report};
use crate::config;
use crate::domain::Ready;
use crate::stdx::{net, text::visible_line};
use crate::webhook;

/// It does not answer, or says that no delivery can be stored.
const EXIT_NOT_READY: u8 = 1;
const PATIENCE: Duration = Duration::from_secs(3);

pub async fn cmd_health(args: args::Health) -> Exit {
    let listen = config::listen_address(&args.address.into()).map_err(|e| Failure::Usage(e.into()))?;
    let here = net::reachable(listen);
    let (ready, text) = match webhook::ask(listen, "/readyz", PATIENCE).await {
        Ok((status, text)) => (status.is_success(), text),
        Err(error) => {
            report::error(&match () {
                () if error.is_connect() => {
                    format!("nothing answers on {here}: is the server running, and is that its address? (`--listen`)")
                }
                () if error.is_timeout() => {
                    format!("{here} takes connections and gives no answer within {} s", PATIENCE.as_secs())
                }
                () => format!("what answers on {here} is no octoswarm: another program listens there (`--listen`)"),
            });
            return Ok(ExitCode::from(EXIT_NOT_READY));
        }
    };
    if ready {
        report::line("ready");
        return Ok(ExitCode::SUCCESS);
    }
    // A person is due, not a restart, which would make the link in their hands worthless.
    if serde_json::from_str::<Ready>(&text).is_ok_and(|answer| answer.waits_for_set_up) {
        report::line("waits to be set up");
        return Ok(ExitCode::SUCCESS);
    }
    report::error(&format!("http://{here}/readyz is not ready: {}", visible_line(text.trim())));
    Ok(ExitCode::from(EXIT_NOT_READY))
}
