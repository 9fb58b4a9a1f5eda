"""Whether this host can enforce what a sandbox promises, found out by trying."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dagflow.core.errors import UsageError
from dagflow.core.plan import Limits
from dagflow.executor.sandbox import cgroup_v1, cgroup_v2
from dagflow.executor.sandbox.cage import Action, Cage, Groups
from dagflow.executor.sandbox.process import ProcessCage, mount_point, python_program

UNIFIED = Path("/sys/fs/cgroup/cgroup.controllers")
REMEDY = (
    "run as root, or in a scope that owns its control group "
    "(systemd-run --user --scope -p Delegate=yes dagflow …); "
    "--unsafe-no-sandbox runs actions as plain processes, with no walls around them"
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What preflight found: a cage that was proved, or the reason why there is none."""

    cage: ProcessCage | None
    version: str
    reason: str = ""


def find_groups() -> tuple[str, Groups]:
    """Return the cgroup version and the groups of this host, or raise `OSError`."""
    if UNIFIED.exists():
        return "v2", cgroup_v2.open_groups()
    return "v1", cgroup_v1.open_groups()


async def inspect() -> Verdict:
    """Make a cage, run a probe action in it, and say what came of it."""
    try:
        version, groups = find_groups()
    except (OSError, StopIteration) as error:
        return Verdict(None, "none", f"control groups: {error}")
    cage = ProcessCage(groups, mount_point())
    probe = Action(argv=(python_program(), "-I", "-S", "-c", PROBE), timeout=10, limits=Limits())
    try:
        outcome = await cage.run(probe)
    except OSError as error:
        return Verdict(None, version, str(error))
    if outcome.kind != "ok":
        detail = outcome.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        return Verdict(None, version, detail or outcome.message)
    return Verdict(cage, version)


PROBE = """
import os
assert os.getpid() != 1 and os.getppid() == 1, "no PID namespace"
assert not os.path.exists("/sys") and not os.path.exists("/var"), "the host's files are seen"
try:
    open("/usr/dagflow-probe", "w")
except OSError:
    pass
else:
    raise AssertionError("the root is writable")
caps = [line for line in open("/proc/self/status") if line.startswith("CapEff")][0].split()[1]
assert int(caps, 16) == 0, "capabilities are left"
"""


async def open_cage(*, unsafe: bool = False) -> Cage:
    """Return a proved cage; raises `UsageError` with the reason where there is none.

    With `unsafe` no sandbox is made or asked for.
    """
    if unsafe:
        from dagflow.executor.sandbox.unsafe import UnsafeCage

        return UnsafeCage()
    verdict = await inspect()
    if verdict.cage is None:
        raise UsageError(f"no sandbox on this host: {verdict.reason}", remedy=REMEDY)
    return verdict.cage
