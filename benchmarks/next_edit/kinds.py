"""Kinds of hunks: what a later hunk of a commit follows from, by its tokens alone.

Owns the definition of the kinds, which no suggestion of Weft takes part in, so that their numbers are denominators:

- **rename**: it substitutes a name as an earlier hunk did: the same name by the same other one. Strings and comments
  count.
- **signature**: it changes the arguments of a call, or the parameters in a header, of a function by whose name an
  earlier hunk changed the parameters. A call that is added or deleted does not count.
- **import**: it adds or removes the import of a name in the changed tokens of an earlier hunk of the same file.
- **repeated**: its whole change of tokens is that of an earlier hunk: the same tokens, or the same but for names, if
  the change has at least four tokens and half of them are no names.
- **list**: it adds at most five lines and removes fewer, one of them has a name that an earlier hunk brought into its
  own file, and that line has the form of the line above or below the hunk (the same tokens but for names, numbers and
  strings).
- **use**: none of these, but it adds a name that an earlier hunk brought into its own file.
- **other**: everything else, new files included.

The first kind that applies counts. The kinds before "use" are those that an edit alone determines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from .facts import HunkFacts, is_name

HunkKind = Literal["rename", "signature", "import", "repeated", "list", "use", "other"]
KINDS: tuple[HunkKind, ...] = get_args(HunkKind)
KNOWABLE: tuple[HunkKind, ...] = KINDS[:5]
"""Kinds of hunks that follow from an earlier one."""

LEAST_TOKENS, MOST_NAMES = 4, 0.5
"""A change that is repeated under other names has so many tokens, and at most this share of them are names."""


def kinds_of(hunks: Sequence[HunkFacts], paths: Sequence[str]) -> list[HunkKind]:
    """The kind of each hunk of a commit, in the order of the replay; that of the first is "other"."""
    return [_kind_of(hunks, paths, number) for number in range(len(hunks))]


def cause_of(hunks: Sequence[HunkFacts], paths: Sequence[str], number: int) -> int | None:
    """The last earlier hunk that a hunk follows from, None if there is none."""
    kind = _kind_of(hunks, paths, number)
    for earlier in reversed(range(number)):
        if _follows(kind, hunks[number], hunks[earlier], paths[number] == paths[earlier]):
            return earlier
    return None


def _kind_of(hunks: Sequence[HunkFacts], paths: Sequence[str], number: int) -> HunkKind:
    for kind in KINDS[:-1]:
        if any(
            _follows(kind, hunks[number], hunks[earlier], paths[number] == paths[earlier]) for earlier in range(number)
        ):
            return kind
    return "other"


def _follows(kind: HunkKind, hunk: HunkFacts, earlier: HunkFacts, same_file: bool) -> bool:
    if kind == "rename":
        return not hunk.substitutions.isdisjoint(earlier.substitutions)
    if kind == "signature":
        return not hunk.calls.isdisjoint(earlier.headers)
    if kind == "repeated":
        return bool(hunk.edits) and (hunk.edits == earlier.edits or _is_alike(hunk, earlier))
    if kind == "list":
        return not earlier.new_names.isdisjoint(hunk.listed)
    if kind == "import":
        return same_file and not hunk.imported.isdisjoint(earlier.changed_names)
    if kind == "use":
        return not earlier.new_names.isdisjoint(hunk.added)
    return False


def _is_alike(hunk: HunkFacts, earlier: HunkFacts) -> bool:
    """Whether two changes are equal but for consistently different names."""
    tokens = [token for old, new in hunk.edits for token in (*old, *new)]
    n_names = sum(map(is_name, tokens))
    if len(tokens) < LEAST_TOKENS or n_names > MOST_NAMES * len(tokens):
        return False
    return _without_names(hunk) == _without_names(earlier)


def _without_names(hunk: HunkFacts) -> list[tuple[list[str], list[str]]]:
    """The change with each name replaced by the number of its first occurrence."""
    numbers = dict[str, int]()

    def numbered(tokens: Sequence[str]) -> list[str]:
        return [f"#{numbers.setdefault(token, len(numbers))}" if is_name(token) else token for token in tokens]

    return [(numbered(old), numbered(new)) for old, new in hunk.edits]
