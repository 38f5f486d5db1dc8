//! Dependencies: fetched once, read offline ever after, and never by somebody who might have been given a poisoned one.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use octoswarm::sandbox::{Cache, Command, Deps, Ecosystem, Ended, Excess, Key, NotKept, Trust};
use rustix::fs::FileType;

use super::proxy::{CURL, registry, with_registry};
use super::{Place, place};

const MIB: u64 = 1 << 20;

fn key(trust: Trust, lock: &str) -> Key {
    Key::new("octo/app", trust, &[Ecosystem::Cargo], &[], &[("Cargo.lock", lock.as_bytes())]).unwrap()
}

fn cache(place: &Place, most: u64, strangers: bool) -> Cache {
    Cache::open(&place.scratch.path().join("cache"), most, strangers).unwrap()
}

fn fresh(place: &Place) -> Deps {
    place.sandbox.deps(&place.work, &[Ecosystem::Cargo]).unwrap()
}

/// A folder that a command has written.
async fn filled(place: &Place, line: &str) -> Deps {
    let deps = fresh(place);
    let ran = place.run(Command::shell(line).installing(&deps)).await;
    assert_eq!(ran.ended, Ended::Exit(0), "{}", ran.output.text.open());
    deps
}

async fn read(place: &Place, deps: &Deps, line: &str) -> String {
    place.run(Command::shell(line).using(deps)).await.output.text.open().to_owned()
}

fn is_empty(deps: &Deps) -> bool {
    fs::read_dir(deps.path()).unwrap().next().is_none()
}

fn make(path: &Path, kind: FileType, device: u64) -> rustix::io::Result<()> {
    rustix::fs::mknodat(rustix::fs::CWD, path, kind, rustix::fs::Mode::RUSR, device)
}

/// The tree of the only entry.
fn entry(place: &Place) -> PathBuf {
    let mut entries = fs::read_dir(place.scratch.path().join("cache")).unwrap();
    entries.next().unwrap().unwrap().path().join("tree")
}

#[tokio::test]
async fn a_second_install_comes_from_the_cache_and_needs_no_network() {
    let own = registry().await;
    let Some((place, deps)) = with_registry(&own).await else { return };
    let install = format!(
        "mkdir -p /deps/a; [ -e /deps/a/one ] || {CURL} http://{own}/one -o /deps/a/one && ln -sf a/one /deps/link && cat /deps/link"
    );
    let ran = place.run(Command::shell(&install).installing(&deps)).await;
    assert_eq!(ran.output.text.open(), "you asked for /one\n");
    let cache = cache(&place, MIB, true);
    let key = key(Trust::Default, "1");
    assert!(!cache.load(&key, &fresh(&place)).unwrap());
    let saved = cache.save(&key, &deps).unwrap();
    assert_eq!((saved.bytes, saved.evicted), (19, 0));
    drop(deps);

    let again = fresh(&place);
    assert!(cache.load(&key, &again).unwrap());
    let ran = place.run(Command::shell(&install).installing_offline(&again)).await;
    assert_eq!((ran.ended, ran.traffic, ran.output.text.open()), (Ended::Exit(0), 0, "you asked for /one\n"));
    // Changed by one run, whole for the next.
    place.run(Command::shell("chmod -R u+w /deps; echo poison >/deps/a/one").installing_offline(&again)).await;
    let third = fresh(&place);
    assert!(cache.load(&key, &third).unwrap());
    assert_eq!(read(&place, &third, "cat /deps/link").await, "you asked for /one\n");
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    assert_ne!(inode(&third.path().join("a/one")), inode(&entry(&place).join("a/one")));
}

