from __future__ import annotations

import pytest

from dagflow.compiler.types.composites import collected, sinks_of
from dagflow.core.values import Schema
from tests.unit.compiler.sources import facts, modelled, whole, workflow

NULL: Schema = {"type": "null"}


@pytest.mark.parametrize(
    ("path", "output"),
    [
        ("first", {"type": "integer"}),
        ("each.size", {"type": "integer"}),
        ("each", {"type": "array", "items": {"type": "integer"}, "maxItems": 5}),
        ("turns", {"type": "integer"}),
        ("lines", {"type": "array", "items": {"type": "string"}}),
        ("late", {"type": "null"}),
    ],
)
def test_output_follows_from_kind_and_parts(path: str, output: Schema) -> None:
    found = facts(modelled(whole()), path).output

    for key, value in output.items():
        assert isinstance(found, dict)
        assert found[key] == value


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("fetch", {"status", "headers", "body"}),
        ("ask", {"by", "at", "comment"}),
        ("run", {"exit_code", "stdout", "stderr"}),
        ("write", {"text", "finish_reason"}),
        ("grade", {"level"}),
        ("pick", {"branch"}),
    ],
)
def test_outputs_that_are_objects_have_these_fields(path: str, fields: set[str]) -> None:
    found = facts(modelled(whole()), path).output

    assert isinstance(found, dict)
    assert set(found["properties"]) == fields


@pytest.mark.parametrize(
    "inner",
    [
        "size: {transform: size(word), when: word != ''}",
        "size: {transform: size(word)}, last: {transform: 1 + 1, after: {step: size, on: failure}}",
        "pick: {switch: [{when: word != '', then: size}, {else: end}]}, size: {transform: '1 + 1'}",
    ],
)
def test_entry_is_nullable_where_the_inner_step_may_be_skipped(inner: str) -> None:
    loop = f"{{items: inputs.words, as: word, max_items: 5, steps: {{{inner}}}}}"
    text = workflow(
        f"each: {{foreach: {loop}}}",
        "inputs: {words: {type: array, items: {type: string}}}",
    )

    found = facts(modelled(text), "each").output

    assert isinstance(found, dict)
    assert found["items"] in ({"type": ["integer", "null"]}, {"anyOf": [{"const": 2}, NULL]})


def test_sinks_are_the_steps_that_nobody_waits_for() -> None:
    text = workflow(
        """
        a: {transform: "1"}
        b: {transform: "2", after: a}
        c: {transform: steps.a.output}
        d: {switch: [{when: "true", then: c}]}
        e: {transform: "3", on_error: {goto: f}}
        f: {transform: "4"}
        """
    )

    assert sinks_of(modelled(text).blocks[""].steps) == ("b", "c", "f")


def test_a_step_that_is_read_from_inside_a_loop_beside_it_is_not_the_last() -> None:
    inner = "foreach: {items: '[1]', as: k, max_items: 1, steps: {c: {transform: steps.a.output}}}"
    text = workflow(
        f"outer: {{foreach: {{items: '[1, 2]', max_items: 2, steps: "
        f"{{a: {{transform: item}}, b: {{{inner}}}}}}}}}"
    )

    found = modelled(text)

    assert collected(facts(found, "outer"), found.blocks["outer"].steps) == "outer.b"
    output = facts(found, "outer").output
    assert isinstance(output, dict)
    assert output["items"] == facts(found, "outer.b").output


def test_reads_know_their_producer_their_place_and_whether_they_need_it() -> None:
    text = workflow(
        """
        a: {transform: "1"}
        b: {transform: "2"}
        c:
          transform: steps.a.output + steps.?b.output.orValue(0)
          when: steps.a.status == "succeeded"
        """
    )

    reads = facts(modelled(text), "c").reads

    assert [(r.step, r.field, r.required, r.where) for r in reads] == [
        ("a", "status", False, "when"),
        ("a", "output", True, "body"),
        ("b", "output", False, "body"),
    ]
    plain = reads[1]
    assert text.splitlines()[plain.span.line - 1][plain.span.column - 1 :].startswith(plain.text)


def test_reads_of_inner_steps_are_reads_of_their_composite() -> None:
    found = facts(modelled(whole()), "each")

    assert ("first", "inner") in {(read.step, read.where) for read in found.reads}
    assert not [read for read in found.reads if read.step.startswith("each.")]


def test_compensation_sees_its_own_step_and_adds_no_reads_to_it() -> None:
    text = workflow(
        """
        open:
          tool: helpdesk.createTicket
          with: {body: {text: Fire}}
          compensate:
            tool: helpdesk.removeTicket
            with: {path: {id: "${{ steps.open.output.body.id }}"}}
        """,
        "tools: {helpdesk: {openapi: ./helpdesk.openapi.yaml}}",
    )

    found = facts(modelled(text), "open")

    assert found.compensate is not None
    assert found.compensate.path == "open.compensate"
    assert [read.step for read in found.compensate.reads] == ["open"]
    assert found.reads == ()


def test_chain_of_a_thousand_reads_is_typed_whatever_its_order() -> None:
    chain = [f"s{n}: {{transform: steps.s{n - 1}.output + 1}}" for n in range(1000, 0, -1)]
    text = workflow("\n".join([*chain, 's0: {transform: "1"}']))

    model = modelled(text)

    assert not model.faults
    assert facts(model, "s1000").output == {"type": "integer"}


@pytest.mark.parametrize(
    "text",
    [
        "it's ${{ steps.late.output.no }}, isn't it",
        "// ${{ steps.late.output.no }}",
        "$${{ ' ${{ steps.late.output.no }}",
    ],
)
def test_prose_around_an_expression_hides_no_read_from_the_order_of_typing(text: str) -> None:
    steps = f"""
        use: {{shell: [echo, "x"], with: {{said: "{text}"}}}}
        late: {{transform: '{{"yes": 1}}'}}
        """

    (fault,) = modelled(workflow(steps)).faults

    assert fault.message == "`steps.late.output` has no field 'no'"


def test_steps_that_read_each_other_have_no_type_and_no_fault() -> None:
    text = workflow('a: {transform: steps.b.output + 1}\nb: {transform: steps.a.output + "x"}')

    assert not [fault for fault in modelled(text).faults if fault.rule == "unknown-name"]


@pytest.mark.parametrize(
    ("step", "effects"),
    [
        ("tool: helpdesk.getTicket\nwith: {path: {id: x}}", "pure"),
        ("tool: helpdesk.removeTicket\nwith: {path: {id: x}}", "idempotent"),
        ("tool: helpdesk.createTicket\nwith: {body: {text: x}}", "once"),
        ("shell: [date]", "idempotent"),
        ("shell: {argv: [date], network: true}", "once"),
        ("shell: {argv: [date], network: true}\neffects: pure", "pure"),
        ('transform: "1"', "pure"),
    ],
)
def test_effects_are_as_written_or_as_kind_and_operation_say(step: str, effects: str) -> None:
    body = "\n".join(f"  {line}" for line in step.splitlines())
    text = workflow(f"it:\n{body}", "tools: {helpdesk: {openapi: ./helpdesk.openapi.yaml}}")

    assert facts(modelled(text), "it").effects == effects


def test_input_with_a_default_is_always_there() -> None:
    text = workflow(
        "a: {transform: inputs.n + 1}", "inputs: {n: {type: integer, default: 3}, m: integer?}"
    )

    model = modelled(text)

    assert not model.faults
    assert model.used == {"input:n"}
