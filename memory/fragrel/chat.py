"""Chat memory: the whole history while it fits the context window, then retrieval of older turns.

Owns the settings of the chat task, when turns move from the window to the backing memory, the query to that memory, and
what is dropped from a full window (papers' spec 1.5 and 1.7). Knows no score: the backing memory is any strategy that
stores turns, FragRel by default. A turn is either in the window or in the backing memory, so it is never shown twice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from ...errors import ModelError
from ...llm.protocol import Cancel, Message
from ..budgets import fit_evidence, truncate
from ..metered_model import Call
from ..splitters import count_words
from ..strategy import CANCELLED, NO_MODEL, StrategyContext
from ..values import Answer, Budget, Cost, Evidence, Item, Question, RecallResult, Segment, Step
from .chat_prompt import PromptParts, build_chat_prompt


@dataclass(frozen=True, slots=True)
class ChatPolicy:
    """When turns move to the backing memory, and what is retrieved. The defaults are the paper's.

    `count` is the unit of `trigger_size` and of the window. With `refills` the window fills up to the trigger again
    after each move; without it only the last turns stay.
    """

    trigger_size: int | None = 1000  # tokens or words in the window before turns move; None disables it
    trigger_rounds: int | None = 10  # turns in the window before turns move; None disables it
    count: Literal["tokens", "words"] = "tokens"
    n_recent: int = 1
    refills: bool = False
    n_evidence: int = 8
    alone_words: int | None = None  # a longer prompt is the whole query; None always adds the last turn
    last_words: int | None = None  # of the last turn in a query, as embedders truncate their input
    window: int = 2048
    reserved: int = 512  # tokens of the window for the reply
    over: Literal["evidence", "left"] = "evidence"  # dropped first: the lowest-scored evidence, or the beginning
    single_system_message: bool = False
    temperature: float = 0.2  # MemoChat's, whose setup the paper uses


PAPER = ChatPolicy()
MEMOCHAT = ChatPolicy(
    # Whitespace-separated words, and 10 utterances, 2 of which are a greeting.
    trigger_size=1024,
    trigger_rounds=3,
    count="words",
    refills=True,
    over="left",
    single_system_message=True,
)
"""As in MemoChat's code: words approximate tokens, and the prompt is truncated from the left, instruction included."""

RETURNING = ChatPolicy(alone_words=8, last_words=150)
"""For prompts that return to an older topic: the last turn helps to resolve a short prompt, but misleads if the prompt
is self-contained. The measurements are in `benchmarks/results/memory-log.md`.
"""

TRUNCATED = ChatPolicy(trigger_size=None, trigger_rounds=None)
"""Truncated history: turns never move, and the oldest ones drop out of the window."""


STOP = ("### user:",)
"""Stop sequence: the model continues with the next user turn."""


class BackingMemory(Protocol):
    """The backing memory of a chat; every strategy implements it."""

    def remember(self, items: Sequence[Item], cancel: Cancel | None = None) -> None: ...

    def forget(self, source: str) -> None: ...

    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult: ...


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """The messages for the model, and the evidence in them."""

    messages: tuple[Message, ...]
    recalled: RecallResult


@dataclass(frozen=True, slots=True)
class _State:
    """Replaced whole by each turn, so that a running answer keeps a consistent view."""

    shown: tuple[Item, ...] = ()  # turns in the window, oldest first
    n_moved: int = 0
    has_others: bool = False  # the backing memory holds other conversations too


