//! `octoswarm mcp` as an MCP host uses it.

mod confined;
mod http;
mod protocol;
mod tools;

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::git;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client that speaks JSON-RPC by hand.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Messages that nobody asked for yet.
    kept: VecDeque<Value>,
    next: u64,
}

impl Client {
    /// A server over this root, after the handshake.
    fn over(root: &Path) -> Self {
        Self::with(root, &[])
    }

    fn with(dir: &Path, args: &[&str]) -> Self {
        Self::silent(dir, args).greeted()
    }

    fn greeted(mut self) -> Self {
        let client = &mut self;
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
        client.request("initialize", hello).unwrap();
        client.notify("notifications/initialized", json!({}));
        self
    }

    /// With another temporary folder.
    fn within(dir: &Path, temporary: &Path) -> Self {
        let mut command = command(dir, &[]);
        command.env("TMPDIR", temporary);
        Self::start(command).greeted()
    }

    /// Without a handshake.
    fn silent(dir: &Path, args: &[&str]) -> Self {
        Self::start(command(dir, args))
    }

    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (say, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| say.send(line)));
        let input = child.stdin.take();
        Self { child, input, lines, kept: VecDeque::new(), next: 0 }
    }

    fn write(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// Sends a request; its id.
    fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }).to_string());
        self.next
    }

    /// The next message; none when the server has closed its output.
    fn message(&mut self) -> Option<Value> {
        if let Some(message) = self.kept.pop_front() {
            return Some(message);
        }
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"))),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no word of the server for {PATIENCE:?}"),
        }
    }

    /// The answer to a request; what else comes meanwhile is kept.
    fn answer(&mut self, id: u64) -> Result<Value, Value> {
        let mut others = VecDeque::new();
        let answer = loop {
            let message = self.message().expect("an answer");
            if message["id"] == id && message.get("method").is_none() {
                break message;
            }
            others.push_back(message);
        };
        others.append(&mut self.kept);
        self.kept = others;
        match answer.get("result") {
            Some(result) => Ok(result.clone()),
            None => Err(answer["error"].clone()),
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// What a tool answers, whether it did what it was asked or not.
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments })).unwrap()
    }

    /// The structured content of a call that went well.
    #[track_caller]
    fn done(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{}", text(&result));
        result["structuredContent"].clone()
    }

    /// The text of a call that did not.
    #[track_caller]
    fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments.clone());
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        assert!(result.get("structuredContent").is_none(), "{result}");
        text(&result)
    }

    /// Closes its input, and gives what it still says.
    fn end(&mut self) -> Vec<Value> {
        drop(self.input.take());
        let rest = std::iter::from_fn(|| self.message()).collect();
        assert!(self.child.wait().unwrap().success());
        rest
    }
}

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
    command.arg("mcp").args(args).current_dir(dir).env_clear().env("HOME", dir.join("nobody"));
    command
}

impl Drop for Client {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// A repository with one commit, and a change above it that is not committed.
fn repository() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("src/old.py", "def old(text):\n    return eval(text)\n");
    git(dir.path(), &["init", "-q", "-b", "main"]);
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "Begin"]);
    write("src/new.py", "def new(text):\n    if text == None:\n        return 1\n    return eval(text)\n");
    dir
}
