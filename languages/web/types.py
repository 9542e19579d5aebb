"""Type texts of TypeScript and JSDoc: the dotted name of the only class in a type.

Owns the reduction of a type to what a resolver can look up: nullable types and wrappers such as `Promise<T>` to T,
collections to `T[]`, `typeof x` to the expression. Works on text alone, so that annotations, JSDoc and the tokens of
broken code share it. Knows no scopes and no syntax tree.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import NamedTuple

from ..dotted import split_outside_brackets

MAX_TYPE_LENGTH = 400
"""Characters; a longer type is unknown."""

MAX_TYPE_DEPTH = 12


class TypeText(NamedTuple):
    """What a type says about a name: `how` and `value` of a `Binding`, both "" for an unknown type."""

    how: str
    value: str


UNKNOWN_TYPE = TypeText("", "")

_split = partial(split_outside_brackets, opening="([{<", closing=")]}>", quotes="\"'`")

_NAME = re.compile(r"[^\W\d][\w$]*(?:\s*\.\s*[^\W\d][\w$]*)*").fullmatch
_GENERIC = re.compile(r"([^\W\d][\w$.]*?)\s*\.?<(.*)>", re.DOTALL).fullmatch
_INDEXED = re.compile(r"(.*)\[\s*(?:'([\w$]+)'|\"([\w$]+)\"|number)\s*\]", re.DOTALL).fullmatch
_WORDS = re.compile(r"(?:readonly|abstract|unique)\s+")

PRIMITIVES = frozenset(
    {"any", "asserts", "bigint", "boolean", "const", "false", "infer", "never", "null", "number", "object", "string"}
    | {"symbol", "true", "undefined", "unknown", "void"}
)
_WRAPPERS = frozenset(
    {"Awaitable", "Awaited", "DeepPartial", "DeepReadonly", "Maybe", "MaybePromise", "Mutable", "NoInfer"}
    | {"NonNullable", "Nullable", "Omit", "Partial", "Pick", "Promise", "PromiseLike", "Prettify", "Readonly"}
    | {"Required", "Simplify", "ThisType", "Writable"}
)
_COLLECTIONS = frozenset(
    {"Array", "AsyncGenerator", "AsyncIterable", "AsyncIterableIterator", "AsyncIterator", "Generator", "Iterable"}
    | {"IterableIterator", "Iterator", "ReadonlyArray", "ReadonlySet", "Set", "WeakSet"}
)
_MAPS = frozenset({"Map", "Object", "ReadonlyMap", "Record", "WeakMap"})
COLLECTIONS = _COLLECTIONS | _MAPS
_FUNCTION_ARROW = "\u21d2"
"""Stands for `=>` while brackets are counted, where its second character would close one."""


@lru_cache(maxsize=8192)
def type_of(text: str) -> TypeText:
    """What a type means for a name that has it; a leading colon is dropped."""
    return (
        _reduced(text.lstrip(": \t\r\n").replace("=>", _FUNCTION_ARROW))
        if len(text) <= MAX_TYPE_LENGTH
        else UNKNOWN_TYPE
    )


def type_name(text: str) -> str:
    """The dotted name of the type, with "[]" for a collection; "" when it has none."""
    how, value = type_of(text)
    return value if how == "annotation" else ""


@lru_cache(maxsize=1024)
def alias_bases(text: str) -> tuple[str, ...]:
    """The named types that `type A = …` stands for: those of an intersection, else the only one."""
    if len(text) > MAX_TYPE_LENGTH:
        return ()
    text = text.strip().replace("=>", _FUNCTION_ARROW).lstrip("&")
    parts = [] if _is_split(text, _FUNCTION_ARROW) else _split(text, "&")
    found = map(_reduced, parts)
    return tuple(value for how, value in found if how == "annotation" and not value.endswith("[]"))


def _reduced(text: str, depth: int = 0) -> TypeText:
    text = text.strip()
    while words := _WORDS.match(text):
        text = text[words.end() :]
    if not text or depth > MAX_TYPE_DEPTH:
        return UNKNOWN_TYPE
    if _NAME(text):
        return UNKNOWN_TYPE if text in PRIMITIVES else TypeText("annotation", "".join(text.split()))
    if text[0] in "|&!?":  # a leading sign of a union; nullability in JSDoc
        return _reduced(text[1:], depth + 1)
    if _is_split(text, _FUNCTION_ARROW) or _is_split(text, "?"):
        return UNKNOWN_TYPE  # a function, a conditional type
    choices = _split(text, "|")
    if len(choices) > 1:
        distinct = {_reduced(choice, depth + 1) for choice in choices} - {UNKNOWN_TYPE}
        return distinct.pop() if len(distinct) == 1 else UNKNOWN_TYPE
    parts = _split(text, "&")
    if len(parts) > 1:
        known = (found for part in parts if (found := _reduced(part, depth + 1)) != UNKNOWN_TYPE)
        return next(known, UNKNOWN_TYPE)
    return _reduced_one(text, depth + 1)


def _reduced_one(text: str, depth: int) -> TypeText:
    """The same for a type that is no union, intersection or function."""
    if text.endswith("[]"):
        return _collection(_reduced(text[:-2], depth))
    if text.startswith("typeof ") and _NAME(name := text[7:].strip()):
        return TypeText("alias", "".join(name.split()))
    generic = _GENERIC(text)
    if generic is not None:
        return _reduced_generic(generic[1], _split(generic[2], ","), depth)
    if text[-1] == ")":
        return _reduced(text[1:-1], depth) if text[0] == "(" else UNKNOWN_TYPE
    if text[0] == "[" and text[-1] == "]":
        elements = {_reduced(element, depth) for element in _split(text[1:-1], ",")}
        return _collection(elements.pop()) if len(elements) == 1 else UNKNOWN_TYPE
    indexed = _INDEXED(text)
    return UNKNOWN_TYPE if indexed is None else _member(_reduced(indexed[1], depth), indexed[2] or indexed[3])


def _member(owner: TypeText, name: str | None) -> TypeText:
    """The type of `Owner["name"]`, and of `Owner[number]` without a name."""
    if not owner.value:
        return UNKNOWN_TYPE
    if name:
        return TypeText("alias", f"{owner.value}.{name}")
    if owner.value.endswith("[]"):
        return TypeText(owner.how, owner.value[:-2])
    return TypeText("alias", f"{owner.value}[]")


def _reduced_generic(name: str, arguments: list[str], depth: int) -> TypeText:
    if name in _WRAPPERS:
        return _reduced(arguments[0], depth)
    if name in _COLLECTIONS:
        return _collection(_reduced(arguments[0], depth))
    if name in _MAPS:
        return _collection(_reduced(arguments[1], depth)) if len(arguments) > 1 else UNKNOWN_TYPE
    if name in ("ReturnType", "InstanceType"):
        how, value = _reduced(arguments[0], depth)
        if how != "alias":
            return UNKNOWN_TYPE
        return TypeText("call" if name == "ReturnType" else "annotation", value)
    return TypeText("annotation", name)


def _collection(element: TypeText) -> TypeText:
    if element.how != "annotation" or element.value.endswith("[]"):
        return UNKNOWN_TYPE
    return TypeText("annotation", f"{element.value}[]")


def _is_split(text: str, sign: str) -> bool:
    return sign in text and len(_split(text, sign)) > 1
