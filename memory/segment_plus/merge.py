"""Merge stage of Segment+: merges notes in batches, round by round, until they fit.

Owns the rounds, their termination, and the truncation if merging does not help. Knows no prompt: a callback merges a
batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..splitters import batches
from .notes import Note, without_repeats

EvidenceMerge = Literal["concat", "llm"]
"""How the evidence of a batch is merged: concatenated, or selected by a model. Reasoning is rewritten in both cases."""

MAX_ROUNDS = 6  # a merged note is about a tenth of its input, so six rounds suffice for a million notes
MergeAll = Callable[[Sequence[Sequence[Note]], EvidenceMerge], list[Note]]


@dataclass(frozen=True, slots=True)
class MergeResult:
    notes: tuple[Note, ...]
    rounds: tuple[dict[str, Any], ...] = ()  # of each round the way, and notes and tokens before and after
    n_cut: int = 0  # dropped reasonings and quotes


def merge_until_fit(
    notes: Sequence[Note],
    merge_all: MergeAll,
    size: Callable[[Note], int],
    *,
    room: int,
    batch_room: int,
    how: EvidenceMerge = "concat",
) -> MergeResult:
    """Returns notes of at most `room` tokens, by `size`.

    `merge_all` merges each batch of `batch_room` tokens into one note. A round without progress is repeated with
    selection by the model. If that does not help, or after `MAX_ROUNDS`, notes are truncated: the oldest reasoning
    first, then the lowest-scored quotes.
    """
    now, rounds = tuple(notes), list[dict[str, Any]]()
    while (tokens := sum(map(size, now))) > room and len(rounds) < MAX_ROUNDS:
        merged = merge_all(batches(now, batch_room, size), how)
        after = sum(map(size, merged))
        about = {"how": how, "n_notes": len(now), "n_merged": len(merged), "tokens": tokens, "tokens_after": after}
        rounds.append(about)
        if after < tokens:
            now = tuple(merged)
        elif how == "llm":
            break
        else:
            how = "llm"
    return replace(cut_to_fit(now, size, room), rounds=tuple(rounds))


def cut_to_fit(notes: Sequence[Note], size: Callable[[Note], int], room: int) -> MergeResult:
    """Truncate notes to `room` without a model."""
    cut = _cut(notes, size, room)
    return MergeResult(cut, n_cut=_n_parts(notes) - _n_parts(cut))


def merge_notes(notes: Sequence[Note]) -> Note:
    """One note with the content of several, each sentence once."""
    return Note(
        tuple(dict.fromkeys(segment for note in notes for segment in note.segments)),
        without_repeats([quote for note in notes for quote in note.quotes]),
        " ".join(note.reasoning for note in notes if note.reasoning),
        tuple(text for note in notes for text in note.unfound),
        is_free=any(note.is_free for note in notes),
    )


def _cut(notes: Sequence[Note], size: Callable[[Note], int], room: int) -> tuple[Note, ...]:
    now, over = list(notes), sum(map(size, notes)) - room

    def put(place: int, note: Note) -> None:
        nonlocal over
        over -= size(now[place]) - size(note)
        now[place] = note

    for place, note in enumerate(notes):
        if over > 0:
            put(place, replace(note, reasoning=""))
    # Lowest score first; of equal scores the later one, because later text often depends on earlier text.
    quotes = [(place, quote) for place, note in enumerate(notes) for quote in note.quotes]
    for place, quote in sorted(reversed(quotes), key=lambda at: at[1].score):
        if over > 0:
            put(place, replace(now[place], quotes=tuple(each for each in now[place].quotes if each is not quote)))
    left = tuple(note for note in now if not note.is_empty)
    return left or _beginning(notes, size, room)


def _beginning(notes: Sequence[Note], size: Callable[[Note], int], room: int) -> tuple[Note, ...]:
    """The beginning of the best quote, or of the newest reasoning, halved until it fits; nothing if none does."""
    quotes = [(note, quote) for note in notes for quote in note.quotes]
    note, quote = max(quotes, key=lambda at: at[1].score, default=(None, None))
    if note is None:
        note = next((each for each in reversed(notes) if each.reasoning), None)
    if note is None:
        return ()
    text = quote.text if quote else note.reasoning
    while text:
        if quote:
            short = replace(note, quotes=(replace(quote, text=text),), reasoning="")
        else:
            short = replace(note, reasoning=text)
        if size(short) <= room:
            return (short,)
        text = text[: len(text) // 2].rstrip()
    return ()


def _n_parts(notes: Sequence[Note]) -> int:
    return sum(len(note.quotes) + bool(note.reasoning) for note in notes)
