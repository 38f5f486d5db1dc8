//! What the standard library lacks: waits that double, hashes as hex, differences of JSON values, atomic files, disks,
//! hosts, keys in PEM, errors in one line, paths in a tree, text trimming, unguessable words, flat pictures, folders that
//! go with their process, files read past no link, this process, and workers beside it.
//!
//! Promise: small, pure where possible, tested here.
//! Never: no word of our trade; nothing here knows what a pull request is.

pub mod backoff;
pub mod difference;
pub mod disk;
pub mod error;
pub mod file;
pub mod hash;
pub mod net;
pub mod nofollow;
pub mod path;
pub mod pem;
pub mod png;
pub mod process;
pub mod scratch;
pub mod text;
pub mod token;
pub mod workers;
