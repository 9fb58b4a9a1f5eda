"""The tokenizer, built from what the model's own file says about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from dagflow.core.errors import UsageError

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

SPECIAL: Final = 3
"""GGUF's type of control tokens, such as the borders of a chat's messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Tokens by id, their GGUF types, the merges of byte-pair encoding, and how text is split."""

    model: str
    splitter: str
    tokens: tuple[str, ...]
    kinds: tuple[int, ...]
    merges: tuple[str, ...]


def _digits_then_bytes(pre: Any) -> Any:
    return pre.Sequence(
        [
            pre.Digits(individual_digits=True),
            pre.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )


def _bytes(pre: Any) -> Any:
    return pre.ByteLevel(add_prefix_space=False, use_regex=True)


_SPLITTERS: Final[dict[str, Callable[[Any], Any]]] = {
    "smollm": _digits_then_bytes,
    "gpt-2": _bytes,
}


def build(vocabulary: Vocabulary) -> Tokenizer:
    """Return the tokenizer. One whose rules aren't known is refused, never guessed."""
    from tokenizers import AddedToken, decoders, models, pre_tokenizers
    from tokenizers import Tokenizer as Backend

    splitter = _SPLITTERS.get(vocabulary.splitter)
    if vocabulary.model != "gpt2" or splitter is None:
        raise UsageError(
            f"the model's tokenizer is {vocabulary.model!r} with the splitter "
            f"{vocabulary.splitter!r}, which dagflow does not know "
            f"(it knows 'gpt2' with {', '.join(map(repr, _SPLITTERS))})",
            remedy="serve this model with another OpenAI-compatible server and name its url",
        )
    ids = {token: index for index, token in enumerate(vocabulary.tokens)}
    merges = [(left, right) for left, _, right in (m.partition(" ") for m in vocabulary.merges)]
    backend = Backend(models.BPE(vocab=ids, merges=merges, fuse_unk=False))
    backend.pre_tokenizer = splitter(pre_tokenizers)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(
        [
            AddedToken(token, special=True, normalized=False)
            for token, kind in zip(vocabulary.tokens, vocabulary.kinds, strict=True)
            if kind == SPECIAL
        ]
    )
    return Tokenizer(backend)


def load(path: Path) -> Tokenizer:
    """Return a tokenizer that `Tokenizer.save` wrote."""
    from tokenizers import Tokenizer as Backend

    return Tokenizer(Backend.from_file(str(path)))


class Tokenizer:
    """Text to tokens and back. Bytes are exact: a token may hold part of a code point."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._encoding = Lock()
        added = backend.get_added_tokens_decoder()
        self.special: dict[str, int] = {
            token.content: index for index, token in added.items() if token.special
        }
        self._special_ids = frozenset(self.special.values())
        self._bytes: dict[int, bytes] = {}

    @property
    def size(self) -> int:
        """Return how many tokens there are."""
        return int(self._backend.get_vocab_size(with_added_tokens=True))

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Return the tokens of `text`; without `special`, a control token's name is plain text."""
        with self._encoding:
            self._backend.encode_special_tokens = not special
            return list(self._backend.encode(text, add_special_tokens=False).ids)

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes that a token stands for; none for a control token."""
        known = self._bytes.get(token)
        if known is None:
            known = self._bytes[token] = self._read(token)
        return known

    def _read(self, token: int) -> bytes:
        text = None if token in self._special_ids else self._backend.id_to_token(token)
        return b"" if text is None else bytes(_byte_of()[character] for character in text)

    def name(self, token: int) -> str:
        """Return a token as the vocabulary spells it."""
        return str(self._backend.id_to_token(token))

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens, with U+FFFD where their bytes are not UTF-8."""
        return b"".join(map(self.token_bytes, tokens)).decode(errors="replace")

    def to_json(self) -> str:
        """Return the form that Hugging Face's libraries and llguidance read."""
        return str(self._backend.to_str())

    def save(self, path: Path) -> None:
        """Write the tokenizer for `load`."""
        path.write_text(self.to_json())


@cache
def _byte_of() -> dict[str, int]:
    """Return GPT-2's table from printable stand-ins to bytes."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others: Sequence[int] = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable}
    return table | {chr(256 + index): byte for index, byte in enumerate(others)}
