"""Memory backends of MemoRAG: a cached prefix, gists, or a beacon memory of one long text.

Owns the memory for prompted models. Knows no index: the strategy searches for the clues.

| name       | memory                                  | for                                        |
|------------|-----------------------------------------|--------------------------------------------|
| `kv`       | the text in a prefix cache              | a model in this process                    |
| `lite`     | gists, in a prefix cache if possible    | texts longer than the context window       |
| `api_full` | the text, sent with each question       | a server, which may have a prefix cache    |
| `api_gist` | gists, sent with each question          | a server, and texts longer than its window |
| `beacon`   | compressed keys and values of the text  | a model with beacon weights, see `beacon`  |
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ...errors import InvalidArgument, ModelError
from ...llm.disk import read_text
from ...llm.local.prefix_cache import RESERVED_TOKENS, CachedPrefix, PrefixCacheError, PrefixCachingModel
from ...llm.private_files import private_file, private_folder
from ...llm.prompting.conversation import FRAME_TOKENS
from ...llm.protocol import Cancel, CodeModel, Message
from ..budgets import room_beside
from ..metered_model import Call, MeteredModel
from ..prompting import fill
from ..values import Cost
from .gists import GistPlan, write_gists
from .prompts import PROMPTS, Language, Prompts

CLUE_TOKENS = 128
KEY_POINT_TOKENS = 512
ANSWER_TOKENS = 128  # of a draft answer


MIN_NEW_TOKENS = 32  # with a smaller context window the call fails with PromptTooLong instead


@dataclass(frozen=True, slots=True)
class BackendKind:
    has_gists: bool
    caches_prefix: bool  # keys and values of a model in this process
    must_cache: bool = False


KINDS = {
    "kv": BackendKind(has_gists=False, caches_prefix=True, must_cache=True),
    "lite": BackendKind(has_gists=True, caches_prefix=True),
    "api_full": BackendKind(has_gists=False, caches_prefix=False),
    "api_gist": BackendKind(has_gists=True, caches_prefix=False),
    "beacon": BackendKind(has_gists=False, caches_prefix=True, must_cache=True),
}

_SHORT = "`lite`, which reads gists"
_INSTEAD = {"kv": f"{_SHORT}, or `api_full`, which sends the text with each question", "beacon": _SHORT}
"""Alternatives if the text cannot be cached."""


def choose_kind(model: MeteredModel, n_tokens: int, language: Language) -> str:
    """The backend for a text of `n_tokens`: the whole text if it fits, cached if the model runs in this process."""
    caching_model = prefix_caching_model(model.model)
    fits = n_tokens <= text_room(model, language)
    if caching_model is None:
        return "api_full" if fits else "api_gist"
    return ("beacon" if is_beacon(model.model) else "kv") if fits else "lite"


def text_room(model: MeteredModel, language: Language) -> int:
    """Tokens of the context window for a text, beside the template, a question and an answer."""
    prompts, count = PROMPTS[language], model.count_tokens
    return max(1, room_beside(model.window_tokens, count(prompts.article) + count(prompts.reply), RESERVED_TOKENS))


def prefix_caching_model(model: CodeModel) -> PrefixCachingModel | None:
    """The model if it is a chat model in this process with a prefix cache."""
    inner = getattr(model, "inner", model)
    return inner if isinstance(inner, PrefixCachingModel) and model.info.chats else None


def is_beacon(model: CodeModel) -> bool:
    """Whether a model has beacon weights, which compress keys and values."""
    return model.info.backend == "beacon"


class PromptedMemory:
    """A memory of one text at a time, for any model: the text or its gists are the first turn before each question.

    Calls may run concurrently, except `memorize`. Returns model output unchanged. All methods raise ModelError, and
    return "" when cancelled.
    """

    def __init__(
        self, name: str, model: MeteredModel, gists: GistPlan | None = None, *, must_cache: bool = True
    ) -> None:
        """Without `must_cache` the text is sent with each question if it cannot be cached: `kv` becomes `api_full`.

        Raises ValueError for an unknown name.
        """
        if name not in KINDS:
            raise InvalidArgument(f"unknown memory backend {name!r}; use one of {', '.join(KINDS)}.")
        self.name = name
        self._kind = KINDS[name]
        self._must_cache = must_cache and self._kind.must_cache
        self._model = model
        self._plan = gists or GistPlan()
        self._language: Language = "en"
        self._messages: tuple[Message, ...] = ()
        self.gists: tuple[str, ...] = ()  # of the text in order; empty if the memory has the whole text
        self._prefix: CachedPrefix | None = None

    @property
    def n_tokens(self) -> int:
        """Tokens in the context before a question; 0 without a text."""
        return sum(self._model.count_tokens(message.text) for message in self._messages)

    def memorize(self, article: str, language: Language, cancel: Cancel) -> None:
        """Read a text and replace the previous one. When cancelled, the memory is empty."""
        self.reset()
        self._model.prepare(cancel)
        self._language = language
        gists: list[str] = []
        if self._kind.has_gists:
            room = text_room(self._model, language)
            gists = write_gists(self._model, article, language, room, self._plan, cancel)
        if not cancel.cancelled:
            with _quiet_when_cancelled(cancel):
                self._set_text(article, gists, None, cancel)

    def recall(self, question: str, cancel: Cancel) -> str:
        """Text spans that may help to answer, one a line."""
        return self._ask("spans", fill(self._prompts.spans, question=question), CLUE_TOKENS, cancel)

    def rewrite(self, question: str, cancel: Cancel) -> str:
        """Surrogate questions, one a line."""
        return self._ask("surrogates", fill(self._prompts.surrogates, question=question), CLUE_TOKENS, cancel)

    def answer(self, question: str, cancel: Cancel) -> str:
        return self._ask("draft", fill(self._prompts.answer, question=question), ANSWER_TOKENS, cancel)

    def summarize(self, cancel: Cancel) -> str:
        """Key points, one a line."""
        return self._ask("key points", self._prompts.key_points, KEY_POINT_TOKENS, cancel)

    def save(self, folder: Path, cancel: Cancel) -> None:
        private_folder(folder)
        private_file(folder / "gists.json")
        (folder / "gists.json").write_text(json.dumps(self.gists), "utf-8")
        if self._prefix is not None:
            with _quiet_when_cancelled(cancel):
                self._prefix.ensure_cached(cancel)
                self._prefix.save(folder / "kept", cancel)

    def load(self, folder: Path, article: str, language: Language, cancel: Cancel) -> None:
        """Load what `save` wrote for this article. Raises ModelError if it belongs to another one."""
        try:
            gists = tuple(map(str, json.loads(read_text(folder / "gists.json"))))
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise ModelError(f"{folder} is not a complete memory ({error}). Memorize the text again.") from error
        self.reset()
        self._model.prepare(cancel)
        self._language = language
        with _quiet_when_cancelled(cancel):
            self._set_text(article, gists, folder / "kept", cancel)

    def reset(self) -> None:
        """Forget the text and free its memory."""
        if self._prefix is not None:
            self._prefix.close()
        self._prefix, self._messages, self.gists = None, (), ()

    def cost_to_memorize(self, n_tokens: int) -> Cost:
        """An upper bound for a text of `n_tokens`."""
        if not self._kind.has_gists:
            return Cost()
        plan = self._plan.fitted(self._model.window_tokens)
        return plan.cost(n_tokens, text_room(self._model, self._language))

    @property
    def _prompts(self) -> Prompts:
        return PROMPTS[self._language]

    def _set_text(self, article: str, gists: Sequence[str], saved: Path | None, cancel: Cancel) -> None:
        """Make the text the prefix of each question; cached by reading it or by loading the saved cache."""
        text = "\n".join(gists) if self._kind.has_gists else article
        prompts = self._prompts
        messages = (Message("user", fill(prompts.article, article=text)), Message("assistant", prompts.reply))
        caching_model = prefix_caching_model(self._model.model) if self._kind.caches_prefix else None
        if self._must_cache:
            self._check_caching_model(caching_model)
        if caching_model is not None:
            self._prefix = self._cache_prefix(caching_model, messages, saved, cancel)
        if self._prefix is None:
            self._check_window(messages)
            if self.name == "kv":
                self.name = "api_full"
        self._messages, self.gists = messages, tuple(gists)

    def _check_caching_model(self, caching_model: PrefixCachingModel | None) -> None:
        model = self._model.model
        if caching_model is None:
            raise ModelError(
                f"{model.info.name} is not a chat model in this process, and the memory backend `{self.name}` caches "
                "the text in one. Use `api_full` or `api_gist`, or a local model."
            )
        if (self.name == "beacon") != is_beacon(model):
            raise ModelError(
                f"{model.info.name} does not support the backend `{self.name}`. Use `beacon` for a model with beacon "
                "weights (`memory.beacon_model`, or `open_beacon` in Python), and `kv` for any other local model."
            )

    def _cache_prefix(
        self, caching_model: PrefixCachingModel, messages: Sequence[Message], saved: Path | None, cancel: Cancel
    ) -> CachedPrefix | None:
        try:
            if saved is None or not (saved.is_dir() or self._kind.must_cache):
                return caching_model.cache_prefix(messages, cancel)
            prefix = caching_model.load_prefix(saved, cancel)
            if prefix.messages == tuple(messages):
                return prefix
            prefix.close()
            raise ModelError(f"{saved} is the memory of another text. Memorize this text again.")
        except PrefixCacheError as error:
            if self._must_cache:
                raise ModelError(f"{error} Or use the memory backend {_INSTEAD[self.name]}.") from error
            return None

    def _check_window(self, messages: Sequence[Message]) -> None:
        count = self._model.count_tokens
        n_tokens = sum(count(message.text) + FRAME_TOKENS for message in messages)
        if n_tokens + RESERVED_TOKENS > (window := self._model.window_tokens):
            instead = "" if self._kind.has_gists else " Or use the memory backend `api_gist`, which sends gists."
            raise ModelError(
                f"The text has {n_tokens} tokens, but the context window of {self._model.info.name} is {window} with a "
                f"question and its answer. Raise `context_tokens`, or memorize less text.{instead}"
            )

    def _ask(self, purpose: str, prompt: str, max_new_tokens: int, cancel: Cancel) -> str:
        if not self._messages or cancel.cancelled:
            return ""
        if self._prefix is not None:
            with _quiet_when_cancelled(cancel):
                self._prefix.ensure_cached(cancel)
        messages = (*self._messages, Message("user", prompt))
        count = self._model.count_tokens
        used = sum(count(message.text) + FRAME_TOKENS for message in messages)
        # If the text fills the context window, the answer is shortened.
        n_new = max(MIN_NEW_TOKENS, min(max_new_tokens, self._model.window_tokens - used))
        return self._model.ask(Call(purpose, messages, n_new), cancel)


@contextmanager
def _quiet_when_cancelled(cancel: Cancel) -> Iterator[None]:
    try:
        yield
    except ModelError:
        if not cancel.cancelled:
            raise
