"""`dagflow check`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from dagflow.cli.exits import FINDINGS, OK
from dagflow.cli.output import file_option, say, use_color, write_file
from dagflow.cli.reporting import FORMATS, Asked, Entry
from dagflow.cli.sites import site_of
from dagflow.compiler import Memory
from dagflow.core.errors import UsageError
from dagflow.core.findings import Severity
from dagflow.core.plan import Plan
from dagflow.core.records import dataclass
from dagflow.service.bundle import Bundle, read_bundle
from dagflow.service.check import check
from dagflow.service.plans import load_plan

ONE_AT_A_TIME = "an HTML report is of one file; call it once for each"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the command was asked for."""

    files: tuple[str, ...]
    form: str
    output: str | None
    asked: Asked
    baseline: str | None
    write_baseline: str | None
    site: str | None = None
    recorded: bool = False
    against: str | None = None


@click.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option(
    "--format", "form", default="text", show_default=True, type=click.Choice(list(FORMATS)),
    help="How the report is written.",
)  # fmt: skip
@file_option("-o", "--output", what="Write the report there, not to stdout.")
@click.option(
    "--fail-on", default="error", show_default=True, type=click.Choice(["error", "warning"]),
    help="The least severity that makes the exit code 1.",
)  # fmt: skip
@click.option("--fix", "fixes", is_flag=True, help="Make the safe changes that findings offer.")
@click.option("--diff", "shows", is_flag=True, help="With --fix: show the changes, make none.")
@click.option("--baseline", metavar="FILE", help="Leave out the findings that are known there.")
@file_option("--write-baseline", what="Write all findings there as known, and end with 0.")
@click.option("--watch", is_flag=True, help="Check again when a file changes, until stopped.")
@click.option(
    "--site", envvar="DAGFLOW_SITE", metavar="FILE",
    help="What is known of workers, prices and recorded runs (or DAGFLOW_SITE).",
)  # fmt: skip
@click.option("--recorded", is_flag=True, help="Take latencies and use from this database's runs.")
@click.option(
    "--against", metavar="OLD",
    help="Say what this version breaks: OLD is the one before, or a folder of such files.",
)  # fmt: skip
@click.option("--timings", is_flag=True, help="Say how long each pass took.")
def command(
    *,
    files: tuple[str, ...],
    form: str,
    output: str | None,
    fail_on: str,
    fixes: bool,
    shows: bool,
    baseline: str | None,
    write_baseline: str | None,
    watch: bool,
    site: str | None,
    recorded: bool,
    against: str | None,
    timings: bool,
) -> int:
    """Check workflow files: types, graph, guards, tools. Nothing is run and nothing is fetched.

    Several files as JSON are one report a line.
    """
    if form == "html" and len(files) > 1:
        raise click.UsageError(ONE_AT_A_TIME)
    if shows and not fixes:
        raise click.UsageError("--diff shows what --fix would change; give both")
    color = output is None and use_color()
    asked = Asked(least=Severity(fail_on), timings=timings, color=color)
    wanted = Wanted(
        files=files,
        form=form,
        output=output,
        asked=asked,
        baseline=baseline,
        write_baseline=write_baseline,
        site=site,
        recorded=recorded,
        against=against,
    )
    if fixes:
        from dagflow.cli.fixing import fix_files

        if fix_files(files, shows=shows):
            return FINDINGS
    if watch:
        from dagflow.cli.watching import watch_files

        memory = Memory()
        return watch_files(lambda: checked(wanted, memory), files)
    code, _ = checked(wanted)
    return code


def checked(wanted: Wanted, memory: Memory | None = None) -> tuple[int, list[Entry]]:
    """Check the files once, write the report, and return the exit code."""
    memory = Memory() if memory is None else memory
    site = site_of(wanted.site, recorded=wanted.recorded)
    entries = [
        (bundle, check(bundle, site=site, before=before, memory=memory.of(file)))
        for file, before, bundle in _read(wanted)
    ]
    if wanted.write_baseline is not None:
        _write_baseline(wanted.write_baseline, entries)
        return OK, entries
    if wanted.baseline is not None:
        entries = list(_news(wanted.baseline, entries))
    text = FORMATS[wanted.form](entries, wanted.asked)
    if wanted.output is None:
        click.echo(text, nl=False)
    else:
        write_file(wanted.output, text)
        say(f"report: {wanted.output}")
    return FINDINGS if any(each.has(wanted.asked.least) for _, each in entries) else OK, entries


def _read(wanted: Wanted) -> Iterator[tuple[str, Plan | None, Bundle]]:
    """Yield each file with the version before it, where that is asked for and there is one."""
    for file in wanted.files:
        yield file, _before(file, wanted.against), read_bundle(file)


def _before(file: str, against: str | None) -> Plan | None:
    if against is None:
        return None
    old = Path(against) / Path(file).name if Path(against).is_dir() else Path(against)
    if old != Path(against) and not old.exists():
        return None  # a workflow that is new follows nothing
    loaded = load_plan(str(old))
    if loaded.plan is None:
        raise UsageError(f"{old} does not compile", remedy=f"`dagflow check {old}` says why")
    return loaded.plan


def _write_baseline(path: str, entries: Sequence[Entry]) -> None:
    from dagflow.service.baseline import known_of, to_text

    found = known_of(
        (finding, each.sources) for _, each in entries for finding in each.report.findings
    )
    write_file(path, to_text(found))
    say(f"baseline: {path} knows {sum(entry.count for entry in found)} findings")


def _news(path: str, entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield what was checked without what the baseline knows, and tell what it knows in vain."""
    from dagflow.service.baseline import from_text

    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        remedy = "write one with `dagflow check --write-baseline FILE`"
        raise UsageError(f"{path} can't be read: {error}", remedy=remedy) from None
    known = from_text(text, path)
    for bundle, each in entries:
        yield bundle, replace(each, report=known.without_known(each.report, each.sources))
    for entry in known.stale(bundle.source.name for bundle, _ in entries):
        say(f"{path}: {entry.name} in {entry.file} is gone; the baseline needn't know it")
