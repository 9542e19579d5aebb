"""Servers of OpenAI's protocol, replayed as their documentation shows them: vLLM, TGI, llama-cpp-python's, others.

What the servers say is taken from: "OpenAI-Compatible Server" and the source of `/tokenize` of vLLM; the OpenAPI
description of Text Generation Inference (docs/openapi.json); `llama_cpp/server` of llama-cpp-python 0.3.36;
"Fill-in-the-middle" of Mistral's API. None of them but llama.cpp's own server was run.
"""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from weft.errors import ModelError
from weft.llm.backends import ModelConfig, open_model
from weft.llm.http.model import plain_text
from weft.llm.prompting.formats import FIM_FORMATS
from weft.llm.prompting.prompts import build_prompt
from weft.llm.protocol import (
    Cancel,
    ChatRequest,
    CodeModel,
    CompletionRequest,
    Message,
    ModelMissing,
    ModelUnreachable,
    PromptFragment,
    PromptPart,
)

REQUEST = CompletionRequest(
    "shop.py",
    "python",
    "def pay():\n    return tot",
    "\n\nend = 1\n",
    (PromptFragment(("price.py",), "def total(): ...\n", 0, 1.0),),
    "market",
)
QUESTION = ChatRequest((Message("system", "Be short."), Message("user", "What is this?")))
QWEN = FIM_FORMATS["qwen"].all
START = 1
"""The token that some tokenizers put before every text."""

Replaying = Callable[..., Any]


def open_at(url: str, **config: Any) -> CodeModel:
    model = open_model(ModelConfig(**{"backend": "openai", "url": url, **config}))
    assert isinstance(model, CodeModel)
    return model


def text_of(stream: Iterator[Any]) -> str:
    return "".join(piece.text for piece in stream)


def complete(url: str, request: CompletionRequest = REQUEST, **config: Any) -> str:
    return text_of(open_at(url, **config).stream(request, Cancel()))


def tokens_of(text: str, special: tuple[str, ...]) -> list[int]:
    """A tokenizer that knows `special` and else reads letter by letter."""
    numbers: list[int] = []
    while text:
        token = next((token for token in special if text.startswith(token)), text[0])
        numbers.append(1000 + special.index(token) if token in special else ord(token))
        text = text[len(token) :]
    return numbers


def completion_chunks(*texts: str, **last: Any) -> list[Any]:
    chunks = [{"object": "text_completion", "choices": [{"index": 0, "text": text}]} for text in texts]
    return [*chunks, *([last] if last else []), "data: [DONE]"]


def chat_chunks(*texts: str) -> list[Any]:
    head = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}
    return [head, *({"choices": [{"index": 0, "delta": {"content": text}}]} for text in texts), "data: [DONE]"]


def chatting(*texts: str) -> Callable[[Any], None]:
    """`/v1/chat/completions`, also asked for one token without a stream."""

    def answer(reply: Any) -> None:
        if reply.body.get("stream"):
            reply.events(*chat_chunks(*texts))
        else:
            reply.json({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}}]})

    return answer


def refusing(status: int, error: Any) -> Callable[[Any], None]:
    return lambda reply: reply.json(error, status)


def vllm(special: tuple[str, ...] = QWEN, name: str = "coder", max_model_len: int = 8192) -> Any:
    """vLLM: names and length in `/v1/models`, numbers from `/tokenize`, no chat without a template, no suffix."""

    def tokenize(reply: Any) -> None:
        numbers = tokens_of(reply.body["prompt"], special)
        if reply.body.get("add_special_tokens", True):
            numbers = [START, *numbers]
        reply.json({"count": len(numbers), "max_model_len": max_model_len, "tokens": numbers, "token_strs": None})

    no_template = {
        "error": {
            "message": "As of transformers v4.44, default chat template is no longer allowed",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        }
    }
    return {
        "GET /v1/models": {
            "object": "list",
            "data": [{"id": name, "object": "model", "owned_by": "vllm", "max_model_len": max_model_len}],
        },
        "POST /tokenize": tokenize,
        "POST /v1/chat/completions": refusing(400, no_template),
        "POST /v1/completions": lambda reply: reply.events(*completion_chunks("al", "()")),
    }


