#![doc = include_str!("ARCHITECTURE.md")]

// Ground.
pub mod domain;
pub mod meter;
pub mod stdx;

// Memory.
pub mod queue;
pub mod store;

// Workshop.
pub mod analysis;
pub mod artifact;
pub mod change;
pub mod config;
pub mod github;
pub mod mailbox;
pub mod sandbox;
pub mod workspace;

// Crew.
pub mod agent;

// The way of an event.
pub mod command;
pub mod pipeline;
pub mod publish;
pub mod router;

// Hall.
pub mod app;

// Doors.
pub mod api;
pub mod cli;
pub mod dashboard;
pub mod mcp;
pub mod webhook;

// Try it.
pub mod demo;
