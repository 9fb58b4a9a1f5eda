"""The chat template of a model's file, rendered so that messages can't forge its borders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from dagflow.core.errors import UsageError
from dagflow.llm.protocol import Message
from dagflow.llm.tokenizer import Tokenizer

# from a private use area: a mark can't be mistaken for text that a template adds
_MARK = "\U0010f8f0{}\U0010f8f1"


class ChatTemplate:
    """Turns messages into the tokens that a model was trained to continue."""

    def __init__(
        self, text: str, tokenizer: Tokenizer, bos: int | None, eos: Sequence[int]
    ) -> None:
        from jinja2 import TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = _refuse
        try:
            self._template = environment.from_string(text)
        except TemplateError as error:
            raise UsageError(f"the model's chat template can't be read: {error}") from error
        self._tokenizer = tokenizer
        # templates of some models write these tokens by name
        named = {"bos_token": [] if bos is None else [bos], "eos_token": list(eos[:1])}
        self._names = {name: tokenizer.name(*ids) for name, ids in named.items() if ids}

    def tokens(self, messages: Sequence[Message]) -> list[int]:
        """Return the prompt's tokens, up to where the assistant begins to speak.

        A control token's name inside a message (`<|im_end|>`) is encoded as the text it is.
        """
        contents = [message.content for message in messages]
        if not any(name in content for name in self._tokenizer.special for content in contents):
            return self._tokenizer.encode(self.render(messages), special=True)
        return self._by_parts(messages)

    def _by_parts(self, messages: Sequence[Message]) -> list[int]:
        marks = [_MARK.format(index) for index in range(len(messages))]
        marked = [
            Message(message.role, mark) for message, mark in zip(messages, marks, strict=True)
        ]
        rest, tokens = self.render(marked), []
        for message, mark in zip(messages, marks, strict=True):
            if mark not in rest:
                continue
            before, _, rest = rest.partition(mark)
            tokens += self._tokenizer.encode(before, special=True)
            tokens += self._tokenizer.encode(message.content, special=False)
        return tokens + self._tokenizer.encode(rest, special=True)

    def render(self, messages: Sequence[Message]) -> str:
        """Return the prompt as text. Raises `UsageError` when the template refuses the chat."""
        from jinja2 import TemplateError

        listed = [{"role": message.role, "content": message.content} for message in messages]
        try:
            return self._template.render(messages=listed, add_generation_prompt=True, **self._names)
        except TemplateError as error:
            raise UsageError(
                f"the model's chat template refuses these messages: {error}"
            ) from error


def _refuse(message: str) -> NoReturn:
    raise UsageError(f"the model's chat template refuses these messages: {message}")
