"""The Ollama protocol: models with a Go template, which shows the FIM format.

`/api/show` returns the template and, with `verbose`, the vocabulary. When the FIM tokens can be read from the template,
Weft sends the whole prompt (`raw`), with the repository tokens of the format if the vocabulary has all of them.
Otherwise the server fills its template from `prompt` and `suffix`.

Ollama loads a model for one context size and reloads it for another. `num_ctx` is therefore chosen once; the size of an
already loaded model is used when it is large enough.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any

from ..prompting.formats import FIM_FORMATS, FimTokens
from ..prompting.prompts import build_prompt
from ..protocol import Cancel, ChatRequest, CompletionRequest, ModelInfo, ModelMissing, Piece
from ..text import did_you_mean
from .endpoint import ErrorResponse
from .model import (
    Fragments,
    HttpModel,
    PostRequest,
    chat_messages,
    number_of,
    plain_text,
    sampling_options,
    stop_texts,
    string_of,
)

GENERATE, CHAT, SHOW = "/api/generate", "/api/chat", "/api/show"
KEEP_ALIVE = "30m"  # the default of 5 minutes is short, and a large model takes long to load
MAX_VOCABULARY_BYTES = 32 << 20  # 262,000 tokens with merges and scores take 16 MB
FRESH_LOAD_S = 0.5  # a model that took longer to load was not in memory, so no token of the prompt was cached


class OllamaModel(HttpModel):
    """A `CodeModel` served by Ollama. An empty `name` means the only model that was pulled."""

    backend = "ollama"

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(url, **options)
        self._stops: tuple[str, ...] = ()  # of the model file; stop texts in a request would replace them
        self._num_ctx = self._context_tokens
        self._options: dict[str, object] = {}
        self._digest = ""

    def _probe(self, cancel: Cancel) -> ModelInfo:
        self._model = self._wanted_name or self._only_name(cancel)
        about = self._show(cancel)
        values = about.get("model_info")
        values = values if isinstance(values, dict) else {}
        template, parameters = string_of(about.get("template")), _parameters(string_of(about.get("parameters")))
        tokens = values.get("tokenizer.ggml.tokens")
        vocabulary = frozenset(token for token in tokens if isinstance(token, str)) if isinstance(tokens, list) else ()
        can = about.get("capabilities")
        capabilities = can if isinstance(can, list) else []
        chats = any(
            (".Messages" in template, ".System" in template, about.get("renderer"), "tokenizer.chat_template" in values)
        )
        inserts = "insert" in capabilities or ".Suffix" in template
        fim = fim_of_template(template, vocabulary) if self._choice.way == "probe" else None
        if fim is None:
            is_known = bool(vocabulary) or self._choice.way == "probe"
            fim = self._choice.tokens_in(vocabulary) if is_known else self._choice.tokens
        self._choose_infilling(self._model, fim, chats=chats, takes_suffix=inserts)
        self._stops = tuple(value for name, value in parameters if name == "stop")
        # A reasoning model would otherwise reason before every completion.
        self._options = {"think": False} if "thinking" in capabilities else {}
        self._num_ctx = self._context_size(values, dict(parameters), cancel)
        self._digest = self._current_digest(cancel)
        found = self._probed(self._model, self._num_ctx, chats=chats, notes=self._notes(about))
        # Ollama forwards requests for its cloud models.
        return replace(found, local=self._endpoint.local and not about.get("remote_host"))

    def _is_same_model(self, cancel: Cancel) -> bool:
        return bool(self._digest) and self._digest == self._current_digest(cancel)

    def _completion_request(
        self, request: CompletionRequest, previous: Fragments, context_tokens: int, cancel: Cancel
    ) -> PostRequest:
        body = self._body(request.max_new_tokens, (*stop_texts(request), *self._stops))
        suffix = ""
        if self._uses_suffix and not request.prompt:
            suffix, context_tokens = self._split_suffix(request, context_tokens)
        prompt = build_prompt(request, self._fim, self.count_tokens, context_tokens, previous)
        body["prompt"] = plain_text(prompt, self._fim)
        # Silent truncation would remove FIM tokens; after an error the prompt is built again, shorter.
        body["truncate"] = False
        if suffix:
            body["suffix"] = suffix
        else:
            body["raw"] = True  # without a suffix the server would apply its chat template
        return PostRequest(GENERATE, body, prompt.fragments)

    def _prefill_request(self, post: PostRequest) -> PostRequest | None:
        options = post.body["options"]
        assert isinstance(options, dict)
        # Not 0, which Ollama treats as no limit.
        return replace(post, body={**post.body, "options": {**options, "num_predict": 1}})

    def _chat_request(self, request: ChatRequest) -> PostRequest:
        stops = (*request.stop, *self._stops) if request.stop else ()
        body = self._body(request.max_new_tokens, stops, sampling_options(request))
        return PostRequest(CHAT, {**body, "messages": chat_messages(request)})

    def _parse_event(self, event: dict[str, Any]) -> Piece | None:
        if event.get("done"):
            self._measure(event)
        return Piece(string_of(event.get("response")))

    def _parse_chat_event(self, event: dict[str, Any]) -> Piece | None:
        if event.get("done"):
            self._measure(event)
        message = event.get("message")
        return Piece(string_of(message.get("content"))) if isinstance(message, dict) else None

    def _body(
        self, max_new_tokens: int, stops: tuple[str, ...], sampled: Mapping[str, object] | None = None
    ) -> dict[str, object]:
        options: dict[str, object] = {
            "num_predict": max_new_tokens,
            "temperature": 0,
            "repeat_penalty": 1.0,  # the default of 1.1 penalises the repetitions that code needs
            "num_ctx": self._num_ctx,
            **(sampled or {}),
        }
        if stops:
            options["stop"] = list(dict.fromkeys(stops))
        return {"model": self._model, "stream": True, "keep_alive": KEEP_ALIVE, "options": options, **self._options}

    def _context_size(self, values: dict[str, Any], parameters: dict[str, str], cancel: Cancel) -> int:
        """`num_ctx` for all requests."""
        trained = number_of(values.get(f"{string_of(values.get('general.architecture'))}.context_length"))
        wanted = min(self._context_tokens, trained or self._context_tokens)
        loaded = number_of(self._entry("/api/ps", cancel).get("context_length"))
        if loaded >= wanted:
            return loaded
        written = parameters.get("num_ctx", "")
        return max(wanted, int(written)) if written.isdecimal() else wanted

    def _current_digest(self, cancel: Cancel) -> str:
        return string_of(self._entry("/api/tags", cancel).get("digest"))

    def _entry(self, path: str, cancel: Cancel) -> dict[str, Any]:
        """The model's entry in the list at `path`; empty when it has none, in `/api/ps` when it is not in memory."""
        wanted = _full_name(self._model)
        return next((model for model in self._models(path, cancel) if _full_name(model["name"]) == wanted), {})

    def _models(self, path: str, cancel: Cancel) -> list[dict[str, Any]]:
        response = self._endpoint.get(path, cancel)
        models = response.get("models") if isinstance(response, dict) else None
        return [model for model in models or () if isinstance(model, dict) and isinstance(model.get("name"), str)]

    def _show(self, cancel: Cancel) -> dict[str, Any]:
        try:
            about = self._endpoint.post(
                SHOW, {"model": self._model, "verbose": True}, cancel, max_bytes=MAX_VOCABULARY_BYTES
            )
        except ErrorResponse as error:
            if error.status != 404:
                raise
            guess = did_you_mean(self._model, self._pulled_names(cancel))
            raise ModelMissing(
                f"Ollama at {self._endpoint.url} has no model {self._model}.{guess} Run `ollama pull {self._model}`."
            ) from error
        return about if isinstance(about, dict) else {}

    def _only_name(self, cancel: Cancel) -> str:
        names = self._pulled_names(cancel)
        if not names:
            raise ModelMissing(f"Ollama at {self._endpoint.url} has no models. Run `ollama pull` with the name of one.")
        if len(names) > 1:
            raise ModelMissing(f"Ollama has more than one model. Set `name` to one of: {', '.join(names)}.")
        return names[0]

    def _pulled_names(self, cancel: Cancel) -> list[str]:
        return [model["name"] for model in self._models("/api/tags", cancel)]

    def _measure(self, event: dict[str, Any]) -> None:
        self._meter.record_decode(number_of(event.get("eval_count")), number_of(event.get("eval_duration")) / 1e9)
        # `prompt_eval_count` includes cached tokens, the duration does not: comparable only without cached tokens.
        if number_of(event.get("load_duration")) / 1e9 >= FRESH_LOAD_S:
            n_tokens, seconds = event.get("prompt_eval_count"), number_of(event.get("prompt_eval_duration")) / 1e9
            self._meter.record_prefill(number_of(n_tokens), seconds)

    def _notes(self, about: dict[str, Any]) -> list[str]:
        notes = self._infilling_notes(self._fim or self._uses_suffix)
        if host := string_of(about.get("remote_host")):
            notes.append(f"Ollama sends the prompts of this model to {host}")
        return notes


