//! What a command tries in order to get out, stay on, or take more than its share (rows 49–52, 62 and 63 of the list of faults).

use std::collections::BTreeMap;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

use octoswarm::sandbox::{Command, Ended, Entry, Excess, Limits};
use octoswarm::stdx::nofollow::Found;
use tokio_util::sync::CancellationToken;

use super::{Place, place};

const MIB: u64 = 1 << 20;

/// The program that tries things, compiled where it runs.
async fn prober() -> Option<Place> {
    let place = place().await?;
    let source = include_str!("../../../fixtures/sandbox/probe.c");
    place.work.put("probe.c", Entry::File { bytes: source.as_bytes(), executable: false }).unwrap();
    let built = place.run(Command::shell("cc -w -o /work/probe /work/probe.c")).await;
    assert!(built.ended.is_success(), "{}", built.output.text.open());
    Some(place)
}

fn limited(line: &str, change: impl FnOnce(&mut Limits)) -> Command {
    let mut command = Command::shell(line);
    command.limits.wall = Duration::from_secs(20);
    change(&mut command.limits);
    command
}

/// Processes of this machine whose command line has that word.
fn alive(word: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(word) && !line.starts_with(b"target")).count()
}

async fn nobody_left(word: &str) {
    let began = Instant::now();
    while alive(word) > 0 {
        assert!(began.elapsed() < Duration::from_secs(5), "a process called {word} lives on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn the_environment_holds_nothing_of_the_servers() {
    let Some(place) = place().await else { return };
    let mut command = Command::shell("cat /proc/*/environ | tr '\\0' '\\n'; env");
    command.env = BTreeMap::from([("GIVEN".to_owned(), "yes".to_owned())]);
    let said = place.run(command).await.output.text.open().to_owned();
    let names: std::collections::BTreeSet<&str> =
        said.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    let expected =
        ["CI", "GIVEN", "HOME", "LANG", "LOGNAME", "NO_COLOR", "PATH", "PWD", "TERM", "TMPDIR", "TZ", "USER"];
    assert!(names.iter().all(|name| expected.contains(name) || *name == "_" || *name == "SHLVL"), "{names:?}");
    assert!(names.contains("GIVEN"));
}

#[tokio::test]
async fn only_its_own_processes_and_standard_streams_are_seen() {
    let Some(place) = place().await else { return };
    let said = place.sh("ls /proc | grep -c '^[0-9]'; ls /proc/self/fd | wc -l; head -c 1 /proc/kcore").await;
    let numbers: Vec<u32> = said.lines().take(2).map(|line| line.trim().parse().unwrap()).collect();
    // bubblewrap's first process, the shell, ls and grep; three streams and the one that lists them.
    assert!(numbers[0] <= 5 && numbers[1] <= 4, "{said}");
    assert!(said.contains("kcore"), "{said}");
    let killed = place.sh(&format!("kill -9 {} && echo KILLED", std::process::id())).await;
    assert!(!killed.contains("KILLED"), "{killed}");
    // Everybody who may be signalled is its own.
    let all = place.run(Command::shell("kill -9 -1; exit 0")).await;
    assert!(matches!(all.ended, Ended::Exit(_)), "{all:?}");
}

#[tokio::test]
async fn a_build_script_that_looks_for_the_apps_key_everywhere_finds_nothing() {
    let Some(place) = place().await else { return };
    // Beside the work tree, where a server has its state, and in the temporary directory.
    let canary = format!("canary-{}", uuid());
    let beside = place.work.path().parent().unwrap().parent().unwrap().join("app.pem");
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    for path in [beside.as_path(), elsewhere.path()] {
        std::fs::write(path, format!("-----BEGIN RSA PRIVATE KEY-----\n{canary}\n")).unwrap();
    }
    let ways = [&beside, &elsewhere.path().to_owned()];
    let reads: String =
        ways.iter().map(|path| format!("cat {} /proc/1/root{0} /proc/self/root{0};", path.display())).collect();
    let line = format!(
        "{reads} cat /etc/shadow /root/.ssh/* /home/*/.ssh/* /proc/1/environ; find / -name '*.pem' -newer /etc/passwd 2>/dev/null;\
         grep -rsl {canary} / --exclude-dir=proc --exclude-dir=usr --exclude-dir=sys; cat /work/../../app.pem; cat /work/../app.pem"
    );
    let ran = place.run(limited(&line, |_| {})).await;
    let said = ran.output.text.open();
    assert!(!said.contains("BEGIN RSA") && !said.contains("root:$") && !said.contains("root:*"), "{said}");
    let found: Vec<&str> = said.lines().filter(|line| line.starts_with('/')).collect();
    assert!(found.is_empty(), "{found:?}");
}

#[tokio::test]
async fn there_is_no_way_to_the_network() {
    let Some(place) = prober().await else { return };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let name = format!("octoswarm-test-{}", uuid());
    let address =
        <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(&name).unwrap();
    let host_socket = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    let bash = |host: &str, port: u16| format!("(exec 3<>/dev/tcp/{host}/{port}) && echo CONNECTED; ");
    let lines = [bash("127.0.0.1", port), bash("169.254.169.254", 80), bash("1.1.1.1", 443), bash("localhost", port)];
    let line =
        format!("bash -c '{}' ; getent hosts github.com; cat /var/run/docker.sock /run/docker.sock", lines.concat());
    let said = place.sh(&line).await;
    assert!(!said.contains("CONNECTED"), "{said}");
    assert!(said.contains("unreachable"), "{said}");
    let said = place.sh(&format!("./probe dial {name}")).await;
    assert!(said.starts_with("dial: ") && !said.contains("WORKED"), "{said}");
    assert!(host_socket.as_raw_fd() > 0);
    // Its own loopback is there, since tests listen on it.
    let own = place.sh("bash -c 'exec 3<>/dev/tcp/127.0.0.1/9' ; echo; cat /proc/net/dev | grep -c :").await;
    assert!(own.contains("refused") && own.trim().ends_with('1'), "{own}");
}

#[tokio::test]
async fn calls_that_open_kernels_are_refused_and_those_of_tests_are_not() {
    let Some(place) = prober().await else { return };
    let said = place.sh("./probe calls").await;
    let told: BTreeMap<&str, &str> = said.lines().filter_map(|line| line.split_once(": ")).collect();
    let works = ["tcp socket", "unix socket"];
    assert!(told.len() >= 28, "{said}");
    for (what, outcome) in &told {
        assert_eq!(*outcome == "WORKED", works.contains(what), "{what}: {outcome}");
    }
    for (what, errno) in [
        ("io_uring_setup", "ENOSYS"),
        ("clone3", "ENOSYS"),
        ("memfd_create", "ENOSYS"),
        ("vsock", "EAFNOSUPPORT"),
        ("ptrace", "EPERM"),
        ("unshare user", "EPERM"),
        ("clone user", "EPERM"),
        ("push into a terminal", "EPERM"),
    ] {
        assert_eq!(told[what], errno, "{what}");
    }
    let said =
        place.sh("unshare -Ur true; echo $?; cat /proc/self/status | grep -E 'CapEff|NoNewPrivs|Seccomp:'").await;
    assert!(said.contains("CapEff:\t0000000000000000") && said.contains("NoNewPrivs:\t1"), "{said}");
}

#[tokio::test]
async fn nothing_but_the_work_tree_and_places_in_memory_can_be_written() {
    let Some(place) = place().await else { return };
    let line = "for at in / /usr /usr/bin /etc /dev /proc /lib /.octoswarm /home; do \
                (echo x > $at/proof || echo x >> $at) 2>/dev/null && echo WROTE $at; done; \
                for at in /work /tmp /home/sandbox /dev/shm; do echo x > $at/proof && echo fine; done";
    let said = place.sh(line).await;
    assert!(!said.contains("WROTE") && said.matches("fine").count() == 4, "{said}");
    // The next call finds the work tree as it was left, and nothing else.
    assert_eq!(place.sh("ls -A /work /tmp /home/sandbox /dev/shm").await.matches("proof").count(), 1);
}

#[tokio::test]
async fn a_daemon_does_not_outlive_the_command() {
    let Some(place) = place().await else { return };
    let token = uuid();
    let line =
        format!("setsid sh -c 'while :; do sleep 1; done; : {token}' >/dev/null 2>&1 & setsid sleep 1000 & sleep 0.1");
    let began = Instant::now();
    let ran = place.run(limited(&line, |_| {})).await;
    assert_eq!(ran.ended, Ended::Exit(0));
    assert!(began.elapsed() < Duration::from_secs(10), "a daemon held the call up: {ran:?}");
    nobody_left(&token).await;
}

#[tokio::test]
async fn who_ignores_every_signal_is_stopped_at_the_deadline() {
    let Some(place) = place().await else { return };
    let token = uuid();
    let line = format!("trap '' TERM INT HUP QUIT; echo begun; while :; do sleep 1; done; : {token}");
    let ran = place.run(limited(&line, |limits| limits.wall = Duration::from_millis(700))).await;
    assert_eq!(ran.ended, Ended::Stopped(Excess::Wall(Duration::from_millis(700))));
    assert_eq!(ran.output.text.open(), "begun\n");
    nobody_left(&token).await;
}

#[tokio::test]
async fn a_fork_bomb_is_capped() {
    let Some(place) = place().await else { return };
    let bomb = "f() { f | f & }; f; while :; do sleep 1; done";
    let ran = place
        .run(limited(bomb, |limits| {
            limits.processes = 60;
            limits.wall = Duration::from_secs(3);
        }))
        .await;
    assert!(
        matches!(ran.ended, Ended::Stopped(Excess::Wall(_) | Excess::Processes(60)) | Ended::Exit(_)),
        "{:?}",
        ran.ended
    );
    assert_eq!(place.sh("echo still here").await, "still here\n");
}

#[tokio::test]
async fn memory_is_capped_for_one_process_and_for_many_together() {
    let Some(place) = prober().await else { return };
    for line in ["exec ./probe eat 400", "for n in 1 2 3 4 5 6 7 8; do ./probe eat 50 & done; wait"] {
        let ran = place.run(limited(line, |limits| (limits.memory, limits.tmp) = (200 * MIB, MIB))).await;
        assert_eq!(ran.ended, Ended::Stopped(Excess::Memory(200 * MIB)), "{line}: {}", ran.output.text.open());
    }
    let fits =
        place.run(limited("(./probe eat 100 & sleep 0.5; kill $!) ; exit 4", |limits| limits.memory = 200 * MIB)).await;
    assert_eq!(fits.ended, Ended::Exit(4));
    assert!(fits.peak_memory > 50 * MIB && fits.peak_memory < 200 * MIB, "{}", fits.peak_memory);
}

#[tokio::test]
async fn places_in_memory_are_small() {
    let Some(place) = place().await else { return };
    let line = "for at in /tmp /home/sandbox /dev/shm; do head -c 100M /dev/zero > $at/x; ls -s $at/x; rm $at/x; done";
    let ran = place.run(limited(line, |limits| limits.tmp = 10 * MIB)).await;
    let said = ran.output.text.open();
    assert_eq!(said.matches("No space left").count(), 3, "{said}");
}

#[tokio::test]
async fn the_disk_is_capped_by_bytes_by_files_and_by_depth() {
    let Some(place) = prober().await else { return };
    let flood = "n=0; while :; do n=$((n+1)); head -c 5M /dev/zero > f$n; done";
    let ran = place.run(limited(flood, |limits| limits.disk = 50 * MIB)).await;
    assert_eq!(ran.ended, Ended::Stopped(Excess::Disk(50 * MIB)));
    place.sh("rm -f f*").await;
    let flood = "mkdir many; cd many; n=0; while :; do n=$((n+1)); : > f$n; done";
    let ran = place.run(limited(flood, |limits| limits.entries = 1000)).await;
    assert_eq!(ran.ended, Ended::Stopped(Excess::Entries(1000)));
    let ran = place.run(limited("./probe dig 4000", |_| {})).await;
    assert_eq!(ran.ended, Ended::Stopped(Excess::Depth));
    let ran = place.run(limited("truncate -s 1T sparse; ls -l sparse", |limits| limits.file = 100 * MIB)).await;
    assert!(!ran.ended.is_success() || !ran.output.text.open().contains("1099511627776"), "{ran:?}");
    let path = place.work.path().to_owned();
    drop(place);
    assert!(!path.exists(), "the work tree was not removed");
}

#[tokio::test]
async fn a_flood_of_output_is_stopped_and_little_of_it_kept() {
    let Some(place) = place().await else { return };
    let ran = place.run(limited("yes 0123456789", |limits| (limits.output, limits.flood) = (10_000, 20 * MIB))).await;
    assert_eq!(ran.ended, Ended::Stopped(Excess::Output(20 * MIB)));
    assert!(ran.output.text.open().len() < 10_200 && ran.output.bytes >= 20 * MIB, "{}", ran.output.bytes);
}

#[tokio::test]
async fn processor_time_is_capped_over_all_processes() {
    let Some(place) = place().await else { return };
    let line = "for n in 1 2 3; do (while :; do :; done) & done; wait";
    let ran = place.run(limited(line, |limits| limits.cpu = Duration::from_secs(2))).await;
    assert_eq!(ran.ended, Ended::Stopped(Excess::Cpu(Duration::from_secs(2))));
    assert!(ran.cpu >= Duration::from_secs(2), "{:?}", ran.cpu);
}

#[tokio::test]
async fn links_pipes_devices_and_setuid_files_left_behind_lead_nowhere() {
    let Some(place) = place().await else { return };
    place.work.put("real.txt", Entry::File { bytes: b"ours", executable: false }).unwrap();
    place
        .sh("ln -s /etc/passwd out; ln -s /etc d; ln -s real.txt in; mkfifo pipe; cp /bin/true suid; chmod 6777 suid; \
             truncate -s 500M sparse; mkdir .git; echo '[core]' > .git/config; mkdir closed; touch closed/x; chmod 000 closed")
        .await;
    let read = |path: &str| place.work.read(path, MIB).unwrap();
    assert_eq!(read("out"), Found::Link(b"/etc/passwd".to_vec()));
    assert_eq!(read("d/passwd"), Found::Other);
    assert_eq!(read("in"), Found::Link(b"real.txt".to_vec()));
    assert_eq!(read("pipe"), Found::Other);
    assert_eq!(read("sparse"), Found::TooLarge);
    assert_eq!(read("../app.pem"), Found::Other);
    assert!(matches!(read("suid"), Found::File { executable: true, .. }));
    // What we put there again replaces the link, and does not go through it.
    place.work.put("out", Entry::File { bytes: b"mine", executable: false }).unwrap();
    assert!(place.work.put("d/passwd", Entry::File { bytes: b"mine", executable: false }).is_err());
    assert!(!std::fs::read_to_string("/etc/passwd").unwrap().contains("mine"));
    assert_eq!(place.sh("cat out real.txt").await, "mineours");
    let files = place.work.files(&[".git"], 100).unwrap();
    assert!(
        files.contains_key("real.txt") && !files.contains_key("pipe") && !files.contains_key(".git/config"),
        "{files:?}"
    );
}

#[tokio::test]
async fn who_leaves_or_cancels_takes_the_command_with_them() {
    let Some(place) = place().await else { return };
    let token = uuid();
    let line = format!("while :; do sleep 1; done; : {token}");
    let left = tokio::time::timeout(Duration::from_millis(400), place.run(Command::shell(&line))).await;
    assert!(left.is_err());
    nobody_left(&token).await;
    let cancel = CancellationToken::new();
    let run = place.sandbox.run(&place.work, Command::shell(&line), &cancel);
    let (ran, ()) = tokio::join!(run, async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        cancel.cancel();
    });
    assert!(matches!(ran, Err(octoswarm::sandbox::Error::Cancelled)), "{ran:?}");
    nobody_left(&token).await;
}

#[tokio::test]
async fn eight_at_once_do_not_see_each_other() {
    let Some(place) = place().await else { return };
    let works: Vec<_> = (0..8).map(|_| place.sandbox.workplace().unwrap()).collect();
    let cancel = CancellationToken::new();
    let runs = works.iter().enumerate().map(|(n, work)| {
        let line = format!("echo {n} > mine; sleep 0.2; cat mine; ls /proc | grep -c '^[0-9]'");
        let (sandbox, cancel) = (&place.sandbox, &cancel);
        async move { sandbox.run(work, Command::shell(&line), cancel).await.unwrap() }
    });
    for (n, ran) in futures::future::join_all(runs).await.into_iter().enumerate() {
        let lines: Vec<&str> = ran.output.text.open().lines().collect();
        assert_eq!(lines[0], n.to_string());
        assert!(lines[1].parse::<u32>().unwrap() <= 5, "{lines:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_started_says_so() {
    let Some(place) = place().await else { return };
    let ran = place.run(Command::new(["no-such-program"])).await;
    assert_eq!(ran.ended, Ended::Exit(127));
    assert!(ran.output.text.open().contains("no-such-program"), "{}", ran.output.text.open());
    let mut command = Command::new(["true"]);
    command.dir = "../etc".to_owned();
    let refused = place.sandbox.run(&place.work, command, &CancellationToken::new()).await;
    assert!(matches!(refused, Err(octoswarm::sandbox::Error::Folder(_))), "{refused:?}");
    let mut command = Command::new(["true"]);
    command.dir = "nowhere".to_owned();
    let refused = place.sandbox.run(&place.work, command, &CancellationToken::new()).await;
    assert!(matches!(&refused, Err(octoswarm::sandbox::Error::Walls(why)) if why.contains("nowhere")), "{refused:?}");
    assert!(Path::new("/proc/self").exists());
}

fn uuid() -> String {
    format!("t{:x}", rand::random::<u128>())
}
