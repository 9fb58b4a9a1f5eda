from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dagflow.compiler import children_of, compile_workflow, explain
from dagflow.core.findings import Severity
from dagflow.core.plan_json import to_json
from dagflow.core.source import Source
from dagflow.core.tool import ToolCatalog
from dagflow.core.values import canonical
from tests.rules.compiling import compiled, told, tools
from tests.unit.compiler.sources import planned, whole, workflow
from tests.unit.work import calls

ROOT = Path(__file__).parents[3]


def big(steps: int) -> str:
    made = ['s0: {transform: "1"}']
    for n in range(1, steps):
        before = f"steps.s{n - 1}.output"
        made.append(
            f"s{n}:\n  python: |\n    def main(x):\n        return x\n"
            f'  with: {{x: "${{{{ {before} }}}}"}}\n  output: integer'
            if n % 2
            else f"s{n}: {{transform: {before} + 1, when: {before} > {n}}}"
        )
    last = f"steps.?s{steps - 1}.output.orValue(0)"
    return workflow("\n".join(made), f'outputs: {{n: "${{{{ {last} }}}}"}}')


def test_whole_workflow_has_a_plan_and_no_finding() -> None:
    result = compiled(whole())

    assert [f.message for f in result.report.findings] == []
    assert result.plan is not None
    assert result.report.plan is result.plan
    assert result.report.before.nodes >= result.report.after.nodes > 0
    assert dict(result.report.timings).keys() >= {"parse", "types", "graph", "prune", "lower"}


def test_same_source_and_catalog_give_the_same_bytes_under_every_hash_seed() -> None:
    program = textwrap.dedent(
        """
        from dagflow.core.plan_json import to_json
        from dagflow.core.values import digest
        from tests.rules.compiling import compiled
        from tests.unit.compiler.sources import whole
        result = compiled(whole())
        faulty = compiled(whole().replace("inputs.n", "inputs.m").replace("steps.first", "steps.x"))
        print(digest(to_json(result.plan)), [f.message for f in faulty.report.findings])
        """
    )

    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            capture_output=True,
            check=True,
            text=True,
            timeout=60,
        ).stdout
        for seed in (0, 1, 2, 3)
    }

    assert len(said) == 1