def fim_of_template(template: str, vocabulary: Container[str]) -> FimTokens | None:
    """The FIM tokens that a Go template writes around `.Prompt` and `.Suffix`; None where these are not adjacent.

    A known format with the same tokens is returned when `vocabulary` has all of them, since it also has repository
    tokens.
    """
    texts, actions = _parts(template)
    for i, action in enumerate(actions):
        before, between, after = texts[i], texts[i + 1], texts[i + 2] if i + 2 < len(texts) else ""
        following = actions[i + 1] if i + 1 < len(actions) else ""
        if (action, following) == (".Prompt", ".Suffix"):
            found = FimTokens(before, between, after)
        elif (action, following) == (".Suffix", ".Prompt"):
            found = FimTokens(between, before, after, suffix_first=True)
        else:
            continue
        if found.prefix.strip() and found.suffix.strip():
            return _known(found, vocabulary) or found
    return None


_ACTION = re.compile(r"\{\{(-?)\s*(.*?)\s*(-?)\}\}", re.DOTALL)


def _parts(template: str) -> tuple[list[str], list[str]]:
    """The texts of a template and the actions between them; a minus in an action trims the white space beside it."""
    texts, actions, end, trims = [], [], 0, False
    for match in _ACTION.finditer(template):
        text = template[end : match.start()]
        text = text.lstrip() if trims else text
        texts.append(text.rstrip() if match[1] else text)
        actions.append(match[2].removeprefix("$"))
        end, trims = match.end(), bool(match[3])
    last = template[end:]
    return [*texts, last.lstrip() if trims else last], actions


def _known(found: FimTokens, vocabulary: Container[str]) -> FimTokens | None:
    letters = (found.prefix, found.suffix, found.middle, found.suffix_first)
    for tokens in FIM_FORMATS.values():
        same = (tokens.prefix + tokens.opening, tokens.suffix, tokens.middle, tokens.suffix_first) == letters
        if same and all(token in vocabulary for token in (*tokens.all, *tokens.signs)):
            return tokens
    return None


def _parameters(text: str) -> list[tuple[str, str]]:
    """The parameters of a model file: lines of a name, spaces, and a value that may be quoted."""
    parameters = []
    for line in text.splitlines():
        name, _, value = line.strip().partition(" ")
        value = value.strip()
        if value.startswith('"'):
            try:
                value = str(json.loads(value))
            except ValueError:
                continue
        if value:
            parameters.append((name, value))
    return parameters


def _full_name(name: str) -> str:
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"
