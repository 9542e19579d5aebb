"""File names of JavaScript and TypeScript modules: omitted endings, output endings, index files and declarations.

Knows no manifest.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from ...languages import LANGUAGES
from .paths import import_endings, join_path

_COMPONENTS = (".vue", ".svelte")
_DECLARATIONS = (".d.ts", ".d.mts", ".d.cts")
_SOURCES_OF_OUTPUT = {
    ".js": (".ts", ".tsx", ".jsx", ".d.ts"),
    ".jsx": (".tsx", ".d.ts"),
    ".mjs": (".mts", ".d.mts"),
    ".cjs": (".cts", ".d.cts"),
}
"""Endings of the file that an import of a compiler's output means, in order."""


@cache
def module_endings() -> tuple[str, ...]:
    """The endings that an import may leave out, in order: code before its declarations."""
    endings = dict.fromkeys((*import_endings("web"), *_COMPONENTS, *_DECLARATIONS))
    return tuple(sorted(endings, key=is_declaration))


@cache
def _file_endings() -> tuple[str, ...]:
    suffixes = [s for record in LANGUAGES.values() if record.module_style == "web" for s in record.suffixes.split()]
    return (*(f".{suffix}" for suffix in suffixes), *_COMPONENTS)


def is_module(path: str) -> bool:
    """Whether a file can be imported as code, by its name."""
    return path.endswith(_file_endings())


def is_declaration(path: str) -> bool:
    return path.endswith(_DECLARATIONS)


def without_ending(path: str) -> str:
    """A path without the ending of a module."""
    # The longest of the endings: ".d.ts" before ".ts".
    ending = max((each for each in module_endings() if path.endswith(each)), key=len, default="")
    return path.removesuffix(ending)


def find_file(paths: Collection[str], path: str) -> str | None:
    """The file of an import of `path`, with or without its ending."""
    if path in paths and is_module(path):
        return path
    stem, dot, suffix = path.rpartition(".")
    for ending in _SOURCES_OF_OUTPUT.get(dot + suffix, ()):
        if stem + ending in paths:
            return stem + ending
    return next((found for ending in module_endings() if (found := path + ending) in paths), None)


def find_index(paths: Collection[str], directory: str) -> str | None:
    """The index file of a directory."""
    stem = join_path(directory, "index")
    return next((found for ending in module_endings() if (found := stem + ending) in paths), None)
