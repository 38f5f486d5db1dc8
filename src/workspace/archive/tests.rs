use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use tar::{Builder, EntryType, Header};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

type Files = BTreeMap<String, Vec<u8>>;

struct Ground {
    dir: tempfile::TempDir,
    limits: UnpackLimits,
}

impl Ground {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), limits: UnpackLimits { keep_free: 0, ..UnpackLimits::default() } }
    }

    fn out(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    fn unpack(&self, archive: &[u8]) -> Result<Unpacked, Refusal> {
        let path = self.dir.path().join("archive");
        file::write_atomic(&path, archive).unwrap();
        unpack(&path, &self.out(), &self.limits, &CancellationToken::new())
    }

    /// What came out, and nothing else: plain files, each everybody's to read.
    fn files(&self) -> Files {
        let mut files = Files::new();
        let mut open = vec![self.out()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let kind = path.symlink_metadata().unwrap();
                if kind.is_dir() {
                    open.push(path);
                } else {
                    assert!(kind.is_file(), "{}", path.display());
                    let mode = std::os::unix::fs::PermissionsExt::mode(&kind.permissions());
                    assert_eq!(mode & 0o7133, 0, "nothing that runs or that others write: {mode:o}");
                    let name = path.strip_prefix(self.out()).unwrap().to_str().unwrap().to_owned();
                    files.insert(name, fs::read(path).unwrap());
                }
            }
        }
        files
    }
}

/// The archive is refused with these words, and leaves nothing.
#[track_caller]
fn refused(archive: &[u8], want: &str) -> Refusal {
    let ground = Ground::new();
    let refusal = ground.unpack(archive).unwrap_err();
    let said = refusal.to_string();
    assert!(said.contains(want), "{want}: {said}");
    assert!(!said.contains('\n') && !said.contains('\0'), "{said:?}");
    assert!(!ground.out().exists(), "something is left");
    assert_eq!(fs::read_dir(ground.dir.path()).unwrap().count(), 1, "something lies beside it");
    refusal
}

fn header(name: &[u8], kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o4777);
    header.set_mtime(1);
    header.set_cksum();
    header
}

/// A tar of entries as they are given, ended as it should be.
fn tar_of(entries: &[(&[u8], EntryType, &[u8])]) -> Vec<u8> {
    let mut bytes = raw_tar(entries);
    bytes.extend([0; 1024]);
    bytes
}

