"""The program between dagflow and an action: makes the namespaces, then becomes the action.

Run as a script by an interpreter of its own (`python -I -S launch.py FD …`), never imported by
the worker and importing nothing of dagflow, so that no copy of the worker's memory is ever near
an action. It reads its orders as JSON from a pipe, after the worker has put it into its control
group. The chain is: launcher → init (PID 1 of the new PID namespace) → action.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import struct
import sys
from typing import Any, NoReturn

NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
SECCOMP_MODE_FILTER = 2
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
CAPSET = {"x86_64": 126, "aarch64": 91}
MACHINE = os.uname().machine
SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
    "/etc/ld.so.cache", "/etc/alternatives", "/etc/ssl/certs", "/etc/localtime",
)  # fmt: skip
DEVICES = ("null", "zero", "full", "random", "urandom")
RESULT_FD = 3

libc = ctypes.CDLL(None, use_errno=True)


class SetupError(Exception):
    """A wall could not be built; the message names it."""


def check(result: int, what: str) -> None:
    if result != 0:
        raise SetupError(f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    arguments = (os.fsencode(source), os.fsencode(target), kind.encode() if kind else None)
    check(libc.mount(*arguments, ctypes.c_ulong(flags), data.encode() or None), f"mount {target}")


def bind(source: str, root: str) -> None:
    """Show `source` read-only at its own path under `root`; links are shown as links."""
    target = root + source
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.lexists(target):
        return
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
        return
    if os.path.isdir(source):
        os.mkdir(target)
    elif os.path.exists(source):
        os.close(os.open(target, os.O_CREAT))
    else:
        return
    mount(source, target, None, MS_BIND | MS_REC)
    flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV
    mount(source, target, None, flags)


def build_root(orders: dict[str, Any]) -> None:
    root = orders["root"]
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "size=4m,mode=755")
    # First, so that a readable folder below the host's /tmp can be shown below this one.
    fill_workspace(orders, f"{root}/workspace")
    os.makedirs(f"{root}/tmp")
    mount(f"{root}/workspace/tmp", f"{root}/tmp", None, MS_BIND)
    for path in (*SYSTEM, *orders["readable"]):
        bind(path, root)
    os.makedirs(f"{root}/dev")
    for name in DEVICES:
        os.close(os.open(f"{root}/dev/{name}", os.O_CREAT))
        mount(f"/dev/{name}", f"{root}/dev/{name}", None, MS_BIND)
    os.symlink("/proc/self/fd", f"{root}/dev/fd")
    os.makedirs(f"{root}/proc")
    mount("proc", f"{root}/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, orders["proc"])
    os.makedirs(f"{root}/etc", exist_ok=True)
    write(f"{root}/etc/passwd", b"action:x:65534:65534::/workspace:/bin/sh\n")
    write(f"{root}/etc/group", b"action:x:65534:\n")
    write(f"{root}/etc/hosts", b"127.0.0.1 localhost\n")


def fill_workspace(orders: dict[str, Any], work: str) -> None:
    os.makedirs(work)
    flags = MS_NOSUID | MS_NODEV
    mount("tmpfs", work, "tmpfs", flags, f"size={orders['workspace']},mode=1777")
    os.mkdir(f"{work}/tmp")
    os.chmod(f"{work}/tmp", 0o1777)
    for name, content in orders["files"].items():
        write(f"{work}/{name}", content.encode("latin-1"))


def write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)


def enter_root(root: str) -> None:
    os.chdir(root)
    number = PIVOT_ROOT.get(MACHINE)
    if number is None:
        raise SetupError(f"pivot_root is not known on {MACHINE}")
    check(libc.syscall(number, b".", b"."), "pivot_root")
    check(libc.umount2(b".", MNT_DETACH), "unmounting the old root")
    mount("/", "/", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)
    os.chdir("/workspace")


def map_ids(inside: int, outside_uid: int, outside_gid: int) -> None:
    write("/proc/self/setgroups", b"deny")
    write("/proc/self/uid_map", f"{inside} {outside_uid} 1".encode())
    write("/proc/self/gid_map", f"{inside} {outside_gid} 1".encode())


def drop_privileges(orders: dict[str, Any]) -> None:
    for capability in range(64):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    uid = orders["uid"]
    if uid is not None:  # started by root: become nobody, then leave even that behind
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # else /proc/self belongs to root
        check(libc.unshare(NEWUSER), "unshare the user namespace")
        map_ids(65534, uid, uid)
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header, none = struct.pack("Ii", 0x20080522, 0), struct.pack("IIIIII", *[0] * 6)
    check(libc.syscall(CAPSET[MACHINE], header, none), "dropping capabilities")
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "parent-death signal")


def limit_resources(orders: dict[str, Any]) -> None:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_FSIZE: orders["workspace"],
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    if orders["cpu_seconds"]:
        limits[resource.RLIMIT_CPU] = max(1, round(orders["cpu_seconds"]))
    for name, value in limits.items():
        resource.setrlimit(name, (value, value))


def filter_calls(program: bytes) -> None:
    """Load a BPF program made by libseccomp in the worker."""
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    buffer = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    check(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, head, 0, 0), "seccomp")


def run_action(orders: dict[str, Any], result: int) -> NoReturn:
    os.setsid()
    os.dup2(result, RESULT_FD, inheritable=True)
    os.closerange(RESULT_FD + 1, 4096)
    for number in range(1, signal.NSIG):
        if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
            signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(orders["argv"][0], orders["argv"], orders["env"])
    except OSError as error:
        os.write(2, f"{orders['argv'][0]}: {error.strerror}\n".encode())
        os._exit(127)


def run_init(orders: dict[str, Any], result: int, status: int) -> NoReturn:
    """Build the walls, start the action, reap until it ends, say how."""
    try:
        build_root(orders)
        enter_root(orders["root"])
        check(libc.sethostname(b"action", 6), "hostname")
        limit_resources(orders)
        drop_privileges(orders)
        filter_calls(orders["seccomp"].encode("latin-1"))
    except (SetupError, OSError, KeyError) as error:
        say(status, {"setup": str(error)})
        os._exit(1)
    action = os.fork()
    if action == 0:
        run_action(orders, result)
    for descriptor in (0, 1, 2, result):
        os.close(descriptor)
    while True:
        pid, code = os.wait()
        if pid == action:
            say(status, {"exit": os.waitstatus_to_exitcode(code)})
            os._exit(0)  # the end of PID 1 is the end of everything in its namespace


def say(status: int, what: dict[str, Any]) -> None:
    os.write(status, json.dumps(what).encode())


def main(orders_fd: int, result: int, status: int) -> None:
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    with os.fdopen(orders_fd, "rb") as pipe:
        text = pipe.read()
    if not text:
        os._exit(0)  # the worker went away before it gave orders
    orders = json.loads(text)
    uid, gid = os.getuid(), os.getgid()
    flags = NEWNS | NEWPID | NEWIPC | NEWUTS | NEWNET | NEWCGROUP
    try:
        if orders["uid"] is None:
            check(libc.unshare(flags | NEWUSER), "unshare namespaces")
            map_ids(0, uid, gid)
        else:
            check(libc.unshare(flags), "unshare namespaces")
    except (SetupError, OSError) as error:
        say(status, {"setup": str(error)})
        os._exit(1)
    init = os.fork()
    if init == 0:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        run_init(orders, result, status)
    for descriptor in (0, 1, 2, result, status):
        os.close(descriptor)
    os.waitpid(init, 0)
    os._exit(0)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:4]))
