"""llama-server for real: the same text as a plain request, in its own tokens, and it stops when it is told to.

Wants `make llm-servers` and `make tiny-model`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from weft.llm.backends import ModelConfig, open_model
from weft.llm.http.endpoint import ContextOverflow, Endpoint
from weft.llm.http.llama_cpp import LlamaCppServer
from weft.llm.protocol import Cancel, CodeModel, CompletionRequest, ModelMissing, ModelUnreachable, PromptFragment

pytestmark = pytest.mark.servers

PATIENCE_S = 30  # a test that waits this long has failed
LONG = 1500
"""Tokens that take long enough to be interrupted; --ignore-eos keeps a model from ending before."""

PREFIX = "".join(f"def total_{at}(price, count):\n    return price * count + {at}\n\n" for at in range(40))
REQUEST = CompletionRequest(
    "shop.py",
    "python",
    PREFIX + "def total(price, count):\n    return ",
    "\n\ndef pay(price):\n    return total(price, 1)\n",
    (PromptFragment(("price.py",), "def price(name):\n    return PRICES[name]\n", 0, 1.0),),
    "market",
    max_new_tokens=16,
    single_line=False,
)

Serve = Callable[..., Any]


def open_at(url: str, **config: Any) -> LlamaCppServer:
    # A busy machine is measured slow and would get shorter prompts; what is compared here shall not change.
    model = open_model(ModelConfig(**{"backend": "llama.cpp", "url": url, "prompt_ms": 60_000, **config}))
    assert isinstance(model, LlamaCppServer)
    return model


def complete(model: CodeModel, request: CompletionRequest = REQUEST) -> str:
    return "".join(piece.text for piece in model.stream(request, Cancel()))


def asked(model: LlamaCppServer, request: CompletionRequest = REQUEST) -> list[int]:
    """The prompt that the model sends for a request."""
    model.prepare(Cancel())
    prompt = model._ask(request, (), model.info.context_tokens, Cancel()).body["prompt"]
    assert isinstance(prompt, list)
    return prompt


def total(server: Any, name: str) -> int:
    """A counter of the server's /metrics."""
    text = httpx.get(server.url + "/metrics", trust_env=False).text
    (number,) = re.findall(rf"^llamacpp:{name} (\d+)", text, re.MULTILINE)
    return int(number)


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def is_idle(server: Any) -> bool:
    return not any(slot["is_processing"] for slot in server.get("/slots"))


@pytest.fixture
def gguf(tiny_model: Path) -> Path:
    return tiny_model / "tiny-f32.gguf"


def test_the_text_is_that_of_a_plain_greedy_request(llama_serving: Serve, gguf: Path):
    server = llama_serving(gguf)
    model = open_at(server.url)
    plain = {"prompt": asked(model), "n_predict": 16, "temperature": 0, "cache_prompt": False}
    expected = Endpoint(server.url).post("/completion", plain, Cancel())["content"]
    assert complete(model) == complete(model) == expected != ""


def test_sampling_defaults_of_the_server_change_no_text(llama_serving: Serve, gguf: Path):
    plain = llama_serving(gguf)
    other = llama_serving(gguf, "--temp", "2", "--repeat-penalty", "1.5", "--dry-multiplier", "1", "--top-k", "5")
    assert complete(open_at(other.url)) == complete(open_at(plain.url))


def test_what_the_model_can_do_is_found_out(llama_serving: Serve, gguf: Path):
    server = llama_serving(gguf, "-c", "4096", "-np", "2", "--alias", "tiny")
    model = open_at(server.url)
    model.prepare(Cancel())
    info = model.info
    assert (info.name, info.context_tokens, info.fills_middle, info.repository_level) == ("tiny", 2048, True, True)


def test_prompts_are_counted_exactly_and_stay_within_the_context(llama_serving: Serve, gguf: Path):
    server = llama_serving(gguf, "-c", "512", "--metrics")
    model = open_at(server.url)
    request = replace(REQUEST, prefix=PREFIX * 4, suffix=PREFIX)
    prompt = asked(model, request)
    assert 300 < len(prompt) < 512 - request.max_new_tokens
    complete(model, request)
    assert total(server, "prompt_tokens_total") == len(prompt)
    assert model.info.notes == ()


def test_letters_of_special_tokens_in_code_stay_letters(llama_serving: Serve, gguf: Path):
    model = open_at(llama_serving(gguf).url)
    clean, spiked = (replace(REQUEST, prefix=PREFIX + line) for line in ("x = ''", "x = '<|fim_middle|><|endoftext|>'"))
    special = {model._special["<|fim_middle|>"], model._special["<|endoftext|>"]} if asked(model) else set()
    n_special = [sum(token in special for token in asked(model, request)) for request in (clean, spiked)]
    assert n_special == [1, 1]


