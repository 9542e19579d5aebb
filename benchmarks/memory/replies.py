"""Replies to the last question of a dialogue with each chat memory, scored by word overlap and by an LLM judge.

    weft bench memory dialogues --data mtbenchplus.json --model transformers=DIRECTORY --judge openai=URL#NAME

FragRel's Table 3 (section 4.3). The model first writes the bot's empty turns, once for all memories; they are in a
file of MTBench+'s form. Then it answers the last question with each memory. Two figures need no judge: of the words
that only the needed topics' turns have, the share that the reply uses ("topic words"), and of the reply's words that
tell topics apart, the share of the needed topics ("on topic"). Words of the question count for neither.

Owns the replies and their table. Chat memories are in `memory/fragrel`, the judge's prompt in `judges`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...llm.disk import replace_file
from ...llm.protocol import Message
from ...memory import MeteredModel, StrategyContext
from ...memory.fragrel.chat import TRUNCATED
from ...memory.fragrel.presets import CHAT, ChatSettings, chat_with
from ...memory.metered_model import Call
from ...memory.scoring import indexer
from ...memory.words import count_terms
from ..bootstrap import Strata, differences, interval
from ..tables import markdown, percent, signed, with_interval
from .judges import Verdict
from .records import Record
from .values import Sample, recall_of

Judge = Callable[[Sample, str], Verdict]

WHOLE = "whole dialogue"

PAPER_TABLE_3 = {"none": 75.04, "B 0.8": 80.54}
"""The paper's average for MemRetrieval and MemRetrieval+FragRel, judged by GPT-4. Its 2K history has 51.89, and there
is no row for a whole dialogue."""

_FIGURES: dict[str, Callable[[Reply], float | None]] = {
    "topic words": lambda row: row.topic_words,
    "on topic": lambda row: row.on_topic,
    "judge": lambda row: row.verdict,
}


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply. Figures are shares; None where one does not apply, or where a verdict could not be read."""

    dialogue: str
    kind: str  # of the last question
    memory: str
    text: str
    topic_words: float | None
    on_topic: float | None
    needed_turns: float | None  # share of them in the prompt as evidence
    verdict: float | None
    tokens_in: int
    tokens_out: int
    seconds: float


def filled(records: Sequence[Record], model: MeteredModel, n_tokens: int, path: Path) -> Iterator[Record]:
    """The dialogues with every empty turn of the bot written by the model, but for the answer to the last question.

    A turn reads the dialogue before it, as far as it fits the context window. `path` keeps the finished dialogues,
    and those that it has are not written again. Raises ModelError.
    """
    made: dict[str, Any] = {}
    if path.is_file():
        made = {str(each["id"]): each for each in json.loads(path.read_text(encoding="utf-8"))}
    for record in records:
        name = record.text("id")
        if name not in made:
            turns = [dict(turn.fields) for turn in record.records("conversations")]
            made[name] = {**record.fields, "conversations": _with_replies(turns, model, n_tokens)}
            replace_file(path, json.dumps(list(made.values()), ensure_ascii=False, indent=1).encode())
        yield Record(record.where, made[name])


def _with_replies(turns: list[dict[str, Any]], model: MeteredModel, n_tokens: int) -> list[dict[str, Any]]:
    said: list[Message] = []
    last = max(place for place, turn in enumerate(turns) if turn["from"] == "human")
    for place, turn in enumerate(turns):
        is_user = turn["from"] == "human"
        if not is_user and not turn["value"] and place < last:
            call = Call("turn", tuple(said), n_tokens, repetition_penalty=1.1, may_be_cut=True)
            turn["value"] = model.ask(call)
        said.append(Message("user" if is_user else "assistant", turn["value"]))
    return turns


def memories(settings: Mapping[str, ChatSettings], window: int) -> dict[str, ChatSettings]:
    """The chats of these settings, and one that shows the whole dialogue, as far as it fits `window` tokens."""
    return {**settings, WHOLE: ChatSettings(CHAT.memory, replace(TRUNCATED, window=window))}


