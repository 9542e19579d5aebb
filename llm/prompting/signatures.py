"""Signatures in a prompt: comment lines with what the code graph knows at the cursor, some lines above the cursor.

Owns their place and their share of the tokens. Pure functions. Knows no graph.

Directly above the cursor's line they cost exact matches: a model copies `key: str` behind the bracket. Some lines
higher they gain them (benchmarks/results/completion-log.md). They change with each call and each receiver. As they are
near the end of the prompt, the prefix cache loses only the lines below them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

LINES_ABOVE = 6
MAX_TOKENS = 160
SHARE = 0.25
"""Of the tokens of a prompt, at most."""


def signature_tokens(budget: int) -> int:
    """The tokens of a prompt that are for signatures."""
    return min(MAX_TOKENS, int(budget * SHARE))


def fit_signatures(lines: Sequence[str], count_tokens: Callable[[str], int], budget: int) -> list[str]:
    """The last lines that fit, in their order; those that are too long are skipped."""
    fitted: list[str] = []
    for line in reversed(lines):
        n_tokens = count_tokens(line)
        if n_tokens <= budget:
            fitted.insert(0, line)
            budget -= n_tokens
    return fitted


def with_signatures(prefix: str, lines: Sequence[str]) -> str:
    """The code before the cursor with `lines` above one of its last lines that is not blank, indented like it."""
    code = prefix.split("\n")
    at = max(0, len(code) - 1 - LINES_ABOVE)
    while at and not code[at].strip():
        at -= 1
    indent = code[at][: len(code[at]) - len(code[at].lstrip())]
    below = "\n".join(code[at:])
    return "".join((*(f"{line}\n" for line in code[:at]), *(indent + each for each in lines), below))
