"""The memory of one long text that a model is asked about: as it read it, or in a much shorter version.

Owns the protocol of memories, the four that any model can have, and the one of a model that was trained to have it.
Knows no index: what a memory says is searched for elsewhere.

| name       | the model has                          | for                                        |
|------------|----------------------------------------|--------------------------------------------|
| `kv`       | the text, read once and kept           | a model in this process                    |
| `lite`     | gists of its pieces, kept where it can | texts longer than the window               |
| `api_full` | the text, sent first with each question | a server, which may keep what stands first |
| `api_gist` | gists, sent with each question         | a server, and texts longer than its window |
| `beacon`   | a few keys and values for many tokens  | a model with beacon weights, see `beacon`  |
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ...llm.disk import read_text
from ...llm.local.prefix_cache import RESERVED_TOKENS, CachedPrefix, PrefixCacheError, PrefixCachingModel
from ...llm.private_files import private_file, private_folder
from ...llm.prompting.conversation import FRAME_TOKENS
from ...llm.protocol import Cancel, CodeModel, Message, ModelError
from ..metered_model import Call, MeteredModel
from ..templates import fill
from ..values import Cost
from ..window import room_beside
from .gists import GistPlan, write_gists
from .prompts import PROMPTS, Language, Prompts

CLUE_TOKENS = 128
KEY_POINT_TOKENS = 512
ANSWER_TOKENS = 128
"""Of an answer from memory, which is also the draft."""


FEWEST_NEW_TOKENS = 32
"""With less nothing is said; the accountant then says that the question is too long."""


class MemoryBackend(Protocol):
    """A memory of one text at a time. Questions may be asked at once, `memorize` not beside them.

    Answers are as the model wrote them. All raise ModelError, and end early with "" when cancelled.
    """

    @property
    def name(self) -> str: ...

    @property
    def n_tokens(self) -> int:
        """What the model has before a question; 0 when there is no memory."""
        ...

    def memorize(self, article: str, language: Language, cancel: Cancel) -> None:
        """Read the text in place of what was read before. Nothing is remembered when cancelled."""
        ...

    def recall(self, question: str, cancel: Cancel) -> str:
        """Pieces of the text that may help, one a line."""
        ...

    def rewrite(self, question: str, cancel: Cancel) -> str:
        """Smaller questions that have to be answered first, one a line."""
        ...

    def answer(self, question: str, cancel: Cancel) -> str: ...

    def summarize(self, cancel: Cancel) -> str:
        """Key points, one a line."""
        ...

    def save(self, folder: Path, cancel: Cancel) -> None: ...

    def load(self, folder: Path, article: str, language: Language, cancel: Cancel) -> None:
        """What `save` wrote for this article. Raises ModelError when it is of something else."""
        ...

    def reset(self) -> None:
        """Forget the text and give its memory back."""
        ...

    def cost_to_memorize(self, n_tokens: int) -> Cost:
        """An upper bound for a text of so many tokens."""
        ...


@dataclass(frozen=True, slots=True)
class BackendKind:
    has_gists: bool
    caches_prefix: bool  # the model's keys and values, where the model is in this process
    must_cache: bool = False


KINDS = {
    "kv": BackendKind(has_gists=False, caches_prefix=True, must_cache=True),
    "lite": BackendKind(has_gists=True, caches_prefix=True),
    "api_full": BackendKind(has_gists=False, caches_prefix=False),
    "api_gist": BackendKind(has_gists=True, caches_prefix=False),
    "beacon": BackendKind(has_gists=False, caches_prefix=True, must_cache=True),
}

_SHORT = "lite, which reads a short version"
_INSTEAD = {"kv": f"{_SHORT}, or api_full, which sends the text with each question", "beacon": _SHORT}
"""Of a text that cannot be kept."""


def choose_kind(model: MeteredModel, n_tokens: int, language: Language) -> str:
    """The memory for a text of so many tokens: whole where it fits, kept where the model is in this process."""
    caching_model = prefix_caching_model(model.model)
    fits = n_tokens <= text_room(model, language)
    if caching_model is None:
        return "api_full" if fits else "api_gist"
    return ("beacon" if is_beacon(model.model) else "kv") if fits else "lite"


def text_room(model: MeteredModel, language: Language) -> int:
    """Tokens of the model's window that a text may take, beside what is said around it, a question and an answer."""
    prompts, count = PROMPTS[language], model.count_tokens
    return max(1, room_beside(model.window_tokens, count(prompts.article) + count(prompts.reply), RESERVED_TOKENS))


def prefix_caching_model(model: CodeModel) -> PrefixCachingModel | None:
    """The model in this process that can keep what it read, if there is one and it chats."""
    inner = getattr(model, "inner", model)
    return inner if isinstance(inner, PrefixCachingModel) and model.info.chats else None


def is_beacon(model: CodeModel) -> bool:
    """Whether a model keeps texts by beacon weights: in a fraction of its keys and values."""
    return model.info.backend == "beacon"


