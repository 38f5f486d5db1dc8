//! One integration test binary; modules mirror the rooms of `src/`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests"
)]

mod accounts;
mod analysis;
mod artifact;
mod audit;
mod change;
mod checks;
mod cli;
mod cli_checks;
mod cli_demo;
mod cli_fix;
mod cli_local;
mod cli_plan;
mod cli_run;
mod coder;
mod commands;
mod contribute;
mod crew;
mod demo;
mod docs;
mod doctor;
mod faults;
mod flow;
mod github;
mod kill_loop;
mod linters;
mod logs;
mod mailbox;
mod mcp;
mod metrics;
mod monitor;
mod orchestrator;
mod outside;
mod packaging;
mod publish;
mod queue;
mod reconcile;
mod reformat;
mod runs;
mod sandbox;
mod scout;
mod setup;
mod store;
mod support;
mod swarm_faults;
mod sweep;
mod test_command;
mod trial;
mod webhook;
mod workspace;
