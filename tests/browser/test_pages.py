"""The pages of a report and of a run, looked at in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from dagflow.service.bundle import read_bundle
from dagflow.service.check import check
from dagflow.service.drawings import draw_graph
from dagflow.service.pages import report_page
from dagflow.service.plans import load_plan
from dagflow.service.run_page import run_page
from tests.workflows.desk import FOLDER, run_file

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

HOSTILE = '<img src="http://127.0.0.1:9/x.png"><script>document.title = "taken"</script>'

FAULTY = """\
dagflow: 1
name: faulty
description: A workflow with two findings, on lines 7 and 12.
inputs:
  amount: {type: integer, minimum: 0, maximum: 100}
  # dagflow: allow unused — HOSTILE
  unread: string
steps:
  big:
    when: inputs.amount > 50
    transform: '"much"'
  never: {when: inputs.amount > 500, transform: inputs.amount + 1}
outputs:
  text: ${{ steps.big.output }}
""".replace("HOSTILE", HOSTILE)

RUNNING = """\
dagflow: 1
name: running
inputs: {text: {type: string, maxLength: 200}}
steps:
  hello: {transform: '"hello " + inputs.text'}
  pause: {after: hello, wait: {for: 50ms}}
  wrong:
    after: pause
    transform: 1 / size(inputs.text.substring(0, 0))
    on_error: {goto: after_all}
  each:
    foreach: {items: "[1, 2, 3]", max_items: 3, steps: {twice: {transform: item * 2}}}
  after_all: {transform: steps.hello.output}
outputs:
  text: ${{ steps.hello.output }}
  each: ${{ steps.each.output }}
