"""The model calls of QRMeM: one method for each prompt, with the parser of its response.

Knows no graph and no order of the calls. Every call raises ModelError: `UnparsableAnswer` after the retries of
`metered_model`, `CallCancelled` when cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from ...llm.protocol import Cancel
from ..choices import read_letter, with_choices
from ..metered_model import Call, CallCancelled, MeteredModel, PromptTooLong, UnparsableAnswer
from ..templates import fill
from ..values import Question, Segment
from . import prompts
from .answer_parsing import (
    Verdict,
    not_empty,
    read_names,
    read_numbers,
    read_relations,
    read_text,
    read_verdict,
)
from .entity_resolution import EntityName, Pair

T = TypeVar("T")

LIST_TOKENS = 1024  # of a response with a list
SENTENCE_TOKENS = 256
ANSWER_TOKENS = 512


class QRMeMCalls:
    """Calls one model for QRMeM. `failures` describes unparsable responses."""

    def __init__(self, model: MeteredModel, cancel: Cancel | None = None) -> None:
        self.model = model
        self.failures: list[str] = []
        self._cancel = cancel

    def attempt(self, ask: Callable[[], T], done_instead: str) -> T | None:
        """The result of a call; None if it exceeded the context window or was unparsable, which is recorded."""
        try:
            return ask()
        except CallCancelled:
            raise
        except (UnparsableAnswer, PromptTooLong) as error:
            self.failures.append(f"{done_instead}: {error}")
            return None

    def entities(self, segment: Segment, question: str) -> list[EntityName]:
        """P1: the entities of a segment; with a question, those that help to answer it."""
        focus = prompts.FOCUS.substitute(question=question) if question else ""
        prompt = prompts.ENTITIES.substitute(focus=focus, segment=segment.text)
        return self._json("entities", prompt, LIST_TOKENS, read_names)

    def relations(self, segment: Segment, names: Sequence[str]) -> list[tuple[str, str, str]]:
        """P2: the relations between pairs of names in a segment."""
        prompt = prompts.RELATIONS.substitute(entities="; ".join(names), segment=segment.text)
        return self._json("relations", prompt, LIST_TOKENS, read_relations)

    def summary(self, segment: Segment) -> str:
        """P3: the summary of a segment."""
        return self._text("summary", prompts.SUMMARY.substitute(segment=segment.text), "summary")

    def summary_of(self, summaries: Sequence[str]) -> str:
        """P3b: the summary of the whole text from those of its parts."""
        prompt = prompts.WHOLE_SUMMARY.substitute(summaries="\n".join(summaries))
        return self._text("whole summary", prompt, "summary", ANSWER_TOKENS)

    def new_question(self, summary: str, asked: Sequence[str], temperature: float) -> str:
        """P4: a new question about the text."""
        questions = _listed(asked) or "(none)"
        prompt = prompts.NEW_QUESTION.substitute(summary=summary, questions=questions)
        return self._text("new question", prompt, "question", temperature=temperature)

    def same(self, pairs: Sequence[Pair]) -> list[bool]:
        """P5: whether the names of each pair denote the same entity."""
        lines = "\n".join(f"{i}. {first} | {second}" for i, (first, second) in enumerate(pairs, 1))
        numbers = self._json("same", prompts.SAME.substitute(pairs=lines), SENTENCE_TOKENS, read_numbers)
        return [i in numbers for i in range(1, len(pairs) + 1)]

    def fused(self, pair: Pair, texts: Sequence[str], segments: Sequence[Segment]) -> str:
        """P6: one relation that fuses several, with their segments as evidence."""
        prompt = prompts.FUSED.substitute(
            first=pair[0], second=pair[1], relations=_listed(texts), segments=format_segments(segments)
        )
        return self._text("fused relation", prompt, "relation")

    def question_entities(self, question: str) -> list[str]:
        """P7: the entities of a question."""
        prompt = prompts.QUESTION_ENTITIES.substitute(question=question)
        return [name.name for name in self._json("question entities", prompt, SENTENCE_TOKENS, read_names)]

    def enough(self, question: Question, segments: Sequence[Segment]) -> Verdict:
        """P8: whether the segments answer the question."""
        prompt = prompts.ENOUGH.substitute(question=with_choices(question), segments=format_segments(segments))
        return self._json("enough", prompt, SENTENCE_TOKENS, read_verdict)

    def answer(self, question: Question, context: str) -> str:
        """P9: the answer; for multiple choice, the letter."""
        call = self._answer_call(question, context)
        read = partial(read_letter, choices=question.choices) if question.choices else not_empty
        return self.model.ask_parsed(call, read, self._cancel)

    def other_entities(self, question: str, tried: Sequence[str], missing: str, names: Sequence[str]) -> list[str]:
        """P10: the entities of the text to read about next."""
        prompt = prompts.OTHER_ENTITIES.substitute(
            question=question, tried="; ".join(tried) or "none", missing=missing, names="; ".join(names)
        )
        return [name.name for name in self._json("other entities", prompt, SENTENCE_TOKENS, read_names)]

    def elaborated(self, question: str, relations: Sequence[str]) -> str:
        """P11: the question, elaborated with relations."""
        prompt = prompts.ELABORATED.substitute(question=question, relations=_listed(relations) or "(none)")
        return self._text("elaborated question", prompt, "question")

    def _answer_call(self, question: Question, context: str) -> Call:
        form = prompts.AS_SENTENCES
        if question.choices:
            form = prompts.AS_LETTER
        elif question.task == "short":
            form = prompts.AS_PHRASE
        if question.template:
            asked = with_choices(question)
            prompt = fill(question.template, context=context, question=asked)
        else:
            prompt = prompts.ANSWER.substitute(form=form, segments=context, question=with_choices(question))
        call = Call.of("answer", prompt, max_new_tokens=ANSWER_TOKENS)
        # Only the history can be truncated, not the segments or the question.
        return replace(call, messages=(*question.history, *call.messages), may_be_cut=bool(question.history))

    def _json(self, purpose: str, prompt: str, max_new_tokens: int, read: Callable[[Any], T]) -> T:
        call = Call.of(purpose, prompt, max_new_tokens=max_new_tokens)
        return self.model.ask_json(call, read, self._cancel)

    def _text(
        self, purpose: str, prompt: str, field: str, max_new_tokens: int = SENTENCE_TOKENS, temperature: float = 0.0
    ) -> str:
        call = replace(Call.of(purpose, prompt, max_new_tokens=max_new_tokens), temperature=temperature)
        return self.model.ask_json(call, lambda value: read_text(value, field), self._cancel)


def format_segments(segments: Sequence[Segment]) -> str:
    """Segments as text for a prompt, each below its location."""
    return "\n\n".join(f"[{segment.place}]\n{segment.text.strip()}" for segment in segments)


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
