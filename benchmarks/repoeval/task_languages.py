"""Languages of benchmark tasks: file suffixes, skipped files, manifests, keywords, and the grammar of line facts.

Owns the facts that tasks need of a language. Independent of Weft's own language records, so that a mistake there does
not change the tasks.
"""

from __future__ import annotations

import keyword
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class TaskLanguage:
    """A language that tasks are drawn from. One without `grammars` is Python, which the standard library reads."""

    name: str
    suffixes: tuple[str, ...]
    skipped_files: re.Pattern[str]
    skipped_folders: frozenset[str]
    keywords: frozenset[str]
    declaration_files: re.Pattern[str] | None = None  # searched, but no task is drawn from them
    manifests: re.Pattern[str] | None = None  # by file name: read by a resolver, not searched by the baselines
    grammars: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # suffix -> module and function
    not_code: str = ""  # tree-sitter query: @blank is no code, @block makes all its lines no targets

    def suffix_of(self, filename: str) -> str | None:
        return next((suffix for suffix in self.suffixes if filename.endswith(suffix)), None)


def is_skipped_folder(name: str, language: TaskLanguage) -> bool:
    """Hidden folders, build output and vendored code."""
    return name.startswith(".") or name.endswith(".egg-info") or name in language.skipped_folders


PYTHON = TaskLanguage(
    "python",
    (".py",),
    re.compile(r"(_pb2(_grpc)?|_generated)\.py$"),
    frozenset({"node_modules", "__pycache__", "build", "dist", "third_party", "vendor"}),
    frozenset(keyword.kwlist),
)

_TYPESCRIPT = ("tree_sitter_typescript", "language_typescript")
_TSX = ("tree_sitter_typescript", "language_tsx")

_TYPESCRIPT_KEYWORDS = """
abstract any as asserts async await bigint boolean break case catch class const constructor continue debugger
declare default delete do else enum export extends false finally for from function get if implements import in
infer instanceof interface is keyof let module namespace never new null number object of override package
private protected public readonly require return satisfies set static string super switch symbol this throw
true try type typeof undefined unique unknown var void while with yield
"""

