"""Requests of real clients of `weft serve --http`, in the forms that their public sources write.

Zed: `crates/edit_prediction/src/{fim,ollama,open_ai_compatible}.rs`. Continue: `core/llm/llms/{Ollama,OpenAI}.ts` and
`core/autocomplete/templating/`; the core itself runs in `test_the_core_of_continue_completes`. twinny:
`src/extension/completion/fim-templates.ts` and `inference/adapters/fim-dialects.ts`. ProxyAI:
`CodeCompletionRequestFactory.kt` and `InfillPromptTemplate.kt`. llama.vscode: `src/llama-server.ts`. AI Assistant of
JetBrains has no public source; its requests are those that the proxies made for it answer
(`server/ConfigureServer.kt` of ProxyAsLocalModel).
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from http_shop import BEFORE, EXPECTED, PRICES, TOKEN, post, running, shop
from weft.server.workspace.workspace import Workspace

AFTER = "\n"
LINES = BEFORE.split("\n")
EXCERPT = "\n".join(LINES[-8:])
"""Part of the file, as clients with a small context send."""

ROOT = Path(__file__).resolve().parents[1]
CONTINUE = Path(os.environ.get("WEFT_CONTINUE") or ROOT / ".editors" / "continue" / "continue.mjs")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with shop(tmp_path_factory.mktemp("clients") / "shop") as workspace:
        yield workspace


@pytest.fixture(scope="module")
def address(workspace: Workspace) -> Iterator[str]:
    with running(workspace) as address:
        yield address


def openai_text(answer: httpx.Response) -> str:
    """The text of OpenAI's answer, streamed or whole."""
    assert answer.status_code == 200
    if answer.headers["content-type"].startswith("text/event-stream"):
        events = [line.removeprefix("data: ") for line in answer.text.splitlines() if line]
        assert events.pop() == "[DONE]"
        return "".join(json.loads(event)["choices"][0]["text"] for event in events)
    body = answer.json()
    assert body["id"] and body["model"] and {"prompt_tokens", "completion_tokens", "total_tokens"} <= set(body["usage"])
    return str(body["choices"][0]["text"])


def ollama_text(answer: httpx.Response) -> str:
    """The text of Ollama's answer, in lines or whole."""
    assert answer.status_code == 200
    parts = [json.loads(line) for line in answer.text.splitlines()]
    assert parts[-1]["done"] and all(part["created_at"] for part in parts)
    return "".join(part["response"] for part in parts)


# Zed.

ZED_FORMATS = {
    "code_llama": ("<PRE> {prefix} <SUF>{suffix} <MID>", ["<PRE>", "<SUF>", "<MID>"]),
    "star_coder": (
        "<fim_prefix>{prefix}<fim_suffix>{suffix}<fim_middle>",
        ["<|endoftext|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>"],
    ),
    "deepseek_coder": (
        "<｜fim▁begin｜>{prefix}<｜fim▁hole｜>{suffix}<｜fim▁end｜>",
        ["<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"],
    ),
    "qwen": (
        "<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>",
        ["<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"],
    ),
    "codestral": ("[SUFFIX]{suffix}[PREFIX]{prefix}", ["[PREFIX]", "[SUFFIX]"]),
    "glm": (
        "<|code_prefix|>{prefix}<|code_suffix|>{suffix}<|code_middle|>",
        ["<|endoftext|>", "<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"],
    ),
}


@pytest.mark.parametrize("name", ZED_FORMATS)
def test_zed_with_an_openai_compatible_address(address: str, name: str) -> None:
    prompt, stop = ZED_FORMATS[name]
    body = {"model": "weft", "prompt": prompt.format(prefix=EXCERPT, suffix=AFTER), "max_tokens": 64, "stop": stop}
    assert openai_text(httpx.post(f"{address}/token/{TOKEN}/v1/completions", json=body, timeout=30)) == "icles)"


@pytest.mark.parametrize("name", ZED_FORMATS)
def test_zed_with_ollama(address: str, name: str) -> None:
    prompt, stop = ZED_FORMATS[name]
    options = {"num_predict": 64, "temperature": 0.2, "stop": stop}
    body = {"model": "weft", "prompt": prompt.format(prefix=EXCERPT, suffix=AFTER), "raw": True, "stream": False}
    answer = httpx.post(f"{address}/token/{TOKEN}/api/generate", json={**body, "options": options}, timeout=30)
    assert ollama_text(answer) == "icles)"


# Continue.

