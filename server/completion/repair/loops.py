"""A model that turns in circles.

Owns the signs of it: the same lines at the end of a text again and again, or the same words at the end of a line.
A repetition that ends, as tables and separators do, is no loop.
"""

from __future__ import annotations

import re

from .draft import Draft

# A block of so many lines, at most, is looked for; it is a loop when it stands so often in a row.
LONGEST_BLOCK = 6
MIN_BLOCKS = 3
# The same characters with a word in them, at the end of a line: short ones so often, longer ones less.
SHORT_RUN, MIN_SHORT_RUNS = 3, 5
LONG_RUN, MIN_LONG_RUNS = 10, 3
LONGEST_RUN = 80


def without_loops(draft: Draft) -> Draft:
    """The text with one round of the lines that it ends with again and again, and without a line of one run."""
    text = _without_repeated_lines(draft.text)
    head, _, last = text.rstrip().rpartition("\n")
    if _is_run(last):
        text = head
    if draft.text.strip() and not text.strip():
        return draft.refused("the model repeated itself")
    return draft.rewritten(text)


def _without_repeated_lines(text: str) -> str:
    lines = text.rstrip("\n").split("\n")
    shortest = len(lines)
    for size in range(1, min(LONGEST_BLOCK, len(lines) // MIN_BLOCKS) + 1):
        for n_partial in range(size):  # the last round may be begun
            end = len(lines) - n_partial
            block = lines[end - size : end]
            if lines[end:] != block[:n_partial] or not any(re.search(r"\w", line) for line in block):
                continue
            start = end
            while start >= size and _same(lines[start - size : start], block, start == size):
                start -= size
            if end - start >= MIN_BLOCKS * size:
                shortest = min(shortest, start + size)
    return "\n".join(lines[:shortest]) if shortest < len(lines) else text


def _same(lines: list[str], block: list[str], at_cursor: bool) -> bool:
    # The text's first line stands behind the cursor, perhaps without its indentation.
    return lines == block or (at_cursor and [lines[0].lstrip(), *lines[1:]] == [block[0].lstrip(), *block[1:]])


def _is_run(line: str) -> bool:
    """Whether the line ends with the same characters again and again."""
    for size in range(SHORT_RUN, min(LONGEST_RUN, len(line) // MIN_LONG_RUNS) + 1):
        n_rounds = MIN_SHORT_RUNS if size < LONG_RUN else MIN_LONG_RUNS
        n_same = size * (n_rounds - 1)
        if line[-n_same:] == line[-n_same - size : -size] and re.search(r"[^\W\d_]", line[-size:]):
            return True
    return False