def tgi(special: tuple[str, ...] = QWEN) -> Any:
    """Text Generation Inference: a start token in `/tokenize`, limits in `/info`, chat, no suffix."""

    def tokenize(reply: Any) -> None:
        numbers = [START, *tokens_of(reply.body["inputs"], special)]
        reply.json([{"id": number, "text": "?", "start": 0, "stop": 1} for number in numbers])

    return {
        "GET /v1/models": {"object": "list", "data": [{"id": "org/coder", "object": "model", "owned_by": "org/coder"}]},
        "POST /tokenize": tokenize,
        "GET /info": {"model_id": "org/coder", "max_input_tokens": 2047, "max_total_tokens": 2048, "version": "3.3.6"},
        "POST /v1/chat/completions": chatting("hi"),
        "POST /v1/completions": lambda reply: reply.events(*completion_chunks("al", "()")),
    }


def llama_cpp_python(special: tuple[str, ...] = QWEN) -> Any:
    """llama-cpp-python's server: `/extras/tokenize` with a start token; a `suffix` that is taken and broken."""
    return {
        "GET /v1/models": {"object": "list", "data": [{"id": "coder.gguf", "object": "model", "owned_by": "me"}]},
        "POST /extras/tokenize": lambda reply: reply.json(
            {"tokens": [START, *tokens_of(reply.body["input"], special)]}
        ),
        "POST /v1/chat/completions": chatting("hi"),
        "POST /v1/completions": lambda reply: reply.events(*completion_chunks("al", "()")),
    }


def company() -> Any:
    """A server that lists models, completes and chats, and has nothing else."""
    return {
        "GET /v1/models": {"data": [{"id": "coder"}]},
        "POST /v1/chat/completions": chatting("```python\n", "al()", "\n```"),
        "POST /v1/completions": lambda reply: reply.events(*completion_chunks("al", "()")),
    }


@pytest.mark.parametrize("routes", [vllm, tgi, llama_cpp_python])
def test_the_model_s_tokens_are_found_and_fill_the_middle(replaying: Replaying, routes: Callable[[], Any]):
    server = replaying(routes())
    model = open_at(server.url)
    assert text_of(model.stream(REQUEST, Cancel())) == "al()"
    assert (model.info.fills_middle, model.info.repository_level, model.info.local) == (True, True, True)
    (body,) = server.asked_for("/v1/completions")
    assert body["prompt"].startswith(
        "<|repo_name|>market\n<|file_sep|>price.py\ndef total(): ...\n<|file_sep|>shop.py\n"
    )
    assert body["prompt"].endswith("    return tot<|fim_suffix|>\n\nend = 1\n<|fim_middle|>")
    assert (body["temperature"], body["stream"], body["stop"]) == (0, True, ["\n"])
    assert "suffix" not in body


@pytest.mark.parametrize("name", ["starcoder2", "codegemma", "deepseek", "seed-coder", "santacoder"])
def test_every_format_is_found_by_its_tokens(replaying: Replaying, name: str):
    fim = FIM_FORMATS[name]
    server = replaying(vllm(fim.all))
    complete(server.url)
    assert server.asked_for("/v1/completions")[0]["prompt"].startswith((fim.repository or fim.suffix, fim.prefix))


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/", "/v1/completions"])
def test_the_address_may_be_written_as_servers_print_it(replaying: Replaying, end: str):
    assert complete(replaying(vllm()).url + end) == "al()"


def test_vllm_says_its_name_and_its_context(replaying: Replaying):
    model = open_at(replaying(vllm(name="org/coder", max_model_len=2048)).url)
    model.prepare(Cancel())
    assert (model.info.name, model.info.context_tokens, model.info.chats) == ("org/coder", 2048, False)


def test_vllm_ends_at_the_numbers_of_special_tokens_because_it_writes_none(replaying: Replaying):
    server = replaying(vllm())
    complete(server.url)
    (body,) = server.asked_for("/v1/completions")
    assert sorted(body["stop_token_ids"]) == [1000 + i for i in range(len(QWEN))]
    assert body["stream_options"] == {"include_usage": True}


