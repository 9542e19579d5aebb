"""The record of one programming language.

One file of `known/` has the values of one record. The default of a field fits a text of an unknown language. Knows no
file of a workspace and no cursor.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from .call_syntax import CallSyntax
from .embedded import ScriptBlocks
from .lexer import Lexer
from .name_rules import NameRules
from .scope_rules import ScopeRules
from .syntax import NodeReader

BlockStyle = Literal["", "indentation", "braces", "end"]
"""How a block of statements ends: by a smaller indentation, a brace, or the word `end`; "" for unknown."""

# Not the brace of a literal, of names to import, or of a namespace, whose content many do not indent.
BRACE_HEADER = re.compile(
    r".*(?:\)[^(){};=]*|=>\s*|\b(?:else|try|do|finally|loop|unsafe|init|get|set)\s*)\{\s*(?://.*)?"
    r"|\s*(?:(?:export|default|public|private|protected|internal|static|abstract|final|sealed|partial|async|pub(?:\(\w+\))?"
    r"|data|open)\s+)*(?:class|struct|enum|interface|impl|trait|fn|func|function|union|record|type|match|switch|select"
    r"|for|while|if|loop)\b[^;]*\{\s*(?://.*)?"
    r"|\s*(?:\}\s*else\s+)?(?:if|for|switch)\b[^{}]*\{\s*(?://.*)?"  # in Go with `;`
)
"""A line that ends with the brace of a body."""

MAX_HEADER_LENGTH = 400
"""Characters; a longer line is not matched against a header pattern."""


@dataclass(frozen=True, eq=False)
class Language(NameRules):
    """One language. Texts that list words separate them by spaces."""

    name: str
    suffixes: str = ""  # of file names, in lower case and without their dot, the usual one first
    file_names: str = ""  # whole names of files, in lower case
    lsp_ids: str = ""  # language identifiers of LSP's TextDocumentItem beside `name`
    title: str = ""  # the name in sentences; `name` with a capital when ""
    is_prose: bool = False  # text for people, without meaning of fences and brackets
    is_data: bool = False  # text without definitions that code could call

    # Lexical syntax.
    lexer: Lexer = field(default_factory=Lexer)
    comment: tuple[str, str] = ("# ", "")  # start and end of a comment line in a prompt
    comment_tokens: tuple[str, ...] = ("/",)  # first lexer tokens of a line that is a comment or a docstring
    decorator: str = ""  # pattern of a whole line before a definition

    # Layout.
    blocks: BlockStyle = ""
    header: re.Pattern[str] = BRACE_HEADER  # a line before a body
    indent: str = "    "  # one level of indentation in most files
    clauses: Mapping[str, str] = field(default_factory=dict)  # first word of a clause -> code that it may follow
    placeholder: str = "body"  # a statement, for the body of a header whose block `end` closes
    code_prefix: str = ""  # text before a piece of code that makes the grammar parse it as code
    docstring_in_body: bool = False  # the documentation of a definition is the first string of its body

    # Syntax tree. The rules of name resolution are those of `NameRules`.
    grammar: tuple[str, str] | None = None  # module of the tree-sitter wheel, and its function that returns the grammar
    readers: Mapping[str, NodeReader] = field(default_factory=dict)  # reader of each kind of syntax node
    call_syntax: CallSyntax | None = None  # None: arguments are not suggested
    scope_rules: ScopeRules | None = None  # None: names of a text are not checked
    embedded: ScriptBlocks | None = None  # the part of a file that the grammar reads, None for all of it
    source_filter: Callable[[bytes], bytes] | None = None  # blanks what the grammar cannot read; keeps all offsets

    @property
    def written(self) -> str:
        """The name as people write it."""
        return self.title or self.name.capitalize()

    @property
    def is_code(self) -> bool:
        """Whether it is a known language of code."""
        return bool(self.name) and not self.is_prose

    @property
    def line_comments(self) -> tuple[str, ...]:
        """The marks of line comments."""
        return tuple(mark for mark in self.lexer.comment_marks if mark != "/*")

    @property
    def ids(self) -> tuple[str, ...]:
        """All language identifiers of editors."""
        return (self.name, *self.lsp_ids.split())

    @property
    def is_blanked(self) -> bool:
        """Whether the grammar reads only a part of the source."""
        return self.embedded is not None or self.source_filter is not None

    def readable(self, source: bytes) -> bytes:
        """The source for the grammar: what it does not read is blank."""
        if self.embedded is not None:
            source = self.embedded.blanked(source)
        return source if self.source_filter is None else self.source_filter(source)

    @cached_property
    def builtin_names(self) -> frozenset[str]:
        return frozenset(self.builtins.split())

    @cached_property
    def own_names(self) -> frozenset[str]:
        """The names of the own object and of its class, inside of it."""
        return frozenset((*self.own_object.split(), *self.own_class.split()))

    @cached_property
    def typed_expression(self) -> re.Pattern[str]:
        """Matches the dotted expression at the end of a text."""
        operators = "".join(f"|{re.escape(operator)}" for operator in self.member_operators.split())
        return re.compile(rf"(?:[\w.{self.attribute_sign}]{operators})*\Z")

    def is_test_file(self, path: str) -> bool:
        """Whether only such files see the definitions of a file."""
        is_ending = bool(self.test_ending) and path.endswith(self.test_ending)
        return is_ending or (bool(self.test_path) and re.search(self.test_path, path) is not None)

    def is_shared(self, name: str) -> bool:
        """Whether a name of a class or a file is known in the classes inside of it and in other files."""
        return not self.shared_names or self._shared_name.match(name) is not None

    @cached_property
    def _shared_name(self) -> re.Pattern[str]:
        return re.compile(self.shared_names)

    def opens_body(self, line: str) -> bool:
        """Whether the lines after this one are indented one level more."""
        if not line or len(line) > MAX_HEADER_LENGTH:
            return False
        if self.header is BRACE_HEADER and "{" not in line[-40:]:
            return False
        return self.header.fullmatch(line) is not None


UNKNOWN = Language("")
"""The record of texts in an unknown language."""
