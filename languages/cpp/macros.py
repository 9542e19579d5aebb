"""Source filter for C and C++: blanks macros without which the grammar can parse a declaration.

The grammar has no preprocessor: it reads `class SHOP_EXPORT Shop {` as a function and rejects `SHOP_API void pay();`.
Owns the forms of such macros. Every byte keeps its offset and every line its number. Knows one text, so the position of
a name in capitals decides whether it is such a macro.
"""

from __future__ import annotations

import re

from .conditionals import BLANKED, without_conditionals

_MACRO = rb"[A-Z_][A-Z0-9_]{2,60}"
_ARGUMENTS = rb"(?:\([^()\n]{0,200}\))?"
_NESTED_ARGUMENTS = rb"\b(?:\((?:[^()\n]|\([^()\n]{0,80}\)){0,200}\))?"
_MODIFIER = rb"static|inline|extern|virtual|constexpr|friend|explicit"
_TEMPLATE_ARGUMENTS = rb"(?:<[^;{}()\n]{0,80}>)?"
_NAME = rb"[~A-Za-z_][\w:~]{0,80}"

# A declaration without the macro before it: `const char* name`, `Status Shop::pay(`, `int pay =`, `Shop(int n) :`.
_DECLARATION = (
    rb"(?:(?:const|struct|class|enum|union|unsigned|typename|" + _MODIFIER + rb")[ \t]+[\w:]+"
    + rb"|template[ \t]*<|~\w{1,80}\(|operator\b"
    + rb"|(?:void|bool|char|double|float|int|long|short|\w{1,30}_t)[ \t]*\*{0,2}[ \t]*\r?$"
    + rb"|[A-Za-z_][\w:]{0,80}" + _TEMPLATE_ARGUMENTS + rb"(?:[ \t]*[*&]+[ \t]*|[ \t]+)"
    + rb"(?:operator[^\w\s(]{1,3}|" + _NAME + rb"(?:<[^;{}()\n]{0,80}>[\w:~]{0,80})?)[ \t]*[=;\[({]"
    + rb"|\w{1,80}\([^;{}]{0,300}\)(?:[ \t]*noexcept)?\s{0,40}:(?!:))"
)  # fmt: skip

