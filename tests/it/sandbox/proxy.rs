//! The way to registries, from behind the walls.

use std::path::Path;
use std::time::Duration;

use octoswarm::sandbox::{Command, Deps, Ecosystem, Ended, Excess, HostPort, Ran, Upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{Place, place, place_with};

/// curl through the bridge, by CONNECT, whatever the address; it prints the proxy's answer's number and what came.
pub(crate) const CURL: &str = "curl -sS --max-time 20 --noproxy '' -x http://127.0.0.1:3128 -p";

/// A registry on this machine: `/size/N` is so many bytes, everything else its own path.
pub(crate) async fn registry() -> HostPort {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(serve(stream));
        }
    });
    HostPort::new("localhost", port).unwrap()
}

async fn head(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

async fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    let head = head(&mut stream).await?;
    let path = head.split(' ').nth(1).unwrap_or_default();
    let body = match path.strip_prefix("/size/").and_then(|size| size.parse().ok()) {
        Some(size) => vec![b'x'; size],
        None => format!("you asked for {path}\n").into_bytes(),
    };
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&body).await?;
    stream.shutdown().await
}

pub(crate) async fn with_registry(own: &HostPort) -> Option<(Place, Deps)> {
    let place = place_with(|settings| settings.registries = vec![own.clone()]).await?;
    assert_eq!(place.sh("command -v curl >/dev/null && echo yes").await, "yes\n", "these tests need curl");
    let deps = place.sandbox.deps(&place.work, &[Ecosystem::Cargo]).unwrap();
    Some((place, deps))
}

async fn install(place: &Place, deps: &Deps, line: &str) -> Ran {
    place.run(Command::shell(line).installing(deps)).await
}

fn said(ran: &Ran) -> &str {
    ran.output.text.open()
}

#[tokio::test]
async fn a_registry_of_the_operators_is_reached_by_its_name() {
    let own = registry().await;
    let Some((place, deps)) = with_registry(&own).await else { return };
    let ran = install(&place, &deps, &format!("{CURL} http://{own}/one")).await;
    assert_eq!((ran.ended.clone(), said(&ran)), (Ended::Exit(0), "you asked for /one\n"));
    assert!(ran.refused.is_empty() && ran.traffic > 50, "{ran:?}");

    let python = format!(
        "import http.client as h\nc = h.HTTPConnection('127.0.0.1', 3128)\nc.set_tunnel('localhost', {})\nc.request('GET', '/two')\n\
         print(c.getresponse().read().decode(), end='')",
        own.port()
    );
    let node = format!(
        "require('http').request({{host: '127.0.0.1', port: 3128, method: 'CONNECT', path: '{own}'}})\
         .on('connect', (r, s) => {{ s.write('GET /three HTTP/1.0\\r\\n\\r\\n'); s.pipe(process.stdout); }}).end()"
    );
    for (program, flag, script, want) in [("python3", "-c", python, "/two"), ("node", "-e", node, "/three")] {
        if place.sh(&format!("command -v {program}")).await.is_empty() {
            eprintln!("NOT RUN: there is no {program} on this machine");
            continue;
        }
        let ran = place.run(Command::new([program, flag, &script]).installing(&deps)).await;
        assert!(said(&ran).ends_with(&format!("you asked for {want}\n")), "{program}: {ran:?}");
    }
}

#[tokio::test]
async fn what_is_on_no_list_of_the_step_is_refused_and_told() {
    let own = registry().await;
    let Some((place, deps)) = with_registry(&own).await else { return };
    // Of another ecosystem than the step's.
    let other = Ecosystem::Python.registries()[0];
    let hosts = [
        "evil.example:443".to_owned(),
        format!("{other}:443"),
        format!("{}:80", Ecosystem::Cargo.registries()[0]),
        format!("x.{}:443", Ecosystem::Cargo.registries()[0]),
        format!("localhost:{}", own.port().wrapping_add(1).max(1)),
        format!("127.0.0.1:{}", own.port()),
        "169.254.169.254:80".to_owned(),
    ];
    for host in &hosts {
        let ran = install(&place, &deps, &format!("{CURL} -o /dev/null -w '%{{http_connect}}' http://{host}/")).await;
        assert!(said(&ran).contains("403") && !ran.ended.is_success(), "{host}: {ran:?}");
        assert!(ran.refused.len() == 1 && ran.refused[0].starts_with(host), "{host}: {:?}", ran.refused);
    }
    // Without a tunnel.
    let ran = install(&place, &deps, &format!("{} http://{own}/", CURL.trim_end_matches(" -p"))).await;
    assert!(said(&ran).contains("takes CONNECT to package registries and nothing else"), "{ran:?}");
    assert_eq!(ran.refused, [format!("{own} (plain HTTP)")]);
    assert_eq!(ran.traffic, 0);
}

