//! `octoswarm demo` as it is ended: whoever stops it, and however, it leaves nothing that runs and no key.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::support::process;

/// A demo whose folders all lie in one.
struct Demo {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    dir: Arc<tempfile::TempDir>,
}

fn octoswarm(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
    command.args(args).current_dir(dir).env_remove("XDG_STATE_HOME").env("HOME", dir).env("TMPDIR", dir.join("tmp"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

impl Demo {
    fn start(args: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("tmp")).unwrap();
        Self::within(Arc::new(dir), args)
    }

    /// Another one with the same temporary directory.
    fn beside(other: &Self) -> Self {
        Self::within(other.dir.clone(), &["demo", "--once"])
    }

    fn within(dir: Arc<tempfile::TempDir>, args: &[&str]) -> Self {
        let mut child = octoswarm(dir.path(), args).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines, dir }
    }

    /// What lies in its folder for temporary files.
    fn left(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path().join("tmp")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// The rest of the line that begins so.
    async fn says(&mut self, begins: &str) -> String {
        while let Some(line) = self.lines.next_line().await.unwrap() {
            if let Some(rest) = line.strip_prefix(begins) {
                return rest.to_owned();
            }
        }
        panic!("it never said {begins:?}");
    }

    async fn server(&mut self) -> SocketAddr {
        let url = self.says("The server listens at http://").await;
        url.strip_suffix("/webhook").unwrap().parse().unwrap()
    }

    async fn ends(&mut self, signal: &str) -> Option<i32> {
        process::signal(&self.child, signal);
        let ended = tokio::time::timeout(Duration::from_secs(60), self.child.wait()).await;
        ended.expect("it ends within a minute").unwrap().code()
    }
}

async fn nobody_listens(address: SocketAddr) {
    for _ in 0..600 {
        if TcpStream::connect(address).is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the server outlived its demo");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_demo_that_is_told_to_stop_takes_its_server_and_its_folders_along() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let mut demo = Demo::start(&["demo", "--once"]);
        let server = demo.server().await;
        demo.says("3. ").await;
        assert_eq!(demo.left().len(), 2, "{:?}", demo.left());
        assert_eq!(demo.ends(signal).await, Some(code), "SIG{signal}");
        assert_eq!(demo.left(), [""; 0], "after SIG{signal}");
        nobody_listens(server).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_demo_can_be_stopped_from_the_first_moment() {
    let mut demo = Demo::start(&["demo", "--json"]);
    // Before the box is up: its key is still being made.
    while demo.left().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(demo.ends("TERM").await, Some(143));
    assert_eq!(demo.left(), [""; 0]);
    let mut demo = Demo::start(&["demo", "--once"]);
    // While the server starts.
    demo.says("A GitHub in a box is at ").await;
    assert_eq!(demo.ends("INT").await, Some(130));
    assert_eq!(demo.left(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_demo_that_is_killed_takes_its_server_along() {
    let mut demo = Demo::start(&["demo", "--once"]);
    let server = demo.server().await;
    demo.says("2. ").await;
    assert_eq!(demo.ends("KILL").await, None);
    nobody_listens(server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_demo_left_goes_at_the_next_and_what_a_living_one_holds_stays() {
    let mut demo = Demo::start(&["demo", "--once"]);
    let server = demo.server().await;
    demo.says("2. ").await;
    let tmp = demo.dir.path().join("tmp");
    let age = |names: &[String]| {
        let paths = names.iter().map(|name| tmp.join(name));
        let touched = std::process::Command::new("touch").args(["-d", "2 minutes ago"]).args(paths).status();
        assert!(touched.unwrap().success());
    };
    let killed = demo.left();
    assert_eq!(killed.len(), 2, "{killed:?}");
    // Another one begins beside it, and takes nothing away.
    age(&killed);
    let mut beside = Demo::beside(&demo);
    beside.server().await;
    assert!(killed.iter().all(|name| beside.left().contains(name)), "{:?}", beside.left());
    assert_eq!(beside.ends("TERM").await, Some(143));
    assert_eq!(demo.ends("KILL").await, None);
    nobody_listens(server).await;
    assert!(killed.iter().all(|name| demo.left().contains(name)), "{:?}", demo.left());
    // Somebody else's, as far as the name tells.
    std::fs::create_dir(tmp.join("octoswarm-notes")).unwrap();
    age(&[killed, vec!["octoswarm-notes".to_owned()]].concat());
    let mut next = Demo::beside(&demo);
    next.server().await;
    assert_eq!(next.ends("TERM").await, Some(143));
    assert_eq!(demo.left(), ["octoswarm-notes"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_box_without_an_app_can_be_played_with_until_it_is_stopped() {
    let mut demo = Demo::start(&["demo", "--set-up"]);
    demo.says("a GitHub in a box is at ").await;
    let dir = demo.dir.path().to_owned();
    std::fs::write(dir.join("text.md"), "The words.\n").unwrap();
    for args in [["demo", "issue", "A title", "text.md"].as_slice(), &["demo", "label", "1"]] {
        let output = octoswarm(&dir, args).output().await.unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(demo.ends("TERM").await, Some(143));
    assert_eq!(demo.left(), [""; 0]);
    let output = octoswarm(&dir, &["demo", "label", "1"]).output().await.unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("no demo is up"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_never_end_is_wrong_usage() {
    let dir = tempfile::tempdir().unwrap();
    for (args, told) in [
        (["demo", "--once", "--set-up"].as_slice(), "cannot be used with"),
        (&["demo", "--json", "--set-up"], "cannot be used with"),
        (&["demo", "label", "one"], "it is not a whole number"),
        (&["serve", "--listen", "here"], "it is not an address and a port"),
    ] {
        let output = tokio::time::timeout(Duration::from_secs(60), octoswarm(dir.path(), args).output()).await;
        let output = output.expect("it ends").unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(told), "{args:?}: {said}");
    }
}
