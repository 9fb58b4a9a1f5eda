"""DF503: schedules that the site's workers can't keep up with."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from dagflow.compiler.defaults import seconds
from dagflow.compiler.planning.occupied import Occupied, occupied
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.timing.response import Periodic, responses, utilisation
from dagflow.compiler.types.words import duration
from dagflow.compiler.violation import Violation
from dagflow.core import cron
from dagflow.core.findings import Severity
from dagflow.core.site import Load, Site
from dagflow.core.source import Span
from dagflow.core.workflow import Schedule, Workflow


@rule("DF503", "schedule-infeasible", Severity.WARNING, "plan")
def schedule_infeasible(checks: Checks) -> Iterator[Violation]:
    """Scheduled runs need more of the workers than there is, or miss their time on one worker.

    Asked only where the site is known: its workers, the other work that comes again (`loads`),
    and how long steps take as recorded. Two questions: do all together keep more workers busy
    than there are, on average? That goes wrong whatever the order of work, and is an error where
    runs wait for each other (`overlap: queue` or `allow`). And on a single worker: is there a
    moment at which a run waits past its deadline, or past the next start? That is response-time
    analysis for fixed priorities, the loads first, in their order; the message has the time (C),
    the period (T), the deadline (D) and the longest response (R) of each.

    Bad:

        # file: site.yaml
        dagflow_site: 1
        workers: {only: {count: 1}}
        loads:
          imports: {every: 10m, time: 5m}
        # file: history.jsonl
        {"at": "2026-03-01T08:00:00Z", "steps": {"report.count": [200, 220, 240]}}
        # file: work.yaml
        dagflow: 1
        name: report
        triggers:
          schedule: {cron: "*/5 * * * *"}  # DF503: all that comes again keeps 1.23 workers busy…
        steps:
          count:
            python: |
              def main():
                  return 1
            output: integer
            timeout: 5m
        outputs:
          count: ${{ steps.count.output }}

    Good:

        # file: site.yaml
        dagflow_site: 1
        workers: {only: {count: 1}}
        loads:
          imports: {every: 10m, time: 5m}
        # file: history.jsonl
        {"at": "2026-03-01T08:00:00Z", "steps": {"report.count": [200, 220, 240]}}
        # file: work.yaml
        dagflow: 1
        name: report
        triggers:
          schedule: {cron: "0 * * * *"}
        steps:
          count:
            python: |
              def main():
                  return 1
            output: integer
            timeout: 5m
        outputs:
          count: ${{ steps.count.output }}
    """
    workflow, site = checks.workflow, checks.site
    if workflow is None or workflow.triggers is None or checks.pruned is None:
        return
    if not site.workers or not site.history or checks.model is None:
        return
    work = occupied(checks.model, checks.pruned, site.history)
    if work is None:
        return
    for schedule in workflow.triggers.schedule:
        yield from _schedule(workflow, schedule, work, site)


def _schedule(
    workflow: Workflow, schedule: Schedule, work: Occupied, site: Site
) -> Iterator[Violation]:
    try:
        zone = cron.zone_of(schedule.zone.value if schedule.zone else "UTC")
        period = cron.shortest(schedule.cron.value, zone)
    except cron.CronError:
        return
    workers = sum(each.count * each.slots for each in site.workers if work.queue in each.queues)
    if not workers or period == inf:
        return
    limit = min(seconds(workflow.deadline) or period, period)
    loads = _loads([load for load in site.loads if load.queue == work.queue], work.longest)
    own = Periodic(workflow.name.value, work.mean, period, limit)
    busy = utilisation([*loads, own])
    span = schedule.cron.span
    if busy > workers:
        yield _too_much(span, busy, workers, schedule)
    elif workers == 1 and work.most is not None:
        rivals = [*loads, Periodic(own.name, work.most, period, limit)]
        yield from _late(span, rivals)
    elif work.volume_bound(workers) > limit:
        took = duration(round(work.volume_bound(workers), 1))
        message = f"a run takes {took} on {workers} workers whatever the order, and has"
        yield Violation(span=span, message=f"{message} {duration(limit)}")


def _loads(loads: list[Load], own: float) -> list[Periodic]:
    """Return the other work: each may have to wait for the longest step of all that come after."""
    return [
        Periodic(
            load.name,
            load.time,
            load.every,
            load.deadline,
            max([own, *(later.longest for later in loads[index + 1 :])]),
        )
        for index, load in enumerate(loads)
    ]


def _too_much(span: Span, busy: float, workers: int, schedule: Schedule) -> Violation:
    skips = schedule.overlap is None or schedule.overlap.value == "skip"
    what = "some runs are left out" if skips else "runs pile up without end"
    return Violation(
        span=span,
        message=f"all that comes again keeps {busy:.2f} workers busy, and there are {workers}:"
        f" {what}",
        severity=Severity.WARNING if skips else Severity.ERROR,
    )


def _late(span: Span, rivals: list[Periodic]) -> Iterator[Violation]:
    found = responses(rivals)
    late = [each for each, response in zip(rivals, found, strict=True) if response is None]
    if not late:
        return
    rows = "; ".join(
        f"{each.name}: C {each.time:g} s, T {each.period:g} s, D {each.deadline:g} s,"
        f" R {'longer' if response is None else f'{response:g} s'}"
        for each, response in zip(rivals, found, strict=True)
    )
    yield Violation(
        span=span,
        message=f"on the one worker, {late[0].name!r} may be over too late ({rows})",
    )
