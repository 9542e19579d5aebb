"""How each language writes comments and strings, for reading unfinished text.

Owns the tables. Knows no text.
"""

from __future__ import annotations

from functools import cache
from pathlib import PurePosixPath

from ...codegraph import language_of
from .lexing import Lexis, Open, Rule


@cache
def lexis_of(path: str) -> Lexis:
    """The lexical rules for a file by its name; an unknown kind of text has brackets only."""
    language = language_of(path)
    if language:
        return _LEXES[language]
    return _PLAIN.get(PurePosixPath(path.replace("\\", "/")).suffix.lower(), Lexis())


# A comment or a string that ends before what is read does is skipped whole, which is much faster.
def _line_comment(mark: str) -> tuple[Rule, ...]:
    return Rule(rf"(?:{mark})[^\r\n]*(?=[\r\n])"), Rule(mark, Open("comment", lines=False))


def _block_comment(start: str, end: str, *, nests: bool = False) -> tuple[Rule, ...]:
    opening = Rule(start, Open("comment", end=end, nests=nests))
    return (opening,) if nests else (Rule(f"{start}(?s:.)*?{end}"), opening)


def _quoted(quote: str, *, lines: bool = False, hole: str = "") -> tuple[Rule, ...]:
    """A string in `quote` with escapes; one of a single line is skipped whole when it has no hole."""
    opens = Open("string", end=quote, lines=lines, escapes=True, hole=hole)
    not_inside = rf"{quote}\\\r\n" + (rf"\{hole[0]}" if hole else "")
    whole = Rule(rf"{quote}(?:[^{not_inside}]|\\[^\r\n])*{quote}")
    return whole, Rule(quote if lines else quote + _GOES_ON, opens)


# On a finished line, a quote without its partner is an apostrophe, unless a backslash takes the line break away.
_GOES_ON = r"(?:(?![^\r\n]*[\r\n])|(?=[^\r\n]*\\\r?\n))"
_SLASHES = (*_line_comment("//"), *_block_comment(r"/\*", r"\*/"))
_CHARACTER = Rule(r"'(?:\\[^\r\n][^'\r\n]*|[^'\\\r\n])'")


def _python_string(before: str, hole: str) -> tuple[Rule, ...]:
    """Strings behind these letters, in each kind of quotes."""
    rules = []
    for quotes in ('"""', "'''"):
        rules.append(Rule(before + quotes, Open("string", end=quotes, escapes=True, hole=hole)))
    for quote in "\"'":
        not_inside = rf"{quote}\\\r\n" + (r"\{" if hole else "")
        rules.append(Rule(rf"{before}{quote}(?:[^{not_inside}]|\\(?:\r\n|[\s\S]))*{quote}"))
        opens = Open("string", end=quote, lines=False, escapes=True, hole=hole)
        # One with a hole is opened even on a finished line, for the code in the hole.
        rules.append(Rule(f"{before}{quote}" + ("" if hole else _GOES_ON), opens))
    return tuple(rules)


_PYTHON = Lexis(
    rules=(
        *_line_comment("#"),
        *_python_string(r"(?<=[fFtT])", "{"),
        *_python_string(r"(?<=[fFtT][rR])", "{"),
        *_python_string("", ""),
    ),
    signs="#\"'",
    # Not "for", "if", "else", "from" and "async": those may begin a line inside brackets.
    restarts="def|class|return|import|raise|while|try|with|del|assert|pass|break|continue|global|nonlocal|elif|except",
)

