"""Prompts of FragRel for stories and chats, in our own words.

Responses are cached under the whole prompt, so a changed prompt gets new responses.
"""

from __future__ import annotations

import re

from ..prompting import fill, format_choices
from ..values import Question

STORY = """\
You are given a story, or parts of one, and a question about it. Answer with as few words as possible: a single phrase \
where that is enough. Explain nothing.

Story:
{context}

Answer the question from the story above with a single phrase, and explain nothing.

Question: {question}
Answer:"""

CHOICES = """\
You are given a story, or parts of one, and a question about it with several answers to choose from.

Story:
{context}

Question: {question}
{choices}

Write the letter of the right answer and nothing else.
Answer:"""

CHAT_SYSTEM = """\
You are a thoughtful chat partner. You are shown related evidence: earlier rounds of this conversation that may help \
with what the user says now. You are also shown the recent dialog between the user and you. Read all of it, keep it in \
mind, then write one short, coherent and helpful reply."""

CHAT_BODY = """\
```
Related evidence:
{evidence}

Recent dialog:
{recent}
```
User input:
user: {prompt} ### bot: """

NO_EVIDENCE = "(none)"

WRITE_MEMO = """\
Below are {n} numbered rounds of a conversation between a user and a bot. Divide them into topics, in their order.
For each topic write its name, a summary of one sentence, and the numbers of its first and last round. Every round \
belongs to one topic.

Rounds:
{rounds}

Answer with a JSON list and nothing else: [{{"topic": "...", "summary": "...", "start": 1, "end": 2}}]"""

CHOOSE_TOPICS = """\
Below are what a user says now and a numbered list of topics that were talked about earlier, each with a summary.
Choose the topics that help to reply. Choose none when none helps.

User: {prompt}

Topics:
{topics}

Answer with a JSON list of numbers and nothing else, for example [2, 5] or []."""

_UTTERANCE = re.compile(r"\n(?=(?:user|bot): )")


def story_prompt(question: Question, context: str) -> str:
    """The template of the question, or the default one, with its fields filled."""
    template = question.template or (CHOICES if question.choices else STORY)
    return fill(template, context=context, question=question.text, choices=format_choices(question.choices))


def flattened(round_text: str) -> str:
    """A turn in one line, the dialog format of the prompt: `user: … ### bot: …`."""
    return " ".join(_UTTERANCE.sub(" ### ", round_text).split())
