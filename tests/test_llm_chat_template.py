"""Conversations through templates of models, with a tokenizer whose special tokens stand in angle brackets."""

from __future__ import annotations

import json
import re

import pytest
from weft.errors import ModelError
from weft.llm.prompting.chat_template import load_chat_template, template_in
from weft.llm.protocol import Message

pytest.importorskip("jinja2", reason="chat templates need jinja2")

CHATML = """
{%- for message in messages %}
    {{- '<start>' + message.role + '\n' + message.content | trim + '<end>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<start>assistant\n' }}
{%- endif %}
"""
NO_SYSTEM = """
{%- for message in messages %}
    {%- if message.role == 'system' %}{{ raise_exception('no system messages') }}{% endif %}
    {{- bos_token if loop.first else '' }}{{ message.role }}: {{ message.content }}
{% endfor %}
"""
QUESTION = Message("user", "Why?")


class BracketTokenizer:
    """A letter is its code point; `<name>` is one token, 1000 and the length of its name."""

    def __init__(self, start: int | None = None) -> None:
        self.start = start

    def encode(self, text: str) -> list[int]:
        return [ord(letter) for letter in text]

    def encode_markup(self, text: str) -> list[int]:
        parts = re.split(r"(<\w+>)", text)
        return [t for part in parts for t in ([1000 + len(part) - 2] if part[:1] == "<" else self.encode(part))]


def shown(tokens: list[int]) -> str:
    return "".join(chr(token) if token < 1000 else f"[{token - 1000}]" for token in tokens)


def read(source: str, *messages: Message) -> str:
    tokens, notes = load_chat_template(source, BracketTokenizer())
    assert tokens is not None and not notes
    return shown(tokens(messages))


def test_a_conversation_is_written_as_the_template_says_up_to_the_answer():
    conversation = (Message("system", "Be short."), QUESTION, Message("assistant", "So."), Message("user", "Oh."))
    assert read(CHATML, *conversation) == (
        "[5]system\nBe short.[3]\n[5]user\nWhy?[3]\n[5]assistant\nSo.[3]\n[5]user\nOh.[3]\n[5]assistant\n"
    )


def test_letters_of_special_tokens_in_a_message_stay_letters():
    assert read(CHATML, Message("user", "<end> ends")) == "[5]user\n<end> ends[3]\n[5]assistant\n"


def test_markup_of_jinja_in_a_message_is_text():
    assert "{{ 7 * 7 }}" in read(CHATML, Message("user", "{{ 7 * 7 }}"))


def test_system_messages_go_before_the_question_where_the_template_refuses_them():
    assert read(NO_SYSTEM, Message("system", "Be short."), QUESTION) == "user: Be short.\n\nWhy?\n"


def test_a_start_token_that_the_template_leaves_out_is_put_first():
    tokens, _ = load_chat_template(CHATML, BracketTokenizer(1001))
    assert tokens is not None
    assert shown(tokens([QUESTION])) == "[1][5]user\nWhy?[3]\n[5]assistant\n"


def test_a_start_token_that_the_template_writes_is_not_doubled():
    tokens, _ = load_chat_template(NO_SYSTEM, BracketTokenizer(1005), start="<start>")
    assert tokens is not None
    assert shown(tokens([QUESTION])) == "[5]user: Why?\n"


def test_without_a_template_there_are_no_conversations():
    assert load_chat_template("", BracketTokenizer()) == (None, ())


def test_a_broken_template_is_a_note_and_no_conversations():
    tokens, notes = load_chat_template("{% for %}", BracketTokenizer())
    assert tokens is None
    assert "is invalid" in notes[0]


def test_a_template_that_refuses_says_so():
    tokens, _ = load_chat_template("{{ raise_exception('never') }}", BracketTokenizer())
    assert tokens is not None
    with pytest.raises(ModelError, match="never"):
        tokens([QUESTION])


def test_a_template_reaches_nothing_of_this_process():
    tokens, _ = load_chat_template("{{ messages.__class__.__mro__[1].__subclasses__() }}", BracketTokenizer())
    assert tokens is not None
    with pytest.raises(ModelError, match="unsafe"):
        tokens([QUESTION])


def test_a_directory_says_its_template_and_tokens(tmp_path):
    settings = {"chat_template": "one", "bos_token": {"content": "<s>"}, "eos_token": "</s>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    assert template_in(tmp_path) == {"source": "one", "start": "<s>", "end": "</s>"}


def test_of_several_templates_the_default_is_taken(tmp_path):
    named = [{"name": "tool_use", "template": "two"}, {"name": "default", "template": "one"}]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    assert template_in(tmp_path)["source"] == "one"


def test_a_template_in_a_file_of_its_own_is_found(tmp_path):
    (tmp_path / "chat_template.jinja").write_text("one")
    assert template_in(tmp_path)["source"] == "one"


@pytest.mark.parametrize("content", ["", "[]", "{", '{"chat_template": null}'])
def test_a_directory_without_a_template_has_none(tmp_path, content):
    (tmp_path / "tokenizer_config.json").write_text(content)
    assert template_in(tmp_path) == {"source": "", "start": "", "end": ""}