def test_tgi_bounds_the_prompt_by_its_own_limit(replaying: Replaying):
    server = replaying(tgi())
    model = open_at(server.url)
    model.prepare(Cancel())
    assert (model.info.name, model.info.context_tokens, model.info.chats) == ("org/coder", 2047, True)
    assert "stop_token_ids" not in server.asked[-1].body


def test_the_configured_context_is_not_exceeded(replaying: Replaying):
    model = open_at(replaying(vllm()).url, context_tokens=1024)
    model.prepare(Cancel())
    assert model.info.context_tokens == 1024


def test_letters_of_special_tokens_in_code_are_not_the_tokens(replaying: Replaying):
    server = replaying(vllm())
    complete(server.url, CompletionRequest("a.py", "python", 'x = "<|fim_middle|>', "", (), "market"))
    prompt = server.asked_for("/v1/completions")[0]["prompt"]
    assert prompt.count("<|fim_middle|>") == 1
    assert 'x = "< |fim_middle|>' in prompt


def test_a_special_token_that_a_server_writes_ends_the_completion(replaying: Replaying):
    routes = tgi()
    routes["POST /v1/completions"] = lambda reply: reply.events(*completion_chunks("al()", "<|file_", "sep|>", "x"))
    assert complete(replaying(routes).url) == "al()"


def test_a_server_without_known_tokens_that_chats_is_asked_in_words(replaying: Replaying):
    server = replaying(company())
    model = open_at(server.url)
    assert text_of(model.stream(REQUEST, Cancel())) == "al()"
    assert model.info.fills_middle
    assert any("completions use chat" in note for note in model.info.notes)
    assert any("set `fim`" in note for note in model.info.notes)
    body = server.asked_for("/v1/chat/completions")[-1]
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert "<before_hole>def pay():\n    return tot</before_hole>" in body["messages"][1]["content"]
    assert server.asked_for("/v1/completions") == []


def test_a_server_without_tokens_and_without_chat_continues_the_code(replaying: Replaying):
    routes = company()
    del routes["POST /v1/chat/completions"]
    server = replaying(routes)
    model = open_at(server.url)
    assert text_of(model.stream(REQUEST, Cancel())) == "al()"
    assert not model.info.fills_middle
    assert any("is not used" in note for note in model.info.notes)
    assert server.asked_for("/v1/completions")[0]["prompt"].endswith("\n\ndef pay():\n    return tot")


@pytest.mark.parametrize("status", [400, 404, 422, 500])
def test_a_conversation_that_fails_is_no_reason_not_to_complete(replaying: Replaying, status: int):
    server = replaying(vllm() | {"POST /v1/chat/completions": refusing(status, {"error": "no chat template"})})
    assert complete(server.url) == "al()"


def test_a_server_that_is_busy_while_it_is_asked_what_it_can_do_is_asked_again(replaying: Replaying):
    server = replaying(company() | {"POST /v1/chat/completions": refusing(429, {"error": "Model is overloaded"})})
    model = open_at(server.url)
    with pytest.raises(ModelUnreachable, match="overloaded"):
        list(model.stream(REQUEST, Cancel()))
    server.routes.update(company())
    assert text_of(model.stream(REQUEST, Cancel())) == "al()"
    assert model.info.fills_middle


def test_a_configured_format_is_used_where_the_server_can_t_be_asked(replaying: Replaying):
    server = replaying(company())
    assert complete(server.url, fim="qwen") == "al()"
    assert server.asked_for("/v1/completions")[0]["prompt"].endswith("\n\nend = 1\n<|fim_middle|>")


def test_a_configured_format_that_the_model_has_not_is_refused(replaying: Replaying):
    with pytest.raises(ModelMissing, match="no token <fim_prefix>"):
        complete(replaying(vllm()).url, fim="starcoder2")


def test_fim_suffix_sends_the_code_after_the_cursor_beside_the_prompt(replaying: Replaying):
    server = replaying(company())
    assert complete(server.url, fim="suffix") == "al()"
    (body,) = server.asked_for("/v1/completions")
    assert (body["suffix"], body["prompt"][-25:]) == (REQUEST.suffix, REQUEST.prefix[-25:])


