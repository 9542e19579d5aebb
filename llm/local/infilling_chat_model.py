"""A model in this process that fills holes by being asked in words: what `fim = "chat"` makes of one that chats.

Owns nothing but the way between the two; the words are in `hole`. Servers do the same in their own files, since there
a conversation is another address.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..prompting.infilling_chat import (
    INFILLED_BY_CHAT,
    PREFIX_ONLY,
    InfillingChat,
    build_infilling_chat,
    infill_by_chat,
)
from ..protocol import Cancel, ChatRequest, CodeModel, CompletionRequest, ModelInfo, ModelMissing, Piece, Speed
from ..streaming import LastPrompts

FRAME_TOKENS = 64
"""For the marks that a template puts around the turns. One that takes more has the question cut, not refused."""


class InfillingChatModel:
    """A `CodeModel` over one that chats. Closes it in `close`.

    Raises ModelMissing when it does not chat, and closes it then.
    """

    def __init__(self, model: CodeModel) -> None:
        if not model.info.chats:
            name = model.info.name
            model.close()
            raise ModelMissing(
                f'{name} has no template for conversations, so fim = "chat" can\'t be used. Leave it out.'
            )
        self._model = model
        self._last_prompts = LastPrompts()

    @property
    def info(self) -> ModelInfo:
        info = self._model.info
        notes = (INFILLED_BY_CHAT, *(note for note in info.notes if note != PREFIX_ONLY))
        return replace(info, fills_middle=True, repository_level=False, notes=notes)

    @property
    def inner(self) -> CodeModel:
        """The model that is asked: it may be able to keep a beginning (see `prefix_cache`)."""
        return self._model

    @property
    def speed(self) -> Speed:
        return self._model.speed

    def prepare(self, cancel: Cancel) -> None:
        self._model.prepare(cancel)

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        # A conversation can't be read without an answer; one token of it is the least.
        for _ in self._model.chat(replace(self._question(request).chat, max_new_tokens=1), cancel):
            pass

    def count_tokens(self, text: str) -> int:
        return self._model.count_tokens(text)

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        yield from infill_by_chat(self._model.chat, self._question(request), request, cancel)

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        yield from self._model.chat(request, cancel)

    def close(self) -> None:
        self._model.close()

    def _question(self, request: CompletionRequest) -> InfillingChat:
        previous = self._last_prompts.previous_fragments(request)
        question = build_infilling_chat(request, self.count_tokens, self.info.context_tokens - FRAME_TOKENS, previous)
        self._last_prompts.remember(request.path, question.fragments)
        return question