_LINES = re.compile(
    # SHOP_API void pay(
    rb"^(?<!\\\n)[ \t]*(?:(?:" + _MODIFIER + rb"|template(?:[ \t]*<[^;{}()\n]{0,200}>)?)[ \t]+){0,3}"
    + rb"(?P<leading>(?:" + _MACRO + _ARGUMENTS + rb"[ \t]+){1,3})(?=" + _DECLARATION + rb")"
    # int SHOP_CALL pay(
    + rb"|^(?<!\\\n)[ \t]*(?!(?:return|else|case|new|delete|throw|typedef|goto|const|struct|class|enum|union|using|if|"
    + _MODIFIER + rb")\b)[a-z_][\w:]{0,80}" + _TEMPLATE_ARGUMENTS
    + rb"[ \t]*[*&]{0,2}[ \t]+(?P<middle>" + _MACRO + rb")(?=[ \t]+[*&]?" + _NAME + rb"[ \t]*\()"
    # explicit SHOP_CONSTEXPR Shop(
    + rb"|^(?<!\\\n)[ \t]*explicit[ \t]+(?P<explicit>" + _MACRO + rb")(?=[ \t]+\w{1,80}\()"
    # if SHOP_CONSTEXPR (
    + rb"|^(?<!\\\n)[ \t]*(?:\}[ \t]*)?(?:else[ \t]+)?if[ \t]+(?P<condition>" + _MACRO + rb")[ \t]*(?=\()"
    # SHOP_BEGIN_NAMESPACE
    + rb"|^(?<!\\\n)[ \t]*(?P<alone>" + _MACRO + rb")[ \t]*\r?$"
    # SHOP_DECLARE(Shop), unless an operator or a body follows
    + rb"|^(?<!\\\n)[ \t]*(?P<declaring>" + _MACRO
    + rb"\((?:[^()\n]|\([^()\n]{0,80}\)){0,200}\))[ \t]*(?://[^\n]{0,200})?\r?$(?=\s{1,200}(?:[A-Za-z_~#]|/[/*]))",
    re.MULTILINE,
)  # fmt: skip
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
# SHOP_FLAG(int, rate, 3, "Rate (in %)."); an underscore excludes most constructors: `RGB(int, int);`.
_TYPE_ARGUMENTS = re.compile(
    rb"^(?<!\\\n)[ \t]*(?P<typed>[A-Z][A-Z0-9]{1,30}_[A-Z0-9_]{1,40}\([ \t]{0,40}"
    rb"(?:(?:unsigned|signed|long|short|int|char|bool|float|double|void)\b[ \t]{0,40}){1,3}[*& \t]{0,4}"
    rb"(?:,(?:[^();{}\"]|\"(?:[^\"\\\n]|\\.){0,400}\"|\((?:[^();{}]|\([^();{}]{0,80}\)){0,200}\)){0,600})?\)[ \t]*;)",
    re.MULTILINE,
)
# Attributes after a declarator: `) NO_EXCEPT {`, `mutex_ GUARDED_BY(lock_);`.
_SUFFIXES = re.compile(
    rb"(?:(?<=\))\s{1,80}(?P<suffix>(?:(?:[A-Z0-9_]{0,40}_)?(?:LOCKS?_REQUIRED|REQUIRES_SHARED|LOCKS_EXCLUDED"
    rb"|(?:UN|TRY)?LOCK_FUNCTION|EXCLUSIVE_LOCK|SHARED_LOCK|NO_THREAD_SAFETY_ANALYSIS|LOCK_RETURNED|LIFETIME_?BOUND"
    rb"|NOEXCEPT|OVERRIDE|FINAL|NONNULL|NORETURN|NOTHROW|WARN_UNUSED_RESULT|ATTR(?:IBUTE[A-Z_]{0,40})?"
    rb"|V?PRINTF(?:_[A-Z]{1,20})?(?=\(\d)|FORMAT(?=\(\d))|REQUIRES|EXCLUDES|ACQUIRE|RELEASE|UNUSED|PURE)"
    + _NESTED_ARGUMENTS
    + rb")(?=\s{0,40}(?:[;{=,)]|:(?!:)))"
    rb"|(?<=[\w\]])\s{1,80}(?P<field>(?:[A-Z0-9_]{0,40}_)?(?:GUARDED_BY|GUARDED_VAR|ACQUIRED_AFTER|ACQUIRED_BEFORE)"
    + _NESTED_ARGUMENTS
    + rb")(?=\s{0,40}[;={]))"
)
# SHOP_ENABLE_IF(…) as a template parameter.
_CONSTRAINTS = re.compile(
    rb"(?P<constraint>,\s{0,80}"
    + _MACRO
    + rb"\((?:[^();{}]|\((?:[^();{}]|\([^();{}]{0,120}\)){0,120}\)){0,200}\))\s{0,40}>"
)
_CONVERSIONS = re.compile(rb"\bunsigned(?=\()")  # `unsigned(n) < m` reads as a template
_EXCEPTIONS = re.compile(rb"\b[A-Z0-9]{1,20}_(TRY|CATCH)\b(?=[ \t]*[({])")
# SHOP_BEGIN_NAMESPACE and SHOP_NAMESPACE_BEGIN open the namespace `shop`, unless the file does so itself.
_NAMESPACES = re.compile(
    rb"^[ \t]*(?P<name>[A-Z][A-Z0-9]{1,30})(?:_[A-Z0-9_]{1,30})?_"
    rb"(?:(?P<begin>BEGIN_NAMESPACE|NAMESPACE_BEGIN|OPEN_NAMESPACE|NAMESPACE_OPEN)"
    rb"|END_NAMESPACE|NAMESPACE_END|CLOSE_NAMESPACE|NAMESPACE_CLOSE)(?:\(\))?[ \t]*\r?$",
    re.MULTILINE,
)


def without_macros(source: bytes) -> bytes:
    """The source with spaces for conditionals, and for macros before, between and after the words of declarations."""
    source = without_conditionals(source)
    if b"NAMESPACE" in source:
        source = _with_namespaces(source)
    if b"unsigned(" in source:
        source = _CONVERSIONS.sub(b"int     ", source)
    if b"_CATCH" in source:
        source = _EXCEPTIONS.sub(_as_keyword, source)
    for pattern in (_TYPE_ARGUMENTS, _LINES, _HEADS, _SUFFIXES):
        source = pattern.sub(_blank, source)
    return _CONSTRAINTS.sub(_blank, source) if b"template" in source else source


def _with_namespaces(source: bytes) -> bytes:
    opened: list[bool] = []

    def replace(found: re.Match[bytes]) -> bytes:
        name = found["name"].lower()
        width = len(found[0])
        if found["begin"] is None:
            is_open = opened.pop() if opened else False
            return b"}".ljust(width) if is_open else found[0]
        written = b"namespace " + name + b" {"
        is_known = re.search(rb"^[ \t]*namespace " + name + rb"\b[^\n\\]*$", source, re.MULTILINE) is not None
        opened.append(name != b"qt" and len(written) <= width and not is_known)
        return written.ljust(width) if opened[-1] else found[0]

    return _NAMESPACES.sub(replace, source)


def _as_keyword(found: re.Match[bytes]) -> bytes:
    return found[1].lower().ljust(len(found[0]))


def _blank(found: re.Match[bytes]) -> bytes:
    group = found.lastgroup
    if group is None:
        return found[0]
    start, end = found.start(group) - found.start(), found.end(group) - found.start()
    text = found[0]
    return text[:start] + text[start:end].translate(BLANKED) + text[end:]
