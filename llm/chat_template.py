"""A conversation as the tokens that a model was trained on, by the template in its own files.

Owns the rendering (Jinja in a sandbox: a template is somebody else's program) and what becomes a special token: what
the template wrote, never what a person wrote. Knows no model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from .disk import read_text
from .installation import install_packages_command
from .protocol import Message, ModelError

ChatTokens = Callable[[Sequence[Message]], list[int]]


class MarkupTokenizer(Protocol):
    """What a template needs of a tokenizer: text is text in one, and letters of a special token are it in the other."""

    @property
    def start(self) -> int | None: ...

    def encode(self, text: str) -> list[int]: ...

    def encode_markup(self, text: str) -> list[int]: ...


def read_conversations(
    source: str, tokenizer: MarkupTokenizer, *, start: str = "", end: str = ""
) -> tuple[ChatTokens | None, tuple[str, ...]]:
    """How a conversation becomes tokens, as `LocalModel` takes it; None without a template.

    Where there is one that can't be used the notes tell the user why.
    """
    if not source:
        return None, ()
    try:
        template = ChatTemplate(source, start=start, end=end)
    except ModelError as error:
        return None, (f"No conversations: {error}",)

    def tokens(messages: Sequence[Message]) -> list[int]:
        read = template.tokens(messages, tokenizer)
        first = tokenizer.start
        return read if first is None or read[:1] == [first] else [first, *read]

    return tokens, ()


def template_in(directory: Path) -> dict[str, str]:
    """`source`, `start` and `end` for `read_conversations`, as the files of a transformers directory say them."""
    settings = _settings(directory)
    source = settings.get("chat_template") or ""
    if isinstance(source, list):  # several, each with its purpose
        named = {each["name"]: each["template"] for each in source if isinstance(each, dict)}
        source = named.get("default", "")
    file = directory / "chat_template.jinja"
    if file.is_file():
        source = file.read_text("utf-8", errors="replace")
    return {"source": source, "start": _letters(settings, "bos_token"), "end": _letters(settings, "eos_token")}


def _settings(directory: Path) -> dict[str, Any]:
    try:
        settings = json.loads(read_text(directory / "tokenizer_config.json"))
    except (OSError, ValueError):
        return {}
    return settings if isinstance(settings, dict) else {}


def _letters(settings: dict[str, Any], name: str) -> str:
    """A token is written as its letters or as an object with them."""
    token = settings.get(name)
    value = token.get("content") if isinstance(token, dict) else token
    return value if isinstance(value, str) else ""


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
            raise ModelError(f"Chat templates need jinja2. Run: {install_packages_command('jinja2')}") from error
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

    def tokens(self, messages: Sequence[Message], tokenizer: MarkupTokenizer) -> list[int]:
        """What the model reads before it answers. Raises ModelError when the template refuses the conversation."""
        try:
            rendered = self._render(messages)
        except Exception as error:  # whatever a template may do
            if not any(message.role == "system" for message in messages):
                raise ModelError(f"The model's chat template fails: {error}. Ask a model for conversations.") from error
            return self.tokens(_without_system(messages), tokenizer)
        tokens: list[int] = []
        # Every second part is the number of a message, which stands for its text.
        for at, part in enumerate(_PLACE.split(rendered)):
            tokens += tokenizer.encode(messages[int(part)].text) if at % 2 else tokenizer.encode_markup(part)
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