def test_fim_suffix_takes_mistral_s_own_path_where_there_is_one(replaying: Replaying):
    def fim(reply: Any) -> None:
        chunk = {"choices": [{"index": 0, "delta": {"content": "al()"}}]}
        reply.events(chunk, "data: [DONE]") if reply.body.get("stream") else reply.json({"choices": []})

    server = replaying(company() | {"POST /v1/fim/completions": fim})
    assert complete(server.url, fim="suffix") == "al()"
    assert server.asked_for("/v1/fim/completions")[-1]["suffix"] == REQUEST.suffix


def test_fim_none_reads_only_the_code_before_the_cursor(replaying: Replaying):
    server = replaying(tgi())
    complete(server.url, fim="none")
    assert "end = 1" not in server.asked_for("/v1/completions")[0]["prompt"]


def test_fim_chat_at_a_model_that_does_not_chat_is_said(replaying: Replaying):
    with pytest.raises(ModelMissing, match="does not chat"):
        complete(replaying(vllm()).url, fim="chat")


def test_a_wrong_name_is_answered_with_those_that_are_there(replaying: Replaying):
    with pytest.raises(ModelMissing, match=r"no model qwen-coder\. Did you mean qwen2-coder\?.*: qwen2-coder\."):
        complete(replaying(vllm(name="qwen2-coder")).url, name="qwen-coder")


def test_without_a_name_one_of_several_models_is_to_be_chosen(replaying: Replaying):
    routes = company() | {"GET /v1/models": {"data": [{"id": "a"}, {"id": "b"}]}}
    with pytest.raises(ModelMissing, match=r"more than one model.*a, b"):
        complete(replaying(routes).url)
    assert complete(replaying(routes).url, name="b") == "al()"


def test_a_server_that_lists_nothing_is_believed_to_have_the_model(replaying: Replaying):
    routes = company()
    del routes["GET /v1/models"]
    server = replaying(routes)
    assert complete(server.url, name="coder", fim="qwen") == "al()"
    with pytest.raises(ModelMissing, match="Set `name`"):
        complete(server.url)


