"""Parameters of a function or a type with their types and defaults, from the text of its header or of its fields.

Owns the reading of this text in all languages of `CallSyntax`; tolerant, so it needs no syntax tree. Whether a call is
wrong is for `signatures`, which reads the tree of the header. Knows no name resolution.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..languages import Language, language_named
from ..languages.call_syntax import CallSyntax
from ..languages.dotted import split_outside_brackets
from ..languages.indentation import indent_of

MAX_HEADER = 4_000
"""Characters; a longer list of parameters is not read."""

MAX_FIELDS = 60


class Parameter(NamedTuple):
    """A parameter that takes one argument."""

    name: str  # "" for one without a name
    type: str = ""  # as written
    default: str = ""  # as written
    is_required: bool = True
    takes_position: bool = True
    takes_keyword: bool = True
    label: str = ""  # the keyword of its argument where it is not the name; "_" for none
    is_field: bool = False  # a word before it declares a field of the type, too: `private x: X`


@lru_cache(maxsize=512)
def parameters_of(
    language_name: str, header: str, *, is_method: bool = False, of_class: bool = False
) -> tuple[Parameter, ...] | None:
    """The parameters in the source of a definition that begins behind its name, in order; None without a list of them.

    `is_method`: the first parameter is the object that the method is called of. `of_class`: the header is that of a
    type. Parameters for any number of arguments are left out.
    """
    language = language_named(language_name)
    syntax = language.call_syntax
    if syntax is None:
        return None
    content = _in_brackets(_without_comments(header[:MAX_HEADER], language), of_class)
    if content is None:
        return None
    pieces = pieces_of(content, types=language.blocks != "indentation")
    if is_method and _declares_object(language):
        pieces = pieces[1:]
    found = _read_names(pieces) if syntax.order == "name type" else _read(pieces, language, syntax)
    return tuple(found)


def fields_of(language: Language, lines: Sequence[str]) -> tuple[Parameter, ...]:
    """The fields that the lines of a type's body declare, as parameters, in order."""
    syntax = language.call_syntax
    if syntax is None or not syntax.field:
        return ()
    found: list[Parameter] = []
    indent = -1
    for line in lines:
        text = line.strip()
        if not text or (indent >= 0 and indent_of(line) != indent):
            continue
        indent = indent_of(line) if indent < 0 else indent
        match = syntax.field_pattern.fullmatch(text)
        if match is None:
            continue
        groups = match.groupdict("")
        default = groups.get("default", "").strip()
        for name in groups["name"].split(","):
            name = name.strip().lstrip("*").rpartition(".")[2]
            found.append(Parameter(name, groups.get("type", "").strip(), default, not _has_default(default)))
        if len(found) >= MAX_FIELDS:
            break
    return tuple(found)


def pieces_of(text: str, *, types: bool = False) -> list[str]:
    """The parts of a list in brackets, without white space around them. `types`: angle brackets are brackets."""
    opening, closing = ("([{<", ")]}>") if types else ("([{", ")]}")
    masked = _ARROW.sub("  ", text)
    if types and "'" in masked:
        masked = _LIFETIME.sub(lambda found: " " * len(found[0]), masked)
    parts, at = [], 0
    for piece in split_outside_brackets(masked, ",", opening, closing, "\"'"):
        parts.append(text[at : at + len(piece)].strip())
        at += len(piece) + 1
    return parts if parts[-1] else parts[:-1]


def written_parameters(header: str) -> list[str]:
    """The parameters in the first brackets of a header, as written; of open brackets those that are finished."""
    at = header.find("(")
    if at < 0:
        return []
    end = _closing(_ARROW.sub("  ", header), at, "([{", ")]}")
    inside = header[at + 1 : end - 1] if end > 0 else header[at + 1 :]
    pieces = pieces_of(inside, types=True) if inside.strip() else []
    return [each for each in (pieces if end > 0 or inside.rstrip().endswith(",") else pieces[:-1]) if each]


def _has_default(default: str) -> bool:
    """Whether a field need not be given: `field()` of Python says that it has to be."""
    described = _FIELD.match(default)
    return bool(default) and (described is None or "default" in default or described["first"] not in ("", "..."))


def _in_brackets(header: str, of_class: bool) -> str | None:
    """The text in the round brackets of a header, behind type parameters."""
    masked = _ARROW.sub("  ", header)
    at = len(masked) - len(masked.lstrip())
    if masked[at : at + 1] in ("<", "["):
        at = _closing(masked, at, "<[(", ">])")
        if at < 0:
            return None
    value = _VALUE.match(masked, at)  # `const pay = async <T>(`
    if value is not None and not of_class:
        at = value.end()
        if masked[at : at + 1] == "<":
            at = _closing(masked, at, "<[({", ">])}")
            if at < 0:
                return None
    start = masked.find("(", at)
    if start < 0 or (of_class and masked[at:start].strip()) or not _BEFORE(masked[at:start]):
        return None
    end = _closing(masked, start, "([{", ")]}")
    return header[start + 1 : end - 1] if end > 0 else None


def _closing(text: str, at: int, opening: str, closing: str) -> int:
    """The offset behind the bracket that closes the one at `at`, -1 without one."""
    depth = 0
    quote = ""
    while at < len(text):
        sign = text[at]
        if quote:
            at += sign == "\\"
            quote = "" if sign == quote else quote
        elif sign in "\"'`":
            # A quote without its pair is one of a lifetime, or of a comment.
            quote = sign if text.find(sign, at + 1, at + 200) > 0 and not _LIFETIME.match(text, at) else ""
        elif sign in opening:
            depth += 1
        elif sign in closing:
            depth -= 1
            if not depth:
                return at + 1
        at += 1
    return -1


