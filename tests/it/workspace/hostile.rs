//! Trees and files that were made to hurt, and the odd ones that only look so.

use std::os::unix::fs::{PermissionsExt, symlink};

use git2::{ObjectType, Oid, Repository};

use super::*;

fn hash(odb: &git2::Odb<'_>, kind: ObjectType, bytes: &[u8]) -> Oid {
    odb.write(kind, bytes).unwrap()
}

/// A tree written byte by byte: no library would make it.
fn tree(odb: &git2::Odb<'_>, entries: &[(&str, &[u8], Oid)]) -> Oid {
    let mut bytes = Vec::new();
    for (mode, name, oid) in entries {
        bytes.extend_from_slice(format!("{mode} ").as_bytes());
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(oid.as_bytes());
    }
    hash(odb, ObjectType::Tree, &bytes)
}

fn commit_of(odb: &git2::Odb<'_>, tree: Oid, parent: Option<Oid>) -> Sha {
    let parent = parent.map_or_else(String::new, |parent| format!("parent {parent}\n"));
    let who = "A <a@example.test> 1700000000 +0000";
    let text = format!("tree {tree}\n{parent}author {who}\ncommitter {who}\n\nx\n");
    Sha::parse(&hash(odb, ObjectType::Commit, text.as_bytes()).to_string()).unwrap()
}

