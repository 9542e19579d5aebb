"""Ollama, replayed as its documentation shows it; it was not run.

What the server says is taken from Ollama's docs/api.md (generate, chat, show, tags, ps), docs/api/errors.mdx,
docs/template.mdx, and for the wording of refusals from its server/routes.go.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.llm.backends import ModelConfig, open_model
from weft.llm.http.ollama import fim_of_template
from weft.llm.prompting.formats import FIM_FORMATS, FimTokens
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
QWEN = FIM_FORMATS["qwen"]

# Templates as the library of models has them.
QWEN_TEMPLATE = """{{- if .Suffix }}<|fim_prefix|>{{ .Prompt }}<|fim_suffix|>{{ .Suffix }}<|fim_middle|>
{{- else if .Messages }}
{{- range $i, $_ := .Messages }}<|im_start|>{{ .Role }}
{{ .Content }}<|im_end|>
{{ end }}<|im_start|>assistant
{{ end }}"""
CODELLAMA_TEMPLATE = "{{- if .Suffix }}<PRE> {{ .Prompt }} <SUF>{{ .Suffix }} <MID>{{- else }}{{ .Prompt }}{{- end }}"
CODESTRAL_TEMPLATE = "{{- if .Suffix }}[SUFFIX]{{ .Suffix }}[PREFIX] {{ .Prompt }}{{- else }}{{ .Prompt }}{{ end }}"
CHAT_TEMPLATE = "{{ if .System }}<|system|>{{ .System }}{{ end }}<|user|>{{ .Prompt }}<|end|><|assistant|>"
PLAIN_TEMPLATE = "{{ .Prompt }}"

Replaying = Callable[..., Any]


def generated(*texts: str, **last: Any) -> Callable[[Any], None]:
    """The lines of `/api/generate`."""
    lines = [
        {"model": "coder", "created_at": "2026-01-01T00:00:00Z", "response": text, "done": False} for text in texts
    ]
    end = {"model": "coder", "response": "", "done": True, "done_reason": "stop", **last}
    return lambda reply: reply.ndjson(*lines, end)


def answered(*texts: str) -> Callable[[Any], None]:
    """The lines of `/api/chat`."""
    lines = [{"model": "coder", "message": {"role": "assistant", "content": text}, "done": False} for text in texts]
    end = {"model": "coder", "message": {"role": "assistant", "content": ""}, "done": True, "eval_count": 2}
    return lambda reply: reply.ndjson(*lines, end)


def ollama(
    template: str = QWEN_TEMPLATE,
    tokens: tuple[str, ...] | None = QWEN.all,
    capabilities: tuple[str, ...] = ("completion", "insert", "tools"),
    parameters: str = 'stop                           "<|endoftext|>"',
    **show: Any,
) -> dict[str, Any]:
    def about(reply: Any) -> None:
        if reply.body["model"] not in ("coder", "coder:latest"):
            reply.json({"error": f"model '{reply.body['model']}' not found"}, 404)
            return
        reply.json(
            {
                "template": template,
                "parameters": parameters,
                "details": {"format": "gguf", "family": "qwen2"},
                "model_info": {
                    "general.architecture": "qwen2",
                    "qwen2.context_length": 32768,
                    "tokenizer.ggml.model": "gpt2",
                    "tokenizer.ggml.tokens": list(tokens) if tokens and reply.body.get("verbose") else tokens and [],
                },
                "capabilities": list(capabilities),
                **show,
            }
        )

    model = {"name": "coder:latest", "model": "coder:latest", "size": 986061892, "digest": "2ae6f6dd7a3d"}
    return {
        "POST /api/show": about,
        "GET /api/tags": {"models": [model]},
        "GET /api/ps": {"models": []},
        "POST /api/generate": generated("al", "()"),
        "POST /api/chat": answered("A ", "shop."),
    }


def open_at(url: str, **config: Any) -> CodeModel:
    model = open_model(ModelConfig(**{"backend": "ollama", "url": url, "name": "coder", **config}))
    assert isinstance(model, CodeModel)
    return model


def text_of(stream: Iterator[Any]) -> str:
    return "".join(piece.text for piece in stream)


def complete(url: str, request: CompletionRequest = REQUEST, **config: Any) -> str:
    return text_of(open_at(url, **config).stream(request, Cancel()))


def test_a_template_s_letters_and_the_vocabulary_give_a_prompt_of_the_whole_repository(replaying: Replaying):
    server = replaying(ollama())
    model = open_at(server.url)
    assert text_of(model.stream(REQUEST, Cancel())) == "al()"
    assert (model.info.fills_middle, model.info.repository_level, model.info.chats) == (True, True, True)
    (body,) = server.asked_for("/api/generate")
    assert body["raw"] is True
    assert "suffix" not in body
    assert body["prompt"] == (
        "<|repo_name|>market\n<|file_sep|>price.py\ndef total(): ...\n<|file_sep|>shop.py\n"
        "<|fim_prefix|>def pay():\n    return tot<|fim_suffix|>\n\nend = 1\n<|fim_middle|>"
    )


def test_decoding_is_greedy_without_a_penalty_and_ends_at_the_model_s_own_stops(replaying: Replaying):
    server = replaying(ollama())
    complete(server.url, context_tokens=2048)
    (body,) = server.asked_for("/api/generate")
    assert body["options"] == {
        "num_predict": 64,
        "temperature": 0,
        "repeat_penalty": 1.0,
        "num_ctx": 2048,
        "stop": ["\n", "<|endoftext|>"],
    }
    assert (body["stream"], body["keep_alive"], body["truncate"]) == (True, "30m", False)


def test_without_a_vocabulary_the_template_s_letters_are_used_as_they_stand(replaying: Replaying):
    server = replaying(ollama(tokens=None))
    model = open_at(server.url)
    text_of(model.stream(REQUEST, Cancel()))
    assert (model.info.fills_middle, model.info.repository_level) == (True, False)
    prompt = server.asked_for("/api/generate")[0]["prompt"]
    assert prompt.startswith("<|fim_prefix|># Here are some relevant code fragments")
    assert prompt.endswith("tot<|fim_suffix|>\n\nend = 1\n<|fim_middle|>")


def test_a_vocabulary_fills_the_middle_where_the_template_does_not(replaying: Replaying):
    server = replaying(ollama(PLAIN_TEMPLATE, capabilities=("completion",)))
    complete(server.url)
    assert server.asked_for("/api/generate")[0]["prompt"].endswith("<|fim_middle|>")


def test_a_template_that_can_t_be_read_is_filled_by_the_server(replaying: Replaying):
    template = "{{ if .Suffix }}{{ template `fim` . }}{{ else }}{{ .Prompt }}{{ end }}"
    server = replaying(ollama(template, ()))
    model = open_at(server.url)
    text_of(model.stream(REQUEST, Cancel()))
    (body,) = server.asked_for("/api/generate")
    assert (body["suffix"], body["prompt"][-25:], "raw" in body) == (REQUEST.suffix, REQUEST.prefix[-25:], False)
    assert model.info.fills_middle


def test_nothing_after_the_cursor_is_no_question_for_a_chat_template(replaying: Replaying):
    server = replaying(ollama("{{ if .Suffix }}{{ template `fim` . }}{{ end }}", ()))
    complete(server.url, CompletionRequest("a.py", "python", "x = ", ""))
    (body,) = server.asked_for("/api/generate")
    assert (body["raw"], body["prompt"], "suffix" in body) == (True, "x = ", False)


def test_a_model_that_only_chats_is_asked_in_words(replaying: Replaying):
    routes = ollama(CHAT_TEMPLATE, (), ("completion",)) | {"POST /api/chat": answered("```\n", "al()", "\n```")}
    server = replaying(routes)
    model = open_at(server.url)
    assert text_of(model.stream(REQUEST, Cancel())) == "al()"
    assert any("completions use chat" in note for note in model.info.notes)
    assert server.asked_for("/api/generate") == []
    assert "<before_hole>" in server.asked_for("/api/chat")[0]["messages"][1]["content"]


def test_a_model_that_does_neither_continues_the_code(replaying: Replaying):
    server = replaying(ollama(PLAIN_TEMPLATE, (), ("completion",)))
    model = open_at(server.url)
    assert text_of(model.stream(REQUEST, Cancel())) == "al()"
    assert not model.info.fills_middle
    assert any("is not used" in note for note in model.info.notes)
    (body,) = server.asked_for("/api/generate")
    assert body["raw"] is True
    assert "end = 1" not in body["prompt"]


def test_a_model_that_thinks_is_told_not_to(replaying: Replaying):
    server = replaying(ollama(capabilities=("completion", "insert", "thinking")))
    complete(server.url)
    assert server.asked_for("/api/generate")[0]["think"] is False


def test_a_configured_format_is_used(replaying: Replaying):
    server = replaying(ollama(PLAIN_TEMPLATE, None))
    complete(server.url, fim="deepseek")
    assert server.asked_for("/api/generate")[0]["prompt"].endswith("<｜fim▁end｜>")


@pytest.mark.parametrize(("fim", "says"), [("suffix", "takes no suffix"), ("chat", "does not chat")])
def test_a_way_that_the_model_has_not_is_refused(replaying: Replaying, fim: str, says: str):
    with pytest.raises(ModelMissing, match=says):
        complete(replaying(ollama(PLAIN_TEMPLATE, (), ("completion",))).url, fim=fim)


@pytest.mark.parametrize(
    ("template", "fim"),
    [
        (QWEN_TEMPLATE, FimTokens("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")),
        (CODELLAMA_TEMPLATE, FimTokens("<PRE> ", " <SUF>", " <MID>")),
        (CODESTRAL_TEMPLATE, FimTokens("[PREFIX] ", "[SUFFIX]", "", suffix_first=True)),
        ("<f>\n{{- if .Suffix -}}\n  <fim_prefix>\n{{- .Prompt }}<fim_suffix>{{ .Suffix -}} \n<fim_middle>\n{{- end}}",
         FimTokens("<fim_prefix>", "<fim_suffix>", "<fim_middle>")),
        ("<p>{{ $.Prompt }}<s>{{$.Suffix}}<m>", FimTokens("<p>", "<s>", "<m>")),
    ],
)  # fmt: skip
def test_the_letters_around_the_code_are_read_from_the_template(template: str, fim: FimTokens):
    assert fim_of_template(template, ()) == fim


@pytest.mark.parametrize(
    "template", ["", PLAIN_TEMPLATE, CHAT_TEMPLATE, "{{ .Prompt }}{{ .Suffix }}", "{{ if .Suffix }}{{ .Prompt }}", "{{"]
)
def test_a_template_without_letters_around_a_suffix_gives_no_format(template: str):
    assert fim_of_template(template, ()) is None


@pytest.mark.parametrize("name", ["qwen", "deepseek", "starcoder", "codestral"])
def test_a_known_format_is_taken_for_the_same_letters_when_the_vocabulary_has_all_of_it(name: str):
    fim = FIM_FORMATS[name]
    before, after = fim.prefix + fim.opening, fim.suffix
    parts = f"{after}{{{{ .Suffix }}}}{before}{{{{ .Prompt }}}}" if fim.suffix_first else (
        f"{before}{{{{ .Prompt }}}}{after}{{{{ .Suffix }}}}{fim.middle}"
    )  # fmt: skip
    assert fim_of_template(parts, fim.all) == fim
    assert fim_of_template(parts, fim.frame[:1]) == FimTokens(before, after, fim.middle, fim.suffix_first)


@given(st.text("{}-. \nPromptSufix<>|if", max_size=60))
def test_any_text_gives_letters_for_both_sides_or_none(template: str):
    found = fim_of_template(template, QWEN.all)
    assert found is None or (found.prefix.strip() and found.suffix.strip())


def test_a_model_that_was_not_pulled_is_answered_with_the_command(replaying: Replaying):
    with pytest.raises(
        ModelMissing, match=r"no model coder:7b\. Did you mean coder:latest\? Run `ollama pull coder:7b`\."
    ):
        complete(replaying(ollama()).url, name="coder:7b")


def test_without_a_name_the_only_model_is_taken(replaying: Replaying):
    server = replaying(ollama())
    assert complete(server.url, name="") == "al()"
    assert server.asked_for("/api/generate")[0]["model"] == "coder:latest"
    server.routes["GET /api/tags"] = {"models": []}
    with pytest.raises(ModelMissing, match="Run `ollama pull`"):
        complete(server.url, name="")
    server.routes["GET /api/tags"] = {"models": [{"name": "a"}, {"name": "b"}]}
    with pytest.raises(ModelMissing, match="one of: a, b"):
        complete(server.url, name="")


def test_a_server_that_is_not_ollama_is_said_to_be_none(replaying: Replaying):
    with pytest.raises(ModelUnreachable, match="does not exist"):
        complete(replaying({}).url)


def test_a_model_of_the_cloud_is_not_local(replaying: Replaying):
    model = open_at(replaying(ollama(remote_host="https://ollama.example", remote_model="coder")).url)
    model.prepare(Cancel())
    assert not model.info.local
    assert any("https://ollama.example" in note for note in model.info.notes)


@pytest.mark.parametrize(
    ("context_tokens", "loaded", "parameters", "num_ctx", "used"),
    [
        (4096, 0, "", 4096, 4096),
        (4096, 16384, "", 16384, 4096),  # as it is loaded: another size would load it again
        (4096, 2048, "", 4096, 4096),
        (4096, 0, "num_ctx                        8192", 8192, 4096),
        (100_000, 0, "", 32768, 32768),  # as it was trained
    ],
)
def test_the_context_size_is_one_that_the_model_is_not_loaded_again_for(
    replaying: Replaying, context_tokens: int, loaded: int, parameters: str, num_ctx: int, used: int
):
    running = [{"name": "coder:latest", "context_length": loaded}, {"name": "other", "context_length": 7}]
    server = replaying(ollama(parameters=parameters) | {"GET /api/ps": {"models": running if loaded else []}})
    model = open_at(server.url, context_tokens=context_tokens)
    list(model.stream(REQUEST, Cancel()))
    list(model.chat(ChatRequest((Message("user", "?"),)), Cancel()))
    assert model.info.context_tokens == used
    sizes = [body["options"]["num_ctx"] for path in ("generate", "chat") for body in server.asked_for(f"/api/{path}")]
    assert sizes == [num_ctx, num_ctx]


def test_the_server_s_own_timings_are_the_speed(replaying: Replaying):
    timings = {
        "eval_count": 30,
        "eval_duration": 1_500_000_000,
        "prompt_eval_count": 900,
        "prompt_eval_duration": 10**9,
    }
    server = replaying(ollama() | {"POST /api/generate": generated("al()", load_duration=2 * 10**9, **timings)})
    model = open_at(server.url)
    list(model.stream(REQUEST, Cancel()))
    assert (model.speed.decode, model.speed.prefill) == (20, 900)


def test_a_prompt_that_may_have_been_kept_does_not_count_as_read(replaying: Replaying):
    timings = {"prompt_eval_count": 900, "prompt_eval_duration": 10**6, "load_duration": 10**7}
    model = open_at(replaying(ollama() | {"POST /api/generate": generated("al()", **timings)}).url)
    list(model.stream(REQUEST, Cancel()))
    assert model.speed.prefill == 0


OVERFLOWS = [
    "the prompt is longer than the context length currently available to the model; shorten the prompt, adjust the "
    "context length in settings, or use a model with a longer context length",
    "the input length exceeds the context length",
    "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
]


@pytest.mark.parametrize("says", OVERFLOWS)
@pytest.mark.parametrize("status", [400, 200])
def test_a_prompt_that_is_too_long_is_made_shorter_until_it_fits(replaying: Replaying, says: str, status: int):
    def answer(reply: Any) -> None:
        if len(reply.body["prompt"]) <= 2000:
            generated("al()")(reply)
        elif status == 200:
            reply.ndjson({"error": says})
        else:
            reply.json({"error": says}, status)

    server = replaying(ollama() | {"POST /api/generate": answer})
    assert complete(server.url, CompletionRequest("a.py", "python", "x = 1\n" * 2000, "")) == "al()"


FAILURES = [
    (500, "model runner has unexpectedly stopped, this may be due to resource limitations", "unexpectedly stopped"),
    (500, "model requires more system memory (5.6 GiB) than is available (3.1 GiB)", "more system memory"),
    (503, "server busy, please try again.  maximum pending requests exceeded", "server busy"),
    (400, '"coder" does not support insert', "does not support insert"),
    (404, "model 'coder' not found", "not found"),
]


@pytest.mark.parametrize(("status", "error", "says"), FAILURES)
def test_an_error_is_said_in_the_server_s_words(replaying: Replaying, status: int, error: str, says: str):
    server = replaying(ollama() | {"POST /api/generate": lambda reply: reply.json({"error": error}, status)})
    with pytest.raises(ModelUnreachable, match=says):
        complete(server.url)


def test_an_error_in_the_stream_comes_after_what_was_written(replaying: Replaying):
    def answer(reply: Any) -> None:
        reply.ndjson({"response": "al", "done": False}, {"error": "an error was encountered while running the model"})

    stream = open_at(replaying(ollama() | {"POST /api/generate": answer}).url).stream(REQUEST, Cancel())
    assert next(stream).text == "al"
    with pytest.raises(ModelUnreachable, match="while running the model"):
        next(stream)


def test_half_a_stream_is_given_and_then_said_to_be_half(replaying: Replaying):
    def answer(reply: Any) -> None:
        reply.start()
        reply.write(b'{"response": "al", "done": false}\n')
        reply.cut()

    stream = open_at(replaying(ollama() | {"POST /api/generate": answer}).url).stream(REQUEST, Cancel())
    assert next(stream).text == "al"
    with pytest.raises(ModelUnreachable, match="in the middle"):
        next(stream)


def test_a_server_that_is_not_there_is_said_with_the_next_step(replaying: Replaying):
    server = replaying({})
    server.stop()
    with pytest.raises(ModelUnreachable, match="Start the server"):
        complete(server.url)


def test_a_slow_server_is_not_waited_for(replaying: Replaying):
    over = threading.Event()
    server = replaying(ollama() | {"POST /api/generate": lambda _: over.wait(10) and None})
    with pytest.raises(ModelUnreachable, match=r"sent nothing for 0\.2 s"):
        complete(server.url, timeout_ms=200)
    over.set()


def test_a_cancelled_completion_cuts_the_stream(replaying: Replaying):
    seen = threading.Event()

    def answer(reply: Any) -> None:
        reply.start()
        reply.write(b'{"response": "al", "done": false}\n')
        if reply.was_cut():
            seen.set()

    cancel = Cancel()
    stream = open_at(replaying(ollama() | {"POST /api/generate": answer}).url).stream(REQUEST, cancel)
    assert next(stream).text == "al"
    cancel.cancel()
    assert list(stream) == []
    assert seen.wait(10)


def test_a_name_that_stands_for_another_model_after_a_failure_is_asked_again(replaying: Replaying):
    server = replaying(ollama())
    model = open_at(server.url)
    list(model.stream(REQUEST, Cancel()))
    server.routes["POST /api/generate"] = lambda reply: reply.json({"error": "llama runner has terminated"}, 500)
    with pytest.raises(ModelUnreachable, match="terminated"):
        list(model.stream(REQUEST, Cancel()))
    server.routes.update(ollama(CODELLAMA_TEMPLATE, ()))
    assert text_of(model.stream(REQUEST, Cancel())) == "al()"
    assert server.asked_for("/api/generate")[-1]["prompt"].startswith("<PRE> ")


def test_after_a_pause_the_server_is_asked_only_whether_it_has_the_same_model(
    replaying: Replaying, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("weft.llm.http.model.PROBE_VALID_S", 0.0)
    server = replaying(ollama())
    model = open_at(server.url)
    model.prepare(Cancel())
    model.prepare(Cancel())
    assert len(server.asked_for("/api/show")) == 1
    server.routes.update(ollama(CODELLAMA_TEMPLATE, ()))
    server.routes["GET /api/tags"] = {"models": [{"name": "coder:latest", "digest": "pulled again"}]}
    list(model.stream(REQUEST, Cancel()))
    assert server.asked_for("/api/generate")[-1]["prompt"].startswith("<PRE> ")


def test_warming_reads_the_same_prompt_and_writes_one_token(replaying: Replaying):
    server = replaying(ollama())
    model = open_at(server.url)
    model.warm(REQUEST, Cancel())
    list(model.stream(REQUEST, Cancel()))
    warm, real = server.asked_for("/api/generate")
    assert warm["prompt"] == real["prompt"]
    assert warm["options"] == {**real["options"], "num_predict": 1}


def test_warming_a_model_that_is_asked_in_words_reads_the_question(replaying: Replaying):
    server = replaying(ollama(CHAT_TEMPLATE, (), ("completion",)))
    open_at(server.url).warm(REQUEST, Cancel())
    (body,) = server.asked_for("/api/chat")
    assert body["options"]["num_predict"] == 1


def test_chat_streams_the_answer(replaying: Replaying):
    server = replaying(ollama())
    question = ChatRequest((Message("system", "Be short."), Message("user", "What is this?")), stop=("END",))
    assert text_of(open_at(server.url).chat(question, Cancel())) == "A shop."
    (body,) = server.asked_for("/api/chat")
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert (body["options"]["num_predict"], body["options"]["stop"]) == (512, ["END", "<|endoftext|>"])


def test_an_answer_that_is_drawn_says_how(replaying: Replaying):
    server = replaying(ollama())
    drawn = ChatRequest((Message("user", "?"),), temperature=0.7, top_p=0.9, repetition_penalty=1.2)
    list(open_at(server.url).chat(drawn, Cancel()))
    options = server.asked_for("/api/chat")[0]["options"]
    names = ("temperature", "top_p", "repeat_penalty", "repeat_last_n")
    assert [options[name] for name in names] == [0.7, 0.9, 1.2, -1]


@pytest.mark.parametrize("fim", ["", "suffix", "chat"])
def test_a_whole_prompt_is_sent_as_it_is(replaying: Replaying, fim: str):
    server = replaying(ollama())
    parts = (PromptPart("<|file_sep|>", special=True), PromptPart("a <|file_sep|>\n"))
    model = open_at(server.url, fim=fim)
    assert text_of(model.stream(replace(REQUEST, prompt=parts, single_line=False), Cancel())) == "al()"
    asked = server.asked[-1].body
    assert (asked["prompt"], asked["raw"]) == ("<|file_sep|>a < |file_sep|>\n", True) and "suffix" not in asked
