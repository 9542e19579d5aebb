"""Next edits after a name or a text was replaced by another one where it is used: its next occurrences.

Unlike a rename, nothing says that all occurrences are meant, so few are offered, near ones, in the same role. Owns
which replacements count, and how many occurrences follow. Knows no other file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...codegraph.bound_names import word_spans
from ...languages.references import is_name, role_of
from .before import before_edits, text_before, text_now
from .edited_files import Substitution, substitutions
from .parsed import Parsed
from .renames import renamed_names
from .token_changes import is_literal
from .values import EditedFile, NextEdit, Situation

if TYPE_CHECKING:
    from tree_sitter import Node

SEVERAL, ONE_BELOW, ONE_ABOVE = 0.45, 0.4, 0.3
"""Confidence after several alike replacements, and after one for what is below and above it. In the fitting half of
`weft bench next-edit` 24 of 43 were right after several."""

N_OFFERED = 3
"""So many occurrences of one name are offered."""


def substituted(situation: Situation) -> Iterator[NextEdit]:
    """The next occurrences of what was replaced in the latest edited file."""
    for file in situation.edited[:1]:
        before, now = text_before(situation, file), text_now(situation, file)
        if before is None or now is None:
            continue
        renamed = {each.substitution.old for each in renamed_names(situation, file)}
        groups: dict[tuple[str, str], list[Substitution]] = {}
        for each in substitutions(file):
            groups.setdefault((each.old, each.new), []).append(each)
        for (old, _), made in groups.items():
            if old not in renamed and not is_literal(old) and len({new for was, new in groups if was == old}) == 1:
                yield from _next(situation, file, before, now, made)


def _next(
    situation: Situation, file: EditedFile, before: Parsed, now: Parsed, made: list[Substitution]
) -> Iterator[NextEdit]:
    last = max(made, key=lambda each: each.now)
    node = before.name_at(last.before)
    if node is None or not _counts(node):
        return
    kind, moved = _kind(node), before_edits(situation).moved.get(file.path)
    found: list[tuple[bool, int, Node]] = []
    for each in _occurrences(now, last.old):
        line = each.start_point[0]
        if _kind(each) != kind or moved is None or moved.before(line) is None:
            continue  # also the user's own new lines
        distance = line - last.now[0]
        found.append((distance < 0, abs(distance), each))
    n_times = len(made)
    times = "once" if n_times == 1 else f"{n_times} times"
    for is_above, _, each in sorted(found, key=lambda at: at[:2])[:N_OFFERED]:
        line = each.start_point[0]
        start, end = now.at(line, each.start_byte), now.at(line, each.end_byte)
        yield NextEdit(
            "repeated",
            file.path,
            start,
            end,
            last.old,
            last.new,
            f"`{last.old}` was replaced by `{last.new}` {times} in this file.",
            f"replaced {file.path} {last.old}",
            SEVERAL if n_times > 1 else ONE_ABOVE if is_above else ONE_BELOW,
        )


def _occurrences(now: Parsed, name: str) -> Iterator[Node]:
    for start, end in word_spans(now.source, name.encode()):
        node = now.root.descendant_for_byte_range(start, end - 1)
        if node is not None and (node.start_byte, node.end_byte) == (start, end):
            yield node


def _counts(node: Node) -> bool:
    """Whether a replaced leaf is a name in use, or a piece of a text."""
    return not is_name(node) or role_of(node) not in ("declaration", "assignment", "import", "key")


def _kind(node: Node) -> tuple[str, str]:
    """The kind of a leaf and its role."""
    return node.type, role_of(node) if is_name(node) else ""
