"""Stages of Segment+ that call a model: a note for each part, a label for each note, merged notes.

A part is one segment, or several small adjacent ones, because a note for every short document or turn would cost too
much.

Owns the settings, the calls and the fallbacks for unparsable responses. Knows no budget and no final answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from ...llm.protocol import Cancel
from ..budgets import truncate
from ..json_repair import read_json
from ..metered_model import Call, MeteredModel, UnparsableAnswer
from ..scoring import Indexer
from ..splitters import batches
from ..values import Segment
from . import prompts
from .merge import EvidenceMerge, merge_notes
from .notes import Note, Quote, extractive_notes, format_note, free_note, read_note

OnEmpty = Literal["answer_from_all_notes", "unanswerable", "retrieval_fallback"]
"""If the filter drops every note: use all notes, answer "unanswerable", or fall back to retrieval."""


@dataclass(frozen=True, slots=True)
class SegmentPlusSettings:
    """The ablations: *No Label* is `filtered` false, *No Structure* is `structured` false, *Normal* is both.

    Where the defaults differ from `AS_PRINTED`, docs/papers.md has the reason. Raises ValueError for an invalid value.
    """

    segment_tokens: int = 3000
    window_tokens: int = 4096  # prompt and answer; at most the model's context window
    note_tokens: int = 400
    answer_tokens: int = 256
    structured: bool = True
    filtered: bool = True
    merge_evidence: EvidenceMerge = "concat"
    checks_quotes: bool = True  # drop evidence that is not in the segment word for word
    evidence_only: bool = False  # no reasoning in the final prompt, for single facts (BABILong)
    reasoning_only: bool = False  # no evidence in the final prompt: the ablation of the other part of a note
    on_empty: OnEmpty = "answer_from_all_notes"
    n_prefiltered: int | None = None  # segments to take notes of, by score; None means all
    # Final prompt: empty is Weft's own, a name of `prompts.LONGBENCH` that of the data set, and anything else is a
    # template with {context} and {question}, or {input} as in LongBench's own file.
    template: str = ""

    def __post_init__(self) -> None:
        if min(self.segment_tokens, self.window_tokens, self.note_tokens, self.answer_tokens) < 1:
            raise ValueError("segment_tokens, window_tokens, note_tokens and answer_tokens must be at least 1.")
        if self.evidence_only and self.reasoning_only:
            raise ValueError("evidence_only and reasoning_only leave nothing of a note; set one of them.")
        if self.template and "{context}" not in self.final_template:
            names = ", ".join(prompts.LONGBENCH)
            raise ValueError(
                f"the template {self.template!r} has no {{context}}; use a text with it, or one of {names}."
            )

    @property
    def final_template(self) -> str:
        """The template of the final prompt; that of a question comes first."""
        return prompts.LONGBENCH.get(self.template, self.template) or prompts.ANSWER


AS_PRINTED = SegmentPlusSettings(checks_quotes=False, template="hotpotqa")
"""The paper's section 3 and appendix C, which print the prompts of HotpotQA. BABILong also has `evidence_only`."""


Part = tuple[Segment, ...]

LABEL_TOKENS = 32


def parts_of(segments: Sequence[Segment], size: int, count_tokens: Callable[[str], int]) -> list[Part]:
    """All segments in order, grouped into parts of up to `size` tokens."""

    def tokens(segment: Segment) -> int:
        return count_tokens(segment.text) + count_tokens(_heading(segment)) + 1

    return [tuple(part) for part in batches(segments, size, tokens)]


def text_of(part: Part) -> str:
    """A part as text for a prompt; with several sources, each text is below the name of its source."""
    if len({segment.source for segment in part}) == 1:
        return "\n".join(segment.text for segment in part)
    return "\n\n".join(f"{_heading(segment)}\n{segment.text}" for segment in part)


def is_kept(model: MeteredModel, question: str, note: Note, cancel: Cancel | None = None) -> bool:
    """Whether the model labels a note "keep". An invalid label keeps it. Raises ModelError."""
    if note.is_empty:
        return False
    prompt = prompts.FILTER.format(question=question, note=format_note(note))
    return _label(model.ask(Call.of("filter", prompt, LABEL_TOKENS), cancel)) != "remove"