/// An empty base commit and a head with this tree, in a repository of their own.
fn repository(build: impl Fn(&git2::Odb<'_>) -> Oid) -> (TempDir, Sha, Sha) {
    let dir = TempDir::new().unwrap();
    let repository = Repository::init(dir.path()).unwrap();
    let odb = repository.odb().unwrap();
    let base = commit_of(&odb, tree(&odb, &[]), None);
    let head = commit_of(&odb, build(&odb), Some(Oid::from_str(base.as_str()).unwrap()));
    repository.reference("refs/heads/base", Oid::from_str(base.as_str()).unwrap(), true, "").unwrap();
    repository.reference("refs/heads/main", Oid::from_str(head.as_str()).unwrap(), true, "").unwrap();
    (dir, base, head)
}

async fn between(dir: &TempDir, base: &Sha, head: &Sha) -> Change {
    local::change(dir.path(), Some(base.as_str()), Some(head.as_str())).await.unwrap()
}

/// Ten times ten times …: a thousand million files in ten small trees.
fn tree_bomb(odb: &git2::Odb<'_>) -> Oid {
    let mut oid = hash(odb, ObjectType::Blob, b"x\n");
    let names: Vec<String> = (0..10).map(|n| format!("n{n}")).collect();
    for level in 0..9 {
        let mode = if level == 0 { "100644" } else { "40000" };
        let entries: Vec<_> = names.iter().map(|name| (mode, name.as_bytes(), oid)).collect();
        oid = tree(odb, &entries);
    }
    oid
}

#[tokio::test]
async fn a_tree_bomb_is_counted_and_left() {
    let (dir, base, head) = repository(tree_bomb);
    let limits = Limits { entries: 5_000, ..Limits::default() };
    let change = local::change_limited(dir.path(), Some(base.as_str()), Some(head.as_str()), limits).await.unwrap();
    let started = Instant::now();
    let diff = change.diff().await.unwrap();
    let error = change.new_paths().await.unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert!(matches!(error, Error::TooLarge { .. }), "{error:?}");
    assert_eq!(
        not_read(&diff, "(the rest of the change)"),
        "the number of files and folders is more than the limit of 5000"
    );
    assert_eq!(diff.files.len(), 3_000);
    assert!(diff.total_files > 3_000 && diff.total_files < 5_000);
    assert_eq!(diff.not_read.len(), 1_002, "a thousand by name, one line for the others, one for the rest");
    assert_eq!(change.new_side("n1/n2/n3/n4/n5/n6/n7/n8/n9").await.unwrap(), text("x\n"));
}

#[tokio::test]
async fn a_deep_tree_is_left_at_its_cap() {
    let (dir, base, head) = repository(|odb| {
        let mut oid = tree(odb, &[("100644", b"f", hash(odb, ObjectType::Blob, b"x\n"))]);
        for _ in 0..20_000 {
            oid = tree(odb, &[("40000", b"d", oid)]);
        }
        oid
    });
    let change = between(&dir, &base, &head).await;
    let diff = change.diff().await.unwrap();
    assert_eq!(not_read(&diff, "(the rest of the change)"), "the depth of folders is more than the limit of 128");
    assert!(change.new_paths().await.is_err());
    assert_eq!(change.new_side(&"d/".repeat(20_000)).await.unwrap(), Side::Absent);
}

/// A loose object of zeros, deflated by hand: a match of 258 zeros costs 13 bits.
fn zeros(size: usize) -> Vec<u8> {
    let header = format!("blob {size}\0");
    let mut out = vec![0x78, 0x01];
    let (mut bits, mut count) = (0_u64, 0);
    let mut push = |out: &mut Vec<u8>, value: u64, length: u32| {
        bits |= value << count;
        count += length;
        while count >= 8 {
            out.push(bits as u8);
            bits >>= 8;
            count -= 8;
        }
    };
    let literal = |byte: u8| (u64::from((0x30 + byte).reverse_bits()), 8);
    // One final block with the fixed codes.
    push(&mut out, 0b011, 3);
    for byte in header.bytes().chain([0]) {
        let (code, length) = literal(byte);
        push(&mut out, code, length);
    }
    let matches = (size - 1) / 258;
    for _ in 0..matches {
        push(&mut out, u64::from(0b1100_0101_u8.reverse_bits()), 8);
        push(&mut out, 0, 5);
    }
    for _ in 0..size - 1 - matches * 258 {
        let (code, length) = literal(0);
        push(&mut out, code, length);
    }
    push(&mut out, 0, 7);
    push(&mut out, 0, 8);
    let (mut a, mut b) = (1_u64, 0_u64);
    for byte in header.bytes() {
        a = (a + u64::from(byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    b = (b + a * (size as u64 % 65_521)) % 65_521;
    out.extend_from_slice(&u32::try_from(b << 16 | a).unwrap().to_be_bytes());
    out
}

#[tokio::test]
async fn a_blob_bomb_is_measured_and_not_opened() {
    const GIGABYTE: usize = 1 << 30;
    let name = "00000000000000000000000000000000000000b0";
    let (dir, base, head) = repository(|odb| {
        let other = hash(odb, ObjectType::Blob, b"fine\n");
        tree(odb, &[("100644", b"bomb.rs", Oid::from_str(name).unwrap()), ("100644", b"fine.rs", other)])
    });
    let folder = dir.path().join(".git/objects/00");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(&name[2..]), zeros(GIGABYTE)).unwrap();
    assert_eq!(git(dir.path(), &["cat-file", "-s", name]), GIGABYTE.to_string());
    let change = between(&dir, &base, &head).await;
    let started = Instant::now();
    let diff = change.diff().await.unwrap();
    let side = change.new_side("bomb.rs").await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert_eq!(reason(side), "larger than 1 MiB");
    assert_eq!(not_read(&diff, "bomb.rs"), "larger than 1 MiB");
    assert_eq!(lines(file(&diff, "fine.rs")), ["+fine"]);
}

#[tokio::test]
async fn a_hand_made_bomb_is_what_git_makes_of_zeros() {
    // Keeps the test above honest: the same bytes, small, under their right name.
    let dir = TempDir::new().unwrap();
    git(dir.path(), &["init", "-q"]);
    fs::write(dir.path().join("zeros"), vec![0; 100_000]).unwrap();
    let oid = git(dir.path(), &["hash-object", "zeros"]);
    let folder = dir.path().join(".git/objects").join(&oid[..2]);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(&oid[2..]), zeros(100_000)).unwrap();
    git(dir.path(), &["fsck", "--full"]);
    assert_eq!(git(dir.path(), &["cat-file", "-s", &oid]), "100000");
}

#[tokio::test]
async fn bombs_come_over_the_wire_as_small_as_they_are() {
    let bench = Bench::new().await;
    bench.commit(&[("a.txt", "a\n")]);
    bench.push("main");
    {
        let repository = Repository::open(bench.work()).unwrap();
        let odb = repository.odb().unwrap();
        let parent = repository.head().unwrap().target();
        let zeros = hash(&odb, ObjectType::Blob, &vec![0; 8 << 20]);
        let entries: [(&str, &[u8], Oid); 2] = [("40000", b"bomb", tree_bomb(&odb)), ("100644", b"zeros.bin", zeros)];
        let head = commit_of(&odb, tree(&odb, &entries), parent);
        bench.git(&["reset", "-q", "--soft", head.as_str()]);
    }
    let head = bench.push("refs/pull/1/head");
    let started = Instant::now();
    let change = bench.pull(&head).await.unwrap();
    assert_eq!(reason(change.new_side("zeros.bin").await.unwrap()), "larger than 1 MiB");
    assert!(change.new_paths().await.is_err());
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[tokio::test]
async fn names_that_lead_elsewhere_are_named_and_not_followed() {
    let (dir, base, head) = repository(|odb| {
        let blob = hash(odb, ObjectType::Blob, b"x\n");
        let inner = tree(odb, &[("100644", b"config", blob)]);
        let entries: [(&str, &[u8], Oid); 10] = [
            ("100644", b"-rf", blob),
            ("40000", b"..", inner),
            ("100644", b".", blob),
            ("40000", b".GIT", inner),
            ("40000", b".git", inner),
            ("100644", b"a\nb.rs", blob),
            ("100644", b"back\\slash.rs", blob),
            ("100644", b"caf\xe9.rs", blob),
            ("100644", b"dir/escape.rs", blob),
            ("100644", b"plain.rs", blob),
        ];
        tree(odb, &entries)
    });
    let change = between(&dir, &base, &head).await;
    let diff = change.diff().await.unwrap();
    assert_eq!(paths(&diff), ["-rf", "back\\slash.rs", "plain.rs"]);
    assert_eq!(not_read(&diff, ".git"), "its name is git's own");
    assert_eq!(not_read(&diff, ".GIT"), "its name is git's own");
    assert_eq!(not_read(&diff, ".."), "its name would leave its folder");
    assert_eq!(not_read(&diff, "."), "its name would leave its folder");
    assert_eq!(not_read(&diff, "dir/escape.rs"), "its name would leave its folder");
    assert_eq!(not_read(&diff, "a\\nb.rs"), "its name holds control characters");
    assert_eq!(not_read(&diff, "caf\u{fffd}.rs"), "its name is not UTF-8");
    for path in
        ["../plain.rs", ".git/config", ".GIT/config", "./plain.rs", "/plain.rs", "plain.rs/", "a\nb.rs", "", "/", ".."]
    {
        assert_eq!(change.new_side(path).await.unwrap(), Side::Absent, "{path:?}");
    }
    let mut paths: Vec<_> = change.new_paths().await.unwrap().iter().cloned().collect();
    paths.sort();
    assert_eq!(paths, ["-rf", "back\\slash.rs", "plain.rs"]);
}

#[tokio::test]
async fn what_is_not_text_says_why() {
    let dir = TempDir::new().unwrap();
    git(dir.path(), &["init", "-q", "-b", "main"]);
    write(dir.path(), "run.sh", b"echo\n");
    let base = commit(dir.path(), &[("crlf.txt", "one\r\ntwo\r\n"), ("image.png", "old"), ("last.txt", "no newline")]);
    symlink("/etc/passwd", dir.path().join("link")).unwrap();
    symlink("/etc", dir.path().join("dirlink")).unwrap();
    fs::set_permissions(dir.path().join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    write(dir.path(), "image.png", b"\x89PNG\0\0");
    write(dir.path(), "latin.txt", b"caf\xe9\n");
    write(dir.path(), "crlf.txt", b"one\r\n2\r\n");
    write(dir.path(), "last.txt", b"still none");
    write(dir.path(), "model.bin", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
    write(dir.path(), "long.txt", &[b"x".repeat(500_000), b"\n".to_vec()].concat());
    write(dir.path(), "huge.txt", &b"line\n".repeat(300_000));
    write(dir.path(), "many.txt", &b"a\n".repeat(30_000));
    git(dir.path(), &["add", "-A"]);
    git(dir.path(), &["update-index", "--add", "--cacheinfo", &format!("160000,{base},vendored")]);
    git(dir.path(), &["commit", "-q", "-m", "odd"]);
    let head = Sha::parse(&git(dir.path(), &["rev-parse", "HEAD"])).unwrap();
    let change = between(&dir, &base, &head).await;
    for (path, why) in [
        ("link", "symbolic link"),
        ("dirlink", "symbolic link"),
        ("vendored", "submodule"),
        ("image.png", "binary"),
        ("latin.txt", "not UTF-8"),
        ("model.bin", "Git LFS pointer"),
        ("huge.txt", "larger than 1 MiB"),
    ] {
        assert_eq!(reason(change.new_side(path).await.unwrap()), why, "{path}");
    }
    assert_eq!(change.new_side("dirlink/passwd").await.unwrap(), Side::Absent);
    assert_eq!(change.new_side("crlf.txt").await.unwrap(), text("one\r\n2\r\n"));
    let diff = change.diff().await.unwrap();
    assert_eq!(file(&diff, "run.sh").kind, ChangeKind::Mode);
    assert_eq!(file(&diff, "vendored").kind, ChangeKind::Submodule);
    assert!(file(&diff, "image.png").binary && file(&diff, "image.png").hunks.is_empty());
    assert_eq!(lines(file(&diff, "crlf.txt")), ["-two", "+2"]);
    assert_eq!(lines(file(&diff, "latin.txt")), ["+caf\u{fffd}"]);
    assert_eq!(lines(file(&diff, "last.txt")), ["-no newline", "+still none"]);
    assert_eq!(lines(file(&diff, "long.txt"))[0].len(), 500_001);
    assert_eq!(not_read(&diff, "huge.txt"), "larger than 1 MiB");
    assert_eq!(not_read(&diff, "many.txt"), "more than 20000 changed lines");
    assert_eq!(diff.not_read.len(), 2);
    assert_eq!(diff.total_files, diff.files.len());
}

#[tokio::test]
async fn a_file_that_becomes_a_link_is_not_compared() {
    let dir = TempDir::new().unwrap();
    git(dir.path(), &["init", "-q", "-b", "main"]);
    let base = commit(dir.path(), &[("a", "text\n"), ("folder/b", "b\n")]);
    fs::remove_file(dir.path().join("a")).unwrap();
    symlink("folder/b", dir.path().join("a")).unwrap();
    fs::remove_dir_all(dir.path().join("folder")).unwrap();
    write(dir.path(), "folder", b"now a file\n");
    let head = commit(dir.path(), &[]);
    let diff = between(&dir, &base, &head).await.diff().await.unwrap();
    assert_eq!(paths(&diff), ["a", "folder", "folder/b"]);
    assert_eq!(not_read(&diff, "a"), "it changed between file and symbolic link");
    assert_eq!(file(&diff, "folder/b").kind, ChangeKind::Removed);
    assert_eq!(file(&diff, "folder").kind, ChangeKind::Added);
}

#[tokio::test]
async fn a_change_larger_than_the_budget_says_where_it_stopped() {
    let dir = TempDir::new().unwrap();
    git(dir.path(), &["init", "-q", "-b", "main"]);
    let base = commit(dir.path(), &[]);
    let head = commit(dir.path(), &[("a", &"a\n".repeat(100)), ("b", &"b\n".repeat(100)), ("c", &"c\n".repeat(100))]);
    let limits = Limits { diff_bytes: 250, ..Limits::default() };
    let change = local::change_limited(dir.path(), Some(base.as_str()), Some(head.as_str()), limits).await.unwrap();
    let diff = change.diff().await.unwrap();
    assert_eq!(lines(file(&diff, "a")).len(), 100);
    assert_eq!(not_read(&diff, "b"), "the change is larger than 250 bytes");
    assert_eq!(not_read(&diff, "c"), "the change is larger than 250 bytes");
}

#[tokio::test]
async fn a_change_of_more_lines_than_may_be_held_says_where_it_stopped() {
    let dir = TempDir::new().unwrap();
    git(dir.path(), &["init", "-q", "-b", "main"]);
    let base = commit(dir.path(), &[]);
    let head = commit(dir.path(), &[("a", &"\n".repeat(100)), ("b", &"\n".repeat(100)), ("c", &"\n".repeat(50))]);
    let limits = Limits { diff_lines: 150, ..Limits::default() };
    let change = local::change_limited(dir.path(), Some(base.as_str()), Some(head.as_str()), limits).await.unwrap();
    let diff = change.diff().await.unwrap();
    assert_eq!((lines(file(&diff, "a")).len(), lines(file(&diff, "c")).len()), (100, 50));
    assert_eq!(not_read(&diff, "b"), "the change has more than 150 changed lines");
}

#[tokio::test]
async fn attributes_of_the_head_mark_what_is_generated() {
    let dir = TempDir::new().unwrap();
    git(dir.path(), &["init", "-q", "-b", "main"]);
    let base = commit(dir.path(), &[("sub/x.gen", "old\n"), ("a.svg", "old\n")]);
    let head = commit(
        dir.path(),
        &[
            (".gitattributes", "*.gen linguist-generated\n*.svg -diff\n"),
            ("sub/.gitattributes", "y.gen -linguist-generated\n"),
            ("sub/x.gen", "new\n"),
            ("a.svg", "new\n"),
        ],
    );
    let change = between(&dir, &base, &head).await;
    for (path, generated) in [("sub/x.gen", true), ("sub/y.gen", false), ("a.svg", true), ("a.rs", false)] {
        assert_eq!(change.is_generated(path).await.unwrap(), generated, "{path}");
    }
    let diff = change.diff().await.unwrap();
    assert!(file(&diff, "a.svg").binary);
    assert_eq!(lines(file(&diff, "sub/x.gen")), ["-old", "+new"]);
}
