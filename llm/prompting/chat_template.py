"""Chat templates: renders a conversation with the model's own Jinja template and tokenises the result.

Templates are untrusted and run in a sandbox. Special tokens are parsed in the text of the template, never in that of a
message. Knows no model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from ...errors import ModelError
from ..disk import read_json_object
from ..installation import install_packages_command
from ..protocol import Message

ChatTokens = Callable[[Sequence[Message]], list[int]]


class MarkupTokenizer(Protocol):
    """What a template needs of a tokenizer: `encode` parses no special tokens, `encode_markup` does."""

    start: int | None

    def encode(self, text: str) -> list[int]: ...

    def encode_markup(self, text: str) -> list[int]: ...


def load_chat_template(
    source: str, tokenizer: MarkupTokenizer, *, start: str = "", end: str = ""
) -> tuple[ChatTokens | None, tuple[str, ...]]:
    """The function from a conversation to tokens for `LocalModel`, and notes; None without a usable template.

    The notes say why a template can't be used.
    """
    if not source:
        return None, ()
    try:
        template = ChatTemplate(source, start=start, end=end)
    except ModelError as error:
        return None, (f"Chat is off: {error}",)

    def tokens(messages: Sequence[Message]) -> list[int]:
        found = template.tokens(messages, tokenizer)
        first = tokenizer.start
        return found if first is None or found[:1] == [first] else [first, *found]

    return tokens, ()


def template_in(directory: Path) -> dict[str, str]:
    """`source`, `start` and `end` for `load_chat_template`, from the files of a transformers directory."""
    settings = read_json_object(directory / "tokenizer_config.json")
    source = settings.get("chat_template") or ""
    if isinstance(source, list):  # several, by purpose
        named = {each["name"]: each["template"] for each in source if isinstance(each, dict)}
        source = named.get("default", "")
    file = directory / "chat_template.jinja"
    if file.is_file():
        source = file.read_text("utf-8", errors="replace")
    start, end = (token_text(settings.get(name)) for name in ("bos_token", "eos_token"))
    return {"source": source, "start": start, "end": end}


def token_text(token: Any) -> str:
    """The text of a token in a settings file, given as text or as an object."""
    value = token.get("content") if isinstance(token, dict) else token
    return value if isinstance(value, str) else ""


class ChatTemplate:
    """One compiled template. Thread-safe."""

    def __init__(self, source: str, *, start: str = "", end: str = "") -> None:
        """`start` and `end` are `bos_token` and `eos_token` of the template.

        Raises ModelError for an invalid template, and when Jinja is not installed.
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
        environment.globals["raise_exception"] = self._raise_exception
        self._variables = {"bos_token": start, "eos_token": end, "add_generation_prompt": True}
        try:
            self._template: Any = environment.from_string(source)
        except self._error as error:
            raise ModelError(
                f"The model's chat template is invalid: {error}. Choose another version of the model."
            ) from error

    def tokens(self, messages: Sequence[Message], tokenizer: MarkupTokenizer) -> list[int]:
        """The prompt for the next answer. Raises ModelError when the template rejects the conversation."""
        try:
            rendered = self._render(messages)
        except Exception as error:  # a template may raise anything
            if not any(message.role == "system" for message in messages):
                raise ModelError(f"The model's chat template fails: {error}. Choose a chat model.") from error
            return self.tokens(_without_system(messages), tokenizer)
        tokens: list[int] = []
        # Every second part is the number of a message, in place of its text.
        for at, part in enumerate(_MARKER.split(rendered)):
            tokens += tokenizer.encode(messages[int(part)].text) if at % 2 else tokenizer.encode_markup(part)
        return tokens

    def _render(self, messages: Sequence[Message]) -> str:
        shown = [{"role": m.role, "content": _marker(number)} for number, m in enumerate(messages)]
        return str(self._template.render(messages=shown, **self._variables))

    def _raise_exception(self, message: str) -> None:
        raise self._error(message)


def _without_system(messages: Sequence[Message]) -> list[Message]:
    """For models without system messages: their text moves before the first question."""
    system = [message.text for message in messages if message.role == "system"]
    turns = [message for message in messages if message.role != "system"] or [Message("user", "")]
    return [Message(turns[0].role, "\n\n".join(filter(None, (*system, turns[0].text)))), *turns[1:]]


# Private-use characters, which no text contains.
_MARKER = re.compile("\ue0f0(\\d+)\ue0f1")


def _marker(number: int) -> str:
    return f"\ue0f0{number}\ue0f1"
