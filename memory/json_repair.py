"""Repair of JSON in model output: code fences, surrounding prose, extra commas, truncation.

Owns the repair rules. Knows no model and no schema. Valid JSON is never changed.
"""

from __future__ import annotations

import json
import re
from typing import Any

_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_FENCE = re.compile(r"```[a-zA-Z]*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)

_WIDEST_FENCE = re.compile(r"```[a-zA-Z]*[ \t]*\n?(.*)```", re.DOTALL)  # for strings that hold a fence

_MAX_CHARACTERS = 1 << 20  # longer texts are rejected, because repair would take too long
_MAX_VALUES = 20  # how many opening brackets in prose are tried


def read_json(text: str) -> Any:
    """The first value that can be parsed from a text, after repair if needed. Raises ValueError if there is none."""
    try:
        return _parsed(text)
    except ValueError:
        pass
    if len(text) > _MAX_CHARACTERS:
        raise ValueError(f"{len(text)} characters are too long")
    text = _THOUGHTS.sub("", text)
    fences = [*_FENCE.finditer(text)]
    for fence in (*fences[:1], *_WIDEST_FENCE.finditer(text), *fences[1:]):
        try:
            return _parsed(fence.group(1))
        except ValueError:
            continue
    for candidate in (*(match.group(1) for match in _FENCE.finditer(text)), text):
        at = 0
        for _ in range(_MAX_VALUES):
            if (opening := _OPENING.search(candidate, at)) is None:
                break
            mended, at = _mended(candidate, opening.start())
            for version in (candidate[opening.start() :], mended):
                try:
                    return _first_value(version)
                except ValueError:
                    continue
    raise ValueError(f"no JSON in {text[:80]!r}")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _first_value(text: str) -> Any:
    """The value at the beginning of the text; anything after it is ignored."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text)[0]
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


_OPENING = re.compile(r"[\[{]")
_CLOSING = {"{": "}", "[": "]"}

# A quote ends a string only if valid JSON can follow it; any other quote is inside the string: "He said "yes" to her".
_GOES_ON = r"""(?=\s*(?:[:\]}]|\Z|//|\n\s*["']|,\s*(?:["'\[\]{}\d-]|true|false|null|[A-Za-z_]\w*\s*:|\Z)))"""
_TOKEN = re.compile(
    rf"""(?P<string>"(?:[^"\\]|\\(?:.|\Z)|"(?!{_GOES_ON}))*(?P<end>"?))"""
    rf"""|(?P<single>'(?:[^'\\]|\\(?:.|\Z)|'(?!{_GOES_ON}))*'?)"""
    r"""|(?P<open>[\[{])|(?P<close>[\]}])|(?P<comma>,)|(?P<colon>:)|(?P<comment>//[^\n]*)"""
    r"""|(?P<name>[A-Za-z_]\w*(?=\s*:))|(?P<other>[^\s"'\[\]{},:]+)""",
    re.DOTALL,
)
_CONSTANTS = {"True": "true", "False": "false", "None": "null"}
_ESCAPED = re.compile(
    r"""(?P<known>\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))|(?P<half>\\(?:u[0-9a-fA-F]{0,3})?\Z)|\\(?P<other>.)|\"""",
    re.DOTALL,
)


def _mended(text: str, start: int) -> tuple[str, int]:
    """The value that opens at `start` as valid JSON, and the offset where it ends.

    Converts single quotes, quotes names, inserts and removes commas, and closes open brackets.
    """
    out: list[str] = []
    brackets: list[str] = []
    end = len(text)
    for match in _TOKEN.finditer(text, start):
        kind, token = match.lastgroup, match.group()
        if kind == "comment" or (kind == "close" and token != _CLOSING[brackets[-1]]):
            continue
        if kind == "close":
            _drop_hanging(out)
            out.append(token)
            brackets.pop()
            if not brackets:
                end = match.end()
                break
            continue
        if kind not in ("comma", "colon") and out and out[-1][-1] in '"]}':
            out.append(",")
        out.append(_written(match))
        if kind == "open":
            brackets.append(token)
    for bracket in reversed(brackets):
        _drop_hanging(out)
        if bracket == "{" and len(out) > 1 and out[-1][0] == '"' and out[-2] in ("{", ","):
            out.pop()  # a name without a value
            _drop_hanging(out)
        out.append(_CLOSING[bracket])
    return "".join(out), end


def _written(match: re.Match[str]) -> str:
    token = match.group()
    if match["string"] is not None:
        return _string(token[1:-1] if len(token) > 1 and match["end"] else token[1:])
    if match["single"] is not None:
        is_closed = len(token) > 1 and token.endswith("'")
        return _string((token[1:-1] if is_closed else token[1:]).replace("\\'", "'"))
    if match["name"] is not None:
        return _string(token)
    return _CONSTANTS.get(token, token)


def _string(inside: str) -> str:
    """A JSON string: keeps valid escapes and escapes every other backslash and quote."""

    def escape(match: re.Match[str]) -> str:
        if match["known"] is not None:
            return match.group()
        if match["half"] is not None:
            return ""
        return '\\"' if match["other"] is None else "\\\\" + match["other"]

    return f'"{_ESCAPED.sub(escape, inside)}"'


def _drop_hanging(out: list[str]) -> None:
    """Remove a trailing comma, or a trailing colon with its name."""
    while out and out[-1] in (",", ":"):
        if out.pop() == ":" and out:
            out.pop()
