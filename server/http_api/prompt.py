"""The code around the cursor in a prompt, which a client has written for a model.

Owns the reading of prompts with fill-in-the-middle tokens, and of the comments that clients put above the code. The
formats are those of `llm/prompting/formats.py`. Knows no file and no protocol.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ...llm.prompting.formats import FIM_FORMATS, FimTokens

_COMMENT = re.compile(
    r"\s*(?:#|//|--|;|%|<!--|/\*)\s*(?P<name>path|file|filename|filepath|language|indentation)\s*:\s*(?P<value>.*?)"
    r"\s*(?:-->|\*/)?\s*",
    re.IGNORECASE,
)
"""A comment line with which a client describes the file: minuet.nvim's language, Continue's path."""

_PATHS = ("path", "file", "filename", "filepath")

MAX_COMMENTS = 8


@dataclass(frozen=True, slots=True)
class CodeAround:
    """The code before and after the cursor. `path` and `language` are what the prompt says of the file, "" for none."""

    prefix: str
    suffix: str
    path: str = ""
    language: str = ""


def read_prompt(prompt: str, suffix: str = "") -> CodeAround:
    """The code around the cursor; a prompt without known tokens is the code before the cursor."""
    around = _read_tokens(prompt) if not suffix else None
    return _without_comments(around or CodeAround(prompt, suffix))


def _read_tokens(prompt: str) -> CodeAround | None:
    for tokens in FIM_FORMATS.values():
        found = _read_format(prompt, tokens)
        if found is not None:
            return found
    return None


def _read_format(prompt: str, tokens: FimTokens) -> CodeAround | None:
    before, after, middle = (_written(part) for part in (tokens.prefix, tokens.suffix, tokens.middle))
    if middle:
        if not prompt.rstrip().endswith(middle):
            return None
        prompt = prompt[: prompt.rindex(middle)]
    head, body = _from_frame(prompt, (after, before) if tokens.suffix_first else (before, after))
    if body is None:
        return None
    first, second = body
    prefix, suffix = (second, first) if tokens.suffix_first else (first, second)
    if before != tokens.prefix:  # `<PRE> before <SUF>after <MID>`
        prefix, suffix = prefix.removeprefix(" ").removesuffix(" "), suffix.removesuffix(" ")
    if tokens.path_in_prefix and tokens.file and prefix.startswith(tokens.file):
        path, _, prefix = prefix.removeprefix(tokens.file).partition("\n")
        return CodeAround(prefix, suffix, path.strip())
    path = head.rpartition(tokens.file)[2].partition("\n")[0].strip() if tokens.file and tokens.file in head else ""
    return CodeAround(prefix, suffix, path)


def _written(token: str) -> str:
    """A token as clients write it: SentencePiece's mark of a space before it is a space."""
    return token.removeprefix("▁")


def _from_frame(prompt: str, frame: tuple[str, str]) -> tuple[str, tuple[str, str] | None]:
    """The text before two tokens, and the texts after each: the outermost tokens, because code may have them too."""
    first = prompt.find(frame[0])
    last = prompt.rfind(frame[1])
    if first < 0 or last < first + len(frame[0]):
        return prompt, None
    return prompt[:first], (prompt[first + len(frame[0]) : last], prompt[last + len(frame[1]) :])


def _without_comments(around: CodeAround) -> CodeAround:
    """The code without the first comment lines that describe the file; they say its path and its language."""
    lines = around.prefix.split("\n")
    path, language = around.path, around.language
    n = 0
    for line in lines[:MAX_COMMENTS]:
        found = _COMMENT.fullmatch(line)
        if found is None or n == len(lines) - 1:
            break
        if found["name"].lower() in _PATHS:
            path = path or found["value"]
        elif found["name"].lower() == "language":
            language = language or found["value"]
        n += 1
    return replace(around, prefix="\n".join(lines[n:]), path=path, language=language)
