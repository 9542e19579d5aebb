"""Automatic strategy selection by a rule table over the items, the question and the expected cost.

Owns the rules, the question classification by keywords, and the cost limit, and reports which rule applied. Knows no
retrieval method: it selects from `strategies`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..llm.protocol import Cancel
from .baselines import FullContext
from .metered_model import UnparsableAnswer
from .scoring import Indexer
from .strategies import STRATEGIES
from .strategy import Strategy, StrategyContext
from .strategy_base import SegmentedItems
from .usage import describe_cost, with_expected_seconds
from .values import Answer, Budget, Cost, Item, Question, RecallResult, Step


@dataclass(frozen=True, slots=True)
class CostLimit:
    """The largest cost of an answer whose strategy was selected automatically; None means no limit."""

    n_calls: int | None = 60
    tokens: int | None = 300_000  # input and output tokens
    seconds: float | None = 300.0  # from the measured model speed; 0 if unknown

    def allows(self, cost: Cost) -> bool:
        return (
            (self.n_calls is None or cost.n_calls <= self.n_calls)
            and (self.tokens is None or cost.tokens_in + cost.tokens_out <= self.tokens)
            and (self.seconds is None or cost.seconds <= self.seconds)
        )


@dataclass(frozen=True, slots=True)
class RuleInput:
    """The conditions that rules test."""

    has_model: bool
    is_conversation: bool  # every item is a turn of one conversation
    fits: bool  # the context window holds all items, the question and the answer
    kind: QuestionKind


@dataclass(frozen=True, slots=True)
class Rule:
    """If `holds` is true, the first candidate whose expected cost is within the limit is selected."""

    holds: Callable[[RuleInput], bool]
    why: str
    picks: tuple[str, ...]


CHEAPEST = "fragrel"  # at most one model call; also the fallback when every candidate exceeds the limit

RULES: tuple[Rule, ...] = (
    Rule(lambda at: not at.has_model and at.is_conversation, "no model, a conversation", ("chat returning",)),
    Rule(
        lambda at: not at.has_model and at.kind == "several",
        "no model, and the question needs several facts",
        ("qrmem",),
    ),
    Rule(lambda at: not at.has_model, "no model is configured, so the evidence is the answer", (CHEAPEST,)),
    Rule(lambda at: at.is_conversation, "all items are one conversation", ("chat returning",)),
    Rule(lambda at: at.fits, "everything fits the context window", ("full_middle",)),
    Rule(lambda at: at.kind == "summary", "the question asks for a summary", ("memorag", "summary")),
    Rule(lambda at: at.kind == "choice", "the question is multiple choice", ("qrmem shared", "memorag")),
    Rule(
        lambda at: at.kind == "several",
        "the question needs several facts",
        ("qrmem shared", "segment_plus", "decomposition"),
    ),
    Rule(lambda at: at.kind == "reason", "no single passage answers the question", ("memorag", "segment_plus")),
    Rule(lambda at: True, "the question asks for one fact", (CHEAPEST,)),
)
"""The first rule that holds applies; each falls back to the cheapest strategy.

