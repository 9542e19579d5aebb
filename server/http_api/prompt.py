"""The code around the cursor in a prompt, which a client has written for a model.

Owns the reading of prompts with fill-in-the-middle tokens, and of the comments that clients put above the code. The
formats are those of `llm/prompting/formats.py`, and GLM's, which Zed writes. Knows no file and no protocol.

Sources of the comments: `core/autocomplete/templating/formatting.ts` of Continue, `completion/fim-templates.ts` and
`completion/provider.ts` of twinny, `InfillPromptTemplate.kt` of ProxyAI.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace

from ...llm.prompting.formats import FIM_FORMATS, FimTokens

_COMMENT = re.compile(
    r"\s*(?:#|//|--|;|%|<!--|/\*)\s*(?P<name>path|file|filename|filepath|language|indentation)\s*:\s*(?P<value>.*?)"
    r"\s*(?:-->|\*/)?\s*",
    re.IGNORECASE,
)
"""A comment line with which a client describes the file: minuet.nvim's language, the path of a fragment or a file."""

_ANY_COMMENT = re.compile(r"\s*(?:#|//|--|;|%|<!--|/\*)")
_PATH_ALONE = re.compile(r"\s*(?:#|//|--|;|%|<!--|/\*)\s*(?P<path>[^\s:*]+\.\w+)\s*(?:-->|\*/)?\s*")
"""The comment line with Continue's path of the open file."""

_PATHS = ("path", "file", "filename", "filepath")

_FORMATS = (*FIM_FORMATS.values(), FimTokens("<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"))

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
    return _without_comments(_without_fragments(around or CodeAround(prompt, suffix)))


def _read_tokens(prompt: str) -> CodeAround | None:
    for tokens in _FORMATS:
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
    else:  # some clients write an end token here
        prompt = next((prompt.removesuffix(end) for end in tokens.ends if prompt.endswith(end)), prompt)
    head, body = _from_frame(prompt, (after, before) if tokens.suffix_first else (before, after))
    if body is None:
        return None
    first, second = body
    prefix, suffix = (second, first) if tokens.suffix_first else (first, second)
    if before != tokens.prefix:  # `<PRE> before <SUF>after <MID>`
        prefix, suffix = prefix.removeprefix(" ").removesuffix(" "), suffix.removesuffix(" ")
    elif prefix.startswith(" ") and prefix.endswith(" ") and suffix.endswith(" "):  # ProxyAI's for Qwen
        prefix, suffix = prefix[1:-1], suffix[:-1]
    if tokens.path_in_prefix and tokens.file and prefix.startswith(tokens.file):
        path, _, prefix = prefix.removeprefix(tokens.file).partition("\n")
        return CodeAround(prefix, suffix, path.strip())
    return CodeAround(prefix, suffix, _path_in(head, tokens))


def _path_in(head: str, tokens: FimTokens) -> str:
    """The path of the open file in what stands before the tokens: after the last file token, or in a last comment."""
    if tokens.file and tokens.file in head:
        return head.rpartition(tokens.file)[2].partition("\n")[0].strip()
    named = _PATH_ALONE.fullmatch(head.rstrip().rpartition("\n")[2])
    return named["path"] if named is not None else ""


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


def _without_fragments(around: CodeAround) -> CodeAround:
    """The code without the fragments of other files that Continue and twinny put above it."""
    lines = around.prefix.split("\n")
    if (n := _last_header(lines)) is not None:
        return replace(around, prefix="\n".join(lines[n:]))
    if (found := _path_after_comments(lines)) is not None:
        n, path = found
        return replace(around, prefix="\n".join(lines[n + 1 :]), path=around.path or path)
    return around


def _last_header(lines: list[str]) -> int | None:
    """The last line of twinny's header: `Language: …`, and `Path: …` in the next line. Fragments come before it."""
    for n in range(len(lines) - 2, -1, -1):
        if _name(lines[n]) == "language" and _name(lines[n + 1]) in _PATHS:
            return n
    return None


def _path_after_comments(lines: list[str]) -> tuple[int, str] | None:
    """The line with Continue's path of the open file, and that path: the last of the comments above the code.

    They begin with a fragment, whose first line is `Path: …`, or with an empty line where there is no fragment.
    """
    if lines[0] and _name(lines[0]) not in _PATHS:
        return None
    comments = itertools.takewhile(lambda line: _ANY_COMMENT.match(line), lines[1:-1])
    named = [(n, found["path"]) for n, line in enumerate(comments, 1) if (found := _PATH_ALONE.fullmatch(line))]
    return named[-1] if named else None


def _name(line: str) -> str:
    """What a comment line says of a file, such as "path"; "" for any other line."""
    found = _COMMENT.fullmatch(line)
    return "" if found is None else found["name"].lower()


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
            language = language or found["value"].partition(" (")[0]  # twinny: `Python (python)`
        n += 1
    return replace(around, prefix="\n".join(lines[n:]), path=path, language=language)