# Not behind ">" and "<", where it is the end of a tag, nor behind a name or a closing bracket, where it divides.
_JAVASCRIPT_REGEX = Rule(
    r"(?:(?<=[=(,:;!&|?{\[+\-*%^~])|(?<=[=(,:;!&|?{\[+\-*%^~] )|(?<=\breturn ))/(?![/*])"
    r"(?:[^/\\\[\r\n]|\\[^\r\n]|\[(?:[^\]\\\r\n]|\\[^\r\n])*\])+/"
)
_JAVASCRIPT = Lexis(
    rules=(
        *_SLASHES,
        _JAVASCRIPT_REGEX,
        *_quoted('"'),
        *_quoted("'"),
        *_quoted("`", lines=True, hole="${"),
    ),
    signs="/\"'`",
)
_GO = Lexis((*_SLASHES, *_quoted('"'), _CHARACTER, Rule("`", Open("string", end="`"))), signs="/\"'`")
_JAVA = Lexis(
    (*_SLASHES, Rule('"""', Open("string", end='"""', escapes=True)), *_quoted('"'), _CHARACTER), signs="/\"'"
)
_RUST = Lexis(
    rules=(
        *_line_comment("//"),
        *_block_comment(r"/\*", r"\*/", nests=True),
        Rule(r'(?:(?<=\br)|(?<=\bbr))(?P<hashes>#*)"', Open("string", end=r'"\g<hashes>')),
        *_quoted('"', lines=True),
        _CHARACTER,  # any other quote begins the name of a lifetime
    ),
    signs="/#\"'",
)
_C = Lexis((*_SLASHES, *_quoted('"'), _CHARACTER), signs="/\"'")
_CPP = Lexis(
    (Rule(r'(?<=R)"(?P<mark>\w*)\(', Open("string", end=r'[)]\g<mark>"')), *_C.rules),
    signs=_C.signs,
)
_ODD_QUOTES = '(?<!")(?:"")*"(?!")'  # two quotes stand for one
_CSHARP = Lexis(
    rules=(
        *_SLASHES,
        Rule(r'(?P<quotes>"{3,})', Open("string", end=r"\g<quotes>")),
        Rule(r'(?:(?<=\$@)|(?<=@\$))"', Open("string", end=_ODD_QUOTES, hole="{")),
        Rule(r'(?<=@)"(?:[^"]|"")*"(?!")'),
        Rule('(?<=@)"', Open("string", end=_ODD_QUOTES)),
        Rule(r'(?<=\$)"', Open("string", end='"', lines=False, escapes=True, hole="{")),
        *_quoted('"'),
        _CHARACTER,
    ),
    signs="/\"'",
)
_RUBY_REGEX = Rule(
    r"(?:(?<=[=(,!&|?{\[~])|(?<=[=(,!&|?{\[~] )|(?<=\b(?:if|or) )|(?<=\b(?:and|not) )|(?<=\bwhen ))"
    r"/(?!/)(?:[^/\\\r\n]|\\[^\r\n])+/"
)
_RUBY = Lexis(
    rules=(
        *_line_comment("#"),
        Rule(r"(?<![^\r\n])=begin\b", Open("comment", end="=end", at_line_start=True)),
        Rule(
            r"""<<[~-]?(?P<quote>["'`]?)(?P<word>[A-Z_]\w*)(?P=quote)""",
            Open("string", end=r"\g<word>", hole="#{", at_line_start=True),
        ),
        _RUBY_REGEX,
        *(
            Rule(rf"(?<![\w)\]])%[wWiIqQr]?\{start}", Open("string", end=rf"\{end}", escapes=True, hole="#{"))
            for start, end in ("()", "[]", "{}")
        ),
        *_quoted('"', lines=True, hole="#{"),
        *_quoted("'", lines=True),
        *_quoted("`", lines=True, hole="#{"),
    ),
    signs="#=<%/\"'`",
)
_PHP = Lexis(
    rules=(
        Rule(r"\?>", Open("markup", end=r"<\?(?:php\b|=)?")),
        *_line_comment(r"//|#(?!\[)"),
        *_block_comment(r"/\*", r"\*/"),
        Rule(
            r"""<<<[ \t]*(?P<quote>["']?)(?P<word>[A-Za-z_]\w*)(?P=quote)""",
            Open("string", end=r"\g<word>", hole="{$", at_line_start=True),
        ),
        *_quoted('"', lines=True, hole="{$"),
        *_quoted("'", lines=True),
    ),
    signs="?/#<\"'",
    outside=(Open("markup", end=r"<\?(?:php\b|=)?"),),
)

_LEXES = {
    "python": _PYTHON,
    "javascript": _JAVASCRIPT,
    "typescript": _JAVASCRIPT,
    "tsx": _JAVASCRIPT,
    "go": _GO,
    "java": _JAVA,
    "rust": _RUST,
    "c": _C,
    "cpp": _CPP,
    "csharp": _CSHARP,
    "ruby": _RUBY,
    "php": _PHP,
}

_QUOTES = (*_quoted('"'), *_quoted("'"))
_HASHES = Lexis((*_line_comment(r"(?<![^\s])#"), *_QUOTES), signs="#\"'")
_DASHES = Lexis((*_line_comment("--"), *_QUOTES), signs="-\"'")
_LIKE_C = Lexis((*_SLASHES, *_QUOTES), signs="/\"'")
_PLAIN = {
    f".{extension}": lexis
    for lexis, extensions in (
        (_HASHES, "sh bash zsh fish yaml yml toml cfg conf mk r jl pl pm tcl nix ex exs tf"),
        (_DASHES, "lua sql hs elm adb ads"),
        (_LIKE_C, "kt kts swift scala dart zig groovy gradle proto css scss less m mm glsl vala"),
    )
    for extension in extensions.split()
}
"""Kinds of text without a grammar."""