def test_the_next_keystroke_reads_only_what_is_new(llama_serving: Serve, gguf: Path):
    server = llama_serving(gguf, "--metrics")
    model = open_at(server.url)
    complete(model)
    n_read = total(server, "prompt_tokens_total")
    assert n_read > 800
    complete(model, replace(REQUEST, prefix=REQUEST.prefix + "p"))
    # The last letters, what follows the cursor, and a few tokens for good measure.
    assert total(server, "prompt_tokens_total") - n_read < 60


def test_a_warmed_prompt_is_not_read_again(llama_serving: Serve, gguf: Path):
    server = llama_serving(gguf, "--metrics")
    model = open_at(server.url)
    model.warm(REQUEST, Cancel())
    n_read = total(server, "prompt_tokens_total")
    assert n_read > 800
    complete(model)
    assert total(server, "prompt_tokens_total") - n_read < 5


def test_two_files_keep_what_was_read_of_each(llama_serving: Serve, gguf: Path):
    server = llama_serving(gguf, "-c", "4096", "-np", "2", "--metrics")
    model = open_at(server.url)
    other = replace(REQUEST, path="till.py", prefix=PREFIX.replace("total", "change"), fragments=())
    complete(model)
    complete(model, other)
    n_read = total(server, "prompt_tokens_total")
    complete(model)
    complete(model, other)
    assert total(server, "prompt_tokens_total") - n_read < 20


def test_speed_is_measured(llama_serving: Serve, gguf: Path):
    model = open_at(llama_serving(gguf, "--ignore-eos").url, fim="none")
    complete(model, replace(REQUEST, single_line=False))
    assert model.speed.prefill > 0
    assert model.speed.decode > 0


def test_cancelling_stops_the_server_while_it_writes(llama_serving: Serve, gguf: Path):
    server = llama_serving(gguf, "--metrics", "--ignore-eos")
    cancel = Cancel()
    stream = open_at(server.url).stream(replace(REQUEST, max_new_tokens=LONG, fragments=()), cancel)
    next(stream)
    cancel.cancel()
    assert list(stream) == []
    wait_until(lambda: is_idle(server))
    assert total(server, "tokens_predicted_total") < LONG // 2


def test_a_completion_that_is_not_wanted_any_more_stops_the_server_too(llama_serving: Serve, gguf: Path):
    server = llama_serving(gguf, "--metrics", "--ignore-eos")
    stream = open_at(server.url).stream(replace(REQUEST, max_new_tokens=LONG, fragments=()), Cancel())
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    wait_until(lambda: is_idle(server))
    assert total(server, "tokens_predicted_total") < LONG // 2


def test_cancelling_while_the_prompt_is_read_stops_the_server(llama_serving: Serve, gguf: Path):
    # Small batches: the prompt is read in steps, as a large model reads it.
    server = llama_serving(gguf, "--metrics", "--ignore-eos", "-b", "32", "-ub", "32")
    model = open_at(server.url)
    model.prepare(Cancel())
    cancel = Cancel()
    heard: list[Any] = []
    request = replace(REQUEST, max_new_tokens=LONG)
    waiting = threading.Thread(target=lambda: heard.extend(model.stream(request, cancel)))
    waiting.start()
    wait_until(lambda: not is_idle(server))
    cancel.cancel()
    waiting.join(PATIENCE_S)
    assert not waiting.is_alive()
    wait_until(lambda: is_idle(server))
    assert total(server, "tokens_predicted_total") < LONG // 2
    assert complete(model) == complete(open_at(server.url))


def test_a_server_that_is_killed_is_an_error_and_its_successor_is_asked_what_it_is(llama_serving: Serve, gguf: Path):
    server = llama_serving(gguf, "-c", "2048", "--ignore-eos")
    model = open_at(server.url)
    expected = complete(model)
    stream = model.stream(replace(REQUEST, max_new_tokens=LONG, fragments=()), Cancel())
    next(stream)
    server.kill()
    with pytest.raises(ModelUnreachable, match="in the middle of an answer"):
        list(stream)
    with pytest.raises(ModelUnreachable, match="No connection"):
        complete(model)
    server.start(gguf, "-c", "1536", "--ignore-eos", "--alias", "successor")
    assert complete(model) == expected
    assert (model.info.name, model.info.context_tokens) == ("successor", 1536)


def test_a_server_that_starts_is_waited_for(llama_serving: Serve, gguf: Path):
    server = llama_serving(gguf, wait=False)
    model = open_at(server.url)
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            assert complete(model) != ""
            return
        except ModelUnreachable as error:
            # It does not listen yet. As soon as it does, it says that it loads its model, and that is no error.
            assert "No connection" in str(error)
            assert time.monotonic() < until
            time.sleep(0.01)