#[tokio::test]
async fn the_folder_is_written_by_the_install_only_and_counted_as_the_work_tree_is() {
    let Some(place) = place().await else { return };
    let deps = filled(&place, "mkdir -p $CARGO_HOME && echo 1 >$CARGO_HOME/x; echo x >/work/kept").await;
    let said = read(
        &place,
        &deps,
        "touch $CARGO_HOME/y 2>&1; cat $CARGO_HOME/x; echo $CARGO_NET_OFFLINE; touch /work/y && echo work",
    )
    .await;
    assert!(said.contains("Read-only file system") && said.ends_with("\n1\ntrue\nwork\n"), "{said}");
    assert_eq!(place.sh("ls -d /deps 2>&1; cat /work/kept").await.lines().last(), Some("x"));
    let mut command = Command::shell("head -c 30000000 /dev/zero >/deps/large; sleep 1000").installing(&deps);
    command.limits.disk = 10 * MIB;
    assert_eq!(place.run(command).await.ended, Ended::Stopped(Excess::Disk(10 * MIB)));
    let path = deps.path().to_owned();
    let clone = deps.clone();
    drop(deps);
    assert!(path.exists());
    drop(clone);
    assert!(!path.exists());
}

#[tokio::test]
async fn strangers_share_with_nobody_and_can_be_left_out() {
    let Some(place) = place().await else { return };
    let deps = filled(&place, "echo poison >/deps/x").await;
    let cache_of_all = cache(&place, MIB, true);
    cache_of_all.save(&key(Trust::Stranger(7), "1"), &deps).unwrap();
    for other in [Trust::Default, Trust::Stranger(8)] {
        assert!(!cache_of_all.load(&key(other, "1"), &fresh(&place)).unwrap(), "{other:?}");
    }
    assert!(!cache_of_all.load(&key(Trust::Stranger(7), "2"), &fresh(&place)).unwrap());
    assert!(cache_of_all.load(&key(Trust::Stranger(7), "1"), &fresh(&place)).unwrap());
    // Nobody else has it open at the same time; the next who does finds what was there.
    assert_eq!(
        Cache::open(&place.scratch.path().join("cache"), MIB, true).unwrap_err().kind(),
        std::io::ErrorKind::WouldBlock
    );
    drop(cache_of_all);

    let without = cache(&place, MIB, false);
    assert!(!without.load(&key(Trust::Stranger(7), "1"), &fresh(&place)).unwrap());
    assert!(matches!(without.save(&key(Trust::Stranger(7), "3"), &deps), Err(NotKept::Stranger)));
    without.save(&key(Trust::Default, "3"), &deps).unwrap();
    assert!(without.load(&key(Trust::Default, "3"), &fresh(&place)).unwrap());
}

#[tokio::test]
async fn what_could_lead_out_is_not_kept() {
    let Some(place) = place().await else { return };
    let cache = cache(&place, 10 * MIB, true);
    let key = key(Trust::Default, "1");
    for (line, why) in [
        ("ln -s /etc/passwd /deps/x", "a link that leads out"),
        ("mkdir /deps/d; ln -s ../../x /deps/d/x", "a link that leads out"),
        ("ln -s d/.. /deps/x", "a link that leads out"),
        ("cp /bin/true /deps/x; chmod u+s /deps/x", "would run as somebody else"),
        ("mkdir /deps/d; chmod g+s /deps/d", "would run as somebody else"),
        ("mkfifo /deps/x", "a pipe, a socket or a device"),
        ("p=/deps; for n in $(seq 100); do p=$p/d; done; mkdir -p $p", "too deep"),
    ] {
        let error = cache.save(&key, &filled(&place, line).await).unwrap_err();
        assert!(matches!(&error, NotKept::Strange(_)) && error.to_string().contains(why), "{line}: {error}");
    }
    let sparse = filled(&place, "truncate -s 500M /deps/x").await;
    assert!(matches!(cache.save(&key, &sparse), Err(NotKept::TooLarge(_))));

    let linked = filled(&place, "echo 1 >/deps/x; ln /deps/x /deps/y; ln -s /deps/x /deps/z").await;
    fs::hard_link(linked.path().join("x"), place.scratch.path().join("outside")).unwrap();
    let error = cache.save(&key, &linked).unwrap_err();
    assert!(error.to_string().contains("another name outside"), "{error}");
    fs::remove_file(place.scratch.path().join("outside")).unwrap();

    let device = filled(&place, "echo 1 >/deps/x").await;
    if make(&device.path().join("null"), FileType::CharacterDevice, rustix::fs::makedev(1, 3)).is_ok() {
        let error = cache.save(&key, &device).unwrap_err();
        assert!(error.to_string().contains("a device"), "{error}");
    } else {
        eprintln!("NOT RUN: a device cannot be made by this user");
    }
    assert_eq!((cache.bytes(), fs::read_dir(place.scratch.path().join("cache")).unwrap().count()), (0, 0));
    // Names within are no way out.
    cache.save(&key, &linked).unwrap();
    let again = fresh(&place);
    assert!(cache.load(&key, &again).unwrap());
    assert_eq!(read(&place, &again, "cat /deps/x /deps/y /deps/z").await, "1\n1\n1\n");
}

