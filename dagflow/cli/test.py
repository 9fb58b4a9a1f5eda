"""`dagflow test`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

import click

from dagflow.cli.exits import FINDINGS, OK
from dagflow.cli.output import file_option, say, use_color, write_file
from dagflow.executor.sandbox.cage import Action, Cage, Outcome
from dagflow.service.testing.coverage import Coverage
from dagflow.service.testing.files import files_of
from dagflow.service.testing.formats import as_json, as_junit
from dagflow.service.testing.running import FileResult, covered, run_file
from dagflow.service.testing.text import coverage_text, file_text, summary_text


@click.command("test")
@click.argument("files", nargs=-1, metavar="[FILE…]")
@click.option(
    "--select", "-k", "text", default="", metavar="TEXT",
    help="Only cases with this text in their file or name.",
)  # fmt: skip
@click.option(
    "--format", "format_", default="text", show_default=True,
    type=click.Choice(["text", "json", "junit"]), help="How the results are written.",
)  # fmt: skip
@file_option("-o", "--output", what="Write the results there, not to stdout.")
@click.option(
    "--require-coverage", is_flag=True,
    help="Fail where no case comes to a step, branch, guard or handler.",
)  # fmt: skip
@click.option("--unsafe-no-sandbox", is_flag=True, help="Run code without walls around it.")
def command(
    files: tuple[str, ...],
    *,
    text: str,
    format_: str,
    output: str | None,
    require_coverage: bool,
    unsafe_no_sandbox: bool,
) -> int:
    """Run workflows with scripted tools, models, people and time, and compare what comes of it.

    FILE is a test file NAME.test.yaml, a workflow with one beside it, or a folder; without any it
    is this folder. Nothing is called and nothing waits: the clock jumps to what is due next. The
    exit code is 1 where a case fails.
    """
    if text and require_coverage:
        raise click.UsageError("--require-coverage is about all cases; leave --select out")
    results = []
    for result in _results(files or (".",), text, unsafe=unsafe_no_sandbox):
        results.append(result)
        if format_ == "text" and output is None:
            click.echo(file_text(result, color=use_color()), nl=False)
    if not results:
        raise click.UsageError(f"no case has {text!r} in its file or name")
    found = {} if text else covered(tuple(results))
    _write(tuple(results), found, format_, output, everything=require_coverage)
    missed = require_coverage and any(it.missing for it in found.values())
    return OK if all(it.passed for it in results) and not missed else FINDINGS


def _results(files: Iterable[str], text: str, *, unsafe: bool) -> Iterator[FileResult]:
    """Run test files; of those without a case that is selected there is no result."""
    wanted = text.casefold()
    cage = _Sandbox(unsafe=unsafe)
    for file in files_of(files):
        result = run_file(file, cage=cage, chosen=lambda name: wanted in name.casefold())
        if result.cases or result.findings or not wanted:
            yield result


class _Sandbox:
    """The sandbox of this machine, which is looked for when the first code runs for real."""

    def __init__(self, *, unsafe: bool) -> None:
        self._unsafe = unsafe
        self._cage: Cage | None = None

    async def run(self, action: Action) -> Outcome:
        """Run an action in it."""
        if self._cage is None:
            from dagflow.wiring import LazyCage  # loads what serves and stores, too

            self._cage = LazyCage(unsafe=self._unsafe)
        return await self._cage.run(action)


def _write(
    results: tuple[FileResult, ...],
    found: Mapping[str, Coverage],
    format_: str,
    output: str | None,
    *,
    everything: bool,
) -> None:
    if format_ == "text":
        end = [coverage_text(name, it, everything=everything) for name, it in found.items()]
        end.append(summary_text(results, color=output is None and use_color()))
        start = [] if output is None else [file_text(it) for it in results]
        text = "".join([*start, *end])
    elif format_ == "json":
        text = json.dumps(as_json(results, found), ensure_ascii=False, indent=2) + "\n"
    else:
        text = as_junit(results)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_file(output, text)
        say(f"results: {output}")
