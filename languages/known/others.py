"""Languages and formats with comments and strings only."""

from __future__ import annotations

from ..language import Language
from ..lexer import Lexer
from ..lexical_rules import DASH_LEXER, DASHES, HASH_LEXER, QUOTES, SLASH_LEXER, SLASHES, block_comment

_CSS_LEXER = Lexer((*block_comment("/*", "*/"), *QUOTES), signs="/\"'", comment_marks=("/*",))
_HASH = ("#",)
_DASH = ("--",)
_MARKUP = ("<!-- ", " -->")
_SEMICOLON = ("; ", "")
_PERCENT = ("% ", "")

LANGUAGES = (
    # Comments with a hash.
    Language(
        "yaml", title="YAML", is_data=True, suffixes="yaml yml", lexer=HASH_LEXER, comment_tokens=_HASH, indent="  "
    ),
    Language("toml", title="TOML", is_data=True, suffixes="toml", lexer=HASH_LEXER, comment_tokens=_HASH),
    Language("properties", is_data=True, suffixes="cfg conf", lexer=HASH_LEXER),
    Language("makefile", suffixes="mk", file_names="makefile gnumakefile", lexer=HASH_LEXER, comment_tokens=_HASH),
    Language("dockerfile", file_names="dockerfile containerfile", lexer=HASH_LEXER, comment_tokens=_HASH),
    Language("r", suffixes="r", lexer=HASH_LEXER, comment_tokens=_HASH),
    Language("julia", suffixes="jl", lexer=HASH_LEXER),
    Language("perl", suffixes="pl pm", lexer=HASH_LEXER, comment_tokens=_HASH, blocks="braces"),
    Language("tcl", suffixes="tcl", lexer=HASH_LEXER),
    Language("nix", suffixes="nix", lexer=HASH_LEXER),
    Language("elixir", suffixes="ex exs", lexer=HASH_LEXER, comment_tokens=_HASH),
    Language("terraform", suffixes="tf", lexer=HASH_LEXER),
    # Comments with two dashes.
    Language("haskell", suffixes="hs", lexer=DASH_LEXER, comment=DASHES, comment_tokens=_DASH),
    Language("elm", suffixes="elm", lexer=DASH_LEXER, comment=DASHES),
    Language("ada", suffixes="adb ads", lexer=DASH_LEXER, comment=DASHES),
    # Comments with slashes.
    Language("dart", suffixes="dart", lexer=SLASH_LEXER, comment=SLASHES, blocks="braces"),
    Language("zig", suffixes="zig", lexer=SLASH_LEXER, comment=SLASHES, blocks="braces"),
    Language("groovy", suffixes="groovy gradle", lexer=SLASH_LEXER, comment=SLASHES, blocks="braces"),
    Language("proto", suffixes="proto", lsp_ids="proto3", lexer=SLASH_LEXER, comment=SLASHES, blocks="braces"),
    Language(
        "css", title="CSS", is_data=True, suffixes="css", lexer=_CSS_LEXER, comment=("/* ", " */"), blocks="braces"
    ),
    Language("scss", title="SCSS", is_data=True, suffixes="scss", lexer=SLASH_LEXER, comment=SLASHES, blocks="braces"),
    Language("less", is_data=True, suffixes="less", lexer=SLASH_LEXER, comment=SLASHES, blocks="braces"),
    Language("objective-c", title="Objective-C", suffixes="m", lexer=SLASH_LEXER, comment=SLASHES, blocks="braces"),
    Language(
        "objective-cpp", title="Objective-C++", suffixes="mm", lexer=SLASH_LEXER, comment=SLASHES, blocks="braces"
    ),
    Language("glsl", title="GLSL", suffixes="glsl", lexer=SLASH_LEXER, comment=SLASHES, blocks="braces"),
    Language("vala", suffixes="vala", lexer=SLASH_LEXER, comment=SLASHES, blocks="braces"),
    Language(
        "json",
        title="JSON",
        is_data=True,
        suffixes="json",
        lsp_ids="jsonc",
        lexer=SLASH_LEXER,
        comment=SLASHES,
        indent="  ",
    ),
    # Other comments.
    Language("lisp", suffixes="lisp el", comment=_SEMICOLON),
    Language("clojure", suffixes="clj cljs cljc", comment=_SEMICOLON),
    Language("scheme", suffixes="scm", comment=_SEMICOLON),
    Language("ini", title="INI", is_data=True, suffixes="ini", comment=_SEMICOLON),
    Language("erlang", suffixes="erl hrl", comment=_PERCENT),
    Language("matlab", title="MATLAB", comment=_PERCENT),
    Language("latex", title="LaTeX", suffixes="tex", lsp_ids="tex", is_prose=True, comment=_PERCENT),
    Language("html", title="HTML", suffixes="html htm xhtml", is_prose=True, comment=_MARKUP),
    Language("xml", title="XML", suffixes="xml", is_prose=True, comment=_MARKUP),
    Language("markdown", suffixes="md markdown", is_prose=True, comment=_MARKUP),
)
