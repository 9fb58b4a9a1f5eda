"""Verdicts on deadlines in words."""

from __future__ import annotations

from typing import Final

from dagflow.compiler.types.words import duration
from dagflow.core.findings import DeadlineVerdict
from dagflow.core.text import counted

SHOWN: Final = 3
"""Steps that are named; of more, how many there are."""

_SCOPES: Final = {"isolated": "no waiting for workers", "queued": "with the waiting recorded"}


def said(verdict: DeadlineVerdict) -> str:
    """Say a verdict with what it rests on."""
    limit = duration(verdict.deadline)
    if verdict.verdict == "proven":
        return f"{limit}: PROVEN by the bounds of the steps, if none waits for a worker"
    if verdict.verdict == "impossible":
        return f"{limit}: IMPOSSIBLE, the fastest success takes longer"
    if verdict.verdict == "no_data":
        names = ", ".join(verdict.missing[:SHOWN])
        more = len(verdict.missing) - SHOWN
        return f"{limit}: NO DATA of {names}{f' and {more} more' if more > 0 else ''}"
    return f"{limit}: {verdict.verdict.upper()}, {shares(verdict)}"


def shares(verdict: DeadlineVerdict, limit: str = "") -> str:
    """Say between which shares of runs keep a deadline, and how that was found."""
    kept = f"the deadline of {limit}" if limit else "it"
    low, high = (f"{share * 100:.4g}" for share in (verdict.low, verdict.high))
    return (
        f"{low}–{high} % of runs keep {kept} ({_SCOPES[verdict.scope]};"
        f" {verdict.runs:,} runs drawn from {counted(verdict.windows, 'window')},"
        f" seed {verdict.seed})"
    )
