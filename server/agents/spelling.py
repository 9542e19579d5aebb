"""Spellings of names in source code, compilers, stack traces and documentation, as the dotted names of the index.

Owns the syntax around a name: receivers, generics, parameters, keywords and separators. Knows no index.
"""

from __future__ import annotations

import re

_KEYWORDS = re.compile(
    r"(?:(?:public|private|protected|internal|static|abstract|final|open|override|async|export|default|pub|new|func|fun"
    r"|fn|def|function|class|struct|interface|trait|protocol|enum|record|object|module|namespace|type|const|let|var|val"
    r"|macro_rules!)\s+)+(?=\S)"
)
_RECEIVER = re.compile(r"\(\s*(?:\w+\s+)?[*&]?\s*(\w[\w.]*)(?:\[[^\]]*\])?\s*\)\s*\.?\s*(?=\w)")
"""Of a method of Go: `(*Shop).Pay`, `func (s *Shop) Pay`."""
_QUALIFIED_TYPE = re.compile(r"<\s*([\w:]+)(?:<.*>)?\s+as\s+.+>(?=::)")
"""Of a method of Rust: `<Shop as Payable>::pay`."""
_OPERATOR = re.compile(r"(?:^|(?<=[.:#]))(operator\s*\W+|\[\]=?|[=!]==?|[=!]~|<=>|<<|>>|<=|>=|[<>+\-*/%~&|^])$")
_NO_NAME_OF_A_CONSTRUCTOR = re.compile(r"[.:#]*<init>$|[.:]+\.c?ctor$")
_GENERICS = re.compile(r"<[^<>()]*>|\[[^\[\]]*\]")
_EMPTY_CALLS = re.compile(r"\(\)(?=[.:?#-])")
_SEPARATORS = re.compile(r"(?:::|\?\.|!\.|->|[.#\\])+[$@]?")
_PART = r"~?[^\W\d][\w$]*[?!=]?"
_NAME = re.compile(rf"{_PART}(?:\.{_PART})*")


def dotted(text: str) -> str:
    """The dotted name that a text names, "" for words.

    `Shop.pay` for `Shop::pay(int)`, `Shop#pay`, `(*Shop).pay`, `<Shop as Payable>::pay` and `Shop<T>.pay`.
    """
    name = _NO_NAME_OF_A_CONSTRUCTOR.sub("", text.strip().strip("`'\"").strip())
    name = _RECEIVER.sub(r"\1.", _QUALIFIED_TYPE.sub(r"\1", _KEYWORDS.sub("", name, 1)), 1)
    found = _OPERATOR.search(name)
    operator = found[1].replace(" ", "") if found is not None else ""
    if found is not None:
        name = name[: found.start()]
    name = _EMPTY_CALLS.sub("", name)
    before = ""
    while name != before:  # generics in generics
        before, name = name, _GENERICS.sub("", name)
    name = _SEPARATORS.sub(".", name.partition("(")[0].strip().lstrip("*&@$")).strip(".")
    name = name.removeprefix("crate.").removeprefix("global.")
    if name and not _NAME.fullmatch(name):
        return ""
    return ".".join(filter(None, (name, operator)))