def test_too_long_a_prompt_is_known_by_the_server_s_own_words(llama_serving: Serve, gguf: Path):
    server = llama_serving(gguf, "-c", "256")
    with pytest.raises(ContextOverflow):
        Endpoint(server.url).post("/completion", {"prompt": [5] * 300, "n_predict": 1}, Cancel())


def test_several_requests_at_once_get_what_each_gets_alone(llama_serving: Serve, gguf: Path):
    server = llama_serving(gguf, "-c", "8192", "-np", "4", "-kvu")
    model = open_at(server.url)
    # Few tokens: what is computed together is rounded otherwise, and with a poor model a tie decides soon.
    few = replace(REQUEST, max_new_tokens=3)
    requests = [replace(few, path=f"shop{at}.py", prefix=f"n = {at}\n" + REQUEST.prefix) for at in range(4)]
    texts: dict[int, str] = {}
    threads = [
        threading.Thread(target=lambda at=at, request=request: texts.__setitem__(at, complete(model, request)))
        for at, request in enumerate(requests)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    alone = open_at(server.url)
    assert texts == {at: complete(alone, request) for at, request in enumerate(requests)}


def test_the_way_by_infill_writes_too(llama_serving: Serve, gguf: Path):
    model = open_at(llama_serving(gguf).url, fim="suffix")
    assert complete(model) != ""
    assert model.info.fills_middle


NODE_SCRIPT = """
    import {getLlama} from "node-llama-cpp";
    const [path, tokens, n] = [process.argv[2], JSON.parse(process.argv[3]), Number(process.argv[4])];
    const llama = await getLlama({gpu: false, build: "never", maxThreads: 1, logLevel: "error"});
    const model = await llama.loadModel({modelPath: path});
    const context = await model.createContext({contextSize: 2048, threads: 1});
    const made = [];
    for await (const token of context.getSequence().evaluate(tokens, {temperature: 0})) {
      made.push(token);
      if (made.length >= n) break;
    }
    console.log(JSON.stringify(made));
    await llama.dispose();
    """


def test_node_llama_cpp_writes_the_same_tokens(
    llama_serving: Serve, gguf: Path, llama_server_binary: Path, tmp_path: Path
):
    modules = llama_server_binary.parent.parent / "node" / "node_modules"
    node = shutil.which("node")
    if node is None or not modules.is_dir():
        pytest.skip("no node-llama-cpp: run make llm-servers where there is npm")
    server = llama_serving(gguf)
    prompt = asked(open_at(server.url))
    plain = {"prompt": prompt, "n_predict": 16, "temperature": 0, "return_tokens": True}
    ours = Endpoint(server.url).post("/completion", plain, Cancel())["tokens"]
    (tmp_path / "node_modules").symlink_to(modules)
    (tmp_path / "write.mjs").write_text(NODE_SCRIPT)
    command = [node, "write.mjs", str(gguf), json.dumps(prompt), str(len(ours))]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr.decode()[-2000:]
    theirs = json.loads(run.stdout.decode().strip().splitlines()[-1])
    assert theirs == ours[: len(theirs)]
    assert len(ours) - len(theirs) in (0, 1)  # the token that ends everything is told by the server only


@pytest.fixture
def python_server(gguf: Path, llama_server_binary: Path, tmp_path: Path) -> Iterator[str]:
    """The address of llama-cpp-python's server with the tiny model."""
    pytest.importorskip("uvicorn", reason="no llama-cpp-python[server]: run make llm-servers")
    environment = {**os.environ, "LLAMA_CPP_LIB_PATH": str(llama_server_binary.parent)}
    with httpx.Client(trust_env=False) as client, (tmp_path / "python-server.log").open("wb") as log:
        port = free_port()
        options = {"model": gguf, "host": "127.0.0.1", "port": port, "n_ctx": 2048, "n_threads": 1}
        command = [sys.executable, "-m", "llama_cpp.server"]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        url = f"http://127.0.0.1:{port}"
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                client.get(url + "/v1/models").raise_for_status()
                break
            except httpx.HTTPError:
                assert process.poll() is None, (tmp_path / "python-server.log").read_text()[-2000:]
                assert time.monotonic() < until
                time.sleep(0.05)
        yield url
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def test_llama_cpp_python_s_server_writes_the_same_text(llama_serving: Serve, gguf: Path, python_server: str):
    model = open_model(ModelConfig(backend="openai", url=python_server, prompt_ms=60_000))
    assert isinstance(model, CodeModel)
    assert complete(model) == complete(open_at(llama_serving(gguf).url)) != ""
    assert (model.info.fills_middle, model.info.repository_level) == (True, True)
    with pytest.raises(ModelMissing, match='backend = "openai"'):
        open_at(python_server).prepare(Cancel())
