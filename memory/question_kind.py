"""Question classification by keywords: one fact, several facts, a reason, a summary, or multiple choice.

Owns the English and Chinese patterns. Knows no model. The default is one fact. Of the 100 questions of the HotpotQA
sample, which all need two paragraphs, 81 are classified as several facts.
"""

from __future__ import annotations

import re
from typing import Literal

from .values import Question

QuestionKind = Literal["summary", "choice", "several", "reason", "fact"]


def kind_of(question: Question) -> QuestionKind:
    """The first kind that matches; `task` and `choices` of the question come before its words."""
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
_MIN_WORDS = 8
"""Shorter questions with a clause ask for one fact: "What is the book that Ann wrote?"."""


def _is_nested(text: str) -> bool:
    return len(text.split()) >= _MIN_WORDS and _CLAUSE.search(text) is not None
