"""Prompts of QRMeM (P1 to P11 of the papers' spec 3.3), in our own words.

`calls` parses the responses. `VERSION` is part of the cache keys: raise it with every change of a prompt.
"""

from __future__ import annotations

from string import Template

VERSION = 1

ENTITIES = Template("""\
Read this segment of a longer text and list the entities in it: people, places, organisations, works, things, events \
and ideas that have a name or that the text keeps coming back to.
$focus
Answer with JSON only, in this form; write an empty list when there is nothing:
{"entities": [{"name": "the fullest name in the segment", "type": "person", "aliases": ["other names for it here"]}]}

Segment:
$segment
""")

FOCUS = Template("""\
The list will be used to answer the question below. Keep only entities that help to answer it, or that may lead to \
something that does.

Question: $question
""")

RELATIONS = Template("""\
Read this segment of a longer text. For pairs of the listed entities, say in one short sentence what the segment tells \
about the two: what one did to the other, is to it, or has to do with it.
Use your own words, at most 15 of them. Leave out pairs that the segment does not connect.

Entities: $entities

Answer with JSON only, in this form; write an empty list when nothing is connected:
{"relations": [{"first": "an entity", "second": "another", "relation": "one short sentence"}]}

Segment:
$segment
""")

SUMMARY = Template("""\
Sum up this segment of a longer text in at most three sentences. Name the people and things it is about.
Answer with JSON only, in this form: {"summary": "..."}

Segment:
$segment
""")

WHOLE_SUMMARY = Template("""\
These are summaries of the consecutive parts of one text. Write one summary of the whole in at most ten sentences, in \
the order of the text, and keep the names.
Answer with JSON only, in this form: {"summary": "..."}

Summaries:
$summaries
""")

NEW_QUESTION = Template("""\
Below is the summary of a text, and questions that were already asked about it. Ask one more question that a careful \
reader of the whole text could answer: about other people, things or reasons than those before, from another angle.
Answer with JSON only, in this form: {"question": "..."}

Summary:
$summary

Questions so far:
$questions
""")

SAME = Template("""\
Do the two names of each line stand for the same person, place or thing in the text that they come from? Say yes only \
where you are sure: a person is not their family, and a part is not the whole.

$pairs

Answer with JSON only: a list with the numbers of those lines that are the same, as in {"same": [1, 3]}, or {"same": []}
""")

FUSED = Template("""\
A text says several things about $first and $second:
$relations

First ask yourself what one question about these two the segments below answer. Then write the answer as one sentence \
of at most 25 words that covers all that is true of the above.
Answer with JSON only, in this form: {"question": "...", "relation": "..."}

Segments:
$segments
""")

QUESTION_ENTITIES = Template("""\
List the people, places, organisations, works, things and ideas that this question is about, written as in the question.
Answer with JSON only, in this form: {"entities": ["..."]}

Question: $question
""")

ENOUGH = Template("""\
Decide whether the segments below are enough to answer the question. Use nothing but the segments.
If they are, give the answer. If they are not, say in one sentence what is missing: which person, thing or fact should \
be looked up next.
Answer with JSON only, in this form: {"answerable": true, "answer": "...", "missing": ""}

Question: $question

Segments:
$segments
""")

ANSWER = Template("""\
Answer the question from the segments below and from nothing else. $form

Segments:
$segments

Question: $question
""")

AS_LETTER = "Choose the one option that fits best, and write only its letter, as in: Answer: B"
AS_PHRASE = "Write only the answer, as a short phrase of a few words, without an explanation."
AS_SENTENCES = "Say so if they do not hold the answer."

OTHER_ENTITIES = Template("""\
A question is being answered with the segments that name certain entities. So far these were: $tried.
That was not enough. $missing

Choose from the list below up to five entities whose segments should be read instead or as well.
Answer with JSON only, in this form: {"entities": ["a name from the list"]}

Question: $question

Entities of the text: $names
""")

ELABORATED = Template("""\
Write a longer version of the question below, to search a text with: keep what it asks for, and add the names and \
facts from the list that have to do with it. One or two sentences.
Answer with JSON only, in this form: {"question": "..."}

Question: $question

Known facts:
$relations
""")
