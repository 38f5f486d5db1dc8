//! What a tool call costs on both transports, one at a time and a hundred at once, and how long the review of a 10 MB upload takes.
//! `cargo bench --bench mcp`; `benches/README.md` says more.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark: it starts processes, tells the time, prints, and stops where it stands when something fails"
)]

mod support;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::{Value, json};

use support::process::Server;
use support::table::{Page, megabytes, milliseconds, rate, ratio};
use support::{median, octoswarm, option, project, run, scratch};

const TOKEN: &str = "a token that is long enough for a benchmark";
/// Calls under way at once.
const AT_ONCE: usize = 100;

fn main() {
    let calls = option("calls", 3_000.0) as usize;
    let reviews = option("reviews", 3.0) as usize;
    let _provider = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let dir = scratch();
    let mut page = Page::new("mcp");
    page.line("");
    page.line("One call of `explain_rule`, which reads nothing from the disk.");
    page.head(&["transport", "server", "at once", "calls/s", "p50", "p99", "p50 to the limit's"]);
    let mut cat = Pipe::start(Command::new("cat"));
    let limits = [cat.measure(calls, 1), cat.measure(calls, AT_ONCE)];
    let mut ours = Pipe::start({
        let mut command = Command::new(octoswarm());
        command.arg("mcp").arg("--root").arg(dir.path()).current_dir(dir.path());
        command
    });
    ours.greet();
    let stdio = [ours.measure(calls, 1), ours.measure(calls, AT_ONCE)];
    let peer = peer();
    let mut theirs = Pipe::start({
        let mut command = Command::new("python3");
        command.arg(project().join("benches/peers/mcp_server.py")).arg("stdio").env("PYTHONPATH", &peer);
        command
    });
    theirs.greet();
    let few = (calls / 4).max(AT_ONCE);
    let python = [theirs.measure(few, 1), theirs.measure(few, AT_ONCE)];
    for (nth, at_once) in [1, AT_ONCE].into_iter().enumerate() {
        let limit = &limits[nth];
        limit.row(&mut page, "stdio", "the limit: `cat`", at_once, limit);
        stdio[nth].row(&mut page, "stdio", "octoswarm", at_once, limit);
        python[nth].row(&mut page, "stdio", "a FastMCP server", at_once, limit);
    }
    let server = serve(dir.path());
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("http://{}", server.address);
    let theirs = Server::start({
        let mut command = Command::new("python3");
        command.arg(project().join("benches/peers/mcp_server.py")).arg("http").env("PYTHONPATH", &peer);
        command
    });
    let python = format!("http://{}/mcp", theirs.address);
    for at_once in [1, AT_ONCE] {
        let health = || http.get(format!("{url}/healthz"));
        let limit = runtime.block_on(measure(calls, at_once, &health));
        let call = || modern(&http, &format!("{url}/mcp"));
        let ours = runtime.block_on(measure(calls, at_once, &call));
        let peer = || modern(&http, &python);
        let peer = runtime.block_on(measure(few, at_once, &peer));
        limit.row(&mut page, "HTTP", "the limit: `GET /healthz`", at_once, &limit);
        ours.row(&mut page, "HTTP", "octoswarm", at_once, &limit);
        peer.row(&mut page, "HTTP", "a FastMCP server", at_once, &limit);
    }
    drop(theirs);
    page.line("");
    review(&mut page, &runtime, &http, &server, dir.path(), reviews);
    server.stop();
    page.keep();
}

/// The packages of the peer, where Python finds them.
fn peer() -> std::path::PathBuf {
    let folder = support::folder().join("fastmcp");
    support::once(&folder, "fastmcp==4.1.2", || {
        let mut install = Command::new("python3");
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"]).arg(&folder);
        run(install.arg("fastmcp==4.1.2"));
    });
    folder
}

fn serve(dir: &Path) -> Server {
    let mut command = Command::new(octoswarm());
    command
        .args(["serve", "--api-only", "--listen", "127.0.0.1:0", "--state"])
        .arg(dir.join("state"))
        .env("OCTOSWARM_API_TOKEN", TOKEN)
        .env("OCTOSWARM_API_ROOTS", dir)
        .env("OCTOSWARM_LOG", "warn")
        .current_dir(dir);
    Server::start(command)
}

/// What a number of calls took.
struct Measured {
    each: Vec<Duration>,
    whole: Duration,
}

impl Measured {
    fn at(&self, part: f64) -> Duration {
        let mut each = self.each.clone();
        each.sort_unstable();
        each[((each.len() as f64 * part) as usize).min(each.len() - 1)]
    }

    fn row(&self, page: &mut Page, transport: &str, server: &str, at_once: usize, limit: &Self) {
        page.row(&[
            transport.to_owned(),
            server.to_owned(),
            at_once.to_string(),
            rate(self.each.len() as f64 / self.whole.as_secs_f64()),
            milliseconds(self.at(0.5)),
            milliseconds(self.at(0.99)),
            ratio(self.at(0.5).as_secs_f64(), limit.at(0.5).as_secs_f64()),
        ]);
    }
}

/// A program that is spoken to in lines.
struct Pipe {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Pipe {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
        self.input.flush().unwrap();
    }