CONTINUE_FRAGMENTS = "# Path: prices.py\n" + "".join(f"# {line}\n" for line in PRICES.rstrip().split("\n"))
CONTINUE_STOPS = ["<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<file_sep>", "<|endoftext|>", "/src/", "```"]


@pytest.mark.parametrize("fragments", ["\n", CONTINUE_FRAGMENTS], ids=["alone", "with fragments"])
def test_continue_with_ollama(address: str, fragments: str) -> None:
    shown = post(address, "/api/show", {"name": "weft"}).json()
    assert ".Suffix" in shown["template"]  # so that it sends the suffix by itself
    body = {
        "model": "weft",
        "prompt": f"{fragments}# cart.py\n{BEFORE}",
        "suffix": AFTER,
        "options": {"temperature": 0.01, "num_predict": 4096, "stop": CONTINUE_STOPS, "num_ctx": 8096},
        "keep_alive": 1800,
    }
    assert ollama_text(post(address, "/api/generate", body)) == "icles)"


@pytest.mark.parametrize("fragments", ["\n", CONTINUE_FRAGMENTS], ids=["alone", "with fragments"])
def test_continue_with_an_openai_compatible_address(address: str, fragments: str) -> None:
    body = {
        "model": "weft",
        "max_tokens": 4096,
        "temperature": 0.01,
        "stream": True,
        "stop": CONTINUE_STOPS,
        "prompt": f"<fim_prefix>{fragments}# cart.py\n{BEFORE}<fim_suffix>{AFTER}<fim_middle>",
    }
    assert openai_text(post(address, "/v1/completions", body)) == "icles)"


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_the_core_of_continue_completes(address: str, workspace: Workspace, tmp_path: Path, provider: str) -> None:
    if not CONTINUE.is_file():
        pytest.skip(f"no {CONTINUE}: run tests/clients/install_continue.sh, or set WEFT_CONTINUE")
    folder = Path(next(iter(workspace.indexes())))
    models = {
        "ollama": {"model": "weft", "apiBase": f"{address}/token/{TOKEN}"},
        "openai": {"model": "weft", "apiBase": f"{address}/v1/", "apiKey": TOKEN},
    }
    request = {
        "folder": folder.as_uri(),
        "file": (folder / "cart.py").as_uri(),
        "text": BEFORE + AFTER,
        "line": len(LINES) - 1,
        "character": len(LINES[-1]),
        "provider": provider,
        "model": models[provider],
        "recentlyEdited": [{"filepath": (folder / "prices.py").as_uri(), "lines": PRICES.split("\n")[4:9]}],
    }
    env = {**os.environ, "HOME": str(tmp_path), "CONTINUE_GLOBAL_DIR": str(tmp_path / "continue")}
    node = CONTINUE.parent.parent / "bin" / "node"
    command = [str(node) if node.exists() else "node", str(CONTINUE)]
    done = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True, timeout=120, env=env)
    answer = json.loads(done.stdout)
    assert (answer["completion"], answer["errors"]) == ("icles)", [])
    assert "Path: prices.py" in answer["prompt"]


# twinny.

TWINNY_HEADER = "# Language: Python (python) \n# Path: cart.py \n"
TWINNY_CONTEXT = f"# File: prices.py \n{PRICES.rstrip()}\n\n"


@pytest.mark.parametrize("context", ["", TWINNY_CONTEXT], ids=["alone", "with context"])
def test_twinny_with_ollama(address: str, context: str) -> None:
    body = {
        "model": "weft",
        "prompt": f"<PRE> {context}{TWINNY_HEADER}{EXCERPT} <SUF> {AFTER}    # more <MID>",
        "stream": True,
        "keep_alive": "5m",
        "options": {"temperature": 0.2, "num_predict": 512, "stop": ["<PRE>", "<SUF>", "<MID>"]},
    }
    assert ollama_text(post(address, "/api/generate", body)).startswith(EXPECTED)


@pytest.mark.parametrize("context", ["", f"<|file_sep|>prices.py\n{PRICES.rstrip()}\n<|file_sep|>cart.py\n"])
def test_twinny_with_an_openai_compatible_address(address: str, context: str) -> None:
    prompt = f"{context}<|fim_prefix|>{TWINNY_HEADER}{EXCERPT}<|fim_suffix|>{AFTER}x = 1<|fim_middle|>"
    body = {"model": "weft", "prompt": prompt, "stream": True, "temperature": 0.2, "max_tokens": 512, "stop": []}
    assert openai_text(post(address, "/v1/completions", body)).startswith(EXPECTED)


