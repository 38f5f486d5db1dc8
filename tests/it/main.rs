//! One integration test binary; modules mirror the rooms of `src/`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests"
)]

mod analysis;
mod cli;
mod cli_fix;
mod coder;
mod commands;
mod contribute;
mod crew;
mod demo;
mod faults;
mod flow;
mod github;
mod metrics;
mod packaging;
mod publish;
mod queue;
mod reconcile;
mod store;
mod support;
mod swarm_faults;
mod webhook;
mod workspace;
