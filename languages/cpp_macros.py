"""Source filter for C and C++: blanks macros without which the grammar can parse a declaration.

The grammar has no preprocessor: it reads `class SHOP_EXPORT Shop {` as a function and rejects `SHOP_API void pay();`.
Owns the forms of such macros. Every byte keeps its offset and every line its number. Knows one text, so whether a name in
capitals is a macro is decided by its position alone.
"""

from __future__ import annotations

import re

_MACRO = rb"[A-Z_][A-Z0-9_]{2,60}"
_ARGUMENTS = rb"(?:\([^()\n]{0,200}\))?"
_MODIFIERS = rb"(?:static|inline|extern|virtual|constexpr|friend|explicit)"
_TEMPLATE_ARGUMENTS = rb"(?:<[^;{}()\n]{0,80}>)?"

# `Status Shop::pay(`, `const char* name`: a declaration without the macro before it.
_FUNCTION = (
    rb"[A-Za-z_][\w:]{0,80}" + _TEMPLATE_ARGUMENTS + rb"(?:[ \t]*[*&]+[ \t]*|[ \t]+)[~A-Za-z_][\w:~]{0,80}[ \t]*\("
)
_DECLARATION = (
    rb"(?:(?:const|struct|class|enum|union|unsigned|" + _MODIFIERS[3:-1] + rb"|typename)[ \t]+[\w:]+|"
    + _FUNCTION
    + rb"|template[ \t]*<)"
)  # fmt: skip

_LINES = re.compile(
    # SHOP_API void pay(
    rb"^[ \t]*(?:"
    + _MODIFIERS
    + rb"[ \t]+){0,3}(?P<leading>(?:"
    + _MACRO
    + _ARGUMENTS
    + rb"[ \t]+){1,3})(?="
    + _DECLARATION
    + rb")"
    # int SHOP_CALL pay(
    + rb"|^[ \t]*(?!(?:return|else|case|new|delete|throw|typedef|goto|const|struct|class|enum|union|using|"
    + _MODIFIERS[3:-1]
    + rb")\b)[a-z_][\w:]{0,80}"
    + _TEMPLATE_ARGUMENTS
    + rb"[ \t]*[*&]{0,2}[ \t]+(?P<middle>"
    + _MACRO
    + rb")(?=[ \t]+[*&]?[A-Za-z_~][\w:~]{0,80}[ \t]*\()"
    # SHOP_BEGIN_NAMESPACE
    + rb"|^[ \t]*(?P<alone>"
    + _MACRO
    + rb")[ \t]*\r?$"
    # SHOP_DECLARE(Shop)
    + rb"|^(?P<declaring>"
    + _MACRO
    + rb"\([^()\n]{0,200}\))[ \t]*\r?$(?!\n[ \t]*[{:])",
    re.MULTILINE,
)
_HEADS = re.compile(
    # class SHOP_EXPORT Shop : Base {
    rb"\b(?:class|struct|union|enum(?:[ \t]+(?:class|struct))?)[ \t]+(?P<head>(?:"
    + _MACRO
    + rb"(?:\((?:[^()\n]|\([^()\n]{0,80}\)){0,200}\))?[ \t]+){1,2})"
    + rb"(?=[A-Za-z_][\w:]{0,80}"
    + _TEMPLATE_ARGUMENTS
    + rb"(?:[ \t]+final)?\s{0,40}(?:\{|:[^:;{}\d][^;{}\d]))"
    # class SHOP_EXPORT Shop;
    + rb"|\b(?:class|(?:struct|union)(?=[ \t]+\w*(?:API|EXPORT|EXTERN|PUBLIC|DLL|VISIB)))[ \t]+(?P<forward>"
    + _MACRO
    + _ARGUMENTS
    + rb"[ \t]+)(?=\w{1,80}[ \t]*;)"
)
# Attributes after a declarator: `) NO_EXCEPT {`, `mutex_ GUARDED_BY(lock_);`.
_SUFFIXES = re.compile(
    rb"(?<=[)\w])[ \t]+(?P<suffix>(?:[A-Z0-9_]{0,40}_)?(?:LOCKS?_REQUIRED|REQUIRES|REQUIRES_SHARED|LOCKS_EXCLUDED"
    rb"|EXCLUDES|GUARDED_BY|GUARDED_VAR|ACQUIRED?|RELEASE|ACQUIRED_AFTER|ACQUIRED_BEFORE|LOCK_FUNCTION|TRYLOCK_FUNCTION"
    rb"|UNLOCK_FUNCTION|NO_THREAD_SAFETY_ANALYSIS|LOCK_RETURNED|LIFETIMEBOUND|LIFETIME_BOUND|NOEXCEPT|OVERRIDE|FINAL"
    rb"|PRINTF|FORMAT|UNUSED|NONNULL|NORETURN|PURE|NOTHROW|WARN_UNUSED_RESULT|ATTR|ATTRIBUTE[A-Z]*)\b"
    rb"(?:\((?:[^()\n]|\([^()\n]{0,80}\)){0,200}\))?)(?=\s{0,40}[;{=,)])"
)
# SHOP_BEGIN_NAMESPACE and SHOP_NAMESPACE_BEGIN open the namespace `shop`, unless the file does so itself.
_NAMESPACES = re.compile(
    rb"^[ \t]*(?P<name>[A-Z][A-Z0-9]{1,30})(?:_[A-Z0-9_]{1,30})?_"
    rb"(?:(?P<begin>BEGIN_NAMESPACE|NAMESPACE_BEGIN|OPEN_NAMESPACE|NAMESPACE_OPEN)"
    rb"|END_NAMESPACE|NAMESPACE_END|CLOSE_NAMESPACE|NAMESPACE_CLOSE)(?:\(\))?[ \t]*\r?$",
    re.MULTILINE,
)
_CAPITALS = re.compile(rb"\b" + _MACRO + rb"\b")
_TESTS = (b"TEST", b"SCENARIO", b"BENCHMARK")


def without_macros(source: bytes) -> bytes:
    """The source with spaces for macros between, before and after the words of declarations."""
    if _CAPITALS.search(source) is None:
        return source
    if b"NAMESPACE" in source:
        source = _with_namespaces(source)
    return _SUFFIXES.sub(_blank, _HEADS.sub(_blank, _LINES.sub(_blank, source)))


def _with_namespaces(source: bytes) -> bytes:
    opened: list[bool] = []

    def replace(found: re.Match[bytes]) -> bytes:
        name = found["name"].lower()
        width = len(found[0])
        if found["begin"] is None:
            is_open = opened.pop() if opened else False
            return b"}".ljust(width) if is_open else found[0]
        written = b"namespace " + name + b" {"
        opened.append(name != b"qt" and len(written) <= width and b"namespace " + name not in source)
        return written.ljust(width) if opened[-1] else found[0]

    return _NAMESPACES.sub(replace, source)


def _blank(found: re.Match[bytes]) -> bytes:
    group = found.lastgroup
    if group is None or (group == "declaring" and found[group].startswith(_TESTS)):
        return found[0]
    start, end = found.start(group) - found.start(), found.end(group) - found.start()
    text = found[0]
    return text[:start] + b" " * (end - start) + text[end:]