#[tokio::test]
async fn there_is_no_other_way_out_and_none_at_all_without_network() {
    let own = registry().await;
    let Some((place, deps)) = with_registry(&own).await else { return };
    let direct = format!(
        "for at in http://{own}/ http://127.0.0.1:{}/ http://1.1.1.1/; do \
         curl -s --max-time 5 --noproxy '*' $at; echo $?; done; sed -n '3,$p' /proc/net/dev | cut -d: -f1 | tr -d ' '",
        own.port()
    );
    let ran = install(&place, &deps, &direct).await;
    assert_eq!(said(&ran), "7\n7\n7\nlo\n", "{ran:?}");

    let line = format!("ls -d /.registries 2>&1; env | grep -ci proxy; {CURL} http://{own}/; echo $?");
    for command in
        [Command::shell(&line), Command::shell(&line).using(&deps), Command::shell(&line).installing_offline(&deps)]
    {
        let ran = place.run(command).await;
        assert!(said(&ran).contains("No such file") && said(&ran).ends_with("\n7\n"), "{ran:?}");
        assert!(said(&ran).contains("\n0\n"), "{ran:?}");
    }
}

#[tokio::test]
async fn a_command_beside_the_bridge_ends_as_it_would_alone() {
    let own = registry().await;
    let Some((place, deps)) = with_registry(&own).await else { return };
    for (line, ended) in
        [("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143), ("sleep 1000 & exit 3", 3), ("wait; exit 4", 4)]
    {
        let ran = install(&place, &deps, line).await;
        assert_eq!(ran.ended, Ended::Exit(ended), "{line}: {ran:?}");
        assert!(ran.wall < Duration::from_secs(60));
    }
    let ran = place.run(Command::new(["no-such-program"]).installing(&deps)).await;
    assert_eq!(ran.ended, Ended::Exit(127), "{ran:?}");
    // Its only children are its own, and nobody waits to be buried.
    let ran =
        install(&place, &deps, "(sleep 0.1 &) ; sleep 0.5; cat /proc/$$/task/$$/children; echo; cat /proc/[0-9]*/stat")
            .await;
    assert!(!said(&ran).contains(") Z "), "{ran:?}");
}

#[tokio::test]
async fn too_much_traffic_ends_the_command() {
    let own = registry().await;
    let Some((place, deps)) = with_registry(&own).await else { return };
    for after in ["", "; sleep 1000"] {
        let mut command = Command::shell(&format!("{CURL} http://{own}/size/3000000 | wc -c{after}")).installing(&deps);
        command.limits.traffic = 1_000_000;
        let ran = place.run(command).await;
        assert_eq!(ran.ended, Ended::Stopped(Excess::Traffic(1_000_000)), "{ran:?}");
        assert!(ran.wall < Duration::from_secs(60), "{ran:?}");
    }
    let mut command = Command::shell(&format!("{CURL} http://{own}/size/900000 | wc -c")).installing(&deps);
    command.limits.traffic = 1_000_000;
    assert_eq!(said(&place.run(command).await).trim(), "900000");
}

/// Sockets below a folder, beside whatever else is there.
fn sockets(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(sockets(&entry.path()));
        } else if std::os::unix::fs::FileTypeExt::is_socket(&kind) {
            found.push(entry.path());
        }
    }
    found
}

#[tokio::test]
async fn each_step_has_a_way_of_its_own_that_is_gone_with_it() {
    let own = registry().await;
    let Some((place, deps)) = with_registry(&own).await else { return };
    let other = place.sandbox.workplace().unwrap();
    let cancel = tokio_util::sync::CancellationToken::new();
    let open = place.sandbox.run(
        &place.work,
        Command::shell("touch begun; while [ ! -e end ]; do sleep 0.05; done").installing(&deps),
        &cancel,
    );
    let beside = async {
        while !place.work.path().join("begun").exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(sockets(place.scratch.path()).len(), 1);
        let line = format!("{CURL} http://{own}/; echo $?; ls -a /");
        let without = place.sandbox.run(&other, Command::shell(&line), &cancel).await.unwrap();
        assert!(said(&without).contains("\n7\n") && !said(&without).contains(".registries"), "{without:?}");
        // What one asks for is told to that one only.
        let deps = place.sandbox.deps(&other, &[Ecosystem::Npm]).unwrap();
        let line = format!("{CURL} https://evil.example/; stat -c %i /.registries");
        let with = place.sandbox.run(&other, Command::shell(&line).installing(&deps), &cancel).await.unwrap();
        assert_eq!(with.refused, ["evil.example:443"]);
        std::fs::File::create_new(place.work.path().join("end")).unwrap();
    };
    let (ran, ()) = tokio::join!(open, beside);
    let ran = ran.unwrap();
    assert_eq!((ran.ended, ran.refused.len()), (Ended::Exit(0), 0));
    assert!(sockets(place.scratch.path()).is_empty());
}

