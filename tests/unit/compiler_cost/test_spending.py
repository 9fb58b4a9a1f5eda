"""What runs cost, at most and on average: tables reckoned by hand, and what is not known."""

from __future__ import annotations

import json

import pytest

from dagflow.compiler.report.text import render
from dagflow.core.findings import Bounds, CostBound, Expected
from tests.rules.compiling import compiled

SITE = """# file: site.yaml
dagflow_site: 1
prices:
  currency: EUR
  models:
    local: {prompt: 0.1, answer: 0.4}
    large-3: {prompt: 3, answer: 15}
  tools: {helpdesk.getTicket: 0.01, helpdesk: 0.5}
"""

BRANCHES = """# file: w.yaml
dagflow: 1
name: w
inputs: {hard: boolean, text: {type: string, maxLength: 400}}
models:
  default: {route: local}
  big: {url: "https://models.example/v1", model: large-3}
steps:
  route: {switch: [{when: inputs.hard, then: deep}, {else: quick}]}
  deep: {llm: {model: big, prompt: "Think: ${{ inputs.text }}", max_tokens: 1000}}
  quick: {llm: {prompt: "Say: ${{ inputs.text }}", max_tokens: 100}}
"""

LOOP = """# file: w.yaml
dagflow: 1
name: w
inputs: {xs: {type: array, maxItems: 5, items: {type: string, maxLength: 40}}}
models: {default: {route: local, price: {prompt: 1, answer: 2}}}
steps:
  each:
    foreach:
      items: inputs.xs
      max_items: 5
      concurrency: 2
      steps:
        ask:
          llm: {prompt: "${{ item }}", max_tokens: 20}
          retry: {attempts: 3}
"""

POEM = """# file: poem.yaml
dagflow: 1
name: poem
steps:
  write: {llm: {prompt: Write a poem about rain., max_tokens: 400}}
outputs: {poem: "${{ steps.write.output.text }}"}
"""

CALLED = f"""{POEM}# file: w.yaml
dagflow: 1
name: w
tools: {{helpdesk: {{openapi: ./helpdesk.openapi.yaml}}}}
steps:
  fetch:
    tool: helpdesk.getTicket
    with: {{path: {{id: t-1}}}}
    retry: {{attempts: 2}}
  poem:
    after: fetch
    workflow: {{file: ./poem.yaml}}
    retry: {{attempts: 2, on: model}}
outputs: {{poem: "${{{{ steps.poem.output.poem }}}}"}}
"""


def bounds(text: str) -> Bounds:
    report = compiled(text).report
    assert report.plan is not None, report.findings
    return report.bounds


def history(**used: dict[str, int]) -> str:
    found = {name.replace("__", "."): counts for name, counts in used.items()}
    return f"# file: history.jsonl\n{json.dumps({'used': found})}\n"


# What a run costs at most: prompts are 4 characters a token, prices are for a million.
#
# branches  deep   407 characters, 102 tokens · 3   + 1,000 · 15  = 15,306   the dearer counts
#           quick  405 characters, 102 tokens · 0.1 +   100 · 0.4 =     50.2
# loop      ask     40 characters,  10 tokens · 1   +    20 · 2   =     50   · 5 items · 3 attempts
# called    write   24 characters,   6 tokens · 0.1 +   400 · 0.4 =    160.6 · 2 attempts
#           fetch   0.01 · 2 attempts


@pytest.mark.parametrize(
    ("text", "most", "currency"),
    [
        (SITE + BRANCHES, 0.015306, "EUR"),
        (LOOP, 0.00075, ""),
        (SITE + CALLED, 0.0203212, "EUR"),
    ],
    ids=["branches", "loop", "called"],
)
def test_a_run_costs_at_most_what_was_reckoned_by_hand(
    text: str, most: float, currency: str
) -> None:
    assert bounds(text).cost == CostBound(most=most, currency=currency, estimated=True)


def test_each_step_is_told_what_it_costs() -> None:
    assert {each.step: each.cost for each in bounds(SITE + CALLED).each} == {
        "fetch": 0.02,
        "poem": 0.0003212,
    }


def test_nothing_is_said_of_cost_where_nothing_has_a_price() -> None:
    found = bounds(BRANCHES)

    assert found.cost is None
    assert all(each.cost is None for each in found.each)


def test_a_price_of_the_file_counts_before_that_of_the_site() -> None:
    found = bounds(SITE + LOOP)

    assert found.cost is not None
    assert found.cost.most == 0.00075


