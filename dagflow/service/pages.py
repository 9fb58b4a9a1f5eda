"""The validation report as a page, with the graph before and after pruning."""

from __future__ import annotations

from dagflow.compiler.report.html import render
from dagflow.core.source import Source
from dagflow.service.bundle import Bundle
from dagflow.service.check import Checked, check
from dagflow.service.drawings import draw_graph


def report_page(checked: Checked, bundle: Bundle) -> str:
    """Return the page of a report."""
    source = checked.sources.get(bundle.source.name, Source(bundle.source.name, ""))
    critical = checked.report.bounds.critical_path
    after = draw_graph(checked.plan, "svg", critical=critical) if checked.plan else ""
    about = checked.workflow.description if checked.workflow else None
    return render(
        checked.report,
        source,
        about=about.value if about else "",
        before=_before(checked, bundle),
        after=after,
    )


def _before(checked: Checked, bundle: Bundle) -> str:
    if checked.plan is None or checked.report.before == checked.report.after:
        return ""
    whole = check(bundle, prune=False).plan
    return draw_graph(whole, "svg", removed=checked.report.removed) if whole else ""
