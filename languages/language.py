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

from .embedded import ScriptBlocks
from .import_lines import ImportPattern
from .lexer import Lexer
from .syntax import NodeReader

BlockStyle = Literal["", "indentation", "braces", "end"]
"""How a block of statements ends: by a smaller indentation, a brace, or the word `end`; "" for unknown."""

ModuleStyle = Literal["", "python", "web", "go", "rust", "lua", "source", "include"]
"""The meaning of the text of an import: the rules by which `codegraph.modules` finds the file."""

PackageStyle = Literal["", "directory", "declared"]
"""What makes the files of a package: nothing, their directory, or the package or namespace that each file declares."""

# Not the brace of a literal, of names to import, or of a namespace, whose content many do not indent.
BRACE_HEADER = re.compile(
    r".*(?:\)[^(){};=]*|=>\s*|\b(?:else|try|do|finally|loop|unsafe|init|get|set)\s*)\{\s*(?://.*)?"
    r"|\s*(?:(?:export|default|public|private|protected|internal|static|abstract|final|sealed|partial|async|pub(?:\(\w+\))?"
    r"|data|open)\s+)*(?:class|struct|enum|interface|impl|trait|fn|func|function|union|record|type|match|switch|select"
    r"|for|while|if|loop)\b[^;]*\{\s*(?://.*)?"
)
"""A line that ends with the brace of a body."""

MAX_HEADER_LENGTH = 400
"""Characters; a longer line is not matched against a header pattern."""


@dataclass(frozen=True, eq=False)
class Language:
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

    # Syntax tree and name resolution.
    grammar: tuple[str, str] | None = None  # module of the tree-sitter wheel, and its function that returns the grammar
    readers: Mapping[str, NodeReader] = field(default_factory=dict)  # reader of each kind of syntax node
    embedded: ScriptBlocks | None = None  # the part of a file that the grammar reads, None for all of it
    source_filter: Callable[[bytes], bytes] | None = None  # blanks what the grammar cannot read; keeps all offsets
    family: str = ""  # languages whose files call each other's definitions; `name` when ""
    module_style: ModuleStyle = ""
    module_separator: str = ""  # of an imported path, whose parts are modules, types, and names that they import
    import_lines: tuple[ImportPattern, ...] = ()  # forms of import statements that name files of the repository
    import_suffixes: str = ""  # file suffixes that an import may leave out, or of an included header's source, in order
    shares_directory: bool = False  # files of one directory see each other's definitions without imports
    package_style: PackageStyle = ""
    package_sign: str = "."  # between the parts of a package's name
    shared_names: str = ""  # pattern of the names that inner scopes and other files know without an object; "" for all
    has_outer_packages: bool = False  # the names of the packages around a package are known in it
    has_relative_imports: bool = False  # the path of an import may begin in the package of the file
    has_open_types: bool = False  # several places may define the parts of one type
    has_extensions: bool = False  # functions outside of a type, in any file, may be methods of it
    has_extension_packages: bool = False  # the extensions of a type are known where the file sees their package
    has_implicit_object: bool = False  # the members of the classes around a plain name are among its meanings
    test_ending: str = ""  # of files whose definitions only such files see
    test_path: str = ""  # pattern of paths of files whose definitions only such files see
    own_object: str = "self this"  # words for the object or class around a method
    own_class: str = ""  # words for the class around a method
    has_function_names: bool = False  # functions and variables may have one name: what is called is no variable
    receiver_types: str = ""  # types of results that are the class of the object whose method is called
    super_word: str = ""  # for the object as an instance of its base class
    super_is_called: bool = False  # the word is a function
    constructor: str = ""  # name of constructors, beside the name of the class
    new_method: str = ""  # methods of a class that make an object of it, unless it defines them
    call_method: str = ""  # name of the method that makes objects callable
    index_method: str = ""  # method that an index calls; an index of an object without it is a pointer's
    private_prefix: str = ""  # of names that a star import leaves out
    member_operators: str = ""  # operators before a member beside the dot
    attribute_sign: str = ""  # before the name of an attribute of the object around a method
    builtins: str = ""  # names that every file knows
    element_methods: str = ""  # methods of collections that return an element
    collection_methods: str = ""  # methods of collections that return a collection of the same elements
    identity_methods: str = ""  # methods of wrappers of a value, which give the value
    has_fields_apart: bool = False  # a field and a method of a type may have the same name
    has_method_sets: bool = False  # a type implements an interface by its methods alone
    has_traits_in_scope: bool = False  # a method of a trait is known where the file imports or defines the trait
    has_bare_calls: bool = False  # a name without parentheses may be a call
    has_mixins: bool = False  # a class may get members at run time, and call those of classes that extend or include it
    has_typed_names: bool = False  # a variable whose type is unknown may be an object of the class with its name
    has_interfaces: bool = False  # a class names the interfaces that it implements
    has_block_scopes: bool = False  # of several values of a module's name the latest above a line counts there
    project_ending: str = ""  # of the names of files that describe a project, whose files have imports in common
    declares_all: bool = False  # a name that no file of the repository declares is from outside of it
    has_globals: bool = False  # names may be known in all files without an import
    global_kinds: str = ""  # the only kinds of definitions that `has_globals` is true of

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