#[tokio::test]
async fn an_entry_that_somebody_has_changed_is_thrown_away() {
    let Some(place) = place().await else { return };
    let cache = cache(&place, MIB, true);
    let key = key(Trust::Default, "1");
    type Poison = (&'static str, fn(&Path));
    let poisons: [Poison; 4] = [
        ("link", |tree| symlink("/etc/passwd", tree.join("x")).unwrap()),
        ("link upwards", |tree| symlink("../..", tree.join("x")).unwrap()),
        ("setuid", |tree| {
            let all = std::os::unix::fs::PermissionsExt::from_mode(0o4755);
            fs::set_permissions(tree.join("good"), all).unwrap();
        }),
        ("pipe", |tree| make(&tree.join("x"), FileType::Fifo, 0).unwrap()),
    ];
    for (name, poison) in poisons {
        cache.save(&key, &filled(&place, "echo 1 >/deps/good; mkdir /deps/d; echo 2 >/deps/d/y").await).unwrap();
        let tree = entry(&place);
        poison(&tree);
        let deps = fresh(&place);
        assert!(!cache.load(&key, &deps).unwrap(), "{name}");
        assert!(is_empty(&deps) && !tree.exists() && cache.bytes() == 0, "{name}");
    }
}

#[tokio::test]
async fn what_was_used_least_recently_goes_first() {
    let Some(place) = place().await else { return };
    let large = filled(&place, "head -c 400000 /dev/zero >/deps/x").await;
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|lock| key(Trust::Default, lock));
    let kept = |cache: &Cache, key: &Key| cache.load(key, &fresh(&place)).unwrap();
    let cache_before = cache(&place, MIB, true);
    for key in [&a, &b] {
        assert_eq!(cache_before.save(key, &large).unwrap().evicted, 0);
    }
    assert!(kept(&cache_before, &a));
    assert_eq!(cache_before.save(&c, &large).unwrap().evicted, 1);
    assert!(!kept(&cache_before, &b) && kept(&cache_before, &c) && kept(&cache_before, &a));
    assert_eq!(cache_before.bytes(), 800_000);
    drop(cache_before);
    // What was used when is remembered, and half of something is not something.
    fs::create_dir_all(place.scratch.path().join("cache/.unfinished-abc/tree")).unwrap();
    let later = cache(&place, MIB, true);
    assert_eq!(later.save(&d, &large).unwrap().evicted, 1);
    assert!(!kept(&later, &c) && kept(&later, &a) && kept(&later, &d));
    assert_eq!(fs::read_dir(place.scratch.path().join("cache")).unwrap().count(), 2);
    drop(later);
    let small = cache(&place, 500_000, true);
    assert_eq!(small.bytes(), 400_000);
    assert!(matches!(
        small.save(&a, &filled(&place, "head -c 600000 /dev/zero >/deps/x").await),
        Err(NotKept::TooLarge(500_000))
    ));
}