def _without_comments(text: str, language: Language) -> str:
    if not any(mark in text for mark in language.lexer.comment_marks):
        return text
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    for mark in language.line_comments:
        text = re.sub(rf"(?:^|(?<=\s)){re.escape(mark)}.*", "", text, flags=re.MULTILINE)
    return text


def _declares_object(language: Language) -> bool:
    """Whether methods declare their object as a parameter without a mark, as Python's do."""
    rules = language.scope_rules.call_rules if language.scope_rules is not None else None
    return rules is not None and rules.own_parameter


def _is_own_object(piece: str, language: Language) -> bool:
    """Whether a parameter is the object of a method, which calls do not give."""
    return not _declares_object(language) and _OWN.match(piece) is not None


def _read(pieces: Iterable[str], language: Language, syntax: CallSyntax) -> Iterable[Parameter]:
    takes_position = True
    found: list[Parameter] = []
    for piece in pieces:
        piece = _DECORATED.sub("", piece).strip()
        if piece == "/":
            found = [each._replace(takes_keyword=False) for each in found]
        elif piece.startswith("*"):
            takes_position = False
        elif (
            piece.startswith("..." if not syntax.has_keyword_parameters else ("...", "&"))
            or _is_own_object(piece, language)
            or piece in ("", "void")
        ):
            continue
        else:
            each = _read_one(piece, syntax)
            if each is not None:
                found.append(each._replace(takes_position=takes_position and each.takes_position))
    return found


def _read_one(piece: str, syntax: CallSyntax) -> Parameter | None:
    """One parameter; None for one that takes any number of arguments."""
    declared, sign, default = _at_default(piece)
    words = declared.split()
    is_field = False
    while len(words) > 1 and words[0] in syntax.modifier_words:
        if words[0] in ("vararg", "params"):
            return None
        is_field = is_field or words[0] in _OF_FIELDS
        words = words[1:]
    found = _read_declared(" ".join(words), sign, default, syntax)
    return found._replace(is_field=True) if is_field and found is not None else found


def _read_declared(declared: str, sign: str, default: str, syntax: CallSyntax) -> Parameter | None:
    if syntax.order == "type name":
        match = _TYPE_AND_NAME.fullmatch(declared)
        if match is None or "..." in declared:
            return None if "..." in declared else Parameter("", declared)
        return Parameter(match["name"], (match["type"] or "").strip(), default, not sign)
    name, colon, type_text = declared.partition(":")
    name, type_text = name.strip(), type_text.strip()
    if colon and syntax.has_keyword_parameters:
        return Parameter(name, "", type_text, not type_text, takes_position=False)
    can_name = not syntax.has_keyword_parameters
    if type_text.startswith("...") or type_text.endswith(("...", "*")):
        return None
    is_optional = bool(sign) or name.endswith("?")
    label, _, inner = name.rstrip("?").rpartition(" ")
    if not _NAME(inner):
        unpacked = re.fullmatch(r"\w+\((\w+)\)", name)  # `State(shop): State<Shop>`
        inner, label = unpacked[1] if unpacked else "", ""
    return Parameter(inner, type_text if colon else "", default, not is_optional, True, can_name, label.strip())


def _read_names(pieces: Sequence[str]) -> Iterable[Parameter]:
    """Parameters of Go: several names may have one type."""
    split = [re.fullmatch(r"(\w+)\s+(.+)", piece, re.DOTALL) for piece in pieces]
    if not any(each is not None and each[1] not in ("chan", "func", "map", "interface", "struct") for each in split):
        return [Parameter("", piece) for piece in pieces if not piece.startswith("...")]
    found: list[Parameter] = []
    type_text = ""
    for piece, match in zip(reversed(pieces), reversed(split), strict=True):
        name = match[1] if match is not None else piece
        type_text = match[2] if match is not None else type_text
        if not type_text.startswith("..."):
            found.append(Parameter("" if name == "_" else name, type_text))
    return reversed(found)


def _at_default(piece: str) -> tuple[str, str, str]:
    """A parameter without its default, "=" if it has one, and the default."""
    masked = _ARROW.sub("  ", piece)
    declared = split_outside_brackets(masked, "=", "([{", ")]}", "\"'")[0]
    return piece[: len(declared)].strip(), masked[len(declared) : len(declared) + 1], piece[len(declared) + 1 :].strip()


_OF_FIELDS = frozenset({"public", "private", "protected", "readonly", "val", "var"})
_FIELD = re.compile(r"(?:\w+\.)*(?:[Ff]ield|attrib|ib)\(\s*(?P<first>(?!\w+=)[^,)]*)")
_NAME = re.compile(r"[^\W\d][\w$]*").fullmatch
_ARROW = re.compile(r"[-=]>")
_LIFETIME = re.compile(r"'\w+(?!')\b")
_OWN = re.compile(r"(?:&\s*(?:'\w+\s+)?)?(?:mut\s+)?self\b|this\b")
_DECORATED = re.compile(r"^(?:(?:@[\w.]+(?:\([^()]*\))?|\[[\w.]+(?:\([^()]*\))?\]|#\[[^\]]*\])\s*)+")
_TYPE_AND_NAME = re.compile(r"(?P<type>[\s\S]*?[\s*&>\]?])??\$?&?(?P<name>[^\W\d]\w*)(?:\[\])?")
_VALUE = re.compile(r"\s*(?::[^=(]*)?=\s*(?:async\s*)?(?:function\b\*?\s*\w*\s*)?")
_BEFORE = re.compile(r"\s*(?:[!?]|:[^(]*)?\s*(?:=\s*[\w\s<>]*|:\s*)?").fullmatch
