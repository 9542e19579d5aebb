"""Which language a file is in, and the grammar that reads it.

Owns the table of file names, the grammars (one per process, loaded when first needed) and the comment
marks that prompts use. Knows no text: a name decides, so that a file can be judged before it is read.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import PurePosixPath

from tree_sitter import Language

# Language -> (module of its official wheel, the function there that hands out the grammar).
_GRAMMARS = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "java": ("tree_sitter_java", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "php": ("tree_sitter_php", "language_php"),
}

LANGUAGES = tuple(_GRAMMARS)
"""Every language that has a grammar."""

# A `.h` is read as C++: its grammar takes nearly all C headers, while C's stumbles over every class.
_EXTENSIONS = {
    "python": "py pyi pyw",
    "javascript": "js mjs cjs jsx",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "java": "java",
    "rust": "rs",
    "c": "c",
    "cpp": "cpp cc cxx c++ h hh hpp hxx h++ ipp tpp inl cu cuh",
    "csharp": "cs csx",
    "ruby": "rb rake gemspec ru podspec",
    "php": "php phtml php3 php4 php5 php7 php8",
}
_BY_EXTENSION = {
    f".{extension}": language for language, extensions in _EXTENSIONS.items() for extension in extensions.split()
}
_BY_NAME = {
    "sconstruct": "python",
    "sconscript": "python",
    "wscript": "python",
    "jakefile": "javascript",
    "rakefile": "ruby",
    "gemfile": "ruby",
    "podfile": "ruby",
    "vagrantfile": "ruby",
    "guardfile": "ruby",
    "brewfile": "ruby",
    "fastfile": "ruby",
}
_HASH_COMMENTS = frozenset({"python", "ruby", ""})


def language_of(path: str) -> str:
    """The language of a file by its name, "" for a text that no grammar reads. Upper and lower case are one."""
    name = PurePosixPath(path.replace("\\", "/")).name.lower()
    return _BY_NAME.get(name) or _BY_EXTENSION.get(PurePosixPath(name).suffix, "")


def comment_prefix(language: str) -> str:
    """What turns the rest of a line into a comment; "#" for a text in no known language."""
    return "#" if language in _HASH_COMMENTS else "//"


@cache
def grammar(language: str) -> Language:
    """The tree-sitter grammar of one of `LANGUAGES`, loaded once per process. Raises KeyError for any other."""
    module, function = _GRAMMARS[language]
    return Language(getattr(import_module(module), function)())
