"""Prompts of Segment+, in our own words.

Responses are cached under the whole prompt, so a changed prompt gets new responses.
"""

from __future__ import annotations

GATHER = """\
Below is part {number} of {total} of a long text, and a question about the whole text. You see this part alone.
Take a note of what this part gives for the question.

Rules for "Evidence":
- a list of sentences copied from the part, word for word: names, numbers, dates, events;
- copy also a fact that helps only together with facts of other parts;
- an empty list when the part has nothing of that kind.
Rules for "Reasoning":
- one or two sentences: what the question asks, and what this part says or may say for it;
- say that nothing was found when nothing was.

Answer with one JSON object and nothing else: {{"Evidence": ["..."], "Reasoning": "..."}}

Part {number} of {total}:
{segment}

Question: {question}
JSON:"""

GATHER_FREELY = """\
Below is part {number} of {total} of a long text, and a question about the whole text. You see this part alone.
Write a short note, in plain sentences, of what this part gives for the question. Say so when it gives nothing.

Part {number} of {total}:
{segment}

Question: {question}
Note:"""

FILTER = """\
A note was taken from one part of a long text, for the question below. Decide whether it is kept.
Label it "remove" when its evidence is empty and its reasoning says that nothing was found. Label it "keep" in all
other cases, also when it only repeats or may help together with other notes.

Question: {question}

Note:
{note}

Answer with one JSON object and nothing else: {{"label": "keep"}} or {{"label": "remove"}}"""

MERGE_REASONING = """\
Notes were taken from several parts of a long text, in the order of the text, for the question below.
Write what they say together for the question, in one or two sentences. Use nothing but the notes.

Notes:
{notes}

Question: {question}
Answer with one JSON object and nothing else: {{"Reasoning": "..."}}"""

MERGE_ALL = """\
Notes were taken from several parts of a long text, in the order of the text, for the question below.
Merge them into one note. "Evidence" is a list of lines of the notes, word for word and in their order, each with its
place in brackets: leave out what repeats and what the question has no use for, and nothing else. "Reasoning" is what
they say together for the question, in one or two sentences.

Notes:
{notes}

Question: {question}
Answer with one JSON object and nothing else: {{"Evidence": ["..."], "Reasoning": "..."}}"""

MERGE_FREELY = """\
Notes were taken from several parts of a long text, in the order of the text, for the question below.
Write one shorter note that holds everything of them that helps to answer the question.

Notes:
{notes}

Question: {question}
Note:"""

ANSWER = """\
Answer the question about a long text from these notes alone. The notes come in the order of the text; [part 3] says
where a sentence stands. What happens later in the text comes in a later part.

Notes:
{context}

Question: {question}
{form}
Answer:"""

_PASSAGES = """\
Answer the question from these passages. Write the answer alone and nothing else.

Passages:
{context}

Answer the question from these passages. Write the answer alone and nothing else.

Question: {question}
Answer:"""

LONGBENCH = {
    "hotpotqa": _PASSAGES,
    "2wikimqa": _PASSAGES,
    "musique": _PASSAGES,
    "narrativeqa": """\
Here are a story (a novel or a film script) and a question. Answer in as few words as you can, with a single phrase \
where that is enough, and explain nothing.

Story: {context}

Answer the question about the story in as few words as you can, with a single phrase where that is enough, and explain \
nothing.

Question: {question}

Answer:""",
    "qasper": """\
Here are a scientific article and a question. Answer in as few words as you can, with a phrase or a sentence. Write \
"unanswerable" if the article does not answer it, and "yes", "no" or "unanswerable" to a question of yes or no. \
Explain nothing.

Article: {context}

Answer the question about the article in as few words as you can, with a phrase or a sentence. Write "unanswerable" if \
the article does not answer it, and "yes", "no" or "unanswerable" to a question of yes or no. Explain nothing.

Question: {question}

Answer:""",
}
"""Final prompts by data set, in the form of LongBench's (instruction, context, instruction, question), in our words.

The paper uses LongBench's own, which `weft bench memory answers --templates` reads from its file.
"""

FORMS = {
    "short": "Answer with a single phrase, without an explanation.",
    "summary": "Answer with a list of the key points.",
    "choice": "Answer with the letter of the right choice alone.",
    "": "Answer briefly, and say when the notes do not hold the answer.",
}
"""Answer formats by task."""

TEMPLATES = (GATHER, GATHER_FREELY, FILTER, MERGE_REASONING, MERGE_ALL, MERGE_FREELY, ANSWER)
