"""Lines behind which a body is due: the header of a function, a class, a branch or a loop.

Owns how they look in each language, line by line. Knows no rule.
"""

from __future__ import annotations

import re

_PYTHON = re.compile(
    r"\s*(?:(?:async\s+)?(?:def|class|if|elif|else|for|while|with|try|except|finally|match|case)\b|[)\]]).*:\s*(?:#.*)?"
)
_RUBY = re.compile(
    r"\s*(?:def|class|module|if|unless|while|until|case|else|elsif|rescue|ensure|when)\b(?!.*\bend\b)(?!.*\bthen\b)"
    r"(?!\s*\S+(?:\(.*\))?\s=\s).*|.*\bdo(?:\s*\|[^|]*\|)?\s*"
)
# Not the brace of a literal, of names to import, or of a namespace, whose content many do not indent.
_BRACES = re.compile(
    r".*(?:\)[^(){};=]*|=>\s*|\b(?:else|try|do|finally|loop|unsafe|init|get|set)\s*)\{\s*(?://.*)?"
    r"|\s*(?:(?:export|default|public|private|protected|internal|static|abstract|final|sealed|partial|async|pub(?:\(\w+\))?"
    r"|data|open)\s+)*(?:class|struct|enum|interface|impl|trait|fn|func|function|union|record|type|match|switch|select"
    r"|for|while|if|loop)\b[^;]*\{\s*(?://.*)?"
)
_LONGEST = 400


def opens_body(line: str, language: str) -> bool:
    """Whether lines behind this one are expected a level further in."""
    if not line or len(line) > _LONGEST:
        return False
    if language == "python":
        return _PYTHON.fullmatch(line) is not None
    if language == "ruby":
        return _RUBY.fullmatch(line) is not None
    return "{" in line[-40:] and _BRACES.fullmatch(line) is not None