def test_a_thousand_times_a_tenth_has_no_noise() -> None:
    text = LOOP.replace("price: {prompt: 1, answer: 2}", "price: {prompt: 0, answer: 0.1}")
    found = bounds(text.replace("maxItems: 5", "maxItems: 1000").replace("items: 5", "items: 1000"))

    assert found.cost == CostBound(most=0.006)


def test_a_prompt_without_bound_costs_what_the_context_has_room_for() -> None:
    text = LOOP.replace(", maxLength: 40", "").replace("local,", "local, context: 120,")

    assert bounds(text).cost == CostBound(most=(100 * 1 + 20 * 2) * 15 / 1e6)


def test_where_prompts_are_dearer_a_short_answer_leaves_room_for_them() -> None:
    text = LOOP.replace(", maxLength: 40", "").replace("local,", "local, context: 120,")
    text = text.replace("prompt: 1, answer: 2", "prompt: 2, answer: 1")

    assert bounds(text).cost == CostBound(most=(120 * 2 + 20 * 1) * 15 / 1e6)


def test_a_prompt_without_bound_and_a_model_without_context_leave_the_cost_unknown() -> None:
    found = bounds(LOOP.replace(", maxLength: 40", ""))

    why = "the prompt of 'each.ask' has no bound, and model 'default' no `context`"
    assert found.cost == CostBound(most=None, unknown=(why,))


def test_a_model_without_price_leaves_the_cost_unknown_and_is_named() -> None:
    found = bounds(SITE.replace("large-3", "large-4") + BRANCHES)

    assert found.cost is not None
    assert (found.cost.most, found.cost.unknown) == (None, ("model 'big' has no price",))


def test_of_a_called_workflow_a_prompt_made_of_values_wants_a_context() -> None:
    poem = POEM.replace("steps:", "inputs: {of: {type: string, maxLength: 10}}\nsteps:")
    poem = poem.replace("about rain.", 'about ${{ inputs.of }}"').replace(
        "prompt: Write", 'prompt: "Write'
    )
    text = CALLED.replace(POEM, poem).replace(
        "file: ./poem.yaml}", "file: ./poem.yaml}\n    with: {of: rain}"
    )

    found = bounds(SITE + text)

    assert found.cost is not None
    assert found.cost.unknown == (
        "the prompt of 'poem.write' has no bound, and model 'default' no `context`",
    )


# What a run uses on average. Of ten runs four thought and six were quick; of four runs with eight
# items two attempts were made again; of two runs one called `poem`, which ran in three.


def test_branches_count_as_often_as_they_were_taken() -> None:
    used = history(
        w__route={"runs": 10, "ran": 10},
        w__deep={"runs": 10, "ran": 4, "tokens": 2000, "prompt_tokens": 320},
        w__quick={"runs": 10, "ran": 6, "tokens": 420, "prompt_tokens": 120},
    )

    assert bounds(SITE + used + BRANCHES).expected == Expected(
        runs=10,
        steps=(10 + 4 + 6) / 10,
        tokens=242.0,
        tool_calls=0.0,
        items=0.0,
        cost=0.0026292,  # (320·3 + 1,680·15 + 120·0.1 + 300·0.4) / 10 millionths
    )


def test_turns_and_attempts_count_as_often_as_they_were_made() -> None:
    used = history(
        w__each={"runs": 4, "ran": 4, "items": 8},
        w__each__ask={"runs": 4, "ran": 8, "tokens": 250, "prompt_tokens": 100},
    )

    assert bounds(used + LOOP).expected == Expected(
        runs=4, steps=3.0, tokens=62.5, tool_calls=0.0, items=2.0, cost=0.0001
    )


def test_a_called_workflow_counts_with_what_its_own_runs_used() -> None:
    used = history(
        w__fetch={"runs": 2, "ran": 2, "calls": 3},
        w__poem={"runs": 2, "ran": 1, "calls": 1},
        poem__write={"runs": 3, "ran": 3, "tokens": 330, "prompt_tokens": 30},
    )

    assert bounds(SITE + used + CALLED).expected == Expected(
        runs=2,
        steps=2.0,  # 2/2 + 1/2 + 1/2 · 3/3
        tokens=55.0,
        tool_calls=1.5,
        items=0.0,
        cost=0.0150205,  # 1.5 · 0.01 + 1/2 · (10·0.1 + 100·0.4) millionths
    )


