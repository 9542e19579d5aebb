r"""Types of PHP as dotted texts: `?\A\Shop` and `Shop|null` are "A.Shop" and "Shop", `array<int, Shop>` is "Shop[]".

Owns the reduction of type nodes and of types in documentation comments. Knows no values.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from ..dotted import split_outside_brackets
from ..syntax import SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node

ELEMENTS = "[]"
"""The end of the text of a collection's type."""

OUTSIDE = "object"
"""The text of a type that no repository defines."""

MAX_DOC_BYTES = 6000
"""Of a documentation comment; a longer one is not read."""

_COLLECTIONS = frozenset(
    {"ArrayAccess", "ArrayIterator", "ArrayObject", "Collection", "Generator", "Iterator", "IteratorAggregate"}
    | {"SplObjectStorage", "Traversable", "array", "iterable", "list", "non-empty-array", "non-empty-list"}
)
# Of these something in a repository may be the value.
_UNKNOWN = frozenset({"array", "callable", "iterable", "mixed", "object"})
_PRIMITIVES = frozenset(
    {"array", "array-key", "bool", "boolean", "callable", "class-string", "double", "false", "float", "int", "integer"}
    | {"iterable", "list", "mixed", "never", "null", "numeric-string", "object", "resource", "scalar", "string", "true"}
    | {"void", "non-empty-string", "positive-int", "Closure", "callable-string", "literal-string", "lowercase-string"}
)
_OWN = {"$this": "static", "this": "static"}
_NAME = re.compile(r"\\?[^\W\d]\w*(?:\\[^\W\d]\w*)*").fullmatch
_GENERIC = re.compile(r"(\\?[\w\\-]+)\s*<(.*)>", re.DOTALL).fullmatch
_TAG = re.compile(
    r"@(?:(?:psalm|phpstan)-)?(?P<tag>var|param|return)\s+"
    r"(?P<type>(?:[^\s<>(){}$,]|\$this\b|<(?:[^<>]|<[^<>]*>)*>|\((?:[^()]|\([^()]*\))*\)|\{[^{}]*\}|(?<=[|&])\s+|\s+(?=[|&]))+)"
    r"(?:\s+(?:&|\.\.\.)*\$(?P<name>\w+))?"
)


def name_text(walk: SyntaxWalk, node: Node) -> str:
    r"""A name of a class or a function as dotted text; "" for a single global name (`\Foo`) in a namespace."""
    text = walk.text(node)
    if text[:1] == "\\":
        text = text[1:]
        if "\\" not in text and walk.package:
            return ""
    return text.replace("\\", ".").removeprefix("namespace.")


def type_text(walk: SyntaxWalk, node: Node | None) -> str:
    """The text of a type node; "" where nothing is known, `OUTSIDE` for what no repository defines."""
    while node is not None:
        kind = node.type
        if kind == "named_type":
            text = name_text(walk, node)
            return OUTSIDE if text in _PRIMITIVES else text or OUTSIDE
        if kind == "primitive_type":
            return "" if walk.text(node) in _UNKNOWN else OUTSIDE
        if kind in ("union_type", "type_list", "disjunctive_normal_form_type"):
            texts = {type_text(walk, part) for part in node.named_children} - {OUTSIDE}
            return texts.pop() if len(texts) == 1 else "" if texts else OUTSIDE
        if kind in ("intersection_type", "optional_type"):
            node = node.named_children[0] if node.named_child_count else None
        else:
            return ""
    return ""


class Doc:
    """The types in the documentation comment before a node."""

    def __init__(self, walk: SyntaxWalk, node: Node) -> None:
        self._walk = walk
        self._text = _comment_before(walk.source, node.start_byte)

    def parameters(self) -> dict[str, str]:
        return {found["name"]: self._type(found["type"]) for found in self._tags("param") if found["name"]}

    def returns(self) -> str:
        return next((self._type(found["type"]) for found in self._tags("return")), "")

    def variable(self, name: str) -> str:
        """The type of a variable or a property; one without a name in the comment is any."""
        return next((self._type(tag["type"]) for tag in self._tags("var") if tag["name"] in (None, name)), "")

    def _tags(self, tag: str) -> list[re.Match[str]]:
        if f"{tag} " not in self._text:
            return []
        return [found for found in _TAG.finditer(self._text) if found["tag"] == tag]

    def _type(self, text: str) -> str:
        return doc_type(text, bool(self._walk.package))


@lru_cache(maxsize=4096)
def doc_type(text: str, in_namespace: bool, depth: int = 0) -> str:
    """The text of a type in a comment."""
    text = text.strip().removeprefix("?")
    if depth > 6:
        return ""
    if _NAME(text) or text in _OWN:
        if text in _PRIMITIVES:
            return "" if text in _UNKNOWN else OUTSIDE
        if text[:1] == "\\" and "\\" not in text[1:] and in_namespace:
            return OUTSIDE
        return _OWN.get(text, text.lstrip("\\").replace("\\", "."))
    for sign in "|&":
        parts = split_outside_brackets(text, sign, opening="(<{", closing=")>}")
        if len(parts) > 1:
            texts = [doc_type(part, in_namespace, depth + 1) for part in parts]
            known = dict.fromkeys(each for each in texts if each not in ("", OUTSIDE))
            collections = [each for each in known if each.endswith(ELEMENTS)]
            if len(collections) == 1 and len(known) == 2:  # `Collection|Shop[]`
                return collections[0]
            return next(iter(known)) if len(known) == 1 or (known and sign == "&") else "" if known else OUTSIDE
    if text.endswith("[]"):
        return _collection(doc_type(text[:-2], in_namespace, depth + 1))
    if text[:1] == "(" and text[-1:] == ")":
        return doc_type(text[1:-1], in_namespace, depth + 1)
    generic = _GENERIC(text)
    if generic is None:
        return ""
    name = generic[1].lstrip("\\")
    arguments = split_outside_brackets(generic[2], ",", opening="(<{", closing=")>}")
    if name in _COLLECTIONS:
        last = arguments[1] if name == "Generator" and len(arguments) > 1 else arguments[-1]
        return _collection(doc_type(last, in_namespace, depth + 1))
    return doc_type(generic[1], in_namespace, depth + 1)


def _collection(element: str) -> str:
    return "" if element in ("", OUTSIDE) or element.endswith(ELEMENTS) else element + ELEMENTS


def _comment_before(source: bytes, start: int) -> str:
    """The documentation comment that ends right before an offset."""
    before = source[max(0, start - 200) : start].rstrip()
    if not before.endswith(b"*/"):
        return ""
    end = max(0, start - 200) + len(before)
    begin = source.rfind(b"/**", max(0, end - MAX_DOC_BYTES), end)
    if begin < 0 or source.find(b"*/", begin, end) != end - 2:
        return ""
    return source[begin + 3 : end - 2].decode("utf-8", "replace")
