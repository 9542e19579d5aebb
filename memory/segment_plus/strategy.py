"""Segment+ as a strategy: notes of all segments, filtered, merged until they fit, and an answer from them.

Owns the order of the stages: `stages` calls the model, `notes` and `merge` do not. The final prompt has no segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...llm.protocol import Cancel
from ..budgets import fit_evidence, room_beside, window_of
from ..metered_model import Call
from ..prompting import as_answer, fill, with_choices
from ..scoring import Bm25Index, Indexer, best
from ..splitters import by_tokens, most_pieces
from ..strategy import CANCELLED, StrategyContext
from ..strategy_base import ItemStrategy
from ..values import Answer, Budget, Cost, Evidence, Item, Question, RecallResult, Segment, Step
from . import prompts
from .merge import MAX_ROUNDS, MergeResult, cut_to_fit, merge_until_fit
from .notes import Note, Quote, extractive_notes, format_note, place_of
from .stages import LABEL_TOKENS, Part, SegmentPlusSettings, Stages, parts_of, text_of

UNANSWERABLE = "unanswerable"
NO_MODEL = "No model is configured: only the matching sentences are returned."
NO_NOTES = "There are no notes for this question, so the model was not called."


class SegmentPlus(ItemStrategy):
    """Segment+ as a strategy. Notes are cached under their whole prompt."""

    def __init__(
        self, context: StrategyContext, settings: SegmentPlusSettings | None = None, indexer: Indexer = Bm25Index
    ) -> None:
        super().__init__(context, "segment_plus", score=indexer)
        self._settings = settings or SegmentPlusSettings()
        self._pieces_of: tuple[tuple[Item, ...], int, list[Segment]] | None = None  # by items and size

    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult:
        """The merged notes as `context`, and the segments that they quote, in document order."""
        if self._model is not None:
            self._model.prepare(cancel)
        segments, room = self._chosen(question), self._room(question)
        parts = self._parts(question, segments)
        room = room if budget.tokens is None else min(room, budget.tokens)
        if self._model is None:
            notes = extractive_notes(segments, question.text, self._score)
            step = Step("notes", {"parts": len(parts), "by": "score, because no model is configured"})
            return self._recalled(cut_to_fit(notes, self._size, room), budget, [step])
        batch_room = max(1, self._free(question, self._settings.note_tokens))
        stages = Stages(
            self._settings,
            self._model,
            self._score,
            with_choices(question),
            batch_room=batch_room,
            count_tokens=self._count,
            cancel=cancel,
        )
        notes = stages.gather(parts)
        steps = [_gathered(notes, len(parts), len(stages.unreadable))]
        kept = stages.filter(notes)
        steps.append(Step("filter", {"kept": [_number(note) for note in kept], "of": len(notes)}))
        if not kept and not (cancel and cancel.cancelled):
            if self._settings.on_empty == "retrieval_fallback":
                return self._found_by_words(segments, question, replace(budget, tokens=room), steps)
            if self._settings.on_empty == "answer_from_all_notes":
                kept = [note for note in notes if not note.is_empty]
                steps.append(Step("all notes", {"note": "The filter removed every note, so all notes are used."}))
        how = self._settings.merge_evidence
        merged = merge_until_fit(kept, stages.merge_all, self._size, room=room, batch_room=batch_room, how=how)
        return self._recalled(merged, budget, steps)

    def answer(self, question: Question, budget: Budget | None = None, cancel: Cancel | None = None) -> Answer:
        before = self._spent()
        recalled = self.recall(question, budget or Budget(), cancel)
        if self._model is None:
            return Answer("", recalled, self.name, notes=(NO_MODEL,))
        notes = recalled.notes
        if cancel is not None and cancel.cancelled:
            return self._answered("", recalled, before, (*notes, CANCELLED))
        if not recalled.context:
            return self._answered(UNANSWERABLE, recalled, before, (*notes, NO_NOTES))
        text = self._model.ask(self._last_call(question, recalled.context), cancel)
        return self._answered(as_answer(text, question), recalled, before, notes)

    def estimate(self, question: Question) -> Cost:
        """An upper bound: full-length notes and a label of each part, merged in the largest number of rounds.

        Excludes retries of unparsable responses.
        """
        if self._model is None:
            return Cost()
        settings, words = self._settings, self._words(question)
        parts = self._parts(question, self._chosen(question))
        n = len(parts)
        written = n * settings.note_tokens
        cost = Cost(n + 1, sum(self._count(text_of(each)) for each in parts) + (n + 1) * words, written)
        if settings.filtered:
            cost += Cost(n, written + n * words, n * LABEL_TOKENS)
        if written > self._room(question):
            merges = min(n, most_pieces(written, max(1, self._free(question, settings.note_tokens))))
            cost += Cost(
                MAX_ROUNDS * merges, MAX_ROUNDS * (written + merges * words), MAX_ROUNDS * merges * settings.note_tokens
            )
        return cost + Cost(0, min(written, self._room(question)), settings.answer_tokens)

    # Shared by the stages.

    def _chosen(self, question: Question) -> list[Segment]:
        """All segments, or the best ones, in document order."""
        segments, n = self._segments(self._segment_size(question)), self._settings.n_prefiltered
        if n is None or n >= len(segments):
            return segments
        chosen = {segment for segment, _ in best(self._score(segments), question.text, n)}
        return [segment for segment in segments if segment in chosen]

    def _parts(self, question: Question, segments: Sequence[Segment]) -> list[Part]:
        return parts_of(segments, self._segment_size(question), self._count)

    def _segment_size(self, question: Question) -> int:
        return max(1, min(self._settings.segment_tokens, self._free(question, self._settings.note_tokens)))

    def _segments(self, size: int) -> list[Segment]:
        """Turns are split too, because a part must fit a prompt."""
        items, cut = self._items.items, self._pieces_of
        if cut is None or cut[0] is not items or cut[1] != size:
            split = by_tokens(size, self._count, hard=True)
            pieces = [_numbered(piece, item) for item in items for piece in split(item)]
            cut = self._pieces_of = items, size, [piece for piece in pieces if piece.text.strip()]
        return cut[2]

    def _room(self, question: Question) -> int:
        """Tokens for the notes in the final prompt."""
        return self._free(question, self._settings.answer_tokens)

    def _free(self, question: Question, for_answer: int) -> int:
        """Tokens of the context window for a segment or notes, beside the template and the answer."""
        window = window_of(self._model, self._settings.window_tokens)
        return room_beside(window, self._words(question), for_answer)

    def _words(self, question: Question) -> int:
        """An upper bound of the tokens of a prompt without its segment or notes."""
        count, templates = self._count, (*prompts.TEMPLATES, self._settings.final_template, question.template)
        return max(map(count, templates)) + count(with_choices(question))

    def _size(self, note: Note) -> int:
        """An upper bound of the tokens of a note in the final prompt."""
        lines = self._shown(note).split("\n")
        return sum(self._count(line) + 1 for line in lines if line)

    def _shown(self, note: Note) -> str:
        """A note as the final prompt has it."""
        settings = self._settings
        return format_note(note, with_evidence=not settings.reasoning_only, with_reasoning=not settings.evidence_only)

    def _recalled(self, merged: MergeResult, budget: Budget, steps: Sequence[Step]) -> RecallResult:
        texts = map(self._shown, merged.notes)
        quoted = [replace(note, quotes=()) for note in merged.notes] if self._settings.reasoning_only else merged.notes
        # The prompt contains the notes, so the tokens of their segments do not count.
        evidence = fit_evidence(_evidence(quoted), replace(budget, tokens=None), self._count, "document")
        tokens = sum(map(self._size, merged.notes))
        last = Step("merge", {"rounds": list(merged.rounds), "parts_cut": merged.n_cut, "tokens": tokens})
        return RecallResult(evidence, (*steps, last), "\n".join(filter(None, texts)))

    def _found_by_words(
        self, segments: Sequence[Segment], question: Question, budget: Budget, steps: Sequence[Step]
    ) -> RecallResult:
        found = best(self._score(segments), question.text, len(segments))
        pieces = [Evidence(segment, score, "shares words with the question") for segment, score in found]
        evidence = fit_evidence(pieces, budget, self._count, "document")
        said = "The filter removed every note, so retrieved segments are used instead."
        text = "\n\n".join(each.segment.text.strip() for each in evidence)
        return RecallResult(evidence, (*steps, Step("found by words", {"note": said})), text)

    def _last_call(self, question: Question, context: str) -> Call:
        form = prompts.FORMS["choice" if question.choices else question.task if question.task in prompts.FORMS else ""]
        template, asked = question.template or self._settings.final_template, with_choices(question)
        prompt = fill(template, context=context, question=asked, input=asked, form=form)
        return Call.of("answer", prompt, self._settings.answer_tokens)


def _numbered(piece: Segment, item: Item) -> Segment:
    """Pieces of a turn have the number of the turn."""
    return replace(piece, number=item.number) if item.kind == "turn" else piece


def _evidence(notes: Sequence[Note]) -> list[Evidence]:
    """Each segment once, with its quotes; for a note without quotes, all its segments."""
    quotes: dict[Segment, list[Quote]] = {}
    for note in notes:
        for quote in note.quotes:
            quotes.setdefault(quote.segment, []).append(quote)
        if not note.quotes:
            for segment in note.segments:
                quotes.setdefault(segment, [])
    return [
        Evidence(
            segment,
            max((quote.score for quote in of), default=0.0),
            f"{len(of)} sentence{'' if len(of) == 1 else 's'} noted" if of else "used in a note",
            quotes=tuple(quote.text for quote in of),
        )
        for segment, of in quotes.items()
    ]


def _gathered(notes: Sequence[Note], n_parts: int, n_unreadable: int) -> Step:
    unfound = [text for note in notes for text in note.unfound]
    detail: dict[str, object] = {
        "parts": n_parts,
        "quotes": sum(len(note.quotes) for note in notes),
        "not_in_the_text": unfound,
    }
    said = []
    if n_unreadable:
        said.append(f"{n_unreadable} of {n_parts} notes were unparsable; the best sentences by score replace them.")
    if unfound:
        said.append(f"{len(unfound)} quotes were dropped, because they are not in the text.")
    return Step("notes", {**detail, "note": " ".join(said)} if said else detail)


def _number(note: Note) -> str:
    return place_of(note.segments[0])
