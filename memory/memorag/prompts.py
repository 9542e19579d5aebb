"""Prompts of MemoRAG in English and Chinese, and language detection.

Data, except for `language_of`. Fields of a template are in braces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Language = Literal["en", "zh"]

LANGUAGE_CHARACTERS = 1024  # characters of a text for language detection (papers' spec 4.4)


@dataclass(frozen=True, slots=True)
class Prompts:
    """Prompts of the memory model and of the model that answers."""

    article: str  # {article}; the prefix of every question
    reply: str  # the reply of the assistant to it
    spans: str  # {question}
    surrogates: str  # {question}
    answer: str  # {question}
    key_points: str
    history: str  # {history}; before a question that may refer to it
    gist: str  # {text}
    generate: str  # {context} {question} {form}
    summarise: str  # {context} {question}, which may be empty
    draft: str  # {answer}
    pairs: str  # {n} {text}; for training data
    bridge: str  # {text} {question} {answer}; for training data
    forms: dict[str, str]  # answer formats by task, and "choice"


ENGLISH = Prompts(
    article=(
        "A long text follows. Read it from beginning to end. After it you are given tasks about it.\n\n"
        "<text>\n{article}\n</text>"
    ),
    reply="I have read the whole text. What is the first task?",
    spans=(
        "Which places of the text help to answer the question? Copy them from the text word for word, as short pieces, "
        "each on a line of its own. Write nothing else.\n\n{question}"
    ),
    surrogates=(
        "The question may be vague, or need several facts. Write the smaller and more precise questions that have to "
        "be answered first, with the names and words of the text, each on a line of its own. Write nothing else.\n\n"
        "{question}"
    ),
    answer="Answer the question from the text. Write the answer alone, as short as it can be.\n\n{question}",
    key_points=(
        "What are the main points of the text? Write them in the order of the text as a numbered list, one short "
        "sentence for each subject or event. Write nothing else."
    ),
    history="The conversation so far:\n{history}\n\nThe question may refer to it.",
    gist=(
        "Make the text below much shorter. Keep what matters: who, what, where, when, how much and why, with all names "
        "and numbers. Write plain sentences, no headings and no lists.\n\n<text>\n{text}\n</text>"
    ),
    generate=(
        "Read the passages, then answer the question from what they say. {form}\n\n<passages>\n{context}\n</passages>"
        "\n\n{question}"
    ),
    summarise=(
        "Summarise the passages below, which are from one text, in a few paragraphs. Leave out what is not in them.\n\n"
        "<passages>\n{context}\n</passages>\n\n{question}"
    ),
    draft="An answer from memory, which may be wrong: {answer}",
    pairs=(
        "Write {n} questions about the text below that can only be answered by someone who has read much of it: about "
        "causes, changes, relations and the whole, not about one sentence. Give each a short answer. Write a JSON list "
        'of objects like {"question": "…", "answer": "…"} and nothing else.\n\n<text>\n{text}\n</text>'
    ),
    bridge=(
        "The question below was answered from the text. Which facts of the text lead from the question to the answer? "
        "Write each on a line of its own, with the names and words of the text. Write nothing else.\n\n<text>\n{text}\n"
        "</text>\n\nQuestion: {question}\nAnswer: {answer}"
    ),
    forms={
        "": "Be brief.",
        "short": "Write the answer alone, in a few words.",
        "choice": "Write the letter of the right choice and nothing else.",
    },
)

CHINESE = Prompts(
    article="下面是一篇长文。请从头到尾读完，之后会有关于它的任务。\n\n<文章>\n{article}\n</文章>",
    reply="我已读完全文。第一个任务是什么？",
    spans="文中哪些地方有助于回答这个问题？请逐字摘抄这些短句，每行一条，不要写其他内容。\n\n{question}",
    surrogates=(
        "这个问题可能比较含糊，或者需要多个事实。请用文中的名称和用词，写出需要先回答的、更小更明确的问题，"
        "每行一个，不要写其他内容。\n\n{question}"
    ),
    answer="请根据文章回答问题。只写答案，越短越好。\n\n{question}",
    key_points="文章的要点是什么？请按文章顺序写成编号列表，每个主题或事件一句短话，不要写其他内容。",
    history="此前的对话：\n{history}\n\n问题可能提到其中的内容。",
    gist=(
        "请把下面的文字大幅压缩。保留要紧的内容：谁、什么、哪里、何时、多少、为什么，以及所有名称和数字。"
        "只写普通的句子，不要标题和列表。\n\n<文章>\n{text}\n</文章>"
    ),
    generate="请阅读这些段落，然后根据其内容回答问题。{form}\n\n<段落>\n{context}\n</段落>\n\n{question}",
    summarise="下面的段落出自同一篇文章。请用几段话概括，不要写其中没有的内容。\n\n<段落>\n{context}\n</段落>\n\n{question}",
    draft="凭记忆给出的答案，可能有误：{answer}",
    pairs=(
        "请就下面的文章写{n}个问题，只有读过大部分内容的人才能回答：关于原因、变化、关系和整体，而不是某一句话。"
        '每个问题附简短答案。只写一个 JSON 列表，元素形如 {"question": "…", "answer": "…"}，不要写其他内容。'
        "\n\n<文章>\n{text}\n</文章>"
    ),
    bridge=(
        "下面的问题是根据文章回答的。文中哪些事实把问题引向答案？请用文中的名称和用词，每行写一条，不要写其他内容。"
        "\n\n<文章>\n{text}\n</文章>\n\n问题：{question}\n答案：{answer}"
    ),
    forms={"": "请简短回答。", "short": "只写答案，几个字即可。", "choice": "只写正确选项的字母。"},
)

PROMPTS: dict[Language, Prompts] = {"en": ENGLISH, "zh": CHINESE}


def language_of(text: str) -> Language:
    """Chinese if a tenth of the first letters are Chinese and none are Japanese kana, otherwise English.

    A Chinese character carries as much as about four letters.
    """
    beginning = text[:LANGUAGE_CHARACTERS]
    n_chinese, n_letters = len(_CHINESE.findall(beginning)), sum(map(str.isalpha, beginning))
    return "zh" if n_chinese and 10 * n_chinese >= n_letters and not _KANA.search(beginning) else "en"


_CHINESE, _KANA = re.compile("[\u3400-\u9fff]"), re.compile("[\u3041-\u30ff]")