def test_a_wrong_key_is_said_and_not_shown(replaying: Replaying, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MARKET_KEY", "sesame")
    routes = vllm() | {"GET /v1/models": refusing(401, {"error": "Unauthorized"})}
    with pytest.raises(ModelUnreachable, match="rejected the key in MARKET_KEY") as raised:
        complete(replaying(routes).url, api_key_variable="MARKET_KEY")
    assert "sesame" not in str(raised.value)


def overflowing(limit: int, status: int, error: Any) -> Callable[[Any], None]:
    """Refuses prompts of more than `limit` letters."""

    def answer(reply: Any) -> None:
        if len(reply.body["prompt"]) > limit:
            reply.json(error, status)
        else:
            reply.events(*completion_chunks("al()"))

    return answer


VLLM_OVERFLOW = {
    "error": {
        "message": "This model's maximum context length is 2048 tokens. However, you requested 2112 tokens (2048 in "
        "the messages, 64 in the completion). Please reduce the length of the messages or completion.",
        "type": "BadRequestError",
        "param": None,
        "code": 400,
    }
}
OVERFLOWS = [
    (400, VLLM_OVERFLOW),
    (400, {"object": "error", "message": "max_tokens must be at least 1, got -186.", "code": 400}),
    (400, {"object": "error", "type": "BadRequestError", "code": 400, **VLLM_OVERFLOW["error"]}),  # older ones
    (
        422,
        {
            "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 2048 `inputs` "
            "tokens and 64 `max_new_tokens`",
            "error_type": "validation",
        },
    ),
    (
        422,
        {
            "error": "Input validation error: `inputs` must have less than 2047 tokens. Given: 2048",
            "error_type": "validation",
        },
    ),
    (
        400,
        {
            "error": {
                "message": "This model's maximum context length is 2048 tokens, however you requested 2112 tokens "
                "(2048 in your prompt; 64 for the completion). Please reduce your prompt; or completion length.",
                "type": "invalid_request_error",
                "param": "messages",
                "code": "context_length_exceeded",
            }
        },
    ),
]


@pytest.mark.parametrize(("status", "error"), OVERFLOWS)
def test_a_prompt_that_is_too_long_is_made_shorter_until_it_fits(replaying: Replaying, status: int, error: Any):
    server = replaying(vllm() | {"POST /v1/completions": overflowing(2000, status, error)})
    model = open_at(server.url)
    long = CompletionRequest("a.py", "python", "x = 1\n" * 2000, "")
    assert text_of(model.stream(long, Cancel())) == "al()"
    n_asked = len(server.asked_for("/v1/completions"))
    assert n_asked > 1
    assert text_of(model.stream(long, Cancel())) == "al()"
    assert len(server.asked_for("/v1/completions")) == n_asked + 1  # it remembers
    assert any("rejected longer prompts" in note for note in model.info.notes)


def test_a_stream_that_fails_without_a_word_is_asked_for_its_reason(replaying: Replaying):
    """llama-cpp-python's answer to a prompt that is too long: status 200, and no event. Seen on the real server."""
    status, error = OVERFLOWS[-1]

    def answer(reply: Any) -> None:
        if len(reply.body["prompt"]) <= 2000:
            reply.events(*completion_chunks("al()"))
        elif reply.body["stream"]:
            reply.events()
        else:
            reply.json(error, status)

    server = replaying(llama_cpp_python() | {"POST /v1/completions": answer})
    assert complete(server.url, CompletionRequest("a.py", "python", "x = 1\n" * 2000, "")) == "al()"


FAILURES = [
    (500, {"error": {"message": "CUDA out of memory", "type": "InternalServerError", "code": 500}}, "out of memory"),
    (424, {"error": "Request failed during generation: CUDA out of memory", "error_type": "generation"}, "out of mem"),
    (429, {"error": "Model is overloaded", "error_type": "overloaded"}, "rate-limited.*overloaded"),
    (503, {"error": {"message": "Engine is dead", "type": "ServiceUnavailable"}}, "Engine is dead"),
    (500, {"error": {"message": "llama_decode returned -3", "type": "internal_server_error"}}, "llama_decode"),
    (400, {"detail": "Invalid model"}, "Invalid model"),
]


@pytest.mark.parametrize(("status", "error", "says"), FAILURES)
def test_an_error_is_said_in_the_server_s_words(replaying: Replaying, status: int, error: Any, says: str):
    server = replaying(vllm() | {"POST /v1/completions": refusing(status, error)})
    with pytest.raises(ModelUnreachable, match=says):
        complete(server.url)


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"message": "EngineCore died", "type": "InternalServerError", "code": 500}},
        {"error": "EngineCore died", "error_type": "generation"},
    ],
)
def test_an_error_in_the_stream_comes_after_what_was_written(replaying: Replaying, error: Any):
    def answer(reply: Any) -> None:
        reply.events(*completion_chunks("al")[:-1], error, "data: [DONE]")

    stream = open_at(replaying(vllm() | {"POST /v1/completions": answer}).url).stream(REQUEST, Cancel())
    assert next(stream).text == "al"
    with pytest.raises(ModelUnreachable, match="EngineCore died"):
        next(stream)


def test_half_a_stream_is_given_and_then_said_to_be_half(replaying: Replaying):
    def answer(reply: Any) -> None:
        reply.start()
        reply.event(completion_chunks("al")[0])
        reply.cut()

    stream = open_at(replaying(vllm() | {"POST /v1/completions": answer}).url).stream(REQUEST, Cancel())
    assert next(stream).text == "al"
    with pytest.raises(ModelUnreachable, match="in the middle"):
        next(stream)


def test_a_refused_connection_is_said_with_the_next_step(replaying: Replaying):
    server = replaying({})
    server.stop()
    with pytest.raises(ModelUnreachable, match=r"No connection to .* Start the server"):
        complete(server.url)


