"""Reader of a checkout's source files and manifests, with the lexical facts of each line.

Owns reading a tree from disk and the lexical facts per line. Knows no task, no name resolution.
Python is read by the standard library (`ast`, `tokenize`), so tasks do not depend on Weft's parser; other languages by
their grammars, see `line_facts`.
"""

from __future__ import annotations

import ast
import hashlib
import io
import os
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .line_facts import line_facts
from .task_languages import PYTHON, TaskLanguage, is_skipped_folder

MAX_FILE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file with `\\n` line breaks. Lists named `line_…` hold one entry per line, 0-based.

    The facts of lines are empty when the file cannot be parsed: such a file is searched, but no task is drawn from it.
    """

    path: str  # relative to the checkout, with slashes
    text: str
    sha256: str  # of the bytes on disk
    lines: tuple[str, ...]
    line_offsets: tuple[int, ...]  # in characters
    tree: ast.Module | None  # of a Python file
    line_is_code: tuple[bool, ...]  # holds a token, and no part of a docstring or of a string over several lines
    line_code_end: tuple[int | None, ...]  # column after the last token: a trailing comment begins there
    language: TaskLanguage = PYTHON

    @property
    def gives_tasks(self) -> bool:
        # Form feeds and the like are line breaks for `str.splitlines` and not for an editor: the line numbers of a
        # task would be ambiguous.
        return bool(self.line_is_code) and tuple(self.text.splitlines()) == self.lines


def read_sources(root: Path, language: TaskLanguage = PYTHON) -> dict[str, SourceFile]:
    """Every readable file of a language in a checkout by its path; folders top down, names sorted.

    Left out: hidden folders, build output and vendored code, generated files, links, files over
    1 MB and files that are not UTF-8.
    """
    sources: dict[str, SourceFile] = {}
    for file, path in _files(root, language):
        if language.suffix_of(file.name) and not language.skipped_files.search(file.name):
            content = file.read_bytes()
            text = _text(content)
            if text is not None:
                sources[path] = parse_source(path, text, hashlib.sha256(content).hexdigest(), language)
    return sources


def read_manifests(root: Path, language: TaskLanguage) -> dict[str, str]:
    """The text of every manifest of a language in a checkout by its path, under the limits of sources."""
    manifests: dict[str, str] = {}
    for file, path in _files(root, language):
        if language.manifests and language.manifests.search(file.name):
            text = _text(file.read_bytes())
            if text is not None:
                manifests[path] = text
    return manifests


def _files(root: Path, language: TaskLanguage) -> Iterator[tuple[Path, str]]:
    for folder, subfolders, filenames in os.walk(root):
        subfolders[:] = sorted(name for name in subfolders if not is_skipped_folder(name, language))
        for filename in sorted(filenames):
            file = Path(folder, filename)
            if not file.is_symlink():
                yield file, file.relative_to(root).as_posix()


def _text(content: bytes) -> str | None:
    if len(content) > MAX_FILE_BYTES:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def parse_source(path: str, text: str, sha256: str, language: TaskLanguage = PYTHON) -> SourceFile:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    offsets = []
    offset = 0
    for line in lines:
        offsets.append(offset)
        offset += len(line) + 1
    tree = _parse(text) if language is PYTHON else None
    facts = _line_facts(text, lines, tree) if tree else None
    suffix = language.suffix_of(path)
    is_declarations = language.declaration_files and language.declaration_files.search(path)
    if suffix is not None and suffix in language.grammars and not is_declarations:
        facts = line_facts(text, len(lines), language, suffix)
    is_code, code_end = facts or ((), ())
    return SourceFile(
        path=path,
        text=text,
        sha256=sha256,
        lines=tuple(lines),
        line_offsets=tuple(offsets),
        tree=tree if facts else None,
        line_is_code=is_code,
        line_code_end=code_end,
        language=language,
    )


def _parse(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


_LineFacts = tuple[tuple[bool, ...], tuple[int | None, ...]]
_LAYOUT = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.COMMENT)


def _line_facts(text: str, lines: list[str], tree: ast.Module) -> _LineFacts | None:
    n_lines = len(lines)
    code_end: list[int | None] = [None] * n_lines
    in_string = [False] * n_lines
    try:
        # From Python 3.12 on an f-string comes in parts: it counts as one token, as it did before.
        open_fstrings: list[int] = []
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in _LAYOUT:
                continue
            first, last = token.start[0] - 1, token.end[0] - 1
            name = tokenize.tok_name[token.type]
            if name in ("FSTRING_START", "TSTRING_START"):
                open_fstrings.append(first)
                continue
            if name in ("FSTRING_END", "TSTRING_END"):
                first = open_fstrings.pop()
            if open_fstrings:
                continue
            if first < n_lines:
                code_end[first] = token.end[1] if first == last else len(lines[first])
            if last > first:
                _mark(in_string, first, last + 1)
    except (tokenize.TokenError, SyntaxError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            _mark(in_string, node.lineno - 1, node.end_lineno or node.lineno)
    is_code = tuple(end is not None and not inside for end, inside in zip(code_end, in_string, strict=True))
    return is_code, tuple(code_end)


def _mark(flags: list[bool], start: int, end: int) -> None:
    for line in range(start, min(end, len(flags))):
        flags[line] = True
