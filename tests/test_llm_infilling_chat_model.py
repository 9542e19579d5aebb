"""Infilling by chat with a model in this process: the prompt fits, the answer becomes code, notes say so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from weft.llm.local.infilling_chat_model import InfillingChatModel
from weft.llm.prompting.infilling_chat import INFILLED_BY_CHAT, PREFIX_ONLY
from weft.llm.protocol import (
    Cancel,
    ChatRequest,
    CodeModel,
    CompletionRequest,
    ModelInfo,
    ModelMissing,
    Piece,
    PromptFragment,
    Speed,
)

REQUEST = CompletionRequest("shop.py", "python", "def pay(items):\n    return tot", "\n\nend = 1\n")


class Chatting:
    """A model that answers every question with the same words."""

    speed = Speed(10, 5)

    def __init__(self, answer: str, chats: bool = True) -> None:
        self.answer = answer
        self.asked: list[ChatRequest] = []
        self.is_closed = False
        self.info = ModelInfo(
            "coder", "onnx", 1000, False, False, True, chats, notes=(PREFIX_ONLY, "the context is 1000 tokens")
        )

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        self.asked.append(request)
        for letter in self.answer[: request.max_new_tokens]:
            yield Piece(letter)

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        raise AssertionError("it is asked in words")

    def prepare(self, cancel: Cancel) -> None: ...
    def warm(self, request: CompletionRequest, cancel: Cancel) -> None: ...
    def count_tokens(self, text: str) -> int:
        return -(-len(text) // 4)

    def close(self) -> None:
        self.is_closed = True


def test_the_code_in_the_answer_is_the_completion():
    model = InfillingChatModel(Chatting("Sure!\n```python\n    return total(items)\n```\n"))
    assert isinstance(model, CodeModel)
    assert "".join(piece.text for piece in model.stream(REQUEST, Cancel())) == "al(items)"


def test_what_it_does_is_said():
    info = InfillingChatModel(Chatting("")).info
    assert (info.fills_middle, info.repository_level, info.chats) == (True, False, True)
    assert info.notes == (INFILLED_BY_CHAT, "the context is 1000 tokens")


def test_a_prompt_fits_and_fragments_keep_their_order():
    chatting = Chatting("```\nx\n```")
    model = InfillingChatModel(chatting)
    good, fair = (PromptFragment((f"{name}.py",), f"{name} = 1\n", 0, 0.0) for name in ("good", "fair"))
    long = replace(REQUEST, prefix="value = 1\n" * 2000 + "tot", fragments=(good, fair))
    for fragments in ((good, fair), (fair, good)):
        list(model.stream(replace(long, fragments=fragments), Cancel()))
    first, second = ("".join(message.text for message in asked.messages) for asked in chatting.asked)
    assert first == second
    assert chatting.count_tokens(first) + chatting.asked[0].max_new_tokens <= 1000


def test_warming_reads_the_question_and_writes_a_token():
    chatting = Chatting("```\nx\n```")
    model = InfillingChatModel(chatting)
    model.warm(REQUEST, Cancel())
    list(model.stream(REQUEST, Cancel()))
    warmed, asked = chatting.asked
    assert (warmed.messages, warmed.max_new_tokens) == (asked.messages, 1)


def test_a_model_that_does_not_chat_is_refused_and_closed():
    chatting = Chatting("", chats=False)
    with pytest.raises(ModelMissing, match='coder has no chat template, so fim = "chat"'):
        InfillingChatModel(chatting)
    assert chatting.is_closed
