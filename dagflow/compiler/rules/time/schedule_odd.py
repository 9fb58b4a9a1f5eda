"""DF504: schedules that don't fire when their author would think."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dagflow.compiler.planning.musts import fastest
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.types.words import duration
from dagflow.compiler.violation import Violation
from dagflow.core import cron
from dagflow.core.findings import Severity
from dagflow.core.words import nearest
from dagflow.core.workflow import Schedule

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

_OVERLAPS = {
    "skip": "the runs in between are left out",
    "queue": "the others wait, more and more of them",
    "allow": "several run at a time",
}


@rule("DF504", "schedule-odd", Severity.WARNING, "plan")
def schedule_odd(checks: Checks) -> Iterator[Violation]:
    """A schedule never fires, fires at times that don't exist or come twice, or too often.

    When the clock changes, a wall time is left out or comes twice. A fixed time is made up for:
    the run starts once. Of several times within such an hour, none may come, or all twice. What
    runs every few minutes, or every hour, goes on as ever and is not told. Changes of the clock
    are looked for in 2026 and 2027.

    Bad:

        dagflow: 1
        name: nightly
        triggers:
          schedule: {cron: "30 2 * * *", zone: Europe/Berlin}  # DF504: 02:30 does not exist on…
        steps:
          rest: {wait: {for: 1s}}

    Good:

        dagflow: 1
        name: nightly
        triggers:
          schedule: {cron: "30 4 * * *", zone: Europe/Berlin}
        steps:
          rest: {wait: {for: 1s}}

    Bad:

        dagflow: 1
        name: yearly
        triggers:
          schedule: {cron: "0 7 30 2 *"}  # DF504: `0 7 30 2 *` never fires, or is no…
        steps:
          rest: {wait: {for: 1s}}

    Good:

        dagflow: 1
        name: yearly
        triggers:
          schedule: {cron: "0 7 28 2 *"}
        steps:
          rest: {wait: {for: 1s}}

    Bad:

        dagflow: 1
        name: often
        triggers:
          schedule: {cron: "*/5 * * * *"}  # DF504: every success takes 10 min or more, and a run…
        steps:
          rest: {wait: {for: 10m}}

    Good:

        dagflow: 1
        name: often
        triggers:
          schedule: {cron: "*/15 * * * *"}
        steps:
          rest: {wait: {for: 10m}}
    """
    workflow = checks.workflow
    if workflow is None or workflow.triggers is None:
        return
    for schedule in workflow.triggers.schedule:
        try:
            zone = cron.zone_of(schedule.zone.value if schedule.zone else "UTC")
        except cron.CronError as error:
            assert schedule.zone is not None
            near = nearest(schedule.zone.value, cron.zones())
            message = f"{error}{near}"
            yield Violation(span=schedule.zone.span, message=message, severity=Severity.ERROR)
            continue
        yield from _fires(checks, schedule, zone)


def _fires(checks: Checks, schedule: Schedule, zone: ZoneInfo) -> Iterator[Violation]:
    text, span = schedule.cron.value, schedule.cron.span
    try:
        period = cron.shortest(text, zone)
    except cron.CronError as error:
        message = f"`{text}` never fires, or is no schedule: {error}"
        yield Violation(span=span, message=message, severity=Severity.ERROR)
        return
    moved = list(_moved(text, zone))
    if moved:
        yield Violation(
            span=span,
            message=", and ".join(moved[:2]),
            help="choose a time that every day has once, or `zone: UTC`",
        )
    yield from _overlaps(checks, schedule, period)


def _moved(text: str, zone: ZoneInfo) -> Iterator[str]:
    """Say what changes of the clock do to a schedule, each way once."""
    seen: set[bool] = set()
    for change in cron.changes(zone):
        wall = cron.hit(text, change)
        if wall is None or change.is_gap in seen:
            continue
        seen.add(change.is_gap)
        count = cron.within(text, zone, change)
        how = "does not exist" if change.is_gap else "comes twice"
        starts = {0: "no run starts", 1: "one run starts"}.get(count, f"{count} runs start")
        yield f"{wall:%H:%M} {how} on {wall:%Y-%m-%d} in {zone.key} ({starts})"


def _overlaps(checks: Checks, schedule: Schedule, period: float) -> Iterator[Violation]:
    """Tell where a run surely, or as recorded mostly, lasts until the next one starts."""
    if checks.pruned is None or checks.bounds is None:
        return
    best = fastest(checks.pruned.graphs).seconds
    recorded = checks.bounds.percentiles
    if best > period:
        took = f"every success takes {duration(best)} or more"
    elif recorded is not None and recorded[0] > period:
        took = f"half of the recorded runs take {duration(recorded[0])} or more"
    else:
        return
    overlap = _OVERLAPS[schedule.overlap.value if schedule.overlap else "skip"]
    yield Violation(
        span=schedule.cron.span,
        message=f"{took}, and a run starts every {duration(period)}: {overlap}",
    )
