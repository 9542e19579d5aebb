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

TASK_LANGUAGES = {language.name: language for language in (PYTHON, TYPESCRIPT, GO)}


def majority_language(tree: Path) -> TaskLanguage:
    """The language of most files of a tree; Python for a tree without any."""
    n_files: Counter[str] = Counter()
    for language in TASK_LANGUAGES.values():
        for _, subfolders, filenames in os.walk(tree):
            subfolders[:] = [name for name in subfolders if not is_skipped_folder(name, language)]
            n_files[language.name] += sum(language.suffix_of(name) is not None for name in filenames)
    return TASK_LANGUAGES[n_files.most_common(1)[0][0]]