#[tokio::test]
async fn an_upstream_proxy_is_told_names_and_nothing_else() {
    let own = registry().await;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let to = own.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let asked = head(&mut stream).await.unwrap();
            let refuse = asked.contains("closed.invalid");
            tell.send(asked).unwrap();
            if refuse {
                stream.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").await.unwrap();
                continue;
            }
            stream.write_all(b"HTTP/1.1 200 Connection established\r\nx-some: header\r\n\r\n").await.unwrap();
            let mut server = TcpStream::connect((to.host(), to.port())).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut stream, &mut server).await });
        }
    });
    let named: Vec<HostPort> =
        ["packages.invalid:8443", "closed.invalid:8443"].map(|host| host.parse().unwrap()).into();
    let place = place_with(|settings| {
        settings.registries = [named.clone(), vec![own.clone()]].concat();
        settings.upstream = Some(Upstream { at, not_for: vec!["localhost".to_owned()] });
    });
    let Some(place) = place.await else { return };
    let deps = place.sandbox.deps(&place.work, &[Ecosystem::Maven]).unwrap();
    let ran = install(&place, &deps, &format!("{CURL} -H 'proxy-authorization: mine' http://{}/up", named[0])).await;
    assert_eq!(said(&ran), "you asked for /up\n", "{ran:?}");
    assert_eq!(
        told.recv().await.unwrap(),
        "CONNECT packages.invalid:8443 HTTP/1.1\r\nHost: packages.invalid:8443\r\n\r\n"
    );
    let ran = install(&place, &deps, &format!("{CURL} http://{}/", named[1])).await;
    assert!(said(&ran).contains("502") && ran.refused.is_empty(), "{ran:?}");
    assert!(ran.unreachable.len() == 1 && ran.unreachable[0].contains("407 Proxy Authentication"), "{ran:?}");
    told.recv().await.unwrap();
    // Hosts that share an address with a public registry are not reached in its name, nor is anything but TLS spoken to it.
    let public = Ecosystem::Maven.registries()[0];
    let connect = format!("--connect-to evil.example:443:{public}:443");
    for (request, why) in [
        (format!("-k {connect} https://evil.example/"), "its TLS is for evil.example"),
        (format!("http://{public}:443/"), "it does not begin with TLS"),
    ] {
        let ran = install(&place, &deps, &format!("{CURL} {request}")).await;
        assert!(!ran.ended.is_success() && ran.traffic == 0, "{ran:?}");
        assert_eq!(ran.refused, [format!("{public}:443 ({why})")]);
        assert!(told.recv().await.unwrap().starts_with(&format!("CONNECT {public}:443 ")));
    }
    // Under its own name the bytes go on; what answers here is no registry.
    let ran = install(&place, &deps, &format!("{CURL} -k https://{public}/")).await;
    assert!(!ran.ended.is_success() && ran.refused.is_empty() && ran.traffic > 100, "{ran:?}");
    told.recv().await.unwrap();
    // Not on a list: the upstream never hears of it. An exception: neither.
    let ran = install(&place, &deps, &format!("{CURL} http://evil.example:443/; {CURL} http://{own}/direct")).await;
    assert!(said(&ran).ends_with("you asked for /direct\n"), "{ran:?}");
    assert_eq!(ran.refused, ["evil.example:443"]);
    assert!(told.try_recv().is_err());
}

#[tokio::test]
async fn a_step_that_may_install_still_sees_nothing_of_ours() {
    let Some(place) = place().await else { return };
    let deps = place.sandbox.deps(&place.work, &[Ecosystem::Npm]).unwrap();
    let ran = install(&place, &deps, "touch /.registries/x; rm -f /.registries/proxy; ls -a /.registries; env").await;
    assert!(said(&ran).contains("\nproxy\n") && said(&ran).contains("Read-only file system"), "{ran:?}");
    assert!(said(&ran).contains("npm_config_ignore_scripts=true") && !said(&ran).contains("CARGO_BIN_EXE"), "{ran:?}");
}
