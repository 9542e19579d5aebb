"""The model calls of QRMeM: one method for each prompt, with the parser of its response.

Knows no graph and no order of the calls. Invalid entries of a list in a response are dropped; for any other unparsable
value a parser raises ValueError, and the call is retried. Every call raises ModelError: `UnparsableAnswer` after the
retries of `metered_model`, `CallCancelled` when cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from ...llm.protocol import Cancel, Message
from ..metered_model import Call, CallCancelled, MeteredModel, PromptTooLong, UnparsableAnswer
from ..prompting import fill, read_letter, with_choices
from ..values import Question, Segment
from . import prompts
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
        asked, short = with_choices(question), question.task == "short"
        form = prompts.AS_LETTER if question.choices else prompts.AS_PHRASE if short else prompts.AS_SENTENCES
        if question.template:
            prompt = fill(question.template, context=context, question=asked)
        else:
            prompt = prompts.ANSWER.substitute(form=form, segments=context, question=asked)
        # Only the history can be truncated, not the segments or the question.
        messages = (*question.history, Message("user", prompt))
        return Call("answer", messages, ANSWER_TOKENS, may_be_cut=bool(question.history))

    def _json(self, purpose: str, prompt: str, max_new_tokens: int, read: Callable[[Any], T]) -> T:
        call = Call.of(purpose, prompt, max_new_tokens)
        return self.model.ask_json(call, read, self._cancel)

    def _text(
        self, purpose: str, prompt: str, field: str, max_new_tokens: int = SENTENCE_TOKENS, temperature: float = 0.0
    ) -> str:
        call = Call.of(purpose, prompt, max_new_tokens, temperature=temperature)
        return self.model.ask_json(call, lambda value: read_text(value, field), self._cancel)


class WalkModel:
    """The model calls of navigation for one question; replaces unparsable responses by neutral ones."""

    def __init__(self, calls: QRMeMCalls, question: Question) -> None:
        self._calls, self._question = calls, question

    def enough(self, segments: Sequence[Segment]) -> Verdict:
        instead = "the segments were judged insufficient"
        return self._calls.attempt(lambda: self._calls.enough(self._question, segments), instead) or Verdict(False)

    def other_entities(self, tried: Sequence[str], missing: str, names: Sequence[str]) -> list[str]:
        calls, text = self._calls, self._question.text
        instead = "no other entities were tried"
        return calls.attempt(lambda: calls.other_entities(text, tried, missing, names), instead) or []

    def elaborated(self, relations: Sequence[str]) -> str:
        calls, text = self._calls, self._question.text
        instead = "the relations replaced the elaborated question"
        longer = calls.attempt(lambda: calls.elaborated(text, relations), instead)
        return " ".join(relations) if longer is None else longer


def format_segments(segments: Sequence[Segment]) -> str:
    """Segments as text for a prompt, each below its location."""
    return "\n\n".join(f"[{segment.place}]\n{segment.text.strip()}" for segment in segments)


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether segments answer a question: with the answer, or with the missing information."""

    answerable: bool
    answer: str = ""
    missing: str = ""


def read_names(value: Any) -> list[EntityName]:
    names = list[EntityName]()
    for entry in _entries(value, "entities"):
        if isinstance(entry, str):
            entry = {"name": entry}
        if isinstance(entry, dict) and isinstance(entry.get("name"), str) and entry["name"].strip():
            aliases = entry.get("aliases")
            aliases = [a for a in aliases if isinstance(a, str)] if isinstance(aliases, list) else []
            kind = entry.get("type")
            useful = tuple(alias for alias in map(_clean, aliases) if alias.lower() not in _PRONOUNS)
            names.append(EntityName(_clean(entry["name"]), kind if isinstance(kind, str) else "", useful))
    return [name for name in names if name.name.lower() not in _PRONOUNS]


def read_relations(value: Any) -> list[tuple[str, str, str]]:
    read = list[tuple[str, str, str]]()
    for entry in _entries(value, "relations"):
        if isinstance(entry, dict):
            entry = [entry.get("first"), entry.get("second"), entry.get("relation")]
        if isinstance(entry, list) and len(entry) == 3 and all(isinstance(e, str) and e.strip() for e in entry):
            first, second, text = map(_clean, entry)
            read.append((first, second, text))
    return read


def read_numbers(value: Any) -> set[int]:
    entries = (entry for entry in _entries(value, "same") if isinstance(entry, int | str))
    return {int(entry) for entry in entries if str(entry).strip().isdecimal()}


def read_verdict(value: Any) -> Verdict:
    answerable = value.get("answerable") if isinstance(value, dict) else None
    if isinstance(answerable, str):
        answerable = {"true": True, "yes": True, "false": False, "no": False}.get(answerable.strip().lower())
    if not isinstance(answerable, bool):
        raise ValueError("`answerable` is neither true nor false")
    answer, missing = value.get("answer"), value.get("missing")
    return Verdict(answerable, *(_clean(text) if isinstance(text, str) else "" for text in (answer, missing)))


def read_text(value: Any, field: str) -> str:
    text = value.get(field) if isinstance(value, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"there is no `{field}`")
    return " ".join(text.split())


def not_empty(text: str) -> str:
    if not text:
        raise ValueError("the response is empty")
    return text


def _entries(value: Any, field: str) -> list[Any]:
    """The list in the field of an object; also accepts the bare list."""
    entries = value.get(field) if isinstance(value, dict) else value
    if not isinstance(entries, list):
        raise ValueError(f"there is no list `{field}`")
    return entries


def _clean(text: str) -> str:
    return " ".join(text.split())


_PRONOUN_WORDS = "i me you he him she her it we us they them his hers its their this that who"
_PRONOUNS = {"", *_PRONOUN_WORDS.split()}
