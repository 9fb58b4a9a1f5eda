"""DF102: reads and edges across the border of a block, of a later turn, or of oneself."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.names.references import misplaced_steps
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF102", "use-before-decided", Severity.ERROR, "resolved")
def use_before_decided(checks: Checks) -> Iterator[Violation]:
    """A step is used where it is not decided yet, or not at all.

    The steps inside a `foreach` or `repeat` run many times, so nothing outside can wait for one
    of them or read it: it reads what the whole gives. No step can read itself, and none outside
    can read the steps of `finally`, which run last.

    Bad:

        dagflow: 1
        name: lengths
        inputs: {words: {type: array, items: {type: string}, maxItems: 10}}
        steps:
          each:
            foreach:
              items: inputs.words
              as: word
              max_items: 10
              steps:
                size: {transform: size(word)}
        outputs:
          sizes: ${{ steps.size.output }}  # DF102: step 'size' is inside 'each' and can't be read…

    Good:

        dagflow: 1
        name: lengths
        inputs: {words: {type: array, items: {type: string}, maxItems: 10}}
        steps:
          each:
            foreach:
              items: inputs.words
              as: word
              max_items: 10
              steps:
                size: {transform: size(word)}
        outputs:
          sizes: ${{ steps.each.output }}
    """
    yield from checks.faults("use-before-decided")
    if checks.model is not None:
        yield from misplaced_steps(checks.model)
