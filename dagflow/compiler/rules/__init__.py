"""Every rule, in the order of its code. Add a file, then its line here."""

from __future__ import annotations

from dagflow.compiler.rule import Rule
from dagflow.compiler.rules.document.document_strict import document_strict
from dagflow.compiler.rules.document.schema_shape import schema_shape
from dagflow.compiler.rules.document.suppression import suppression
from dagflow.compiler.rules.document.unused import unused
from dagflow.compiler.rules.graph.cycle import cycle
from dagflow.compiler.rules.graph.handler_dead import handler_dead
from dagflow.compiler.rules.graph.join_dead import join_dead
from dagflow.compiler.rules.graph.join_short import join_short
from dagflow.compiler.rules.graph.lock_order import lock_order
from dagflow.compiler.rules.graph.no_terminal import no_terminal
from dagflow.compiler.rules.graph.recursive_workflow import recursive_workflow
from dagflow.compiler.rules.graph.step_unreachable import step_unreachable
from dagflow.compiler.rules.graph.write_race import write_race
from dagflow.compiler.rules.guards.branch_shadowed import branch_shadowed
from dagflow.compiler.rules.guards.guard_always import guard_always
from dagflow.compiler.rules.guards.guard_never import guard_never
from dagflow.compiler.rules.guards.switch_gap import switch_gap
from dagflow.compiler.rules.guards.switch_overlap import switch_overlap
from dagflow.compiler.rules.llm.model_schema import model_schema
from dagflow.compiler.rules.llm.prompt_overflow import prompt_overflow
from dagflow.compiler.rules.names.unknown_name import unknown_name
from dagflow.compiler.rules.names.use_before_decided import use_before_decided
from dagflow.compiler.rules.resources.budget_at_risk import budget_at_risk
from dagflow.compiler.rules.resources.budget_impossible import budget_impossible
from dagflow.compiler.rules.resources.cache_unsound import cache_unsound
from dagflow.compiler.rules.resources.exit_impossible import exit_impossible
from dagflow.compiler.rules.resources.loop_unbounded import loop_unbounded
from dagflow.compiler.rules.resources.quota_impossible import quota_impossible
from dagflow.compiler.rules.security.approval_blind import approval_blind
from dagflow.compiler.rules.security.approval_endless import approval_endless
from dagflow.compiler.rules.security.injection_reach import injection_reach
from dagflow.compiler.rules.security.secret_flow import secret_flow
from dagflow.compiler.rules.security.taint_sink import taint_sink
from dagflow.compiler.rules.time.deadline_at_risk import deadline_at_risk
from dagflow.compiler.rules.time.deadline_impossible import deadline_impossible
from dagflow.compiler.rules.time.schedule_infeasible import schedule_infeasible
from dagflow.compiler.rules.time.schedule_odd import schedule_odd
from dagflow.compiler.rules.tools.retry_unsafe import retry_unsafe
from dagflow.compiler.rules.tools.revision_compat import revision_compat
from dagflow.compiler.rules.tools.tool_ambiguous import tool_ambiguous
from dagflow.compiler.rules.tools.tool_deprecated import tool_deprecated
from dagflow.compiler.rules.tools.tool_drift import tool_drift
from dagflow.compiler.rules.tools.tool_insecure import tool_insecure
from dagflow.compiler.rules.tools.tool_unknown import tool_unknown
from dagflow.compiler.rules.types.expression_cost import expression_cost
from dagflow.compiler.rules.types.expression_type import expression_type
from dagflow.compiler.rules.types.maybe_absent import maybe_absent
from dagflow.compiler.rules.types.maybe_null import maybe_null
from dagflow.compiler.rules.types.partial_operation import partial_operation
from dagflow.compiler.rules.types.wiring_type import wiring_type

ALL: tuple[Rule, ...] = (
    document_strict,  # DF001
    schema_shape,  # DF002
    suppression,  # DF003
    unused,  # DF004
    unknown_name,  # DF101
    use_before_decided,  # DF102
    expression_type,  # DF201
    expression_cost,  # DF202
    wiring_type,  # DF203
    maybe_absent,  # DF204
    maybe_null,  # DF205
    partial_operation,  # DF206
    cycle,  # DF301
    step_unreachable,  # DF302
    join_dead,  # DF303
    join_short,  # DF304
    no_terminal,  # DF305
    recursive_workflow,  # DF306
    handler_dead,  # DF307
    write_race,  # DF308
    lock_order,  # DF309
    guard_never,  # DF401
    guard_always,  # DF402
    switch_gap,  # DF403
    switch_overlap,  # DF404
    branch_shadowed,  # DF405
    deadline_impossible,  # DF501
    deadline_at_risk,  # DF502
    schedule_infeasible,  # DF503
    schedule_odd,  # DF504
    tool_unknown,  # DF601
    tool_ambiguous,  # DF602
    tool_deprecated,  # DF603
    tool_insecure,  # DF604
    retry_unsafe,  # DF605
    tool_drift,  # DF606
    revision_compat,  # DF607
    loop_unbounded,  # DF701
    exit_impossible,  # DF702
    budget_impossible,  # DF703
    cache_unsound,  # DF704
    quota_impossible,  # DF705
    budget_at_risk,  # DF706
    model_schema,  # DF801
    prompt_overflow,  # DF802
    secret_flow,  # DF901
    taint_sink,  # DF902
    approval_endless,  # DF903
    injection_reach,  # DF904
    approval_blind,  # DF905
)

RETIRED: frozenset[str] = frozenset()
"""Codes that were used once; they never mean something else."""