def test_twinny_warms_a_model_up(address: str) -> None:
    answer = post(address, "/api/generate", {"model": "weft", "prompt": "", "keep_alive": "5m", "stream": False})
    assert ollama_text(answer) == ""


# ProxyAI, formerly CodeGPT, in the editors of JetBrains.


def test_proxyai_with_a_custom_service_that_has_prefix_and_suffix(address: str) -> None:
    body = {"model": "weft", "prompt": BEFORE, "suffix": AFTER, "stream": True, "max_tokens": 128, "temperature": 0.0}
    assert openai_text(post(address, "/v1/completions", body)) == "icles)"


def test_proxyai_with_ollama(address: str) -> None:
    options = {"num_predict": 128, "temperature": 0.4}
    body = {"model": "weft", "prompt": BEFORE, "suffix": AFTER, "stream": True, "raw": True, "options": options}
    assert ollama_text(post(address, "/api/generate", body)) == "icles)"


@pytest.mark.parametrize(
    "prompt",
    [
        f"# cart.py \n<|fim_prefix|> {BEFORE} <|fim_suffix|>{AFTER} <|fim_middle|>",
        f"<|repo_name|>shop\n<|file_sep|>cart.py \n<|fim_prefix|> {BEFORE} <|fim_suffix|>{AFTER} <|fim_middle|>",
        f"# cart.py \n[SUFFIX]{AFTER}[PREFIX]{BEFORE}[MIDDLE]",
        f"#cart.py\n<｜fim▁begin｜>{BEFORE}<｜fim▁hole｜>{AFTER}<｜fim▁end｜>",
        f"# cart.py \n<PRE> {BEFORE} <SUF>{AFTER} <MID>",
    ],
    ids=["openai", "qwen", "codestral", "deepseek", "codellama"],
)
def test_proxyai_with_a_template(address: str, prompt: str) -> None:
    body = {"prompt": prompt, "stream": True, "max_tokens": 128, "stop": ["package ", "import ", "<|endoftext|>"]}
    assert openai_text(post(address, "/v1/completions", body)) == "icles)"


# llama.vscode.

LLAMA_VSCODE = {"top_k": 40, "top_p": 0.99, "stream": False, "samplers": ["top_k", "top_p", "infill"]}


def test_llama_vscode_infills_and_prepares(address: str) -> None:
    body = {
        "input_prefix": "\n".join(LINES[:-1]) + "\n",
        "input_suffix": AFTER,
        "input_extra": [{"text": PRICES, "time": 0, "filename": "prices.py"}],
        "prompt": LINES[-1],
        "n_predict": 128,
        **LLAMA_VSCODE,
        "cache_prompt": True,
        "n_indent": 8,
        "t_max_prompt_ms": 500,
        "t_max_predict_ms": 2500,
    }
    answer = post(address, "/infill", body).json()
    assert answer["content"] == "icles)" and answer["timings"]["predicted_n"] == 0
    prepared = post(address, "/infill", {**body, "prompt": "", "n_predict": 0, "samplers": []})
    assert prepared.json()["content"] == "" and "no text" in prepared.headers["x-weft-reason"]


def test_llama_vscode_with_an_openai_compatible_address(address: str) -> None:
    prompt = f"Context:\n\n{PRICES}<|fim_prefix|>{BEFORE}<|fim_suffix|>{AFTER}<|fim_middle|>"
    body = {"model": "weft", "prompt": prompt, "max_tokens": 128, "temperature": 0.1, "top_p": 0.99, "stream": False}
    assert openai_text(post(address, "/v1/completions", body)) == "icles)"


# JetBrains' AI Assistant.


def test_ai_assistant_of_jetbrains_finds_the_model_and_is_told_that_there_is_no_chat(address: str) -> None:
    base = f"{address}/token/{TOKEN}"
    assert httpx.get(f"{address}/").text.strip() == "Ollama is running"
    assert [model["name"] for model in httpx.get(f"{base}/api/tags").json()["models"]] == ["weft:latest"]
    assert httpx.post(f"{base}/api/show", json={"model": "weft:latest"}).json()["details"]["family"] == "weft"
    for path in ("/v1/models", "/api/v0/models"):  # OpenAI's, LM Studio's
        assert [model["id"] for model in httpx.get(base + path).json()["data"]] == ["weft"]
    message: dict[str, Any] = {"model": "weft", "messages": [{"role": "user", "content": "hello"}], "stream": True}
    for path in ("/api/chat", "/v1/chat/completions", "/api/v0/chat/completions"):
        answer = httpx.post(base + path, json=message)
        assert answer.status_code == 404 and "Use it for completions" in answer.text
