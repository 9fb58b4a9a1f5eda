"""What steps are paid at: by the prices of the workflow's models, or else by those of the site.

A model of another server without a price makes the cost of its steps unknown; the local model and
a tool's operation without one are free.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Final

from dagflow.compiler.defaults import MAX_TOKENS
from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.planning.bodies import DEFAULT_MODEL
from dagflow.compiler.types.prompts import longest, parts_of, tokens_in
from dagflow.core.money import Price, PriceList, price_in
from dagflow.core.plan import Joined, Keyed, Listed, Literal_, Plan, PlanStep, Value, steps_of
from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject
from dagflow.core.workflow import ModelRef, Workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What one attempt of a step costs at most, in picos; infinity where that is `unknown`.

    `estimated` tells that its prompt is counted by its length.
    """

    cost: float = 0
    estimated: bool = False
    unknown: str = ""


FREE: Final = Charge()


def prices_for(model: Model, listed: PriceList) -> PriceList | None:
    """Return the prices where any may count: of the site, the workflow or one that it calls."""
    if listed.models or listed.tools:
        return listed
    if any(reference.price is not None for _, reference in model.workflow.models):
        return listed
    return listed if any(_has_price(plan) for plan in model.children.values()) else None


def _has_price(plan: Plan) -> bool:
    if any("price" in route for route in plan.models.values()):
        return True
    return any(step.child is not None and _has_price(step.child) for step in steps_of(plan))


def terms_of(reference: ModelRef) -> JsonObject:
    """Return what a plan holds of a model's price and context, where they are given."""
    terms: JsonObject = {}
    if reference.context is not None:
        terms["context"] = reference.context.value
    if reference.price is not None:
        asked = reference.price
        terms["price"] = {"prompt": asked.prompt.value, "answer": asked.answer.value}
    return terms


def call_price(listed: PriceList, operation: str, named: str = "") -> int:
    """Return what a call of an operation costs, in picos; `named` is the document's name for it."""
    tool = operation.partition(".")[0]
    keys = (operation, f"{tool}.{named}", tool)
    return next((listed.tools[key] for key in keys if key in listed.tools), 0)


def called_at(facts: StepFacts, listed: PriceList) -> int:
    """Return what one call of a tool step costs, in picos; nothing for any other."""
    if facts.operation is None:
        return 0
    return call_price(listed, facts.operation.id, facts.operation.operation_id)


def planned_call_price(listed: PriceList, step: PlanStep) -> int:
    """Return what a call of a plan's tool step costs, in picos.

    A plan holds no name of an operation, so that of those that the site names of the tool the
    dearest counts.
    """
    operation = str(step.body.get("operation", ""))
    if operation in listed.tools:
        return listed.tools[operation]
    tool = operation.partition(".")[0]
    return max((at for key, at in listed.tools.items() if key.partition(".")[0] == tool), default=0)


def token_price(listed: PriceList, name: str, route: Mapping[str, object]) -> Price | None:
    """Return what a model asks for a token, None where nobody knows."""
    own = price_in(route)  # type: ignore[arg-type]  # JSON as a plan holds it
    if own is not None:
        return own
    keys = (route.get("model"), route.get("route"), name)
    found = [listed.models[key] for key in keys if isinstance(key, str) and key in listed.models]
    if found:
        return found[0]
    return Price() if route.get("route") == "local" else None


def route_of(workflow: Workflow, name: str) -> JsonObject:
    """Return what is said of a model under `models`, as far as its price hangs on it."""
    reference = workflow.models.get(name)
    if reference is None:
        return {"route": "local"}
    return {
        "route": reference.route.value if reference.route else None,
        "model": reference.model.value if reference.model else None,
        **terms_of(reference),
    }


def model_of(facts: StepFacts) -> str:
    """Return the name of the model that an llm step asks."""
    return facts.step.body.model.value if facts.step.body.model else DEFAULT_MODEL


def charge_of(facts: StepFacts, workflow: Workflow, listed: PriceList) -> Charge:
    """Return what one attempt of a step costs at most; nothing for what is inside of it."""
    if facts.operation is not None:
        cost = called_at(facts, listed)
        return Charge(cost=cost) if cost else FREE
    if facts.kind != "llm":
        return FREE
    lengths = [longest(part) for part in parts_of(facts)]
    length = None if None in lengths else sum(each or 0 for each in lengths)
    answer = facts.step.body.max_tokens.value if facts.step.body.max_tokens else MAX_TOKENS
    name = model_of(facts)
    asked = _Asked(step=facts.path, model=name, length=length, answer=answer)
    return _answered(asked, route_of(workflow, name), listed)


def planned_charge(step: PlanStep, plan: Plan, listed: PriceList) -> Charge:
    """Return what one attempt of a step of a plan costs at most, where its types are gone."""
    if step.kind == "tool":
        cost = planned_call_price(listed, step)
        return Charge(cost=cost) if cost else FREE
    if step.kind != "llm":
        return FREE
    name = str(step.body.get("model", DEFAULT_MODEL))
    answer = step.body.get("max_tokens")
    length = _length(step.templates.get("messages", Literal_(None)))
    most = answer if isinstance(answer, int) else MAX_TOKENS
    asked = _Asked(step=f"{plan.name}.{step.path}", model=name, length=length, answer=most)
    return _answered(asked, plan.models.get(name, {}), listed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What a step asks of a model: the characters of its prompt, the tokens of the answer."""

    step: str
    model: str
    length: int | None
    answer: int


def _answered(asked: _Asked, route: JsonObject, listed: PriceList) -> Charge:
    """Return what an answer costs at most with its prompt."""
    price = token_price(listed, asked.model, route)
    if price is None:
        return Charge(cost=inf, unknown=f"model {asked.model!r} has no price")
    by_length = None if asked.length is None else tokens_in(asked.length)
    room = _room(route.get("context"), asked.answer, price)
    prompts = [tokens for tokens in (room, by_length) if tokens is not None]
    if not prompts and price.prompt:
        why = f"the prompt of {asked.step!r} has no bound, and model {asked.model!r} no `context`"
        return Charge(cost=inf, unknown=why)
    prompt = min(prompts, default=0)
    is_exact = prompt == room or not price.prompt
    return Charge(cost=price.of(prompt, asked.answer), estimated=not is_exact)


def _room(context: object, answer: int, price: Price) -> int | None:
    """Return how many tokens the context has for a prompt, beside the longest answer.

    Where a prompt is dearer than an answer, beside none: a shorter answer leaves more room.
    """
    if not isinstance(context, int):
        return None
    return max(0, context - answer) if price.answer >= price.prompt else context


def _length(value: Value) -> int | None:
    """Return how many characters the texts of a chat have, None where an expression makes some."""
    if isinstance(value, Literal_):
        return _written(value.literal)
    if isinstance(value, Listed):
        parts = [_length(item) for item in value.items]
    elif isinstance(value, Keyed):
        parts = [_length(item) for key, item in value.entries if key != "role"]
    elif isinstance(value, Joined):
        parts = [len(part) if isinstance(part, str) else None for part in value.parts]
    else:
        return None
    return None if None in parts else sum(part or 0 for part in parts)


def _written(value: object) -> int:
    if isinstance(value, list):
        return sum(_written(item) for item in value)
    if isinstance(value, dict):
        return sum(_written(item) for key, item in value.items() if key != "role")
    return len(value) if isinstance(value, str) else 0