    /// The id of the next message that has one.
    fn read(&mut self) -> u64 {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "it goes on answering");
            let message: Value = serde_json::from_str(&line).unwrap();
            assert!(message.get("error").is_none() && message["result"]["isError"] != true, "{line}");
            if let Some(id) = message["id"].as_u64() {
                return id;
            }
        }
    }

    fn greet(&mut self) {
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" } });
        self.write(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }));
        self.read();
        self.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    }

    fn measure(&mut self, calls: usize, at_once: usize) -> Measured {
        let (mut open, mut each) = (HashMap::new(), Vec::with_capacity(calls));
        // The first ones are not counted.
        let warm = (calls / 10).max(at_once);
        let (mut sent, mut began) = (0, Instant::now());
        while each.len() < calls {
            while open.len() < at_once && sent < calls + warm {
                sent += 1;
                let id = sent as u64;
                open.insert(id, Instant::now());
                let params = json!({ "name": "explain_rule", "arguments": { "rule": "eval-of-data" } });
                self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
            }
            let id = self.read();
            let took = open.remove(&id).expect("an answer to a call").elapsed();
            if id as usize > warm {
                each.push(took);
            } else if id as usize == warm {
                began = Instant::now();
            }
        }
        Measured { each, whole: began.elapsed() }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A call of the newest revision.
fn modern(http: &reqwest::Client, url: &str) -> reqwest::RequestBuilder {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": "explain_rule", "arguments": { "rule": "eval-of-data" }, "_meta": meta });
    http.post(url)
        .bearer_auth(TOKEN)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "explain_rule")
        .json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }))
}

async fn measure(calls: usize, at_once: usize, request: &dyn Fn() -> reqwest::RequestBuilder) -> Measured {
    let one = async |request: reqwest::RequestBuilder| {
        let began = Instant::now();
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
        answer.bytes().await.unwrap();
        began.elapsed()
    };
    let warm = (calls / 10).max(at_once);
    let (mut open, mut each) = (FuturesUnordered::new(), Vec::with_capacity(calls));
    let (mut sent, mut ended, mut began) = (0, 0, Instant::now());
    while each.len() < calls {
        while open.len() < at_once && sent < calls + warm {
            sent += 1;
            open.push(one(request()));
        }
        let took = open.next().await.unwrap();
        ended += 1;
        if ended == warm {
            began = Instant::now();
        } else if ended > warm {
            each.push(took);
        }
    }
    Measured { each, whole: began.elapsed() }
}

/// Some 10 MB of Python, no two files alike.
fn codebase(dir: &Path) -> u64 {
    let mut bytes = 0;
    for nth in 0.. {
        if bytes > 10_000_000 {
            break;
        }
        let mut text = format!("\"\"\"Module {nth}.\"\"\"\nimport os\n\n");
        for part in 0..60 {
            let _ = writeln!(
                text,
                "def total_{nth}_{part}(rows, limit={part}):\n    \"\"\"Sums what is above the limit.\"\"\"\n    found = 0\n    for row in rows:\n        if row.value_{part} > limit and row.kind != {nth}:\n            found += row.value_{part} * {nth}\n    return found\n\n"
            );
        }
        let _ = writeln!(text, "def run_{nth}(text):\n    return eval(text)\n");
        let folder = dir.join(format!("part{}", nth / 50));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("module{nth}.py")), &text).unwrap();
        bytes += text.len() as u64;
    }
    bytes
}

fn review(
    page: &mut Page,
    runtime: &tokio::runtime::Runtime,
    http: &reqwest::Client,
    server: &Server,
    dir: &Path,
    times: usize,
) {
    let code = dir.join("code");
    let bytes = codebase(&code);
    let archive = dir.join("code.tar");
    run(Command::new("tar").arg("-C").arg(&code).arg("-cf").arg(&archive).arg("."));
    let body = std::fs::read(&archive).unwrap();
    let url = format!("http://{}", server.address);
    let (mut uploads, mut reviews, mut audits) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..times {
        let began = Instant::now();
        run(Command::new(octoswarm()).arg("audit").arg(&code));
        audits.push(began.elapsed().as_secs_f64());
        let (upload, review) = runtime.block_on(async {
            let boundary = "a-boundary-of-this-benchmark";
            let mut multipart = format!(
                "--{boundary}\r\ncontent-disposition: form-data; name=\"codebase\"; filename=\"code.tar\"\r\n\r\n"
            )
            .into_bytes();
            multipart.extend_from_slice(&body);
            multipart.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
            let began = Instant::now();
            let kind = format!("multipart/form-data; boundary={boundary}");
            let sent = http.post(format!("{url}/upload_codebase")).bearer_auth(TOKEN).header("content-type", kind);
            let answer: Value = sent.body(multipart).send().await.unwrap().json().await.unwrap();
            let upload = began.elapsed();
            let asked = json!({ "id": answer["id"] });
            let began = Instant::now();
            let started =
                http.post(format!("{url}/trigger_review")).bearer_auth(TOKEN).json(&asked).send().await.unwrap();
            let started: Value = started.json().await.unwrap();
            let id = started["id"].as_str().unwrap_or_else(|| panic!("{answer} {started}")).to_owned();
            loop {
                let results = http.get(format!("{url}/get_results?id={id}")).bearer_auth(TOKEN).send().await.unwrap();
                match results.status().as_u16() {
                    200 => break,
                    202 => tokio::time::sleep(Duration::from_millis(20)).await,
                    other => panic!("{other}: {}", results.text().await.unwrap()),
                }
            }
            (upload, began.elapsed())
        });
        uploads.push(upload.as_secs_f64());
        reviews.push(review.as_secs_f64());
    }
    let usage = server.usage();
    let (upload, review, audit) = (median(uploads), median(reviews), median(audits));
    page.line(&format!("An upload of {} of Python as a tar, {times} times, medians.", megabytes(bytes)));
    page.head(&["uploaded and unpacked", "reviewed", "to `octoswarm audit` on the folder", "server's peak memory"]);
    let seconds = |value: f64| milliseconds(Duration::from_secs_f64(value));
    page.row(&[seconds(upload), seconds(review), ratio(review, audit), megabytes(usage.peak)]);
}