class Stages:
    """`unreadable` holds the numbers of parts with an unparsable note."""

    def __init__(
        self,
        settings: SegmentPlusSettings,
        model: MeteredModel,
        indexer: Indexer,
        question: str,
        *,
        batch_room: int,
        count_tokens: Callable[[str], int],
        cancel: Cancel | None = None,
    ) -> None:
        self._settings, self._model, self._indexer, self._question = settings, model, indexer, question
        self._batch_room, self._count_tokens = batch_room, count_tokens
        self._cancel = cancel or Cancel()
        self.unreadable: list[int] = []

    def gather(self, parts: Sequence[Part]) -> list[Note]:
        """A note for each part, in order, with scored quotes. Parts after a cancel are left out."""
        tasks = [partial(self._note_of, part, number, len(parts)) for number, part in enumerate(parts, 1)]
        return self._scored([note for note in self._model.ask_all(tasks) if note is not None])

    def filter(self, notes: Sequence[Note]) -> list[Note]:
        """The notes that pass the filter. Notes without a label because of a cancel pass."""

        def keeps(note: Note) -> bool:
            if self._cancel.cancelled or not self._settings.filtered:
                return not note.is_empty
            return is_kept(self._model, self._question, note, self._cancel)

        kept = self._model.ask_all([partial(keeps, note) for note in notes])
        return [note for note, stays in zip(notes, kept, strict=True) if stays]

    def merge_all(self, batches: Sequence[Sequence[Note]], how: EvidenceMerge) -> list[Note]:
        return self._model.ask_all([partial(self._merged, batch, how) for batch in batches])

    def _note_of(self, part: Part, number: int, total: int) -> Note | None:
        if self._cancel.cancelled:
            return None
        template = prompts.GATHER if self._settings.structured else prompts.GATHER_FREELY
        prompt = template.format(number=number, total=total, segment=text_of(part), question=self._question)
        call = Call.of("note", prompt, self._settings.note_tokens)
        if not self._settings.structured:
            return free_note(self._model.ask(call, self._cancel), part)
        try:
            note = self._model.ask_json(call, partial(self._read, segments=part), self._cancel)
        except UnparsableAnswer:
            if self._cancel.cancelled:
                return None
            self.unreadable.append(number)
            return self._extracted(part)
        # Made-up quotes suggest that the part has evidence, so extractive quotes replace them.
        return replace(note, quotes=self._extracted(part).quotes) if note.unfound and not note.quotes else note

    def _read(self, value: Any, segments: Sequence[Segment]) -> Note:
        return read_note(value, segments, checks_quotes=self._settings.checks_quotes)

    def _extracted(self, part: Part) -> Note:
        return merge_notes(extractive_notes(part, self._question, self._indexer))

    def _scored(self, notes: Sequence[Note]) -> list[Note]:
        """Scores decide which quotes are dropped if not all of them fit."""
        quotes = [quote for note in notes for quote in note.quotes]
        if not quotes:
            return list(notes)
        pieces = [replace(quote.segment, text=quote.text, number=number) for number, quote in enumerate(quotes)]
        scores = iter(self._indexer(pieces).scores(self._question))
        return [
            replace(note, quotes=tuple(replace(quote, score=float(next(scores))) for quote in note.quotes))
            for note in notes
        ]

    def _merged(self, batch: Sequence[Note], how: EvidenceMerge) -> Note:
        joint = merge_notes(batch)
        if self._cancel.cancelled or (how == "concat" and len(batch) == 1):
            return joint
        text = truncate("\n".join(map(format_note, batch)), self._batch_room, self._count_tokens, "left")
        if not self._settings.structured:
            written = self._model.ask(self._merge_call(prompts.MERGE_FREELY, text), self._cancel)
            return free_note(written, joint.segments) if written else joint
        call = self._merge_call(prompts.MERGE_REASONING if how == "concat" else prompts.MERGE_ALL, text)
        try:
            note = self._model.ask_json(call, partial(self._read, segments=joint.segments), self._cancel)
        except UnparsableAnswer:
            return joint
        if how == "concat":
            return replace(joint, reasoning=note.reasoning)
        # If the model selected none of the quotes, the old quotes are kept and truncated later.
        return replace(joint, reasoning=note.reasoning, quotes=_chosen(note, joint) or joint.quotes)

    def _merge_call(self, template: str, notes: str) -> Call:
        prompt = template.format(notes=notes, question=self._question)
        return Call.of("merge", prompt, self._settings.note_tokens)


def _heading(segment: Segment) -> str:
    return f"## {segment.source}"


def _chosen(note: Note, joint: Note) -> tuple[Quote, ...]:
    """The selected quotes with their scores, in document order."""
    scores = {quote.text: quote.score for quote in joint.quotes}
    order = {segment: number for number, segment in enumerate(joint.segments)}
    again = [replace(quote, score=scores.get(quote.text, 0.0)) for quote in note.quotes]
    return tuple(sorted(again, key=lambda quote: order[quote.segment]))


def _label(text: str) -> str:
    try:
        value = read_json(text)
    except ValueError:
        value = text
    if isinstance(value, dict):
        value = next((said for name, said in value.items() if str(name).lower() == "label"), "")
    return str(value).strip().strip(".").lower()
