"""A conversation as the tokens that a model was trained on, by the template in its own files.

Owns the rendering (Jinja in a sandbox: a template is somebody else's program) and what becomes a special token: what
the template wrote, never what a person wrote. Knows no model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from .protocol import Message, ModelError

Encode = Callable[[str], list[int]]


class ChatTemplate:
    """One template. Made once, used by several threads."""

    def __init__(self, source: str, *, start: str = "", end: str = "") -> None:
        """`start` and `end` are the letters that the template knows as `bos_token` and `eos_token`.

        Raises ModelError when it can't be read or Jinja is not installed.
        """
        try:
            jinja = import_module("jinja2")
            sandbox = import_module("jinja2.sandbox")
        except ImportError as error:
            raise ModelError("Chat templates need jinja2. Run `pip install jinja2`.") from error
        self._error: type[Exception] = jinja.TemplateError
        environment = sandbox.ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = lambda value, **options: json.dumps(value, ensure_ascii=False, **options)
        environment.globals["raise_exception"] = self._refuse
        self._words = {"bos_token": start, "eos_token": end, "add_generation_prompt": True}
        try:
            self._template: Any = environment.from_string(source)
        except self._error as error:
            raise ModelError(
                f"The model's chat template can't be read: {error}. Take another version of it."
            ) from error

    def tokens(self, messages: Sequence[Message], encode: Encode, encode_markup: Encode) -> list[int]:
        """What the model reads before it answers. `encode` is for text, `encode_markup` for what the template writes.

        Raises ModelError when the template refuses the conversation.
        """
        try:
            rendered = self._render(messages)
        except Exception as error:  # whatever a template may do
            if not any(message.role == "system" for message in messages):
                raise ModelError(f"The model's chat template fails: {error}. Ask a model for conversations.") from error
            return self.tokens(_without_system(messages), encode, encode_markup)
        tokens: list[int] = []
        # Every second part is the number of a message, which stands for its text.
        for at, part in enumerate(_PLACE.split(rendered)):
            tokens += encode(messages[int(part)].text) if at % 2 else encode_markup(part)
        return tokens

    def _render(self, messages: Sequence[Message]) -> str:
        shown = [{"role": m.role, "content": _place(number)} for number, m in enumerate(messages)]
        return str(self._template.render(messages=shown, **self._words))

    def _refuse(self, message: str) -> None:
        raise self._error(message)


def _without_system(messages: Sequence[Message]) -> list[Message]:
    """Many models were trained without system messages: their text goes before the first question."""
    system = [message.text for message in messages if message.role == "system"]
    turns = [message for message in messages if message.role != "system"] or [Message("user", "")]
    return [Message(turns[0].role, "\n\n".join(filter(None, (*system, turns[0].text)))), *turns[1:]]


# Letters that no text has: they mark private places in fonts.
_PLACE = re.compile("\ue0f0(\\d+)\ue0f1")


def _place(number: int) -> str:
    return f"\ue0f0{number}\ue0f1"