def test_a_slow_server_is_not_waited_for(replaying: Replaying):
    over = threading.Event()
    server = replaying(vllm() | {"POST /v1/completions": lambda _: over.wait(10) and None})
    with pytest.raises(ModelUnreachable, match=r"sent nothing for 0\.2 s"):
        complete(server.url, timeout_ms=200)
    over.set()


def test_a_cancelled_completion_cuts_the_stream(replaying: Replaying):
    seen = threading.Event()

    def answer(reply: Any) -> None:
        reply.start()
        reply.event(completion_chunks("al")[0])
        if reply.was_cut():
            seen.set()

    cancel = Cancel()
    stream = open_at(replaying(vllm() | {"POST /v1/completions": answer}).url).stream(REQUEST, cancel)
    assert next(stream).text == "al"
    cancel.cancel()
    assert list(stream) == []
    assert seen.wait(10)


def test_a_server_that_starts_again_with_another_model_is_asked_again(replaying: Replaying):
    server = replaying(vllm())
    model = open_at(server.url)
    assert text_of(model.stream(REQUEST, Cancel())) == "al()"
    gone = {"error": {"message": "The model `coder` does not exist.", "type": "NotFoundError", "code": 404}}
    server.routes.update(vllm(FIM_FORMATS["deepseek"].all, "other") | {"POST /v1/completions": refusing(404, gone)})
    with pytest.raises(ModelUnreachable, match="does not exist"):
        list(model.stream(REQUEST, Cancel()))
    server.routes.update(vllm(FIM_FORMATS["deepseek"].all, "other"))
    assert text_of(model.stream(REQUEST, Cancel())) == "al()"
    body = server.asked_for("/v1/completions")[-1]
    assert (body["model"], body["prompt"][:16]) == ("other", "<｜fim▁begin｜># H")


def test_after_a_pause_the_server_is_asked_only_whether_it_has_the_same_model(
    replaying: Replaying, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("weft.llm.http.model.PROBE_VALID_S", 0.0)
    server = replaying(vllm())
    model = open_at(server.url)
    model.prepare(Cancel())
    n_asked = len(server.asked)
    model.prepare(Cancel())
    assert [reply.path for reply in server.asked[n_asked:]] == ["/v1/models"]
    server.routes.update(vllm(FIM_FORMATS["deepseek"].all, "other"))
    list(model.stream(REQUEST, Cancel()))
    assert model.info.name == "other"


def test_vllm_s_usage_says_how_fast_a_cold_prompt_is_read(replaying: Replaying):
    usage = {"prompt_tokens": 900, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 0}}
    routes = vllm() | {
        "POST /v1/completions": lambda reply: reply.events(*completion_chunks("al", "()", choices=[], usage=usage))
    }
    model = open_at(replaying(routes).url)
    list(model.stream(REQUEST, Cancel()))
    assert model.speed.prefill > 0


def test_pieces_are_timed_where_a_server_has_no_timings(replaying: Replaying):
    routes = tgi() | {"POST /v1/completions": lambda reply: reply.events(*completion_chunks(*"abcdefghij"))}
    model = open_at(replaying(routes).url)
    list(model.stream(REQUEST, Cancel()))
    assert model.speed.decode > 0
    assert model.speed.prefill == 0


def test_warming_reads_the_same_prompt_and_writes_one_token(replaying: Replaying):
    server = replaying(vllm())
    model = open_at(server.url)
    model.warm(REQUEST, Cancel())
    list(model.stream(REQUEST, Cancel()))
    warm, real = server.asked_for("/v1/completions")
    assert (warm["prompt"], warm["max_tokens"]) == (real["prompt"], 1)


def test_a_company_is_not_paid_for_warming(replaying: Replaying):
    server = replaying(company())
    open_at(server.url).warm(REQUEST, Cancel())
    assert server.asked_for("/v1/completions") == []


def test_chat_streams_the_answer(replaying: Replaying):
    server = replaying(tgi() | {"POST /v1/chat/completions": chatting("A ", "shop.")})
    model = open_at(server.url)
    assert text_of(model.chat(QUESTION, Cancel())) == "A shop."
    assert server.asked_for("/v1/chat/completions")[-1]["messages"] == [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "What is this?"},
    ]