class ChatMemory:
    """The memory of the conversation `source`, or of the first turn. Other items go to the backing memory."""

    def __init__(
        self,
        context: StrategyContext,
        memory: BackingMemory,
        policy: ChatPolicy = PAPER,
        *,
        name: str = "chat",
        source: str = "",
        recall_cost: Callable[[Question], Cost] = lambda question: Cost(),
    ) -> None:
        self.name = name
        self._context, self._memory, self._policy, self._source = context, memory, policy, source
        self._recall_cost = recall_cost
        self._count = context.count if policy.count == "tokens" else lambda text: len(text.split())
        self._state = _State()
        self._lock = threading.Lock()

    def add(self, user: str, bot: str, said_at: float | None = None, cancel: Cancel | None = None) -> None:
        """Add the next turn of the conversation."""
        state = self._state
        number = state.shown[-1].number + 1 if state.shown else state.n_moved
        self.remember([Item(self._source or "conversation", round_text(user, bot), "turn", number, said_at)], cancel)

    def remember(self, items: Sequence[Item], cancel: Cancel | None = None) -> None:
        """Add turns, oldest first, and move turns that exceed the window. Raises ModelError if the memory does."""
        with self._lock:
            for item in items:
                if cancel is not None and cancel.cancelled:
                    return
                if item.kind == "turn" and item.source == (self._source or item.source):
                    self._source = item.source
                    self._add_turn(item, cancel)
                else:
                    self._memory.remember([item], cancel)
                    self._state = replace(self._state, has_others=True)

    def forget(self, source: str) -> None:
        with self._lock:
            self._memory.forget(source)
            if source == self._source:
                self._state = _State(has_others=self._state.has_others)

    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult:
        """The relevant turns in chronological order; all turns of a short history."""
        state = self._state
        if not (state.n_moved or state.has_others):
            found = [Evidence(_segment(item), 1.0, "the whole conversation fits the window") for item in state.shown]
            return RecallResult(fit_evidence(found, budget, self._context.count, "time"))
        query = self._query(state, question)
        n = self._policy.n_evidence if budget.n is None else min(budget.n, self._policy.n_evidence)
        recalled = self._memory.recall(replace(question, text=query), replace(budget, n=n), cancel)
        return replace(recalled, trace=(Step("query", {"text": query}), *recalled.trace))

    def messages(self, question: Question, cancel: Cancel | None = None) -> ChatPrompt:
        """The messages for the model: instruction, evidence, recent dialog and prompt, within the context window."""
        policy, state = self._policy, self._state
        # A short history is all in the recent dialog, so it is not evidence as well.
        has_moved = bool(state.n_moved or state.has_others)
        recalled = self.recall(question, Budget(), cancel) if has_moved else RecallResult(())
        recent = _last(state, question, max(len(state.shown), self._policy.n_recent))
        parts = PromptParts(question.text, tuple(recent), recalled.evidence)
        room, _ = self._window()
        messages, shown = build_chat_prompt(
            parts, room, self._count, cut_left=policy.over == "left", as_one=policy.single_system_message
        )
        step = Step(
            "window",
            {
                "n_moved": state.n_moved,
                "n_recent": len(shown.recent),
                "n_evidence": len(shown.evidence),
                "n_dropped": len(recalled.evidence) - len(shown.evidence),
                "room": room,
                "counted_in": policy.count,
            },
        )
        return ChatPrompt(messages, RecallResult(shown.evidence, (*recalled.trace, step)))

    def chat(self, prompt: str, said_at: float | None = None, cancel: Cancel | None = None) -> Answer:
        """Reply to a prompt and store both. Raises ModelError; stores nothing then."""
        answer = self.answer(Question(prompt), cancel=cancel)
        if answer.text and not (cancel is not None and cancel.cancelled):
            try:
                self.add(prompt, answer.text, said_at, cancel)
            except ModelError as error:  # a backing memory that calls a model; the turn stays in the window
                return replace(answer, notes=(f"Older turns were not stored in the memory: {error}",))
        return answer

    def answer(self, question: Question, budget: Budget | None = None, cancel: Cancel | None = None) -> Answer:
        """The reply, without storing it. The context window of the policy is the budget."""
        model = self._context.model
        if model is None:
            return Answer("", self.recall(question, budget or Budget(), cancel), self.name, notes=(NO_MODEL,))
        # The total, because the backing memory calls the model under its own name.
        before, name = model.usage.total, model.info.name
        model.prepare(cancel)
        prepared = self.messages(question, cancel)
        if cancel is not None and cancel.cancelled:
            return Answer("", prepared.recalled, self.name, name, notes=(CANCELLED,))
        _, reserved = self._window()
        call = Call("reply", prepared.messages, reserved, self._policy.temperature, stop=STOP, may_be_cut=True)
        text = model.for_strategy(self.name).ask(call, cancel)
        return Answer(text, prepared.recalled, self.name, name, model.usage.total - before)

    def estimate(self, question: Question) -> Cost:
        if self._context.model is None:
            return Cost()
        room, reserved = self._window()
        return Cost(1, room, reserved) + self._recall_cost(question)

    def _window(self) -> tuple[int, int]:
        """Tokens for the prompt and for the reply: the policy's, or less if the model's context window is smaller."""
        window, reserved, model = self._policy.window, self._policy.reserved, self._context.model
        if model is not None and 0 < model.window_tokens < window:
            window = model.window_tokens
            reserved = min(reserved, window // 2)
        return window - reserved, reserved

    def _query(self, state: _State, question: Question) -> str:
        policy = self._policy
        if policy.alone_words is not None and count_words(question.text) > policy.alone_words:
            return question.text
        last = _last(state, question, policy.n_recent)[-1:]
        if policy.last_words is not None:
            last = [truncate(text, policy.last_words, count_words) for text in last]
        return "\n".join([*last, question.text])

    def _add_turn(self, item: Item, cancel: Cancel | None) -> None:
        state = self._state
        numbers = [each.number for each in state.shown]
        if item.number in numbers:
            i = numbers.index(item.number)
            self._state = replace(state, shown=(*state.shown[:i], item, *state.shown[i + 1 :]))
        elif numbers and item.number < numbers[0]:
            self._memory.remember([item], cancel)
        else:
            self._state = replace(state, shown=(*state.shown, item))
            self._move_turns(cancel)

    def _move_turns(self, cancel: Cancel | None) -> None:
        state, policy = self._state, self._policy
        is_full = policy.trigger_rounds is not None and len(state.shown) > policy.trigger_rounds
        if policy.trigger_size is not None and not is_full:
            is_full = sum(self._count(item.text) for item in state.shown) > policy.trigger_size
        if is_full or (state.n_moved and not policy.refills):
            leaving = len(state.shown) - policy.n_recent
            if leaving > 0:
                self._memory.remember(state.shown[:leaving], cancel)
                self._state = replace(state, shown=state.shown[leaving:], n_moved=state.n_moved + leaving)


def round_text(user: str, bot: str = "") -> str:
    return f"user: {user}\nbot: {bot}" if bot else f"user: {user}"


def _segment(item: Item) -> Segment:
    return Segment(item.source, item.number, item.text, 0, item.first_line, item.said_at)


def _last(state: _State, question: Question, n: int) -> list[str]:
    """The last turns as text, from the history of the question if it has one."""
    rounds = _rounds(question.history) or [item.text for item in state.shown]
    return rounds[max(0, len(rounds) - n) :]


def _rounds(history: Sequence[Message]) -> list[str]:
    rounds = list[str]()
    for message in history:
        if message.role == "user" or not rounds:
            rounds.append("")
        line = f"{'user' if message.role == 'user' else 'bot'}: {message.text}"
        rounds[-1] += f"\n{line}" if rounds[-1] else line
    return rounds
