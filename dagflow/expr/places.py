"""Where each sub-expression stands in the text, from the place of its operator and its parts."""

from __future__ import annotations

from collections.abc import Sequence

from dagflow.expr.ast import At
from dagflow.expr.lexer import Token, pairs


class Places:
    """Where sub-expressions begin and end in a text."""

    def __init__(self, found: Sequence[Token]) -> None:
        self._tokens = found
        self._index = {token.start: i for i, token in enumerate(self._tokens)}
        self._partner = pairs(self._tokens)
        self._brackets = sorted(self._partner)

    def place(self, position: int, *parts: At) -> At:
        """Return the stretch of the node at `position` whose sub-expressions lie at `parts`."""
        start, end = self._own(position)
        for first, last in parts:
            if last:
                start, end = min(start, first), max(end, last)
        return self._balanced(start, end) if self._brackets else (start, end)

    def _own(self, position: int) -> At:
        index = self._index.get(position)
        if index is None:
            return position, position
        token = self._tokens[index]
        if token.start in self._partner:
            end = self._partner[token.start] + 1
            return self._callee(index).start if token.text == "(" else token.start, end
        if token.text in {".", ".?", "-"} and index + 1 < len(self._tokens):
            return token.start, self._tokens[index + 1].end
        return token.start, token.end

    def _callee(self, index: int) -> Token:
        """Return the first token of the dotted name before a parenthesis."""
        while index and self._tokens[index - 1].kind in {"name", "quoted"}:
            index -= 1
            if not index or self._tokens[index - 1].text not in {".", ".?"}:
                break
            index -= 1
        return self._tokens[index]

    def _balanced(self, start: int, end: int) -> At:
        for bracket in self._brackets:
            if start <= bracket < end:
                partner = self._partner[bracket]
                start, end = min(start, partner), max(end, partner + 1)
        return start, end
