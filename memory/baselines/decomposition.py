"""Question decomposition: answers sub-questions in turn, then the whole question (DECOM in QRMeM's tables).

Owns the order of the sub-questions and the substitution of earlier answers.
"""

from __future__ import annotations

import re
from typing import Any

from ...llm.protocol import Cancel
from ..budgets import fit_evidence, truncate
from ..metered_model import Call, CallCancelled, UnparsableAnswer
from ..prompting import fill
from ..strategy_base import joined
from ..values import Budget, Cost, Evidence, Question, RecallResult, Step
from . import prompts
from .retrieval import MAX_QUERIES, QUERY_TOKENS, GeneratedQueries

PART_TOKENS = 64

_REFERENCE = re.compile(r"#(\d+)")


class Decomposition(GeneratedQueries):
    """The final prompt shows the sub-answers before the evidence."""

    _name, _purpose, _template = "decomposition", "decompose", prompts.DECOMPOSE
    _most_queries = MAX_QUERIES

    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult:
        if self._model is None:
            return self._found([question.text], budget, ())
        steps, answers, found, said = list[Step](), list[str](), dict[str, Evidence](), list[str]()
        try:
            for part in self._parts(question, steps, cancel):
                asked = _with_answers(part, answers)
                evidence = self._found([asked], Budget(), ()).evidence
                answers.append(self._answer_part(asked, evidence, cancel))
                for each in evidence:
                    place = each.segment.place
                    if place not in found or each.score > found[place].score:
                        found[place] = each
                said.append(f"{asked} {answers[-1]}")
                steps.append(Step("part", {"question": asked, "answer": answers[-1], "found": list(found)}))
                if cancel is not None and cancel.cancelled:
                    break
        except CallCancelled:
            pass
        notes = fill(prompts.FOUND_OUT, answers="\n".join(said)) if said else ""
        left = budget
        if budget.tokens is not None:
            notes = truncate(notes, budget.tokens // 2, self._count, "right")
            left = Budget(budget.n, budget.tokens - self._count(notes), budget.words, budget.characters_each)
        chosen = fit_evidence(found.values(), left, self._count, self._order)
        return RecallResult(chosen, tuple(steps), notes + joined(chosen))

    def _parts(self, question: Question, steps: list[Step], cancel: Cancel | None) -> list[str]:
        assert self._model is not None
        try:
            return self._model.ask_json(self._call(question), _read_parts, cancel)
        except CallCancelled:
            raise
        except UnparsableAnswer as error:
            steps.append(Step("decompose", {"note": f"The question was not decomposed: {error}"}))
            return [question.text]

    def _answer_part(self, part: str, evidence: tuple[Evidence, ...], cancel: Cancel | None) -> str:
        assert self._model is not None
        room = self._room(self._model, Question(part))
        prompt = fill(prompts.PART, context=truncate(joined(evidence), room, self._count, "left"), question=part)
        return self._model.ask(Call.of("part", prompt, PART_TOKENS), cancel)

    def _cost_to_recall(self, question: Question) -> Cost:
        sizes = sorted((self._count(segment.text) for segment in self._items.segments), reverse=True)[: self._k]
        part = self._count(prompts.PART) + sum(sizes) + QUERY_TOKENS
        first = super()._cost_to_recall(question)
        return first + Cost(MAX_QUERIES, MAX_QUERIES * part, MAX_QUERIES * PART_TOKENS)


def _read_parts(value: Any) -> list[str]:
    parts = value["questions"] if isinstance(value, dict) else value
    questions = [part.strip() for part in parts if isinstance(part, str) and part.strip()]
    if not questions:
        raise ValueError("no questions")
    return questions[:MAX_QUERIES]


def _with_answers(part: str, answers: list[str]) -> str:
    """A sub-question with its references ("Where was #1 born?") replaced by the answers."""

    def answer(match: re.Match[str]) -> str:
        number = int(match[1])
        return answers[number - 1] if 0 < number <= len(answers) else match[0]

    return _REFERENCE.sub(answer, part)
