//! One request, timed and counted; and what its answer says of the account.

use tokio::time::{Instant, timeout};

use super::client::{Answer, Call, Client};
use super::error::Error;
use super::limits::{Lane, number};
use crate::meter::RateLimit;

impl Client {
    /// Carries one exchange within its time, and counts it however it ends.
    pub(super) async fn measured(
        &self,
        lane: &Lane,
        call: &Call,
        exchange: impl Future<Output = Result<(u16, Answer), Error>>,
    ) -> Result<(u16, Answer), Error> {
        let began = Instant::now();
        let ended = match timeout(self.timeout, exchange).await {
            Ok(ended) => ended,
            Err(_) => Err(Error::Timeout { call: call.text(), after: self.timeout }),
        };
        let status = ended.as_ref().ok().map(|(status, _)| *status);
        self.meter.request(call.endpoint.name, status, began.elapsed());
        if let Ok((_, answer)) = &ended
            && let Some(left) = number(&answer.headers, "x-ratelimit-remaining")
        {
            let limit = RateLimit {
                limit: number(&answer.headers, "x-ratelimit-limit").unwrap_or(left),
                left,
                reset_at: number(&answer.headers, "x-ratelimit-reset").unwrap_or_default(),
            };
            self.meter.rate_limit(lane.installation, call.resource().name(), limit);
        }
        ended
    }
}