fn raw_tar(entries: &[(&[u8], EntryType, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, kind, content) in entries {
        bytes.extend(header(name, *kind, content.len() as u64).as_bytes());
        bytes.extend(*content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes
}

fn files_tar(files: &[(&str, &str)]) -> Vec<u8> {
    let entries: Vec<_> =
        files.iter().map(|(name, text)| (name.as_bytes(), EntryType::Regular, text.as_bytes())).collect();
    tar_of(&entries)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(io::Cursor::new(Vec::new()));
    for (name, content) in files {
        let options = SimpleFileOptions::default().unix_permissions(0o4777);
        match name.strip_suffix('/') {
            Some(folder) => writer.add_directory(folder, options).unwrap(),
            None => {
                writer.start_file(*name, options).unwrap();
                writer.write_all(content).unwrap();
            }
        }
    }
    writer.finish().unwrap().into_inner()
}

/// Every place where those bytes stand gets others of the same length.
fn replaced(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> = (0..bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}

/// Sets bytes in every header of the directory.
fn with_directory(mut bytes: Vec<u8>, at: usize, to: &[u8]) -> Vec<u8> {
    let places: Vec<usize> = (0..bytes.len() - 4).filter(|at| bytes[*at..].starts_with(b"PK\x01\x02")).collect();
    for place in places {
        bytes[place + at..place + at + to.len()].copy_from_slice(to);
    }
    bytes
}

#[test]
fn the_three_kinds_give_the_same_files_whatever_they_are_called() {
    let files = [("calc-1/src/lib.rs", "fn a() {}\n"), ("calc-1/README.md", "# calc\n"), ("calc-1/empty", "")];
    let tar = files_tar(&files);
    let packed: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    let want: Files = files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect();
    for archive in [gzip(&tar), tar, zip_of(&packed)] {
        let ground = Ground::new();
        let unpacked = ground.unpack(&archive).unwrap();
        assert_eq!(unpacked, Unpacked { files: 3, bytes: 17, of_git: 0, left_out: 0 });
        assert_eq!(ground.files(), want);
    }
}

#[test]
fn what_usual_programs_pack_is_taken() {
    // As `tar c .` writes it, with long names and with what git writes first.
    let mut builder = Builder::new(Vec::new());
    builder.append(&header(b"./", EntryType::Directory, 0), io::empty()).unwrap();
    builder.append(&header(b"./src/", EntryType::Directory, 0), io::empty()).unwrap();
    let long = format!("./src/{}/{}", "d".repeat(120), "f".repeat(120));
    builder.append_data(&mut header(b"", EntryType::Regular, 3), &long, &b"abc"[..]).unwrap();
    let mut bytes = raw_tar(&[(b"pax_global_header", EntryType::XGlobalHeader, b"15 comment=abc\n")]);
    bytes.extend(builder.into_inner().unwrap());
    let ground = Ground::new();
    ground.unpack(&gzip(&bytes)).unwrap();
    assert_eq!(ground.files().into_keys().collect::<Vec<_>>(), [long.strip_prefix("./").unwrap()]);
    // A name in an extended header, as bsdtar and Python write it; and folders that only files tell of.
    let bytes = tar_of(&[
        (b"short", EntryType::XHeader, "17 path=ä/b.txt\n".as_bytes()),
        (b"short", EntryType::Regular, b"text"),
        (b"a/b/c", EntryType::Regular, b"text"),
        (b"a/b", EntryType::Directory, b""),
    ]);
    let ground = Ground::new();
    ground.unpack(&bytes).unwrap();
    assert_eq!(ground.files().into_keys().collect::<Vec<_>>(), ["a/b/c", "ä/b.txt"]);
    let ground = Ground::new();
    ground.unpack(&zip_of(&[("a/", b""), ("a/b/c", b"text"), ("a/b/", b"")])).unwrap();
    assert_eq!(ground.files().into_keys().collect::<Vec<_>>(), ["a/b/c"]);
}

#[test]
fn s0_16_names_that_lead_elsewhere_refuse_the_whole_archive() {
    for (name, want) in [
        ("/etc/passwd", "it is absolute"),
        ("../up", "it leads elsewhere"),
        ("a/../../up", "it leads elsewhere"),
        ("a/./b", "it leads elsewhere"),
        ("a//b", "has no name"),
        ("a\\..\\b", "backslash"),
        ("C:/windows", "letter of a drive"),
        ("c:x", "letter of a drive"),
        ("a\nb", "control characters"),
        ("a\u{202e}b", "cannot be seen"),
        (".git/../../up", "it leads elsewhere"),
    ] {
        let good: (&[u8], _, &[u8]) = (b"good", EntryType::Regular, b"good");
        let tar = tar_of(&[good, (name.as_bytes(), EntryType::Regular, b"bad")]);
        for archive in [gzip(&tar), tar, zip_of(&[("good", b"good"), (name, b"bad")])] {
            refused(&archive, want);
        }
    }
    let long = "n".repeat(256);
    refused(&zip_of(&[(&long, b"x")]), "it is too long");
    let deep = "d/".repeat(128) + "f";
    refused(&zip_of(&[(&deep, b"x")]), "it lies too deep");
    refused(&tar_of(&[(b"a\xff", EntryType::Regular, b"x")]), "not UTF-8");
    refused(&replaced(zip_of(&[("abcd", b"x")]), b"abcd", b"ab\xffd"), "");
    refused(&replaced(zip_of(&[("abcd", b"x")]), b"abcd", b"ab\0d"), "");
    // What a header that is hidden before it says.
    let hidden = [(&b"x"[..], EntryType::XHeader, &b"16 path=../../x\n"[..]), (b"good", EntryType::Regular, b"x")];
    refused(&tar_of(&hidden), "it leads elsewhere");
    let hidden = [(&b"x"[..], EntryType::GNULongName, &b"/etc/passwd\0"[..]), (b"good", EntryType::Regular, b"x")];
    refused(&tar_of(&hidden), "it is absolute");
}

#[test]
fn only_files_and_folders_are_taken() {
    for (kind, want) in [
        (EntryType::Symlink, "symbolic link"),
        (EntryType::Link, "hard link"),
        (EntryType::Char, "device"),
        (EntryType::Block, "device"),
        (EntryType::Fifo, "pipe"),
        (EntryType::GNUSparse, "sparse"),
        (EntryType::Continuous, "neither a file nor a folder"),
        (EntryType::new(b'Q'), "neither a file nor a folder"),
    ] {
        refused(&tar_of(&[(b"good", EntryType::Regular, b"x"), (b"bad", kind, b"")]), want);
    }
    let sparse = [(&b"x"[..], EntryType::XHeader, &b"22 GNU.sparse.major=1\n"[..]), (b"f", EntryType::Regular, b"x")];
    refused(&tar_of(&sparse), "sparse");
    let mut writer = ZipWriter::new(io::Cursor::new(Vec::new()));
    writer.add_symlink("link", "/etc/passwd", SimpleFileOptions::default()).unwrap();
    refused(&writer.finish().unwrap().into_inner(), "symbolic link");
    for mode in [0o010_644_u32, 0o020_644, 0o060_644, 0o140_644, 0o040_755] {
        let archive = with_directory(zip_of(&[("pipe", b"x")]), 38, &(mode << 16).to_le_bytes());
        refused(&archive, "neither a file nor a folder");
    }
    let encrypted = with_directory(zip_of(&[("secret", b"x")]), 8, &[1, 0]);
    refused(&encrypted, "");
    let method = with_directory(zip_of(&[("packed", b"x")]), 10, &[12, 0]);
    refused(&method, "");
}

#[test]
fn no_two_entries_are_one() {
    for (one, other, want) in [
        ("a", "a", "two files of this name"),
        ("a/b", "A/b", "only by case"),
        ("a", "A", "only by case"),
        ("Ä", "ä", "only by case"),
        ("a", "a/b", "a file and a folder"),
        ("a/b", "a", "a file and a folder"),
        ("./a", "a", "two files of this name"),
    ] {
        refused(&files_tar(&[(one, "1"), (other, "2")]), want);
    }
    refused(&zip_of(&[("a", b"1"), ("A", b"2")]), "only by case");
    let same = replaced(zip_of(&[("aaa1", b"1"), ("aaa2", b"2")]), b"aaa2", b"aaa1");
    refused(&same, "duplicate");
    // The directory says one name, what stands before the content another.
    let archive = zip_of(&[("good", b"x")]);
    let at = archive.windows(4).rposition(|four| four == b"good").unwrap();
    let mut two_faced = archive;
    two_faced[at..at + 4].copy_from_slice(b"evil");
    refused(&two_faced, "");
    let two_names = [
        (&b"x"[..], EntryType::XHeader, &b"9 path=a\n"[..]),
        (b"x", EntryType::GNULongName, b"b\0"),
        (b"c", EntryType::Regular, b"x"),
    ];
    refused(&tar_of(&two_names), "two names");
}

#[test]
fn gits_own_folder_is_left_out_and_told() {
    let files = [(".git/config", "x"), ("a/.GIT/hooks/post-checkout", "x"), ("b/.git", "gitdir: /"), ("a/b", "text")];
    let ground = Ground::new();
    assert_eq!(ground.unpack(&files_tar(&files)).unwrap(), Unpacked { files: 1, bytes: 4, of_git: 3, left_out: 0 });
    assert_eq!(ground.files().into_keys().collect::<Vec<_>>(), ["a/b"]);
    refused(&files_tar(&files[..3]), "git's own folder");
}

#[test]
fn what_is_cut_off_damaged_empty_or_of_another_kind_is_refused() {
    let tar = files_tar(&[("a", &"text ".repeat(500)), ("b", "more")]);
    let zip = zip_of(&[("a", "text ".repeat(500).as_bytes()), ("b", b"more")]);
    for whole in [&tar, &gzip(&tar), &zip] {
        for keep in [1, 100, whole.len() / 3, whole.len() / 2, whole.len() - 1100.min(whole.len() / 2)] {
            refused(&whole[..keep], "");
        }
        let mut more = whole.clone();
        more.extend(b"more behind its end");
        refused(&more, "");
    }
    refused(&raw_tar(&[(b"a", EntryType::Regular, b"cut between two entries")]), "ends in the middle");
    let mut damaged = zip.clone();
    damaged[40] ^= 0xff;
    refused(&damaged, "");
    let mut damaged = gzip(&tar);
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    refused(&damaged, "");
    let mut wrong = tar.clone();
    wrong[3] = b'!';
    refused(&wrong, "neither zip nor tar");
    for (bytes, want) in [
        (&b""[..], "it is empty"),
        (b"hello", "neither zip nor tar"),
        (b"BZh91AY", "not read here"),
        (&[0; 1024], "neither zip nor tar"),
    ] {
        refused(bytes, want);
    }
    refused(&zip_of(&[]), "no file in it");
    refused(&zip_of(&[("a/", b"")]), "no file in it");
    refused(&tar_of(&[(b"a", EntryType::Directory, b"")]), "no file in it");
    refused(&gzip(b"no tar"), "");
    let mut before = b"MZ, and a program".to_vec();
    before.extend(&zip);
    refused(&before, "neither zip nor tar");
}

#[test]
fn bombs_do_not_go_off() {
    let zeros = vec![0; 8 << 20];
    refused(&zip_of(&[("zeros", &zeros)]), "more than 200 bytes come out");
    let tar = tar_of(&[(b"zeros", EntryType::Regular, &zeros)]);
    refused(&gzip(&tar), "more than 200 bytes come out");
    // Little by little.
    let many: Vec<(String, Vec<u8>)> = (0..40).map(|n| (format!("zeros-{n}"), vec![0; 1 << 20])).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|(name, zeros)| (name.as_str(), zeros.as_slice())).collect();
    refused(&zip_of(&many), "more than 200 bytes come out");
    // Two entries of one content.
    let mut twice = zip_of(&[("a", b"content"), ("b", b"content")]);
    let directory: Vec<usize> = (0..twice.len() - 4).filter(|at| twice[*at..].starts_with(b"PK\x01\x02")).collect();
    twice[directory[1] + 42..directory[1] + 46].copy_from_slice(&0_u32.to_le_bytes());
    refused(&twice, "");
    // A directory that says how much memory to take for it.
    let mut many = zip_of(&[("a", b"x")]);
    let end = many.len() - 22;
    many[end + 8..end + 12].copy_from_slice(&[0xfe; 4]);
    refused(&many, "");
    // A header of headers.
    let long = vec![b'a'; 100 << 10];
    refused(&tar_of(&[(b"x", EntryType::GNULongName, &long), (b"y", EntryType::Regular, b"")]), "too long");
    // What a tar says of a file's size is not believed.
    let mut huge = header(b"huge", EntryType::Regular, 1 << 40).as_bytes().to_vec();
    huge.extend([0; 2048]);
    assert!(matches!(refused(&huge, "limit of 2 GiB"), Refusal::TooLarge(_)));
}

#[test]
fn a413_is_told_from_a_400_and_limits_are_kept() {
    let mut ground = Ground::new();
    ground.limits.bytes = 10;
    let archive = files_tar(&[("a", "12345678"), ("b", "123")]);
    assert!(matches!(ground.unpack(&archive), Err(Refusal::TooLarge(10))));
    assert!(!ground.out().exists());
    ground.limits.bytes = 11;
    ground.unpack(&archive).unwrap();
    let mut ground = Ground::new();
    ground.limits.entries = 3;
    for archive in [files_tar(&[("a/b/c", "")]), zip_of(&[("a/b/c", b"")])] {
        ground.unpack(&archive).unwrap();
        fs::remove_dir_all(ground.out()).unwrap();
    }
    for archive in [files_tar(&[("a/b/c", ""), ("d", "")]), zip_of(&[("a", b""), ("b", b""), ("c", b""), ("d", b"")])] {
        assert!(ground.unpack(&archive).unwrap_err().to_string().contains("more than 3 files and folders"));
    }
    let mut ground = Ground::new();
    ground.limits.keep_free = u64::MAX / 2;
    assert!(matches!(ground.unpack(&files_tar(&[("a", "1")])), Err(Refusal::NoRoom)));
    let ground = Ground::new();
    let (path, cancel) = (ground.dir.path().join("archive"), CancellationToken::new());
    file::write_atomic(&path, &files_tar(&[("a", "1")])).unwrap();
    cancel.cancel();
    assert!(matches!(unpack(&path, &ground.out(), &ground.limits, &cancel), Err(Refusal::Cancelled)));
    assert!(!ground.out().exists());
    fs::create_dir(ground.out()).unwrap();
    file::create_new(&ground.out().join("mine"), b"mine").unwrap();
    assert!(unpack(&path, &ground.out(), &ground.limits, &CancellationToken::new()).is_err());
    assert_eq!(ground.files().len(), 1, "what was there before is left alone");
}

#[test]
fn a_folder_is_copied_without_links_and_without_git() {
    let ground = Ground::new();
    let from = ground.dir.path().join("from");
    for (name, text) in [("a/b", "text"), ("c", "more"), (".git/config", "x")] {
        file::write_atomic(&from.join(name), text.as_bytes()).unwrap();
    }
    std::os::unix::fs::symlink("/etc/passwd", from.join("link")).unwrap();
    std::os::unix::fs::symlink("/etc", from.join("a/folder")).unwrap();
    let copied = copy(&from, &ground.out(), &ground.limits, &CancellationToken::new()).unwrap();
    assert_eq!(copied, Unpacked { files: 2, bytes: 8, of_git: 0, left_out: 2 });
    assert_eq!(ground.files().into_keys().collect::<Vec<_>>(), ["a/b", "c"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_a_name_is_nothing_is_made_outside(name in proptest::collection::vec(any::<u8>(), 1..90)) {
        let ground = Ground::new();
        let archive = tar_of(&[(&name, EntryType::Regular, b"text")]);
        if ground.unpack(&archive).is_ok() {
            prop_assert!(ground.files().len() == 1);
        }
        let beside = fs::read_dir(ground.dir.path()).unwrap().count();
        prop_assert!(beside == 1 + usize::from(ground.out().exists()));
    }

    #[test]
    fn names_of_dots_and_slashes_stay_inside(name in "[./a\\\\:C-]{1,12}") {
        let ground = Ground::new();
        for archive in [tar_of(&[(name.as_bytes(), EntryType::Regular, b"text")]), zip_of(&[(&name, b"text")])] {
            if ground.unpack(&archive).is_ok() {
                ground.files();
                fs::remove_dir_all(ground.out()).unwrap();
            }
            prop_assert!(fs::read_dir(ground.dir.path()).unwrap().count() == 1);
        }
    }

    #[test]
    fn whatever_bytes_they_are_it_ends_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000), kind in 0..3_usize) {
        let begins: &[u8] = [&b"PK\x03\x04"[..], &[0x1f, 0x8b, 8, 0], b""][kind];
        let ground = Ground::new();
        let _any = ground.unpack(&[begins, &bytes].concat());
    }

    #[test]
    fn one_changed_byte_gives_the_same_or_nothing(at in 0..10_000_usize, to in any::<u8>()) {
        let zip = zip_of(&[("a/b", b"some text"), ("c", b"more")]);
        let mut changed = zip.clone();
        let at = at % changed.len();
        changed[at] = to;
        let ground = Ground::new();
        if ground.unpack(&changed).is_ok() {
            let texts: Vec<_> = ground.files().into_values().collect();
            prop_assert!(texts == [b"some text".to_vec(), b"more".to_vec()], "{texts:?}");
        }
    }
}
