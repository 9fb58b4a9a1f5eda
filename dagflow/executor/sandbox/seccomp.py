"""The system calls that no action may make, as a BPF program made once by libseccomp."""

from __future__ import annotations

import errno
import tempfile
from functools import cache
from typing import Final

REFUSED: Final = (
    "acct", "add_key", "bpf", "chroot", "clock_adjtime", "clock_settime", "create_module",
    "delete_module", "fanotify_init", "finit_module", "fsconfig", "fsmount", "fsopen", "fspick",
    "init_module", "io_uring_enter", "io_uring_register", "io_uring_setup", "ioperm", "iopl",
    "kcmp", "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie", "mbind", "mknod",
    "mknodat", "modify_ldt", "mount", "mount_setattr", "move_mount", "move_pages",
    "name_to_handle_at", "nfsservctl", "open_by_handle_at", "open_tree", "perf_event_open",
    "personality", "pidfd_getfd", "pivot_root", "process_madvise", "process_vm_readv",
    "process_vm_writev", "ptrace", "quotactl", "quotactl_fd", "reboot", "request_key",
    "setdomainname", "sethostname", "setns", "settimeofday", "swapoff", "swapon", "syslog",
    "umount", "umount2", "unshare", "uselib", "userfaultfd", "vhangup",
)  # fmt: skip
CLONE_NEWUSER: Final = 0x10000000
TIOCSTI: Final = 0x5412


@cache
def program() -> bytes:
    """Return the BPF program. Raises `OSError` when libseccomp is not installed."""
    try:
        import pyseccomp as seccomp
    except (ImportError, RuntimeError, OSError) as error:
        raise OSError(errno.ENOENT, f"libseccomp is not installed ({error})") from error
    rules = seccomp.SyscallFilter(seccomp.ALLOW)
    refused = seccomp.ERRNO(errno.EPERM)
    for name in REFUSED:
        _add(rules, refused, name)
    _add(rules, seccomp.ERRNO(errno.ENOSYS), "clone3")  # its flags are out of a filter's sight
    new_user = seccomp.Arg(0, seccomp.MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER)
    _add(rules, refused, "clone", new_user)
    _add(rules, refused, "ioctl", seccomp.Arg(1, seccomp.MASKED_EQ, 0xFFFFFFFF, TIOCSTI))
    for low, high in ((0, 0), (3, 9), (11, 0xFFFF)):
        for family in range(low, min(high, 64) + 1):
            _add(rules, refused, "socket", seccomp.Arg(0, seccomp.EQ, family))
    _add(rules, refused, "socket", seccomp.Arg(0, seccomp.GT, 64))
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _add(rules: object, action: object, name: str, *arguments: object) -> None:
    try:
        rules.add_rule(action, name, *arguments)  # type: ignore[attr-defined]  # untyped library
    except (RuntimeError, OSError, ValueError) as error:
        # A name that this machine's kernel interface doesn't have can't be called either.
        if getattr(error, "errno", None) not in {errno.EDOM, errno.EINVAL, None}:
            raise
