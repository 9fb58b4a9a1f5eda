"""`dagflow diff`."""

from __future__ import annotations

import click

from dagflow.cli.exits import FINDINGS, OK
from dagflow.cli.output import print_json
from dagflow.cli.sites import site_of
from dagflow.compiler.difference import Difference, Version, difference
from dagflow.core.errors import UsageError
from dagflow.core.findings import Bounds
from dagflow.core.site import Site
from dagflow.core.values import JsonObject
from dagflow.service.plans import load_plan

SCHEMA_VERSION = 1


@click.command("diff")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "--format", "form", default="text", show_default=True, type=click.Choice(["text", "json"]),
    help="How the changes are written.",
)  # fmt: skip
@click.option(
    "--site", envvar="DAGFLOW_SITE", metavar="FILE",
    help="What is known of the site, for what runs cost (or DAGFLOW_SITE).",
)  # fmt: skip
def command(*, old: str, new: str, form: str, site: str | None) -> int:
    """Say what a new version of a workflow changes, and its risk.

    OLD and NEW are workflow files, or plans (`dagflow plan -o plan.json`). The exit code is 1 when
    a caller may break.
    """
    known = site_of(site)
    found = difference(_version(old, known), _version(new, known))
    if form == "json":
        print_json(_json(found))
    else:
        click.echo(_text(found), nl=False)
    return FINDINGS if found.breaking else OK


def _version(path: str, site: Site) -> Version:
    loaded = load_plan(path, site=site)
    if loaded.plan is None:
        raise UsageError(f"{path} does not compile", remedy=f"`dagflow check {path}` says why")
    bounds = loaded.checked.report.bounds if loaded.checked is not None else Bounds()
    return Version(loaded.plan, bounds)


def _json(found: Difference) -> JsonObject:
    return {
        "schema_version": SCHEMA_VERSION,
        "breaking": found.breaking,
        "risk": found.risk,
        "changes": [
            {
                "area": c.area,
                "about": c.about,
                "text": c.text,
                "risk": c.risk,
                "breaking": c.breaking,
            }
            for c in found.changes
        ],
    }


def _text(found: Difference) -> str:
    if not found.changes:
        return "nothing changes\n"
    lines, area = [], ""
    for change in found.changes:
        if change.area != area:
            area = change.area
            lines.append(f"{area}:")
        mark = "breaking" if change.breaking else f"risk {change.risk}"
        lines.append(f"  {change.text}  [{mark}]")
    return "\n".join([*lines, "", f"risk: {found.risk}", ""])