def test_compiling_touches_nothing_outside(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import sys
        from tests.rules.compiling import compiled, tools
        from tests.unit.compiler.sources import whole
        compiled(whole())  # whatever is loaded lazily is loaded now
        def refuse(event, args):
            if event.split(".")[0] in {"open", "socket", "subprocess", "os", "exec", "import"}:
                raise RuntimeError(f"{event} {args}")
        sys.addaudithook(refuse)
        assert compiled(whole()).plan
        print("pure")
        """
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )

    assert done.stdout == "pure\n", done.stderr


def test_three_times_the_steps_take_about_three_times_the_work() -> None:
    small, large = big(100), big(300)
    compiled(small)  # what is made once for the process

    ratio = calls(lambda: compiles(large)) / calls(lambda: compiles(small))

    assert ratio < 4.5  # quadratic would be 9


def compiles(text: str) -> None:
    assert compiled(text).plan is not None


@pytest.mark.parametrize("text", ["", "[1, 2]", "a: [", "dagflow: 1\nname: x\n", "\t"])
def test_text_that_is_no_workflow_gives_findings_and_no_plan(text: str) -> None:
    result = compiled(text)

    assert result.plan is None
    assert any(f.severity is Severity.ERROR for f in result.report.findings)


def test_mistakes_of_two_steps_are_both_told_though_one_can_not_be_read() -> None:
    text = workflow(
        """
        a: {wait: {for: 5}}
        b: {transform: steps.a.output}
        c: {transform: inputs.nmae + "x"}
        """,
        "inputs: {name: string}",
    )

    assert [(f.code, f.span.line) for f in told(text)] == [("DF002", 5), ("DF101", 7)]


def test_mistake_in_one_loop_does_not_hide_one_in_another() -> None:
    loop = "{name}: {{repeat: {{steps: {{{inner}}}, until: turn > 2, max: 4}}}}"
    text = workflow(
        loop.format(name="one", inner="x: {transform: turn + true}")
        + "\n"
        + loop.format(name="two", inner="y: {wait: {for: 1s}, after: z}, z: {fail: a, after: y}"),
        'outputs: {a: "${{ steps.one.output }}", b: "${{ steps.two.output }}"}',
    )

    assert [f.code for f in told(text)] == ["DF201", "DF301"]


def test_mistake_in_a_step_hides_none_in_a_loop_whose_name_begins_alike() -> None:
    text = workflow(
        """
        loop: {transform: inputs.x}
        loop2:
          repeat:
            steps: {y: {wait: {for: 1s}, after: z}, z: {fail: a, after: y}}
            until: turn > 2
            max: 4
        """,
        'outputs: {a: "${{ steps.loop.output }}", b: "${{ steps.loop2.output }}"}',
    )

    assert {f.code for f in told(text)} == {"DF101", "DF301"}


def test_graph_of_a_block_is_not_judged_while_a_step_of_it_is_broken() -> None:
    ring = "y: {wait: {for: 1s}, after: z}\nz: {wait: {for: 1s}, after: y}"

    assert [f.code for f in told(workflow(ring))] == ["DF301"]
    assert [f.code for f in told(workflow(f"{ring}\na: {{fail: x, when: inputs.x}}"))] == ["DF101"]


def test_findings_are_sorted_by_place() -> None:
    text = whole().replace("inputs.n", "inputs.m").replace("inputs.words", "inputs.word")

    found = [f.span for f in compiled(text).report.findings]

    assert len(found) > 2
    assert found == sorted(found)


def test_warning_is_allowed_by_a_comment_with_a_reason_and_no_error_is() -> None:
    step = "ask: {approve: {message: Go on?}}"
    allowed = workflow(f"# dagflow: allow approval-endless — by hand\n{step}")
    refused = workflow("# dagflow: allow unknown-name — why not\nit: {transform: inputs.x}")

    assert told(allowed) == []
    assert [f.code for f in told(workflow(step))] == ["DF903"]
    assert "DF101" in [f.code for f in told(refused)]


def test_allowance_for_nothing_is_noted() -> None:
    text = workflow("# dagflow: allow approval-endless — by hand\nnap: {wait: {for: 1s}}")

    found = compiled(text).report.findings

    assert [(f.code, f.severity) for f in found] == [("DF003", Severity.NOTE)]


def test_text_that_looks_like_an_allowance_is_none() -> None:
    text = workflow(
        """
        it:
          python: |
            # dagflow: allow unused
            def main():
                return 1
          output: integer
        """,
        'outputs: {n: "${{ steps.it.output }}"}',
    )

    assert compiled(text).report.findings == ()


def test_child_is_given_by_its_file_and_its_inputs_are_checked() -> None:
    child = planned(
        workflow("a: {transform: inputs.n + inputs.m}", "inputs: {n: integer, m: {default: 1}}")
    )
    text = workflow(
        'call: {workflow: {file: ./child.yaml}, with: {n: "${{ inputs.word }}"}}',
        "inputs: {word: string}",
    ).replace("name: test", "name: parent")
    right = text.replace("inputs.word", "size(inputs.word)")
    children = {"./child.yaml": child}

    wrong = compile_workflow(Source("p.yaml", text), tools(), children=children)
    fine = compile_workflow(Source("p.yaml", right), tools(), children=children)

    assert fine.workflow is not None
    assert children_of(fine.workflow) == ("./child.yaml",)
    assert [f.message for f in wrong.report.findings] == ["n: expected integer, got string"]
    assert fine.plan is not None
    assert fine.plan.steps[0].child == child


def test_workflow_that_calls_itself_through_another_is_refused() -> None:
    inner = planned(workflow("nap: {wait: {for: 1s}}").replace("name: test", "name: top"))
    middle = compile_workflow(
        Source("m.yaml", workflow("call: {workflow: {file: ./top.yaml}}")),
        ToolCatalog(),
        children={"./top.yaml": inner},
    ).plan
    assert middle is not None
    text = workflow("call: {workflow: {file: ./m.yaml}}").replace("name: test", "name: top")

    found = compile_workflow(
        Source("top.yaml", text), ToolCatalog(), children={"./m.yaml": middle}
    ).report.findings

    assert [f.message for f in found] == ["the workflow 'top' calls itself through 'test'"]


def test_value_of_unknown_type_is_checked_when_it_is_known() -> None:
    text = workflow(
        """
        any:
          python: |
            def main():
                return {}
        fetch:
          tool: helpdesk.getTicket
          with: {path: {id: "${{ steps.any.output.id }}"}}
        """,
        """
        tools: {helpdesk: {openapi: ./helpdesk.openapi.yaml}}
        outputs: {text: "${{ steps.fetch.output.body.text }}"}
        """,
    )
    result = compiled(text)

    assert [(f.code, f.severity) for f in result.report.findings] == [("DF203", Severity.NOTE)]
    assert result.plan is not None
    assert result.plan.steps[1].check_input


def test_explain_knows_codes_and_names_and_nothing_else() -> None:
    found = explain("unknown-name")

    assert found is not None
    assert found.code == "DF101"
    assert explain("DF999") is None


def test_plan_is_canonical_json() -> None:
    plan = planned(whole())

    assert canonical(to_json(plan)) == canonical(to_json(planned(whole())))
