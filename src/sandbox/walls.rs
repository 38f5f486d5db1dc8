//! The first wall: what bubblewrap is told. Nothing of the host is there but what is named here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Where the work tree is seen.
pub const WORK: &str = "/work";
/// Where what was installed is seen, if a command has any.
pub(super) const DEPS: &str = "/deps";
/// Where this program is seen, which makes the last wall and becomes the command.
pub(super) const HELPER: &str = "/.octoswarm";
pub(super) const HOME: &str = "/home/sandbox";
/// Who the command believes to be.
const USER: &str = "1000";
/// Shared memory, which lies in memory and is counted nowhere.
const SHARED: u64 = 64 << 20;
/// What programs need of `/etc`: libraries, certificates, names of services, defaults of toolchains. Nothing that a machine's
/// owner writes secrets into.
const ETC: &[&str] = &[
    "alternatives",
    "ca-certificates",
    "crypto-policies",
    "java",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "maven",
    "mime.types",
    "pki/ca-trust",
    "pki/tls/certs",
    "protocols",
    "services",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
];
/// Their names carry versions.
const ETC_BEGINNINGS: &[&str] = &["java-", "python3"];

/// A host folder or file that the sandbox shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Bind {
    pub(super) from: PathBuf,
    pub(super) to: String,
    pub(super) writable: bool,
}

impl Bind {
    pub(super) fn read_only(from: impl Into<PathBuf>, to: impl Into<String>) -> Self {
        Self { from: from.into(), to: to.into(), writable: false }
    }

    pub(super) fn writable(from: impl Into<PathBuf>, to: impl Into<String>) -> Self {
        Self { from: from.into(), to: to.into(), writable: true }
    }
}

/// All that bubblewrap is told but for the descriptors.
pub(super) struct Walls<'a> {
    pub(super) binds: &'a [Bind],
    /// The folder that the command starts in.
    pub(super) dir: &'a str,
    pub(super) env: &'a [(String, String)],
    /// Bytes of `/tmp` and, once more, of the home folder.
    pub(super) tmp: u64,
    /// bubblewrap knows `--disable-userns`.
    pub(super) forbids_user_namespaces: bool,
}

impl Walls<'_> {
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut args = Arguments(Vec::new());
        args.plain(&["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]);
        args.plain(&["--unshare-cgroup-try", "--uid", USER, "--gid", USER, "--hostname", "sandbox"]);
        args.plain(&["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]);
        if self.forbids_user_namespaces {
            args.plain(&["--disable-userns"]);
        }
        args.plain(&["--ro-bind", "/usr", "/usr"]);
        for name in ["bin", "sbin", "lib", "lib32", "lib64", "libx32"] {
            args.root_folder(&Path::new("/").join(name));
        }
        for name in etc() {
            args.bind("--ro-bind-try", &name, &name.to_string_lossy());
        }
        args.plain(&["--proc", "/proc", "--dev", "/dev"]);
        let sized = |args: &mut Arguments, bytes: u64, at: &str| {
            args.plain(&["--perms", "0700", "--size", &bytes.to_string(), "--tmpfs", at]);
        };
        sized(&mut args, self.tmp, "/tmp");
        sized(&mut args, self.tmp, HOME);
        sized(&mut args, SHARED, "/dev/shm");
        for bind in self.binds {
            args.bind(if bind.writable { "--bind" } else { "--ro-bind" }, &bind.from, &bind.to);
        }
        // The root and /dev are file systems in memory, made by bubblewrap and writable to the command if left so.
        args.plain(&["--remount-ro", "/dev", "--remount-ro", "/"]);
        for (name, value) in self.env {
            args.plain(&["--setenv", name, value]);
        }
        args.plain(&["--chdir", self.dir]);
        args.0
    }
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn plain(&mut self, args: &[&str]) {
        self.0.extend(args.iter().map(OsString::from));
    }

    fn bind(&mut self, how: &str, from: &Path, to: &str) {
        self.0.extend([OsString::from(how), from.into(), to.into()]);
    }

    /// A folder of the root that today's systems have as a link into `/usr`.
    fn root_folder(&mut self, path: &Path) {
        match std::fs::read_link(path) {
            Ok(target) => self.0.extend(["--symlink".into(), target.into(), path.into()]),
            Err(_) => self.bind("--ro-bind-try", path, &path.to_string_lossy()),
        }
    }
}

fn etc() -> Vec<PathBuf> {
    let etc = Path::new("/etc");
    let mut paths: Vec<PathBuf> = ETC.iter().map(|name| etc.join(name)).collect();
    let entries = std::fs::read_dir(etc).into_iter().flatten().flatten();
    let mut versions: Vec<PathBuf> = entries
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            ETC_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        })
        .map(|entry| entry.path())
        .collect();
    // Which extensions PHP loads; php.ini itself may hold passwords.
    let php = std::fs::read_dir(etc.join("php")).into_iter().flatten().flatten();
    versions.extend(php.flat_map(|entry| ["cli/conf.d", "mods-available"].map(|part| entry.path().join(part))));
    versions.sort();
    paths.append(&mut versions);
    paths
}