class PromptedMemory:
    """A `MemoryBackend` of any model: the text, or its gists, stands before each question as a turn of its own."""

    def __init__(
        self, name: str, model: MeteredModel, gists: GistPlan | None = None, *, must_cache: bool = True
    ) -> None:
        """Without `must_cache` a model that cannot keep the text is sent it, so that `kv` becomes `api_full`.

        Raises ValueError for an unknown name.
        """
        if name not in KINDS:
            raise ValueError(f"no memory is called {name!r}; there are {', '.join(KINDS)}.")
        self.name = name
        self._kind = KINDS[name]
        self._must_cache = must_cache and self._kind.must_cache
        self._model = model
        self._plan = gists or GistPlan()
        self._language: Language = "en"
        self._messages: tuple[Message, ...] = ()
        self._gists: tuple[str, ...] = ()
        self._prefix: CachedPrefix | None = None

    @property
    def n_tokens(self) -> int:
        return sum(self._model.count_tokens(message.text) for message in self._messages)

    @property
    def gists(self) -> tuple[str, ...]:
        """What the text was made of, piece by piece; empty in a memory of the whole text."""
        return self._gists

    def memorize(self, article: str, language: Language, cancel: Cancel) -> None:
        self.reset()
        self._model.prepare(cancel)
        self._language = language
        gists: tuple[str, ...] = ()
        if self._kind.has_gists:
            room = text_room(self._model, language)
            gists = tuple(write_gists(self._model, article, language, room, self._plan, cancel))
        if not cancel.cancelled:
            with _quiet_when_cancelled(cancel):
                self._set_text(article, gists, None, cancel)

    def recall(self, question: str, cancel: Cancel) -> str:
        return self._ask("spans", fill(self._prompts.spans, question=question), CLUE_TOKENS, cancel)

    def rewrite(self, question: str, cancel: Cancel) -> str:
        return self._ask("surrogates", fill(self._prompts.surrogates, question=question), CLUE_TOKENS, cancel)

    def answer(self, question: str, cancel: Cancel) -> str:
        return self._ask("draft", fill(self._prompts.answer, question=question), ANSWER_TOKENS, cancel)

    def summarize(self, cancel: Cancel) -> str:
        return self._ask("key points", self._prompts.key_points, KEY_POINT_TOKENS, cancel)

    def save(self, folder: Path, cancel: Cancel) -> None:
        private_folder(folder)
        private_file(folder / "gists.json")
        (folder / "gists.json").write_text(json.dumps(self._gists), "utf-8")
        if self._prefix is not None:
            with _quiet_when_cancelled(cancel):
                self._prefix.ensure_cached(cancel)
                self._prefix.save(folder / "kept", cancel)

    def load(self, folder: Path, article: str, language: Language, cancel: Cancel) -> None:
        try:
            gists = tuple(map(str, json.loads(read_text(folder / "gists.json"))))
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise ModelError(f"{folder} holds no whole memory ({error}). Memorise the text again.") from error
        self.reset()
        self._model.prepare(cancel)
        self._language = language
        with _quiet_when_cancelled(cancel):
            self._set_text(article, gists, folder / "kept", cancel)

    def reset(self) -> None:
        if self._prefix is not None:
            self._prefix.close()
        self._prefix, self._messages, self._gists = None, (), ()

    def cost_to_memorize(self, n_tokens: int) -> Cost:
        if not self._kind.has_gists:
            return Cost()
        plan = self._plan.fitted(self._model.window_tokens)
        return plan.cost(n_tokens, text_room(self._model, self._language))

    @property
    def _prompts(self) -> Prompts:
        return PROMPTS[self._language]

    def _set_text(self, article: str, gists: Sequence[str], saved: Path | None, cancel: Cancel) -> None:
        """Have the text before each question from now on; kept by the model, read again or as it was saved."""
        text = "\n".join(gists) if self._kind.has_gists else article
        prompts = self._prompts
        messages = (
            Message("user", fill(prompts.article, article=text)),
            Message("assistant", prompts.reply),
        )
        caching_model = prefix_caching_model(self._model.model) if self._kind.caches_prefix else None
        if self._must_cache:
            self._check_caching_model(caching_model)
        if caching_model is not None:
            self._prefix = self._cache_prefix(caching_model, messages, saved, cancel)
        if self._prefix is None:
            self._check_window(messages)
            if self.name == "kv":
                self.name = "api_full"
        self._messages, self._gists = messages, tuple(gists)

    def _check_caching_model(self, caching_model: PrefixCachingModel | None) -> None:
        model = self._model.model
        if caching_model is None:
            raise ModelError(
                f"{model.info.name} is not a chat model in this process, and the memory {self.name} keeps what such a "
                "model read. Choose api_full or api_gist, or open a local model."
            )
        if (self.name == "beacon") != is_beacon(model):
            raise ModelError(
                f"{model.info.name} can't have the memory {self.name}. Choose beacon for a model with beacon weights "
                "(memory.beacon_model, or open_beacon in Python), kv for any other in this process."
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
            raise ModelError(f"{saved} holds the memory of another text. Memorise this one again.")
        except PrefixCacheError as error:
            if self._must_cache:
                raise ModelError(f"{error} Or choose the memory {_INSTEAD[self.name]}.") from error
            return None

    def _check_window(self, messages: Sequence[Message]) -> None:
        count = self._model.count_tokens
        n_tokens = sum(count(message.text) + FRAME_TOKENS for message in messages)
        if n_tokens + RESERVED_TOKENS > (window := self._model.window_tokens):
            instead = "" if self._kind.has_gists else " Or choose the memory api_gist, which sends a short version."
            raise ModelError(
                f"The text takes {n_tokens} tokens, and {self._model.info.name} holds {window} with a "
                f"question and its answer. Raise context_tokens, or memorise less.{instead}"
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
        # Behind a text that fills the window an answer is shorter rather than none.
        n_new = max(FEWEST_NEW_TOKENS, min(max_new_tokens, self._model.window_tokens - used))
        return self._model.ask(Call(purpose, messages, n_new), cancel)


@contextmanager
def _quiet_when_cancelled(cancel: Cancel) -> Iterator[None]:
    """What was cancelled is no error."""
    try:
        yield
    except ModelError:
        if not cancel.cancelled:
            raise