def test_steps_without_record_are_named_and_nothing_is_guessed() -> None:
    used = history(w__route={"runs": 10, "ran": 10}, w__deep={"runs": 10})

    assert bounds(SITE + used + BRANCHES).expected == Expected(missing=("quick",))


def test_windows_add_up() -> None:
    one = {"w.each": {"runs": 1, "ran": 1, "items": 4}, "w.each.ask": {"runs": 1, "ran": 4}}
    two = {"w.each": {"runs": 3, "ran": 3}, "w.each.ask": {"runs": 3}}
    lines = "".join(f"{json.dumps({'used': used})}\n" for used in (one, two))

    found = bounds(f"# file: history.jsonl\n{lines}{LOOP}").expected

    assert found is not None
    assert (found.runs, found.steps, found.items) == (4, 2.0, 1.0)


# What is told.


def test_the_report_says_what_a_run_uses_at_most_and_on_average() -> None:
    used = history(
        w__each={"runs": 4, "ran": 4, "items": 8},
        w__each__ask={"runs": 4, "ran": 8, "tokens": 250, "prompt_tokens": 100},
    )

    text = render(compiled(used + LOOP).report, {})

    assert (
        "a run uses:\n"
        "  at most 6 steps, 300 generated tokens, 5 items, cost 0.00075"
        " (prompts at four characters a token)\n"
        "  on average 3 steps, 62.5 tokens with prompts, 2 items, cost 0.0001 (4 recorded runs)\n"
    ) in text


def said(text: str, code: str) -> list[tuple[str, str]]:
    found = compiled(text).report.findings
    return [(f.severity.value, f.message) for f in found if f.code == code]


def with_budget(text: str, cost: float) -> str:
    return text.replace("name: w\n", f"name: w\nbudget: {{cost: {cost}}}\n")


ONE_STEP = (
    "0.00025, and 0.0001 more when 'each.ask' needs all its attempts, and the budget has 0.0003"
)


@pytest.mark.parametrize(
    ("cost", "severity", "message"),
    [
        (0.0002, "warning", "0.00025 without any retry, and the budget has 0.0002"),
        (
            0.0003,
            "warning",
            ONE_STEP,
        ),
        (
            0.0005,
            "note",
            "0.00075 when every step needs all its attempts, and the budget has 0.0005",
        ),
    ],
)
def test_a_budget_of_cost_is_compared_with_the_dearest_run(
    cost: float, severity: str, message: str
) -> None:
    assert said(with_budget(LOOP, cost), "DF706") == [(severity, f"a run may cost {message}")]


def test_a_budget_of_what_the_dearest_run_costs_is_enough() -> None:
    assert not said(with_budget(LOOP, 0.00075), "DF706")


def test_a_budget_that_the_average_run_exceeds_is_told() -> None:
    used = history(
        w__each={"runs": 4, "ran": 4, "items": 8},
        w__each__ask={"runs": 4, "ran": 8, "tokens": 250, "prompt_tokens": 100},
    )
    text = used + LOOP.replace("name: w\n", "name: w\nbudget: {tokens: 60, cost: 0.00009}\n")

    assert said(text, "DF706") == [
        ("warning", "a run takes 62.5 tokens on average (4 recorded), and the budget has 60"),
        ("warning", "a run costs 0.0001 on average (4 recorded), and the budget has 0.00009"),
    ]


def test_an_unknown_cost_is_no_risk() -> None:
    assert not said(with_budget(LOOP.replace(", maxLength: 40", ""), 0.1), "DF706")


def test_a_budget_of_cost_without_any_price_is_a_note() -> None:
    ((severity, message),) = said(with_budget(BRANCHES, 0.1), "DF706")

    assert (severity, message[:24]) == ("note", "nothing has a price here")


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        (0.01, []),
        (
            0.009,
            ["the tool calls that every successful run makes cost 0.01 EUR, and the run has 0.009"],
        ),
        (
            0,
            ["the tool calls that every successful run makes cost 0.01 EUR, and the run has 0"],
        ),
    ],
)
def test_a_budget_of_cost_that_the_calls_of_every_success_exceed_is_an_error(
    cost: float, told: list[str]
) -> None:
    found = said(with_budget(SITE + CALLED, cost), "DF703")

    assert found == [("error", message) for message in told]


def test_with_a_cost_of_nothing_no_model_is_asked() -> None:
    text = with_budget(POEM.replace("name: poem", "name: w"), 0)

    ((severity, message),) = said(text, "DF703")

    assert (severity, message[:33]) == ("error", "every successful run asks a model")
