"""Prompts of the baselines, in our own words.

Data. Fields of a template are in braces. Responses are cached under the whole prompt, so a changed prompt gets new
responses.
"""

from __future__ import annotations

from ..prompting import fill, with_choices
from ..values import Question

ANSWER = """\
Below is a text, or parts of one, and a question about it. {form} Answer from the text alone, and in the language of \
the question.

Text:
{context}

{history}Question: {question}
Answer:"""

FORMS = {
    "": "Answer in a few sentences at most.",
    "short": "Answer with as few words as possible.",
    "summary": "Answer with the main points, each on a line of its own.",
    "choice": "Write the letter of the right answer and nothing else.",
}

HISTORY = "The conversation so far, which the question may refer to:\n{history}\n\n"

HYPOTHETICAL = """\
Write a short passage, of about five sentences, as it could stand in a text that answers the question below. Where you \
do not know a fact, invent one that would fit. Write the passage and nothing else.

{history}Question: {question}
Passage:"""

REWRITE = """\
A search engine will look for what answers the question below. Help it, in the way that the question needs:
- "rewrite": the question is clear, but in other words than a text would have. Write it as a search.
- "decompose": the answer needs several facts. Write a search for each of them.
- "disambiguate": words such as "it", "he" or "there" stand for something said before, or a word has several \
meanings. Write the question so that it can be understood alone.

{history}Question: {question}

Answer with JSON and nothing else: {"how": "rewrite", "queries": ["..."]}. Write {n} queries at most."""

DECOMPOSE = """\
The question below may need several facts. Write the smaller questions that have to be answered first, in their order, \
{n} at most. Where one needs the answer of an earlier one, write #1 for the answer of the first, #2 for the second. If \
the question needs one fact alone, write it as it is.

{history}Question: {question}

Answer with a JSON list of questions and nothing else."""

PART = """\
Below are parts of a text and a question. Answer from the text alone, with as few words as possible. If the text does \
not say it, write "unknown".

Text:
{context}

Question: {question}
Answer:"""

FOUND_OUT = "What was found out before:\n{answers}\n\n"

SUMMARISE = """\
Make the text below shorter, to {n} words at most. Keep who, what, where, when, how much and why, with all names and \
numbers, in the order of the text. Write the short text and nothing else, in the language of the text.

Text:
{text}

Short text:"""

HISTORY_CHARACTERS = 2000  # length of the conversation history in a prompt, from its end


def answer_prompt(question: Question, context: str) -> str:
    """The final prompt: the template of the question, or the one above."""
    form = FORMS["choice"] if question.choices else FORMS.get(question.task, FORMS[""])
    template = question.template or ANSWER
    return fill(template, context=context, question=with_choices(question), history=history_of(question), form=form)


def history_of(question: Question) -> str:
    """The end of the conversation history as a prompt section; "" if there is none."""
    said = "\n".join(f"{turn.role}: {turn.text}" for turn in question.history)[-HISTORY_CHARACTERS:]
    return fill(HISTORY, history=said) if said else ""