def test_a_long_conversation_loses_its_oldest_turns(replaying: Replaying):
    server = replaying(tgi())
    turns = [Message("user" if i % 2 == 0 else "assistant", f"turn {i} " + "x" * 900) for i in range(21)]
    model = open_at(server.url)
    list(model.chat(ChatRequest((Message("system", "Be short."), *turns)), Cancel()))
    messages = server.asked_for("/v1/chat/completions")[-1]["messages"]
    assert [message["role"] for message in messages[:2]] == ["system", "user"]
    assert messages[-1]["content"] == turns[-1].text
    assert 2 < len(messages) < 10


def chat_body(replaying: Replaying, routes: Any, **drawn: float) -> Any:
    server = replaying(routes | {"POST /v1/chat/completions": chatting("yes")})
    list(open_at(server.url).chat(replace(QUESTION, **drawn), Cancel()))
    return server.asked_for("/v1/chat/completions")[-1]


def test_an_answer_that_is_drawn_says_how(replaying: Replaying):
    body = chat_body(replaying, tgi(), temperature=0.7, top_p=0.9)
    assert (body["temperature"], body["top_p"]) == (0.7, 0.9)
    greedy = chat_body(replaying, tgi(), top_p=0.9)
    assert (greedy["temperature"], "top_p" in greedy) == (0, False)


@pytest.mark.parametrize(
    ("routes", "name"),
    [(vllm, "repetition_penalty"), (llama_cpp_python, "repeat_penalty"), (tgi, None), (company, None)],
)
def test_a_penalty_is_sent_by_the_server_s_own_name_for_it(
    replaying: Replaying, routes: Callable[[], Any], name: str | None
):
    body = chat_body(replaying, routes(), repetition_penalty=1.2)
    assert {key: body[key] for key in body if "penalty" in key} == ({name: 1.2} if name else {})


def test_a_model_that_does_not_chat_says_so(replaying: Replaying):
    with pytest.raises(ModelError, match="does not chat"):
        list(open_at(replaying(vllm()).url).chat(QUESTION, Cancel()))


@pytest.mark.servers
def test_llama_cpp_s_own_server_speaks_this_protocol_too(llama_serving: Callable[..., Any], tiny_model: Path):
    server = llama_serving(tiny_model / "tiny-f16.gguf", "-c", "2048", "-np", "1")
    several_lines = replace(REQUEST, single_line=False, max_new_tokens=32)
    texts = []
    for way, fim in (("", FIM_FORMATS["qwen"]), ("none", None)):
        model = open_at(server.url, fim=way, prompt_ms=600_000)
        texts.append(text_of(model.stream(several_lines, Cancel())))
        assert (model.info.fills_middle, model.info.repository_level) == (fim is not None, fim is not None)
        assert model.info.context_tokens == 2048
        assert model.speed.decode > 0
        prompt = plain_text(build_prompt(several_lines, fim, model.count_tokens, 2048), fim)
        body = json.dumps({"prompt": prompt, "n_predict": 32, "temperature": 0, "stream": False}).encode()
        with urllib.request.urlopen(urllib.request.Request(server.url + "/completion", body)) as answer:
            assert texts[-1] == json.load(answer)["content"]
    assert any(texts)
    # Neither is refused: the one is made shorter, the other needs no template of the model's own.
    list(model.stream(replace(REQUEST, prefix="x = [1, 2]\n" * 3000), Cancel()))
    list(model.chat(replace(QUESTION, max_new_tokens=4), Cancel()))


@pytest.mark.parametrize("fim", ["", "suffix"])
def test_a_whole_prompt_is_sent_as_it_is(replaying: Replaying, fim: str):
    server = replaying(vllm())
    parts = (PromptPart("<|file_sep|>", special=True), PromptPart("a <|file_sep|>\n"))
    assert complete(server.url, replace(REQUEST, prompt=parts, single_line=False), fim=fim) == "al()"
    asked = [reply.body for reply in server.asked if reply.path == "/v1/completions" and reply.body.get("stream")]
    assert asked[-1]["prompt"] == "<|file_sep|>a < |file_sep|>\n" and "suffix" not in asked[-1]
