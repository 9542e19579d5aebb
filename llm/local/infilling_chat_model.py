"""Infilling by chat for a model in this process, chosen by `fim = "chat"`.

Adapts a chat model to code completion; the prompt is in `infilling_chat`. Servers do the same in their own files, since
their chat is another endpoint.
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
from ..protocol import Cancel, CodeModel, CompletionRequest, ModelInfo, ModelMissing, ModelWrapper, Piece
from ..streaming import LastPrompts

# Reserved for the text of a chat template around the turns. A longer template shortens the prompt further.
TEMPLATE_TOKENS = 64


class InfillingChatModel(ModelWrapper):
    """A `CodeModel` over a chat model, which it owns.

    Raises ModelMissing when the model can't chat, and closes it then.
    """

    def __init__(self, model: CodeModel) -> None:
        if not model.info.chats:
            name = model.info.name
            model.close()
            raise ModelMissing(
                f'{name} has no chat template, so fim = "chat" can\'t be used. Remove it, or choose a chat model.'
            )
        super().__init__(model)
        self._last_prompts = LastPrompts()

    @property
    def info(self) -> ModelInfo:
        info = self._model.info
        notes = (INFILLED_BY_CHAT, *(note for note in info.notes if note != PREFIX_ONLY))
        return replace(info, fills_middle=True, repository_level=False, notes=notes)

    @property
    def inner(self) -> CodeModel:
        """The chat model, which may have a prefix cache."""
        return self._model

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        # `chat` has no prefill alone; one token is the shortest answer.
        for _ in self._model.chat(replace(self._infilling_chat(request).chat, max_new_tokens=1), cancel):
            pass

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        if request.prompt:
            yield from self._model.stream(request, cancel)
            return
        yield from infill_by_chat(self._model.chat, self._infilling_chat(request), request, cancel)

    def _infilling_chat(self, request: CompletionRequest) -> InfillingChat:
        previous = self._last_prompts.previous_fragments(request)
        prompt = build_infilling_chat(request, self.count_tokens, self.info.context_tokens - TEMPLATE_TOKENS, previous)
        self._last_prompts.remember(request.path, prompt.fragments)
        return prompt
