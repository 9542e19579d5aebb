"""Forms of signature help in a prompt: which lines, and where they are.

Owns the forms that are compared, for Python. All forms have the same code before the cursor.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...llm import CodeModel, CompletionRequest
from ...llm.prompting.prompts import fit_prefix
from ...llm.text import normalise_line_breaks
from .signature_help import SignatureHelp

CODE_TOKENS = 600
"""Tokens of the code before the cursor."""
LINES_ABOVE = 6
"""The distance of lines near the cursor."""

Place = Callable[[Sequence[str]], int]
"""The number of the line of code that comments are above; the last one is the cursor's."""


@dataclass(frozen=True, slots=True)
class Form:
    """The comments of a prompt, and where they are."""

    comments: Callable[[SignatureHelp], Sequence[str]]
    place: Place


def _none(found: SignatureHelp) -> Sequence[str]:
    return ()


def _both(found: SignatureHelp) -> Sequence[str]:
    return found.receiver_line, found.callee_line


def _callee(found: SignatureHelp) -> Sequence[str]:
    return (found.callee_line,)


def _members(found: SignatureHelp) -> Sequence[str]:
    return (found.receiver_line,)


def _words(found: SignatureHelp) -> Sequence[str]:
    """The names of the parameters alone."""
    if not found.callee:
        return ()
    names = [re.split(r"[:=]", each)[0].strip() for each in found.parameters]
    return (f"{found.callee.rpartition('.')[2]} takes {', '.join(names) or 'no arguments'}",)


def _above_cursor(code: Sequence[str]) -> int:
    return len(code) - 1


def _near_cursor(code: Sequence[str]) -> int:
    """Some lines above the cursor's, at one that is not blank."""
    at = max(0, len(code) - 1 - LINES_ABOVE)
    while at and not code[at].strip():
        at -= 1
    return at


def _above_function(code: Sequence[str]) -> int:
    """At the header of the innermost function around the cursor."""
    line = code[-1]
    indent = len(line) - len(line.lstrip()) if line.strip() else len(line)
    headers = (_DEF.match(code[at]) for at in range(len(code) - 1))
    around = [at for at, found in enumerate(headers) if found is not None and len(found[1]) < indent]
    return around[-1] if around else 0


def _above_code(code: Sequence[str]) -> int:
    return 0


FORMS: Mapping[str, Form] = {
    "none": Form(_none, _above_cursor),
    "line": Form(_both, _above_cursor),
    "callee": Form(_callee, _above_cursor),
    "members": Form(_members, _above_cursor),
    "words": Form(_words, _above_cursor),
    "near": Form(_callee, _near_cursor),
    "near-both": Form(_both, _near_cursor),
    "function": Form(_both, _above_function),
    "function-callee": Form(_callee, _above_function),
    "top": Form(_both, _above_code),
}
"""Both lines, one of them, or the names of parameters alone; directly above the cursor's line, some lines higher, above
the function around it, or above all of the code."""


def in_form(request: CompletionRequest, found: SignatureHelp, form: Form, model: CodeModel) -> CompletionRequest:
    """The request with the last `CODE_TOKENS` of the code before the cursor, and the comments of a form in it."""
    code = fit_prefix(normalise_line_breaks(request.prefix), model.count_tokens, CODE_TOKENS).split("\n")
    at = form.place(code)
    indent = code[at][: len(code[at]) - len(code[at].lstrip())]
    comments = [f"{indent}# {each}" for each in form.comments(found) if each]
    return replace(request, prefix="\n".join((*code[:at], *comments, *code[at:])))


_DEF = re.compile(r"(\s*)(?:async )?def ")
