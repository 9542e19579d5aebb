"""Detects degenerate repetition: repeated lines at the end of the text, or repeated words at the end of a line.

Owns the thresholds. A repetition that other text follows, as in tables and separators, is not degenerate.
"""

from __future__ import annotations

import re

from .draft import Draft

# Largest repeated block in lines, and the least number of consecutive repetitions.
LONGEST_BLOCK = 6
MIN_BLOCKS = 3
# Repeated characters with a letter, at the end of a line: short ones need more repetitions than longer ones.
SHORT_RUN, MIN_SHORT_RUNS = 3, 5
LONG_RUN, MIN_LONG_RUNS = 10, 3
LONGEST_RUN = 80


def remove_repetition(draft: Draft) -> Draft:
    """The text with one copy of its repeated lines, and without a last line that ends in a repetition."""
    text = _without_repeated_lines(draft.text)
    head, _, last = text.rstrip().rpartition("\n")
    if _is_run(last):
        text = head
    if draft.text.strip() and not text.strip():
        return draft.refused("the model repeated itself")
    return draft.with_text(text)


def _without_repeated_lines(text: str) -> str:
    lines = text.rstrip("\n").split("\n")
    shortest = len(lines)
    for size in range(1, min(LONGEST_BLOCK, len(lines) // MIN_BLOCKS) + 1):
        for n_partial in range(size):  # the last copy may be partial
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
    # The first line of the text follows the cursor, perhaps without its indentation.
    return lines == block or (at_cursor and [lines[0].lstrip(), *lines[1:]] == [block[0].lstrip(), *block[1:]])


def _is_run(line: str) -> bool:
    """Whether the line ends with a repetition of the same characters."""
    for size in range(SHORT_RUN, min(LONGEST_RUN, len(line) // MIN_LONG_RUNS) + 1):
        n_copies = MIN_SHORT_RUNS if size < LONG_RUN else MIN_LONG_RUNS
        n_same = size * (n_copies - 1)
        if line[-n_same:] == line[-n_same - size : -size] and re.search(r"[^\W\d_]", line[-size:]):
            return True
    return False
