//! A process measured from outside, from its start to its end.

use std::ffi::OsStr;
use std::process::Command;

use serde::Deserialize;

use super::{peers, run};

/// One finished process, as the operating system accounts for it.
#[derive(Debug, Clone, Deserialize)]
pub struct Usage {
    /// Seconds from the start to the end.
    pub wall: f64,
    /// Seconds of processor time, user and system.
    pub cpu: f64,
    /// Largest resident set, in bytes. What the measuring process itself holds, about 10 MB, is the least it can say.
    pub peak: u64,
    pub code: i32,
}

const MEASURE: &str = "
import json, os, subprocess, sys, time
out = open(os.devnull, 'wb')
began = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
_, status, usage = os.wait4(child.pid, 0)
wall = time.perf_counter() - began
print(json.dumps({'wall': wall, 'cpu': usage.ru_utime + usage.ru_stime, 'peak': usage.ru_maxrss * 1024,
                  'code': os.waitstatus_to_exitcode(status)}))
";

/// Runs a command whose output goes nowhere.
pub fn measure<S: AsRef<OsStr>>(command: &[S]) -> Usage {
    let told = run(Command::new(peers().join("python")).args(["-I", "-S", "-c", MEASURE]).args(command));
    serde_json::from_str(&told).unwrap()
}
