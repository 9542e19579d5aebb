"""Normalisation of expressions and types to dotted names: "shop.pay", "Shop().pay", "carts[].pay", "?.pay".

See `file_graph.Call.callee`. Works on text alone, so it serves every language: `::`, `->`, `?.` and similar are dots,
arguments, indices and type arguments are dropped, sigils are removed.
"""

from __future__ import annotations

import re
from functools import lru_cache

# Longer chains become "?.name": no resolver follows them, and method chains with hundreds of links would take
# quadratic time. Lengths in characters; the length also limits the nesting of brackets.
MAX_LINKS = 12
MAX_LENGTH = 240

_PLAIN = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*").fullmatch
_LAST_NAME = re.compile(r"([^\W\d][\w$]*)\s*(?:<[^<>]*>)?\s*$").search
_TOKEN = re.compile(
    r"""[$@#]*(?P<name>[^\W\d][\w$]*)
      | (?P<dot>\??\.|\??->|::|&\.|\\)
      | (?P<quote>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)
      | (?P<skip>\s+|[!?*&])
      | .""",
    re.VERBOSE | re.DOTALL,
).finditer
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_MODIFIERS = frozenset({"new", "await", "typename", "template", "mut", "const", "dyn"})


@lru_cache(maxsize=4096)
def dotted_name(text: str) -> str:
    """The dotted name of a callee or receiver, "" when it ends in no name.

    "?.name" when the receiver has no dotted name.
    """
    return text if text.isidentifier() or _PLAIN(text) else _spelled(text)


def _spelled(text: str) -> str:
    if len(text) > MAX_LENGTH:
        last = _LAST_NAME(text[-MAX_LENGTH:])
        return f"?.{last[1]}" if last else ""
    links = _links(text)
    if not links or links[-1] == "?":
        return ""
    return f"?.{links[-1]}" if "?" in links or len(links) > MAX_LINKS else ".".join(links)


def _links(text: str) -> list[str]:
    """The names of a chain, with "()" for each call and "[]" for each index; "?" for parts without a name."""
    links: list[str] = []
    wants_name = True
    skip_to = 0
    for token in _TOKEN(text):
        at, name, character = token.start(), token["name"], token[0]
        if at < skip_to or token["skip"]:
            continue
        if token["dot"]:
            wants_name = True
        elif name and wants_name:
            links.append(name)
            wants_name = name in _MODIFIERS and len(links) == 1
            if wants_name:
                links.clear()
        elif character in _CLOSING:
            skip_to = _after_closing(text, at)
            if character == "<":
                wants_name = not links
                continue
            if character == "(" and not wants_name:
                links[-1] += "()" if links[-1] != "?" else ""
            elif character == "(" and not links:
                links = _links(text[at + 1 : skip_to - 1]) or ["?"]
            elif character == "[" and not wants_name:
                links[-1] += "[]" if links[-1] != "?" else ""
            else:
                links = ["?"]
            wants_name = False
        else:
            links = ["?"]
            wants_name = False
    return [] if wants_name else links


def _after_closing(text: str, start: int) -> int:
    """The offset after the bracket that closes the one at `start`; the end of the text without one."""
    opening, closing, depth = text[start], _CLOSING[text[start]], 0
    for token in _TOKEN(text, start):
        if token[0] == opening:
            depth += 1
        elif token[0] == closing:
            depth -= 1
            if depth == 0:
                return token.end()
    return len(text)


_GENERIC = re.compile(r"([\w.]+)\[(.*)\]", re.DOTALL).fullmatch
_TRANSPARENT = frozenset(
    {"Annotated", "Awaitable", "ClassVar", "Coroutine", "Final", "Optional", "Type", "Union", "type"}
)
_COLLECTION = re.compile(
    "(?:Async)?(?:Generator|Iterable|Iterator)|Collection|(?:Default|default|Ordered)?[Dd]ict|[Dd]eque|(?:[Ff]rozen)?[Ss]et"
    "|List|list|(?:Mutable)?(?:Mapping|Sequence|Set)|[Tt]uple"
).fullmatch
_MAPPINGS = frozenset({"DefaultDict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "dict"})


@lru_cache(maxsize=4096)
def class_of_annotation(text: str) -> str:
    """The dotted name of the only class in a Python annotation, "" for none or several.

    Quotes, None, `Optional`, `Type` and similar are removed. A collection of Shop, or a mapping to it, is "Shop[]"; the
    arguments of other generics are dropped.
    """
    text = text.strip() if len(text) <= MAX_LENGTH else ""
    while len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]:
        text = text[1:-1].strip()
    if _PLAIN(text):
        return "" if text == "None" else text
    choices = split_outside_brackets(text, "|")
    if len(choices) == 1:
        generic = _GENERIC(text)
        if generic is None:
            return ""
        head, arguments = generic.groups()
        last = head.rpartition(".")[2]
        if _COLLECTION(last):
            return _collection(last, split_outside_brackets(arguments, ","))
        if last not in _TRANSPARENT:
            return head if _PLAIN(head) else ""
        choices = split_outside_brackets(arguments, ",")
        if last == "Annotated":
            del choices[1:]
        if last == "Coroutine":
            del choices[:-1]
    names = {class_of_annotation(choice) for choice in choices if choice.strip() != "None"}
    return names.pop() if len(names) == 1 else ""


def _collection(name: str, arguments: list[str]) -> str:
    """The type of a collection with these type arguments; "" when its elements have no single class."""
    if name in _MAPPINGS:
        arguments = arguments[1:2]
    elif name.endswith("Generator"):
        arguments = arguments[:1]
    else:
        arguments = [argument for argument in arguments if argument.strip() != "..."]
    elements = {class_of_annotation(argument) for argument in arguments}
    element = elements.pop() if len(elements) == 1 else ""
    return f"{element}[]" if element and not element.endswith("[]") else ""


def split_outside_brackets(
    text: str, separator: str, opening: str = "([{", closing: str = ")]}", quotes: str = ""
) -> list[str]:
    """The parts of a text between separators that are in no brackets and no quotes of these kinds."""
    if separator not in text:
        return [text]
    parts, depth, start, quote = [], 0, 0, ""
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in quotes:
            quote = character
        elif character in opening:
            depth += 1
        elif character in closing:
            depth -= 1
        elif character == separator and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return parts