TYPESCRIPT = TaskLanguage(
    "typescript",
    (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"),
    re.compile(r"(\.gen|\.generated|_generated|\.min|\.pb)\.[cm]?[jt]sx?$"),
    frozenset({"node_modules", "dist", "third_party", "vendor"}),
    frozenset(_TYPESCRIPT_KEYWORDS.split()),
    declaration_files=re.compile(r"\.d\.[cm]?ts$"),
    manifests=re.compile(r"^(package|deno|jsr|[jt]sconfig.*)\.jsonc?$|^pnpm-workspace\.yaml$"),
    grammars={
        **dict.fromkeys((".ts", ".mts", ".cts"), _TYPESCRIPT),
        **dict.fromkeys((".tsx", ".js", ".jsx", ".mjs", ".cjs"), _TSX),
    },
    not_code="(comment) @blank (html_comment) @blank (hash_bang_line) @blank (jsx_text) @blank"
    " (template_string) @block (string) @block (ERROR) @block",
)

_GO_KEYWORDS = """
append bool break byte case chan const continue default defer else error fallthrough false float64 for func go
goto if import int int64 interface iota len make map new nil package panic range return rune select string
struct switch true type var
"""

GO = TaskLanguage(
    "go",
    (".go",),
    re.compile(r"(\.pb(\.gw)?|\.gen|_generated|zz_generated\..*)\.go$"),
    frozenset({"node_modules", "testdata", "third_party", "vendor"}),
    frozenset(_GO_KEYWORDS.split()),
    manifests=re.compile(r"^go\.(mod|work)$"),
    grammars={".go": ("tree_sitter_go", "language")},
    not_code="(comment) @blank (raw_string_literal) @block (ERROR) @block",
)

_JAVA_KEYWORDS = """
abstract assert boolean break byte case catch char class const continue default do double else enum extends false
final finally float for goto if implements import instanceof int interface long native new null package permits
private protected public record return sealed short static strictfp super switch synchronized this throw throws
transient true try var void volatile while yield
"""

JAVA = TaskLanguage(
    "java",
    (".java",),
    re.compile(r"(_generated|\.pb)\.java$"),
    frozenset({"node_modules", "target", "third_party", "vendor"}),
    frozenset(_JAVA_KEYWORDS.split()),
    grammars={".java": ("tree_sitter_java", "language")},
    not_code="(line_comment) @blank (block_comment) @blank (string_literal) @block (ERROR) @block",
)

_RUST_KEYWORDS = """
Self as async await bool break char const continue crate dyn else enum extern f32 f64 false fn for i128 i16 i32 i64
i8 if impl in isize let loop macro_rules match mod move mut pub ref return self static str struct super trait true
type u128 u16 u32 u64 u8 union unsafe use usize where while
"""

RUST = TaskLanguage(
    "rust",
    (".rs",),
    re.compile(r"(_generated|\.gen)\.rs$"),
    frozenset({"node_modules", "target", "third_party", "vendor"}),
    frozenset(_RUST_KEYWORDS.split()),
    manifests=re.compile(r"^Cargo\.toml$"),
    grammars={".rs": ("tree_sitter_rust", "language")},
    not_code="(line_comment) @blank (block_comment) @blank"
    " (string_literal) @block (raw_string_literal) @block (ERROR) @block",
)

_CSHARP_KEYWORDS = """
abstract as async await base bool break byte case catch char checked class const continue decimal default delegate
do double dynamic else enum event explicit extern false finally fixed float for foreach get goto if implicit in init
int interface internal is lock long nameof namespace new null object operator out override params partial private
protected public readonly record ref required return sbyte sealed set short sizeof stackalloc static string struct
switch this throw true try typeof uint ulong unchecked unsafe ushort using value var virtual void volatile when where
while with yield
"""

CSHARP = TaskLanguage(
    "csharp",
    (".cs",),
    re.compile(r"\.(g|g\.i|Designer|Generated)\.cs$"),
    frozenset({"bin", "node_modules", "obj", "packages", "third_party"}),
    frozenset(_CSHARP_KEYWORDS.split()),
    manifests=re.compile(r"\.csproj$|^Directory\.Build\.props$"),
    grammars={".cs": ("tree_sitter_c_sharp", "language")},
    not_code="(comment) @blank (string_literal) @block (verbatim_string_literal) @block (raw_string_literal) @block"
    " (interpolated_string_expression) @block (ERROR) @block",
)

_KOTLIN_KEYWORDS = """
abstract actual annotation as break by catch class companion const constructor continue crossinline data do dynamic
else enum expect external false final finally for fun get if import in infix init inline inner interface internal is
it lateinit noinline null object open operator out override package private protected public reified return sealed
set super suspend tailrec this throw true try typealias typeof val value var vararg when where while
"""

KOTLIN = TaskLanguage(
    "kotlin",
    (".kt",),
    re.compile(r"(_generated|\.pb)\.kt$"),
    frozenset({"node_modules", "third_party", "vendor"}),
    frozenset(_KOTLIN_KEYWORDS.split()),
    grammars={".kt": ("tree_sitter_kotlin", "language")},
    not_code="(line_comment) @blank (block_comment) @blank"
    " (string_literal) @block (multiline_string_literal) @block (ERROR) @block",
)

_C_KEYWORDS = """
NULL auto bool break case char const continue default define do double elif else endif enum extern false float for
goto if ifdef ifndef include inline int int16_t int32_t int64_t int8_t long register restrict return short signed
size_t sizeof static struct switch true typedef uint16_t uint32_t uint64_t uint8_t undef union unsigned void volatile
while
"""
_NATIVE_FOLDERS = frozenset({"bundled", "deps", "googletest", "gtest", "third-party", "third_party", "vendor"})

C = TaskLanguage(
    "c",
    (".c", ".h"),
    re.compile(r"(_generated|\.pb-c|\.gen)\.[ch]$"),
    _NATIVE_FOLDERS,
    frozenset(_C_KEYWORDS.split()),
    manifests=re.compile(r"^compile_commands\.json$"),
    grammars=dict.fromkeys((".c", ".h"), ("tree_sitter_c", "language")),
    not_code="(comment) @blank (string_literal) @block (ERROR) @block",
)

_CPP_KEYWORDS = """
alignas alignof and catch class co_await co_return co_yield concept const_cast consteval constexpr constinit decltype
delete dynamic_cast explicit export final friend mutable namespace new noexcept not nullptr operator or override
private protected public reinterpret_cast requires static_assert static_cast std template this thread_local throw try
typeid typename using virtual wchar_t
"""
_CPP_SUFFIXES = (".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".ipp", ".inl")

CPP = TaskLanguage(
    "cpp",
    _CPP_SUFFIXES,
    re.compile(r"(_generated|\.pb|\.gen)\.(cc|cpp|h|hpp)$"),
    _NATIVE_FOLDERS,
    C.keywords | frozenset(_CPP_KEYWORDS.split()),
    manifests=C.manifests,
    grammars=dict.fromkeys(_CPP_SUFFIXES, ("tree_sitter_cpp", "language")),
    not_code="(comment) @blank (string_literal) @block (raw_string_literal) @block (ERROR) @block",
)

_RUBY_KEYWORDS = """
BEGIN END alias and attr_accessor attr_reader attr_writer begin break case class def defined do else elsif end ensure
extend false for if in include module next nil not or private protected public raise redo require require_relative
rescue retry return self super then true undef unless until when while yield
"""

RUBY = TaskLanguage(
    "ruby",
    (".rb", ".rake"),
    re.compile(r"_pb\.rb$"),
    frozenset({"node_modules", "third_party", "vendor"}),
    frozenset(_RUBY_KEYWORDS.split()),
    grammars=dict.fromkeys((".rb", ".rake"), ("tree_sitter_ruby", "language")),
    not_code="(comment) @blank (uninterpreted) @block (string) @block (heredoc_body) @block (regex) @block"
    " (subshell) @block (ERROR) @block",
)

_PHP_KEYWORDS = """
abstract and array as bool break callable case catch class clone const continue declare default do echo else elseif
empty enum extends false final finally float fn for foreach function global goto if implements include include_once
instanceof insteadof int interface isset iterable list match mixed namespace never new null object or parent print
private protected public readonly require require_once return self static string switch this throw trait true try
unset use var void while xor yield
"""

PHP = TaskLanguage(
    "php",
    (".php",),
    re.compile(r"\.(blade|generated)\.php$"),
    frozenset({"node_modules", "third_party", "vendor"}),
    frozenset(_PHP_KEYWORDS.split()),
    manifests=re.compile(r"^composer\.json$"),
    grammars={".php": ("tree_sitter_php", "language_php")},
    not_code="(comment) @blank (text) @blank (string) @block (encapsed_string) @block (heredoc) @block"
    " (nowdoc) @block (ERROR) @block",
)

_SWIFT_KEYWORDS = """
Any Bool Double Float Int Self String Void actor any as associatedtype async await break case catch class continue
convenience default defer deinit do dynamic else enum extension fallthrough false fileprivate final for func get guard
if import in indirect infix init inout internal is isolated lazy let mutating nil nonisolated nonmutating open
operator optional override postfix precedencegroup prefix private protocol public repeat required rethrows return self
set some static struct subscript super switch throw throws true try typealias unowned var weak where while
"""

SWIFT = TaskLanguage(
    "swift",
    (".swift",),
    re.compile(r"\.(pb|generated)\.swift$"),
    frozenset({"Carthage", "Pods", "node_modules", "third_party", "vendor"}),
    frozenset(_SWIFT_KEYWORDS.split()),
    grammars={".swift": ("tree_sitter_swift", "language")},
    not_code="(comment) @blank (multiline_comment) @blank (line_string_literal) @block"
    " (multi_line_string_literal) @block (raw_string_literal) @block (ERROR) @block",
)

_SCALA_KEYWORDS = """
Any AnyRef Boolean Int Long Nothing String Unit abstract case catch class def derives do else end enum export extends
extension false final finally for forSome given if implicit import infix inline lazy match new null object opaque open
override package private protected return sealed super then this throw trait transparent true try type using val var
while with yield
"""

SCALA = TaskLanguage(
    "scala",
    (".scala",),
    re.compile(r"_generated\.scala$"),
    frozenset({"node_modules", "target", "third_party", "vendor"}),
    frozenset(_SCALA_KEYWORDS.split()),
    grammars={".scala": ("tree_sitter_scala", "language")},
    not_code="(comment) @blank (block_comment) @blank (string) @block (interpolated_string) @block (ERROR) @block",
)

TASK_LANGUAGES = {
    language.name: language
    for language in (PYTHON, TYPESCRIPT, GO, JAVA, RUST, CSHARP, KOTLIN, CPP, C, RUBY, PHP, SWIFT, SCALA)
}


def majority_language(tree: Path) -> TaskLanguage:
    """The language of most files of a tree; Python for a tree without any."""
    n_files: Counter[str] = Counter()
    for language in TASK_LANGUAGES.values():
        for _, subfolders, filenames in os.walk(tree):
            subfolders[:] = [name for name in subfolders if not is_skipped_folder(name, language)]
            n_files[language.name] += sum(language.suffix_of(name) is not None for name in filenames)
    return TASK_LANGUAGES[n_files.most_common(1)[0][0]]