def reply(
    sample: Sample,
    memory: str,
    settings: ChatSettings,
    context: StrategyContext,
    score: str,
    n_tokens: int,
    judged_by: Judge | None = None,
) -> Reply:
    """The reply with one memory, at temperature 0 and in at most `n_tokens`. Raises ModelError."""
    policy = replace(settings.policy, temperature=0.0, reserved=n_tokens)
    chat = chat_with(
        context, replace(settings, policy=policy), memory, score=indexer(score, context), source=sample.items[0].source
    )
    chat.remember(sample.items)
    answer = chat.answer(sample.question)
    topic_words, on_topic = overlap(sample, answer.text)
    evidence = answer.recalled.evidence
    return Reply(
        sample.id,
        str(sample.details["type"]),
        memory,
        answer.text,
        topic_words,
        on_topic,
        recall_of(sample.facts, evidence) if evidence else None,
        None if judged_by is None else judged_by(sample, answer.text).value,
        answer.cost.tokens_in,
        answer.cost.tokens_out,
        round(answer.cost.seconds, 2),
    )


def overlap(sample: Sample, text: str) -> tuple[float | None, float | None]:
    """The topic words that the text uses, and how much of it is on topic; see the top of this file.

    None where the needed turns have no words of their own, and where the text has none of any topic.
    """
    needed = {fact.turn for fact in sample.facts}
    of_turns = {item.number: count_terms(item.text).keys() for item in sample.items}
    mine = set().union(*(terms for number, terms in of_turns.items() if number in needed))
    others = set().union(*(terms for number, terms in of_turns.items() if number not in needed))
    asked = count_terms(sample.question.text).keys()
    own, foreign = mine - others - asked, others - mine - asked
    used = count_terms(text).keys()
    n_own, n_foreign = len(used & own), len(used & foreign)
    return n_own / len(own) if own else None, n_own / (n_own + n_foreign) if n_own + n_foreign else None


def table(rows: Sequence[Reply], is_judged: bool) -> str:
    """A line for each memory: means with intervals, and differences to the first one."""
    figures = {name: of for name, of in _FIGURES.items() if is_judged or name != "judge"}
    by_memory = {memory: [row for row in rows if row.memory == memory] for memory in _memories(rows)}
    first = next(iter(by_memory))
    head = ["memory", "needed turns"]
    for name in figures:
        head += [name, "difference"]
    head += [*(["no verdict", "paper"] if is_judged else []), "tokens in", "tokens out"]
    lines = []
    for memory, of in by_memory.items():
        cells = [memory, percent(interval(_values(of, lambda row: row.needed_turns))[1])]
        for value in figures.values():
            mine, theirs = _values(of, value), _values(by_memory[first], value)
            apart = interval(differences(mine, theirs))
            cells += [with_interval(interval(mine)), "" if memory == first or math.isnan(apart[1]) else signed(apart)]
        if is_judged:
            cells.append(str(sum(row.verdict is None for row in of)))
            cells.append(f"{PAPER_TABLE_3[memory]:.2f}" if memory in PAPER_TABLE_3 else "")
        n = len(of)
        cells += [f"{sum(row.tokens_in for row in of) / n:,.0f}", f"{sum(row.tokens_out for row in of) / n:,.0f}"]
        lines.append([*cells])
    return markdown(head, lines)


def summary(rows: Sequence[Reply]) -> dict[str, dict[str, list[float]]]:
    """For machines: for each memory the interval of each figure."""
    return {
        memory: {
            name: [round(each, 4) for each in interval(_values([row for row in rows if row.memory == memory], value))]
            for name, value in _FIGURES.items()
            if any(value(row) is not None for row in rows)
        }
        for memory in _memories(rows)
    }


def _memories(rows: Sequence[Reply]) -> Iterator[str]:
    return iter(dict.fromkeys(row.memory for row in rows))


def _values(rows: Sequence[Reply], value: Callable[[Reply], float | None]) -> Strata:
    """The figure of each dialogue, NaN where it has none; all kinds of question together."""
    found = map(value, rows)
    return {"all": [math.nan if each is None else each for each in found]}