QRMeM measured best on multiple choice (QuALITY) and multi-hop questions (HotpotQA); MemoRAG on summaries and on
questions whose answer is not stated in one passage (papers' spec 3.4 and 4.6). A single fact is found by its words and
the neighbouring segments with one call (1.8). Without a model QRMeM's walk finds both paragraphs of a HotpotQA question
among five in 79 of 100 questions, BM25 in 57 (`weft bench memory hops`).
With a model the graph is `qrmem shared`, which serves all questions about a document: the paper's graph is built again
for each question.
"""

RETRIEVAL_ONLY = frozenset(("fragrel", "full_middle", "chat returning"))
"""Picks of the rules whose `recall` calls no model, so that any prompt can use the evidence."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected strategy, the reason and its expected cost. `passed_over` lists candidates above the cost limit.

    If all candidates are above it, the cheapest strategy is selected, whatever it costs.
    """

    name: str
    why: str
    cost: Cost
    passed_over: tuple[str, ...] = ()

    @property
    def is_beyond_limit(self) -> bool:
        """Whether every strategy that suits the question is above the cost limit."""
        return self.name == CHEAPEST and bool(self.passed_over)

    @property
    def reason(self) -> str:
        """Why it was selected, and what was passed over."""
        over = f"; {' and '.join(self.passed_over)} would exceed the cost limit" if self.passed_over else ""
        return f"{self.why}{over}"

    @property
    def description(self) -> str:
        cost = f"; at most {describe_cost(self.cost)}" if self.cost.n_calls else ""
        return f"`{self.name}`: {self.reason}{cost}"


class AutoStrategy:
    """A strategy that delegates to the selected one. Delegates are created on first use and hold the same items."""

    name = "auto"

    def __init__(
        self, context: StrategyContext, limit: CostLimit | None = None, *, score: Indexer | None = None
    ) -> None:
        self._context, self._limit, self._score = context, limit or CostLimit(), score
        self._lock = threading.RLock()
        self._items = SegmentedItems()
        self._made: dict[str, Strategy] = {}

    def remember(self, items: Sequence[Item], cancel: Cancel | None = None) -> None:
        with self._lock:
            self._items.add(items, cancel)
            for strategy in self._made.values():
                strategy.remember(items, cancel)

    def forget(self, source: str) -> None:
        with self._lock:
            self._items.forget(source)
            for strategy in self._made.values():
                strategy.forget(source)

    def pick(self, question: Question) -> Selection:
        """Returns the strategy that would answer, and why. Calls no model."""
        situation = self._situation(question)
        rule = next(rule for rule in RULES if rule.holds(situation))
        passed_over = []
        for name in (*rule.picks, CHEAPEST):
            cost = self._cost(name, question)
            if self._limit.allows(cost):
                break
            passed_over.append(name)
        return Selection(name, rule.why, cost, tuple(each for each in passed_over if each != CHEAPEST))

    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult:
        self._prepare(cancel)
        pick, question = self.pick(question), _with_task(question)
        recalled = self._strategy(pick.name).recall(question, budget, cancel)
        return replace(recalled, trace=(_step(pick), *recalled.trace))

    def answer(self, question: Question, budget: Budget | None = None, cancel: Cancel | None = None) -> Answer:
        """The answer of the selected strategy, or of FragRel if the response is unparsable. The first note names it."""
        self._prepare(cancel)
        pick, question = self.pick(question), _with_task(question)
        notes = [f"`auto` selected {pick.description}."]
        try:
            answer = self._strategy(pick.name).answer(question, budget, cancel)
        except UnparsableAnswer as error:
            if pick.name == CHEAPEST or (cancel is not None and cancel.cancelled):
                raise
            notes.append(f"{error} `{CHEAPEST}` answered instead.")
            answer = self._strategy(CHEAPEST).answer(question, budget, cancel)
        recalled = replace(answer.recalled, trace=(_step(pick), *answer.recalled.trace))
        return replace(answer, recalled=recalled, strategy=self.name, notes=(*notes, *answer.notes))

    def estimate(self, question: Question) -> Cost:
        return self.pick(question).cost

    def _prepare(self, cancel: Cancel | None) -> None:
        """The context window of a model is unknown before this call."""
        if self._context.model is not None:
            self._context.model.prepare(cancel)

    def _situation(self, question: Question) -> RuleInput:
        items = self._items.items
        is_conversation = {item.kind for item in items} == {"turn"} and len({item.source for item in items}) == 1
        has_model = self._context.model is not None
        fits = has_model and self._full_context().fits(question)
        return RuleInput(has_model, is_conversation, fits, kind_of(question))

    def _cost(self, name: str, question: Question) -> Cost:
        model = self._context.model
        cost = self._strategy(name).estimate(_with_task(question))
        return cost if model is None else with_expected_seconds(cost, model.speed)

    def _full_context(self) -> FullContext:
        strategy = self._strategy("full_middle")
        assert isinstance(strategy, FullContext)
        return strategy

    def _strategy(self, name: str) -> Strategy:
        with self._lock:
            if name not in self._made:
                made = STRATEGIES[name](self._context, self._score)
                made.remember(self._items.items)
                self._made[name] = made
            return self._made[name]


def _step(pick: Selection) -> Step:
    return Step("auto", {"picked": pick.name, "why": pick.why, "passed_over": list(pick.passed_over)})


def _with_task(question: Question) -> Question:
    """MemoRAG summarises by key points, without a question, if the task says so."""
    return replace(question, task="summary") if not question.task and kind_of(question) == "summary" else question


QuestionKind = Literal["summary", "choice", "several", "reason", "fact"]


def kind_of(question: Question) -> QuestionKind:
    """The first kind that matches; `task` and `choices` of the question come before its words.

    The default is one fact. Of the 100 questions of the HotpotQA sample, which all need two paragraphs, 81 are
    classified as several facts.
    """
    if question.choices:
        return "choice"
    if question.task == "summary" or _SUMMARY.search(question.text):
        return "summary"
    if _SEVERAL.search(question.text) or _is_nested(question.text):
        return "several"
    return "reason" if _REASON.search(question.text) else "fact"


_SUMMARY = re.compile(
    r"\bsummar|\boverview\b|\bgist\b|\boutline\b|\btl;?dr\b|\b(main|key|central) (points?|ideas?|events?|takeaways?)\b"
    r"|\bwhat (is|are|was|were) \S+( \S+){0,3} about\b|总结|概括|概述|摘要|大意|主要(内容|观点|情节)|讲了(些)?什么",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"\bboth\b|\b(same|common|compare[ds]?|comparison|differ\w*|respectively|relationship|between)\b"
    r"|\b(who|which|what)\b.*\b(older|younger|earlier|later|larger|smaller|longer|shorter|higher|more|less|first|or)\b"
    r"|\b(before|after|until)\b|\bhow many (times|different)\b|\bin (what|which) order\b"
    r"|比较|区别|不同|相同|共同|都|关系|之前|之后|以前|以后|先后|分别|还是|更(大|小|早|晚|多|少|长|高)",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\bwhy\b|\bhow (did|does|do|could|can|is|was)\b.*\b(feel|change|become|come|affect|lead)\b"
    r"|\bwhat (led|caused|made)\b|\b(reasons?|causes?|motiv\w*|themes?|moral|lesson|meaning|impl(y|ies))\b"
    r"|为什么|为何|原因|怎么会|导致|主题|意义|动机|寓意|感受",
    re.IGNORECASE,
)

# The subject is itself described by a clause: "the film that …", "… was born in which year?", "the city based in …".
_CLAUSE = re.compile(
    r"^\W*(?:\w+\W+){2,}?(?:that|who|whom|whose|which|what|where|when)\b"
    r"|\b(?:starring|featuring|directed|produced|written|published|played|called|known|located|based|filmed)\b"
    r"|\w(?:'s|s'|’s|s’) \w+\b.*\b(?:of|in|by|for|at|from)\b",
    re.IGNORECASE,
)
_MIN_WORDS = 8  # shorter questions with a clause ask for one fact: "What is the book that Ann wrote?"


def _is_nested(text: str) -> bool:
    return len(text.split()) >= _MIN_WORDS and _CLAUSE.search(text) is not None