"""


@dataclass
class Look:
    """An open page, with what the browser said and asked for while it was loaded."""

    page: Page
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


Opening = Callable[..., Any]


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Opening:
    """Open HTML from a file, in a light or a dark scheme."""

    @contextmanager
    def open_(html: str, scheme: Literal["light", "dark"] = "light") -> Iterator[Look]:
        file = tmp_path / "page.html"
        file.write_text(html)
        context = browser.new_context(
            color_scheme=scheme, viewport={"width": 1200, "height": 900}, reduced_motion="reduce"
        )
        page = context.new_page()
        look = Look(page)
        page.on("console", lambda message: look.said.append(message.text))
        page.on("pageerror", lambda error: look.said.append(str(error)))
        page.on("request", lambda request: look.asked.append(request.url))
        page.goto(file.as_uri())
        yield look
        context.close()

    return open_


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("faulty")
    (folder / "faulty.yaml").write_text(FAULTY)
    bundle = read_bundle(str(folder / "faulty.yaml"))
    return report_page(check(bundle), bundle)


@pytest.fixture(scope="module")
def pruned() -> str:
    bundle = read_bundle(str(FOLDER / "reference_graph.yaml"))
    return report_page(check(bundle), bundle)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("run")
    (folder / "running.yaml").write_text(RUNNING)
    inputs = {"text": HOSTILE}
    with ThreadPoolExecutor(1) as pool:  # playwright has a loop of its own in this thread
        ended = pool.submit(run_file, folder / "running.yaml", inputs, folder / "runs.db").result()
    plan = load_plan(str(folder / "running.yaml")).plan
    assert plan is not None
    return run_page(dict(ended.view), graph=draw_graph(plan, "svg"))


PAGES = ("faulty", "pruned", "run")


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_loads_without_a_word_and_asks_for_nothing_else(
    opened: Opening, request: pytest.FixtureRequest, name: str, scheme: str
) -> None:
    with opened(request.getfixturevalue(name), scheme) as look:
        for details in look.page.locator("details").all():
            details.evaluate("it => it.open = true")

        assert look.said == []
        assert [url.rpartition("/")[2] for url in look.asked] == ["page.html"]
        assert "taken" not in look.page.title()
        assert look.page.locator("body img, body script").count() == 0


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [1200, 420])
def test_a_page_never_scrolls_sideways(
    opened: Opening, request: pytest.FixtureRequest, name: str, width: int
) -> None:
    with opened(request.getfixturevalue(name)) as look:
        look.page.set_viewport_size({"width": width, "height": 800})

        wide = look.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width


def test_a_finding_stands_below_its_line(opened: Opening, faulty: str) -> None:
    with opened(faulty) as look:
        findings = look.page.locator(".finding")
        assert findings.count() >= 2
        for line, code in (("14", "DF204"), ("12", "DF401")):
            row = look.page.locator(f"#L{line}")
            found = look.page.locator(".finding", has_text=code)
            assert "hit" in (row.get_attribute("class") or "")
            above, below = box_of(row), box_of(found)
            assert 0 <= below["y"] - (above["y"] + above["height"]) < 30
            assert below["height"] > 30


def test_the_list_of_findings_leads_to_each(opened: Opening, faulty: str) -> None:
    with opened(faulty) as look:
        look.page.set_viewport_size({"width": 900, "height": 300})
        look.page.locator("section ol a").first.click()

        found = look.page.locator(".finding:target")
        assert found.count() == 1
        assert 0 <= box_of(found)["y"] < 300


def test_the_graph_is_seen_before_and_after_pruning(opened: Opening, pruned: str) -> None:
    with opened(pruned) as look:
        drawings = look.page.locator("figure svg")
        assert drawings.count() == 2
        assert box_of(drawings.nth(0))["width"] > 600
        assert not drawings.nth(1).is_visible()
        look.page.get_by_text("Graph before pruning").click()
        assert drawings.nth(1).is_visible()
        assert look.page.locator("figure >> nth=0 >> g[data-step]").count() == 19
        assert look.page.locator("figure >> nth=1 >> g[data-step]").count() == 27
        assert look.page.locator("figure >> nth=1 >> g.removed[data-step]").count() == 8


def test_no_two_boxes_of_a_graph_overlap(opened: Opening, pruned: str, run: str) -> None:
    for html in (pruned, run):
        with opened(html) as look:
            boxes = [
                box_of(it)
                for it in look.page.locator("figure >> nth=0 >> rect.box:not(.nest)").all()
            ]
            assert len(boxes) > 3
            assert not any(
                overlap(one, other) for i, one in enumerate(boxes) for other in boxes[i + 1 :]
            )


def test_names_fit_their_boxes(opened: Opening, pruned: str) -> None:
    with opened(pruned) as look:
        for step in look.page.locator("figure >> nth=0 >> g[data-step]").all():
            frame = box_of(step.locator("rect"))
            for text in step.locator("text").all():
                inside = box_of(text)
                assert inside["x"] + inside["width"] <= frame["x"] + frame["width"]


def test_a_run_has_a_bar_for_each_step_and_its_details(opened: Opening, run: str) -> None:
    with opened(run) as look:
        rows = look.page.locator("table tr", has=look.page.locator("td.bars"))
        names = rows.locator("td:first-child a").all_inner_texts()
        assert {"hello", "pause", "wrong", "each", "each[2].twice", "after_all"} <= set(names)
        for name in ("hello", "pause"):
            row = look.page.locator("tr", has=look.page.get_by_text(name, exact=True)).first
            bars = row.locator("td.bars i")
            assert bars.count() >= 1
            cell = box_of(row.locator("td.bars"))
            for bar in bars.all():
                inside = box_of(bar)
                assert inside["x"] >= cell["x"] - 1
                assert inside["x"] + inside["width"] <= cell["x"] + cell["width"] + 3
        assert look.page.locator("header .badge").inner_text() == "succeeded"
        wrong = look.page.locator("details", has=look.page.get_by_text("wrong")).first
        wrong.locator("summary").click()
        assert wrong.locator(".error").first.is_visible()


@pytest.mark.parametrize("name", PAGES)
def test_light_and_dark_are_two_pictures_with_readable_text(
    opened: Opening, request: pytest.FixtureRequest, name: str
) -> None:
    taken = {}
    for scheme in ("light", "dark"):
        with opened(request.getfixturevalue(name), scheme) as look:
            taken[scheme] = look.page.screenshot(full_page=True)
            keep(taken[scheme], request, f"{name}-{scheme}.png")
            for selector in ("body", "p", "dt", ".badge", "td", "summary", "figcaption"):
                for found in look.page.locator(selector).all()[:5]:
                    assert contrast(found) >= 4.5, (scheme, selector, found.inner_text()[:40])

    assert taken["light"] != taken["dark"]
    assert all(len(picture) > 10_000 for picture in taken.values())


def box_of(found: Locator) -> Any:
    return found.bounding_box() or {"x": 0, "y": 0, "width": 0, "height": 0}


def overlap(one: Any, other: Any) -> bool:
    return (
        one["x"] < other["x"] + other["width"]
        and other["x"] < one["x"] + one["width"]
        and one["y"] < other["y"] + other["height"]
        and other["y"] < one["y"] + one["height"]
    )


CONTRAST = """
found => {
  const parts = text => text.match(/[0-9.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  let behind = found, paper;
  do {
    paper = parts(getComputedStyle(behind).backgroundColor);
    behind = behind.parentElement;
  } while (paper[3] === 0 && behind);
  const [a, b] = [light(parts(getComputedStyle(found).color)), light(paper)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}
"""


def contrast(found: Locator) -> float:
    """Return the contrast of a text to what is behind it, as WCAG counts it."""
    ratio: float = found.evaluate(CONTRAST)
    return ratio


def keep(picture: bytes, request: pytest.FixtureRequest, name: str) -> None:
    """Leave a picture under build/, for a person to look at."""
    folder = Path(request.config.rootpath) / "build" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(picture)
