//! The second wall: system calls that no build or test needs and that have opened kernels before.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::SeccompCmpOp::{Eq, Gt, MaskedEq, Ne};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// System V shared memory that nobody maps is counted nowhere: segments stay small, as databases in tests ask for.
const MAX_SEGMENT: u64 = 64 * 1024;
/// Numbers from here on are the x32 calls of x86-64, which a list of numbers would miss.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The programs as the kernel takes them; of several the strictest answer counts.
///
/// # Errors
/// There is none for this kind of processor.
pub(super) fn programs() -> Result<Vec<Vec<u8>>, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let compiled = |errno: i32, rules: Rules| -> Result<Vec<u8>, BackendError> {
        let answer = SeccompAction::Errno(errno.unsigned_abs());
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, arch)?;
        Ok(bytes(&BpfProgram::try_from(filter)?))
    };
    Ok(vec![
        compiled(libc::EPERM, refused()?)?,
        compiled(libc::ENOSYS, absent()?)?,
        compiled(libc::EAFNOSUPPORT, sockets()?)?,
        #[cfg(target_arch = "x86_64")]
        without_x32(),
    ])
}

/// For a process that computes, and reads and writes what is open already: anything else is refused.
///
/// # Errors
/// There is none for this kind of processor.
pub(super) fn for_parsers() -> Result<BpfProgram, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let mut rules = always(&[
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_readv,
        libc::SYS_writev,
        libc::SYS_close,
        libc::SYS_brk,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_futex,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_getrandom,
        libc::SYS_clock_gettime,
        libc::SYS_sched_yield,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_restart_syscall,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ]);
    // Memory that is never code.
    let no_code = MaskedEq(u64::from(libc::PROT_EXEC.unsigned_abs()));
    let memory = || Ok::<_, BackendError>(vec![SeccompRule::new(vec![when(2, no_code.clone(), 0)?])?]);
    rules.insert(libc::SYS_mmap, memory()?);
    rules.insert(libc::SYS_mprotect, memory()?);
    // To abort itself; no other's process.
    let own = u64::from(std::process::id());
    rules.insert(libc::SYS_tgkill, vec![SeccompRule::new(vec![when(0, Eq, own)?])?]);
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    BpfProgram::try_from(SeccompFilter::new(rules, refused, SeccompAction::Allow, arch)?)
}

fn always(calls: &[i64]) -> Rules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

fn when(argument: u8, is: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, is, value)
}

/// Refused as somebody without the right would be.
fn refused() -> Result<Rules, BackendError> {
    let mut rules = always(&[
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_kcmp,
        libc::SYS_pidfd_getfd,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_open_tree,
        libc::SYS_move_mount,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_mount_setattr,
        libc::SYS_name_to_handle_at,
        libc::SYS_open_by_handle_at,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_fanotify_init,
        libc::SYS_quotactl,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_reboot,
        libc::SYS_acct,
        libc::SYS_syslog,
        libc::SYS_kexec_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_clock_adjtime,
        libc::SYS_adjtimex,
        libc::SYS_move_pages,
        libc::SYS_migrate_pages,
        libc::SYS_lookup_dcookie,
    ]);
    let spaces = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    let mut clones = Vec::new();
    for space in spaces {
        let space = u64::from(space.unsigned_abs());
        clones.push(SeccompRule::new(vec![when(0, MaskedEq(space), space)?])?);
    }
    rules.insert(libc::SYS_clone, clones);
    // What is typed into somebody's terminal.
    let typed = [libc::TIOCSTI, libc::TIOCLINUX];
    let typed = typed.into_iter().map(|call| SeccompRule::new(vec![when(1, Eq, call)?]));
    rules.insert(libc::SYS_ioctl, typed.collect::<Result<_, _>>()?);
    let large = SeccompCondition::new(1, SeccompCmpArgLen::Qword, Gt, MAX_SEGMENT)?;
    rules.insert(libc::SYS_shmget, vec![SeccompRule::new(vec![large])?]);
    Ok(rules)
}

/// Answered as a kernel without them would, so that libraries take the older call, whose arguments can be looked at.
fn absent() -> Result<Rules, BackendError> {
    Ok(always(&[
        libc::SYS_clone3,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        // Memory that nobody maps is counted nowhere.
        libc::SYS_memfd_create,
        libc::SYS_memfd_secret,
    ]))
}

/// Sockets of this machine's own kinds only: a network namespace does not hold back the rest, as virtual machines' sockets.
fn sockets() -> Result<Rules, BackendError> {
    let kinds = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let others = kinds.iter().map(|kind| when(0, Ne, u64::from(kind.unsigned_abs()))).collect::<Result<Vec<_>, _>>()?;
    let netlink = vec![
        when(0, Eq, u64::from(libc::AF_NETLINK.unsigned_abs()))?,
        when(2, Ne, u64::from(libc::NETLINK_ROUTE.unsigned_abs()))?,
    ];
    Ok(Rules::from([(libc::SYS_socket, vec![SeccompRule::new(others)?, SeccompRule::new(netlink)?])]))
}

/// load the number; below X32 go on; else it does not exist.
#[cfg(target_arch = "x86_64")]
fn without_x32() -> Vec<u8> {
    let instruction = |code, jt, jf, k| seccompiler::sock_filter { code, jt, jf, k };
    let absent = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    bytes(&[
        instruction(0x20, 0, 0, 0),
        instruction(0x35, 0, 1, X32),
        instruction(0x06, 0, 0, absent),
        instruction(0x06, 0, 0, libc::SECCOMP_RET_ALLOW),
    ])
}

fn bytes(program: &[seccompiler::sock_filter]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(program.len() * 8);
    for instruction in program {
        bytes.extend_from_slice(&instruction.code.to_ne_bytes());
        bytes.extend_from_slice(&[instruction.jt, instruction.jf]);
        bytes.extend_from_slice(&instruction.k.to_ne_bytes());
    }
    bytes
}
