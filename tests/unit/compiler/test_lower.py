from __future__ import annotations

from dagflow.core.plan import ControlEdge, Evaluated, Joined, Keyed, Listed, Literal_, PlanStep
from tests.unit.compiler.sources import planned, whole, workflow

TICKETS = "tools: {helpdesk: {openapi: ./helpdesk.openapi.yaml}}"


def step(text: str, path: str) -> PlanStep:
    return next(step for step in planned(text).steps if step.path == path)


def test_template_becomes_a_value_and_its_fixed_parts_stay_as_they_are() -> None:
    text = workflow(
        """
        it:
          python: |
            def main(**given):
                return 1
          with:
            whole: "${{ inputs.n }}"
            text: "n is ${{ inputs.n }}, not $${{ n }}"
            fixed: {a: [1, two]}
            mixed: [1, "${{ inputs.n }}"]
          output: integer
        """,
        'inputs: {n: integer}\noutputs: {n: "${{ steps.it.output }}"}',
    )

    arguments = step(text, "it").arguments

    assert isinstance(arguments, Keyed)
    found = dict(arguments.entries)
    assert isinstance(found["whole"], Evaluated)
    assert isinstance(found["text"], Joined)
    assert found["text"].parts[0] == "n is "
    assert found["text"].parts[2] == ", not ${{ n }}"
    assert found["fixed"] == Literal_({"a": [1, "two"]})
    assert isinstance(found["mixed"], Listed)


def test_text_of_a_prompt_stays_text_where_it_is_one_expression() -> None:
    text = workflow(
        'say: {llm: {prompt: "${{ inputs.n }}", system: Be short.}}',
        'inputs: {n: integer}\noutputs: {text: "${{ steps.say.output.text }}"}',
    )

    messages = step(text, "say").templates["messages"]

    assert isinstance(messages, Listed)
    assert messages.items[0] == Keyed(
        (("role", Literal_("system")), ("content", Literal_("Be short.")))
    ) or messages.items[0] == Literal_({"role": "system", "content": "Be short."})
    assert isinstance(messages.items[1], Keyed)
    assert isinstance(dict(messages.items[1].entries)["content"], Joined)


def test_edges_needs_and_awaits_are_static_paths() -> None:
    found = {each.path: each for each in planned(whole()).steps}

    assert found["run"].after == (ControlEdge("ask", ("success",)),)
    assert found["late"].after == (ControlEdge("pick", (), (1,)),)
    assert found["pick"].needs == ("grade",)
    assert found["each"].needs == ("first",)
    assert [inner.path for inner in found["each"].block] == ["each.size", "each.plus"]
    assert found["each"].body["collect_step"] == "each.plus"


def test_defaults_of_workflow_and_kind_are_filled_in() -> None:
    top = f"""
    defaults: {{timeout: 7s, retry: {{attempts: 4, backoff: 2s}}, quota: {{memory: 64MiB}}}}
    {TICKETS}
    """
    text = workflow(
        """
        a: {tool: helpdesk.listTickets}
        b:
          tool: helpdesk.GET /tickets
          timeout: 2s
          retry: {factor: 3, backoff: 1s}
          quota: {pids: 8}
        c: {transform: 1 + size(steps.a.output.body) + size(steps.b.output.body)}
        """,
        f'{top}\n    outputs: {{n: "${{{{ steps.c.output }}}}"}}',
    )
    found = {each.path: each for each in planned(text).steps}

    assert (found["a"].timeout, found["a"].retry.attempts, found["a"].retry.backoff) == (7, 4, 2)
    assert (found["b"].timeout, found["b"].retry.attempts, found["b"].retry.factor) == (2, 4, 3)
    assert found["b"].retry.backoff == 1
    assert (found["c"].timeout, found["c"].retry.attempts) == (None, 1)
    assert (found["b"].limits.memory, found["b"].limits.pids) == (64 * 1024**2, 8)


def test_secrets_of_tools_and_models_are_references() -> None:
    text = workflow(
        """
        fetch: {tool: helpdesk.getTicket, with: {path: {id: x}}}
        say: {llm: {prompt: "Say ${{ steps.fetch.output.body.text }}"}}
        """,
        """
        secrets: [TOKEN]
        tools:
          helpdesk:
            openapi: ./helpdesk.openapi.yaml
            auth: {token: "${{ secrets.TOKEN }}"}
        models: {default: {url: "https://m.example/v1", model: m, api_key: "${{ secrets.TOKEN }}"}}
        outputs: {text: "${{ steps.say.output.text }}"}
        """,
    )
    plan = planned(text)

    assert plan.steps[0].body["auth"] == {"token": "\ue000secret:TOKEN\ue001"}
    assert plan.models["default"]["api_key"] == "\ue000secret:TOKEN\ue001"
    assert plan.secrets == ("TOKEN",)


def test_operations_are_pinned_and_the_local_model_is_the_default() -> None:
    plan = planned(whole())

    assert list(plan.tools) == ["helpdesk.GET /tickets/{id}"]
    assert plan.tools["helpdesk.GET /tickets/{id}"]["method"] == "GET"
    assert plan.models["default"]["route"] == "local"


def test_expression_knows_its_place_in_the_file() -> None:
    text = whole()

    found = step(text, "each").block[1].expressions["expression"]

    line = text.splitlines()[found.line - 1]
    assert line[found.column - 1 :].startswith("steps.size.output + steps.first.output")
    assert found.reads == (("steps", "size", "output"), ("steps", "first", "output"))


def test_handlers_keep_their_order_and_their_target() -> None:
    text = workflow(
        """
        a:
          python: |
            def main():
                return 1
          output: integer
          on_error:
            - {on: [user, oom], continue: 7}
            - {on: timeout, goto: b}
        b: {wait: {for: 1s}}
        """,
        'outputs: {n: "${{ steps.?a.output.orValue(0) }}"}',
    )

    found = step(text, "a").on_error

    assert [handler.on for handler in found] == [("user", "oom"), ("timeout",)]
    assert found[0].continue_ == Literal_(7)
    assert found[1].goto == "b"
