"""Each thing that QRMeM asks a model, with how the answer is read.

Owns the calls and the reading; an answer that can't be read is asked for again by the accountant (temperature 0, then
0.7, four times at most). Knows no graph and no order of the steps. Every call raises ModelError: `UnparsableAnswer` when no
answer could be read, `CallCancelled` when cancelled.
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

LIST_TOKENS = 1024  # of an answer that lists
SENTENCE_TOKENS = 256
ANSWER_TOKENS = 512


class QRMeMCalls:
    """One model that answers for QRMeM. `failures` says in words what could not be read."""

    def __init__(self, model: MeteredModel, cancel: Cancel | None = None) -> None:
        self.model = model
        self.failures: list[str] = []
        self._cancel = cancel

    def attempt(self, ask: Callable[[], T], done_instead: str) -> T | None:
        """What a call gives; None when it did not fit the window or its answer could not be read, which is noted."""
        try:
            return ask()
        except CallCancelled:
            raise
        except (UnparsableAnswer, PromptTooLong) as error:
            self.failures.append(f"{done_instead}: {error}")
            return None

    def entities(self, segment: Segment, question: str) -> list[EntityName]:
        """P1: the entities of a segment; with a question those that help to answer it."""
        focus = prompts.FOCUS.substitute(question=question) if question else ""
        prompt = prompts.ENTITIES.substitute(focus=focus, segment=segment.text)
        return self._json("entities", prompt, LIST_TOKENS, read_names)

    def relations(self, segment: Segment, names: Sequence[str]) -> list[tuple[str, str, str]]:
        """P2: what a segment says about pairs of the names."""
        prompt = prompts.RELATIONS.substitute(entities="; ".join(names), segment=segment.text)
        return self._json("relations", prompt, LIST_TOKENS, read_relations)

    def summary(self, segment: Segment) -> str:
        """P3: a segment in three sentences."""
        return self._text("summary", prompts.SUMMARY.substitute(segment=segment.text), "summary")

    def summary_of(self, summaries: Sequence[str]) -> str:
        """P3b: the summary of the whole from those of its parts."""
        prompt = prompts.WHOLE_SUMMARY.substitute(summaries="\n".join(summaries))
        return self._text("whole summary", prompt, "summary", ANSWER_TOKENS)

    def new_question(self, summary: str, asked: Sequence[str], temperature: float) -> str:
        """P4: a question about the text that is unlike those before."""
        questions = _listed(asked) or "(none)"
        prompt = prompts.NEW_QUESTION.substitute(summary=summary, questions=questions)
        return self._text("new question", prompt, "question", temperature=temperature)

    def same(self, pairs: Sequence[Pair]) -> list[bool]:
        """P5: whether the names of each pair stand for the same thing."""
        lines = "\n".join(f"{i}. {first} | {second}" for i, (first, second) in enumerate(pairs, 1))
        numbers = self._json("same", prompts.SAME.substitute(pairs=lines), SENTENCE_TOKENS, read_numbers)
        return [i in numbers for i in range(1, len(pairs) + 1)]

    def fused(self, pair: Pair, texts: Sequence[str], segments: Sequence[Segment]) -> str:
        """P6: one relation instead of several, thought over with the segments they come from."""
        prompt = prompts.FUSED.substitute(
            first=pair[0], second=pair[1], relations=_listed(texts), segments=shown(segments)
        )
        return self._text("fused relation", prompt, "relation")

    def question_entities(self, question: str) -> list[str]:
        """P7: what a question is about."""
        prompt = prompts.QUESTION_ENTITIES.substitute(question=question)
        return [name.name for name in self._json("question entities", prompt, SENTENCE_TOKENS, read_names)]

    def enough(self, question: Question, segments: Sequence[Segment]) -> Verdict:
        """P8: whether the segments answer the question."""
        prompt = prompts.ENOUGH.substitute(question=with_choices(question), segments=shown(segments))
        return self._json("enough", prompt, SENTENCE_TOKENS, read_verdict)

    def answer(self, question: Question, context: str) -> str:
        """P9: the answer, as the question wants it; for one with choices the letter."""
        call = self._answer_call(question, context)
        read = partial(read_letter, choices=question.choices) if question.choices else not_empty
        return self.model.ask_parsed(call, read, self._cancel)

    def other_entities(self, question: str, tried: Sequence[str], missing: str, names: Sequence[str]) -> list[str]:
        """P10: which entities of the text to read about next."""
        prompt = prompts.OTHER_ENTITIES.substitute(
            question=question, tried="; ".join(tried) or "none", missing=missing, names="; ".join(names)
        )
        return [name.name for name in self._json("other entities", prompt, SENTENCE_TOKENS, read_names)]

    def elaborated(self, question: str, relations: Sequence[str]) -> str:
        """P11: the question with what is known of it."""
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
        # Older turns may go, the segments and the question may not.
        return replace(call, messages=(*question.history, *call.messages), may_be_cut=bool(question.history))

    def _json(self, purpose: str, prompt: str, max_new_tokens: int, read: Callable[[Any], T]) -> T:
        call = Call.of(purpose, prompt, max_new_tokens=max_new_tokens)
        return self.model.ask_json(call, read, self._cancel)

    def _text(
        self, purpose: str, prompt: str, field: str, max_new_tokens: int = SENTENCE_TOKENS, temperature: float = 0.0
    ) -> str:
        call = replace(Call.of(purpose, prompt, max_new_tokens=max_new_tokens), temperature=temperature)
        return self.model.ask_json(call, lambda value: read_text(value, field), self._cancel)


def shown(segments: Sequence[Segment]) -> str:
    """Segments as a prompt shows them: each below its place."""
    return "\n\n".join(f"[{segment.place}]\n{segment.text.strip()}" for segment in segments)


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
