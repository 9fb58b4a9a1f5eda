"""`dagflow check`."""

from __future__ import annotations

import click

from dagflow.cli.exits import FINDINGS, OK
from dagflow.cli.output import file_option, print_json, print_json_line, say, use_color, write_file
from dagflow.core.findings import Severity
from dagflow.core.values import JsonObject
from dagflow.service.bundle import Bundle, read_bundle
from dagflow.service.check import Checked, check


@click.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option(
    "--format", "format_", default="text", show_default=True,
    type=click.Choice(["text", "json", "html"]), help="How the report is written.",
)  # fmt: skip
@file_option("-o", "--output", what="Write the report there, not to stdout.")
@click.option(
    "--fail-on", default="error", show_default=True, type=click.Choice(["error", "warning"]),
    help="The least severity that makes the exit code 1.",
)  # fmt: skip
@click.option("--timings", is_flag=True, help="Say how long each pass took.")
def command(
    files: tuple[str, ...], format_: str, output: str | None, fail_on: str, timings: bool
) -> int:
    """Check workflow files: types, graph, guards, tools. Nothing is run and nothing is fetched.

    Several files as JSON are one report a line.
    """
    if format_ == "html" and len(files) > 1:
        raise click.UsageError("an HTML report is of one file; call it once for each")
    severity = Severity(fail_on)
    failed = False
    texts = []
    for name in files:
        bundle = read_bundle(name)
        checked = check(bundle)
        failed = failed or checked.has(severity)
        texts.append(_render(checked, bundle, format_, timings=timings, to_file=output is not None))
        if output is None:
            _print(checked, texts[-1], format_, many=len(files) > 1, timings=timings)
    if output is not None:
        write_file(output, "".join(texts))
        say(f"report: {output}")
    return FINDINGS if failed else OK


def _render(checked: Checked, bundle: Bundle, format_: str, *, timings: bool, to_file: bool) -> str:
    if format_ == "html":
        from dagflow.service.pages import report_page

        return report_page(checked, bundle)
    if format_ == "json":
        import json

        return json.dumps(_json(checked, timings=timings), ensure_ascii=False, indent=2) + "\n"
    from dagflow.compiler.report.text import render

    text = render(checked.report, checked.sources, color=not to_file and use_color())
    return text + _timings(checked) if timings else text


def _print(checked: Checked, text: str, format_: str, *, many: bool, timings: bool) -> None:
    if format_ != "json":
        click.echo(text, nl=False)
    elif many:
        print_json_line(_json(checked, timings=timings))
    else:
        print_json(_json(checked, timings=timings))


def _json(checked: Checked, *, timings: bool) -> JsonObject:
    from dagflow.compiler.report.json_report import to_json

    return to_json(checked.report, timings=timings)


def _timings(checked: Checked) -> str:
    rows = [f"  {name:<12} {seconds * 1000:8.1f} ms" for name, seconds in checked.report.timings]
    return "\n".join(["timings:", *rows, ""])
