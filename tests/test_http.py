"""Completions over HTTP: prompts of clients, the file of a piece of code, and the real server with real clients."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import environment
from http_shop import BEFORE, CART, EXPECTED, TOKEN, post, running, shop
from hypothesis import given
from hypothesis import strategies as st
from weft.llm.prompting.formats import FIM_FORMATS
from weft.server.cli.main import main
from weft.server.completion.values import Completion
from weft.server.http_api.app import MAX_BODY_BYTES, inserted
from weft.server.http_api.find_file import FileFinder, Place
from weft.server.http_api.prompt import CodeAround, read_prompt
from weft.server.http_api.serve import listen_on
from weft.server.http_api.splice import splice
from weft.server.workspace.workspace import Workspace


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with shop(tmp_path_factory.mktemp("http") / "shop") as workspace:
        yield workspace


@pytest.fixture(scope="module")
def address(workspace: Workspace) -> Iterator[str]:
    with running(workspace) as address:
        yield address


# Prompts.


@pytest.mark.parametrize("name", FIM_FORMATS)
def test_a_prompt_with_the_tokens_of_a_model_is_read(name: str) -> None:
    tokens = FIM_FORMATS[name]
    if name == "codellama":
        prompt = "<PRE> before( <SUF>after() <MID>"
    elif tokens.suffix_first:
        prompt = f"{tokens.suffix}after(){tokens.prefix}before({tokens.middle}"
    else:
        prompt = f"{tokens.prefix}before({tokens.suffix}after(){tokens.middle}"
    assert read_prompt(prompt) == CodeAround("before(", "after()")


def test_the_last_file_of_a_repository_prompt_is_the_open_one() -> None:
    prompt = (
        "<|repo_name|>shop\n<|file_sep|>prices.py\nPRICES = {}\n"
        "<|file_sep|>cart.py\n<|fim_prefix|>a = <|fim_suffix|>\n<|fim_middle|>"
    )
    assert read_prompt(prompt) == CodeAround("a = ", "\n", "cart.py")


def test_starcoder_names_the_file_behind_the_prefix_token() -> None:
    prompt = "<fim_prefix><file_sep>cart.py\na = <fim_suffix>\n<fim_middle>"
    assert read_prompt(prompt) == CodeAround("a = ", "\n", "cart.py")


def test_code_that_has_the_tokens_itself_keeps_them() -> None:
    code = 'TOKENS = ("<|fim_prefix|>", "<|fim_suffix|>")\nx = '
    assert read_prompt(code) == CodeAround(code, "")
    assert read_prompt(f"<|fim_prefix|>{code}<|fim_suffix|>\n<|fim_middle|>") == CodeAround(code, "\n")


def test_comments_of_clients_are_no_code() -> None:
    # minuet.nvim's first lines, and a path as Continue writes it.
    assert read_prompt("# language: python\n# indentation: use 4 spaces for a tab\nx = ", "\n") == CodeAround(
        "x = ", "\n", language="python"
    )
    assert read_prompt("// Path: web/format.ts\nconst a = ", ";") == CodeAround("const a = ", ";", "web/format.ts")
    assert read_prompt("# Prices of all articles\nx = ").prefix == "# Prices of all articles\nx = "


def test_fragments_that_continue_puts_above_the_code_are_no_code() -> None:
    fragments = "# Path: shop/prices.py\n# def price_of(article):\n#     return article.price\n# \n# shop/cart.py\n"
    assert read_prompt(f"{fragments}x = ", "\n") == CodeAround("x = ", "\n", "shop/cart.py")
    # The comments of the file itself stay.
    assert read_prompt("\n# cart.py\n# Carts of customers.\nx = ", "\n") == CodeAround(
        "# Carts of customers.\nx = ", "\n", "cart.py"
    )
    for code in ("\n# Carts of customers.\nx = ", "# cart.py\nx = ", "\n\nx = ", "", "\n", "\n# cart.py"):
        assert read_prompt(code, "\n") == CodeAround(code, "\n")


def test_what_twinny_and_proxyai_put_around_the_code_is_no_code() -> None:
    fragments = "# File: prices.py \ndef price_of(article): ...\n\n"
    header = "# Language: Python (python) \n# Path: shop/cart.py \n"
    expected = CodeAround("x = ", "\n", "shop/cart.py", "Python")
    assert read_prompt(f"<PRE> {fragments}{header}x =  <SUF>\n <MID>") == expected
    assert read_prompt("# a.py \ntext\n# cart.py \n<|fim_prefix|> x =  <|fim_suffix|>\n <|fim_middle|>") == CodeAround(
        "x = ", "\n", "cart.py"
    )
    assert read_prompt("[SUFFIX]\n[PREFIX]x = [MIDDLE]") == CodeAround("x = ", "\n")


# The whole file.


def test_a_cut_prompt_gets_the_rest_of_its_file() -> None:
    lines = CART.split("\n")
    sent_before, sent_after = (
        "\n".join(["omer):", *lines[7:11], "        self.ar"]),
        "\n\n    def total_price(self):\n    ",
    )
    before, after = splice(CART, sent_before, sent_after)
    assert before == "\n".join([*lines[:11], "        self.ar"])
    assert before + "ticles.append((article, amount))" + after == CART


def test_new_lines_of_the_editor_stay() -> None:
    before, after = splice(CART, "import json\n\n" + CART[:200], CART[200:])
    assert (before, after) == ("import json\n\n" + CART[:200], CART[200:])


@given(
    lines=st.lists(st.text("abcxyz(). ", max_size=12), min_size=2, max_size=30),
    cursor=st.floats(0, 1),
    n_before=st.integers(0, 60),
    n_after=st.integers(0, 60),
)
def test_a_cut_of_distinct_lines_is_undone_or_left(
    lines: list[str], cursor: float, n_before: int, n_after: int
) -> None:
    text = "\n".join(f"{line}line{number:04}" for number, line in enumerate(lines))
    at = int(cursor * len(text))
    before, after = text[max(at - n_before, 0) : at], text[at : at + n_after]
    whole_before, whole_after = splice(text, before, after)
    assert whole_before in (before, text[:at])
    assert whole_after in (after, text[at:])
    if before.count("\n") >= 2:
        assert whole_before == text[:at]
    if after.count("\n") >= 2:
        assert whole_after == text[at:]


# The file of a piece of code.


def test_code_without_a_path_is_found_by_its_text(workspace: Workspace) -> None:
    place = FileFinder(workspace).place(read_prompt("\n".join(BEFORE.split("\n")[8:])))
    assert place.path.name == "cart.py"
    assert place.text == BEFORE
    assert (place.line, place.character) == (BEFORE.count("\n"), len(BEFORE.split("\n")[-1]))


@pytest.mark.parametrize("name", ["cart.py", "./cart.py", "{root}/cart.py", "file://{root}/cart.py"])
def test_a_path_of_the_client_counts(workspace: Workspace, name: str) -> None:
    root = next(iter(workspace.indexes()))
    place = FileFinder(workspace).place(CodeAround("x = ", "", name.format(root=root)))
    assert place.is_known and place.path == Path(root, "cart.py")


@pytest.mark.parametrize("name", ["../secret.py", "/etc/passwd", "missing.py", "\0", "a\\b.py"])
def test_a_path_outside_of_the_workspace_is_not_read(workspace: Workspace, name: str) -> None:
    place = FileFinder(workspace).place(CodeAround("x = ", "", name))
    assert not place.is_known and place.text == "x = "


def test_new_code_is_completed_as_a_file_of_its_language(workspace: Workspace) -> None:
    finder = FileFinder(workspace)
    assert finder.place(CodeAround("const shown = formatPrice(", ");")).path.suffix == ".ts"
    assert finder.place(CodeAround("x = 1\n", "", language="go")).path.suffix == ".go"


def test_line_breaks_of_windows_are_line_feeds(workspace: Workspace) -> None:
    place = FileFinder(workspace).place(read_prompt(BEFORE.replace("\n", "\r\n")))
    assert place.text == BEFORE


# What is inserted.


def completion(text: str, start: int, end: int) -> Completion:
    return Completion(text, (0, start), (0, end))


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (completion("total)", 6, 6), "total)"),
        (completion("total)", 6, 7), "total"),  # the bracket stays where it is
        (completion("print(total)", 0, 6), "total)"),
        (completion("total", 6, 7), ""),  # would remove the bracket
        (completion("Print(total", 0, 6), ""),
    ],
)
def test_only_what_can_be_inserted_is_answered(shown: Completion, expected: str) -> None:
    assert inserted(shown, Place(Path("a.py"), "print()", 0, 6, True)) == expected


# The server.


def test_openai_completions(address: str) -> None:
    answer = post(address, "/v1/completions", {"model": "weft", "prompt": BEFORE, "suffix": "\n", "max_tokens": 16})
    assert answer.status_code == 200
    body = answer.json()
    assert body["object"] == "text_completion"
    assert body["choices"][0]["text"].startswith(EXPECTED)
    assert body["choices"][0]["finish_reason"] == "stop"


def test_the_openai_package_completes_whole_and_streamed(address: str) -> None:
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=f"{address}/v1", api_key=TOKEN)
    assert [model.id for model in client.models.list()] == ["weft"]
    whole = client.completions.create(model="weft", prompt=BEFORE, suffix="\n").choices[0].text
    stream = client.completions.create(model="weft", prompt=BEFORE, suffix="\n", stream=True)
    pieces = [event.choices[0].text for event in stream]
    assert "".join(pieces) == whole
    assert whole.startswith(EXPECTED)


def test_mistral_fill_in_the_middle(address: str) -> None:
    body = post(address, "/v1/fim/completions", {"model": "weft", "prompt": BEFORE, "suffix": "\n"}).json()
    assert body["choices"][0]["message"]["content"].startswith(EXPECTED)


def test_ollama_generates_in_lines_or_whole(address: str) -> None:
    # Ollama's clients put the code into the tokens of a model.
    prompt = f"<|fim_prefix|>{BEFORE}<|fim_suffix|>\n<|fim_middle|>"
    streamed = post(address, "/api/generate", {"model": "weft", "prompt": prompt, "raw": True}).text.splitlines()
    parts = [json.loads(line) for line in streamed]
    assert [part["done"] for part in parts] == [False, True]
    whole = post(address, "/api/generate", {"model": "weft", "prompt": BEFORE, "suffix": "\n", "stream": False}).json()
    assert whole["done"] and whole["response"] == "".join(part["response"] for part in parts)
    assert whole["response"].startswith(EXPECTED)
    assert "insert" in post(address, "/api/show", {"model": "weft"}).json()["capabilities"]


def test_llama_vim_is_answered(address: str) -> None:
    """The request that llama.vim sends: the cursor's line is `prompt`, and it asks for some fields by their paths."""
    *above, line = BEFORE.split("\n")
    body = {
        "id_slot": 0,
        "input_prefix": "\n".join(above) + "\n",
        "input_suffix": "\n",
        "input_extra": [{"text": "unrelated", "filename": "other.py"}],
        "prompt": line,
        "n_predict": 128,
        "stop": [],
        "n_indent": 8,
        "samplers": ["top_k", "top_p", "infill"],
        "stream": False,
        "response_fields": ["content", "timings/prompt_n"],
    }
    answer = post(address, "/infill", body).json()
    assert answer["content"].startswith(EXPECTED)
    assert answer["timings/prompt_n"] == 0


def test_a_stop_text_ends_the_completion(address: str) -> None:
    answer = post(address, "/v1/completions", {"prompt": BEFORE, "suffix": "\n", "stop": ["c"]})
    assert answer.json()["choices"][0]["text"] == "i"


def test_an_empty_text_has_a_reason(address: str) -> None:
    answer = post(address, "/v1/completions", {"prompt": "qqqq zzzz ", "suffix": "\n"})
    assert answer.json()["choices"][0]["text"] == ""
    assert answer.headers["x-weft-reason"]


@pytest.mark.parametrize("path", ["/v1/completions", "/api/generate", "/infill", "/v1/models", "/health", "/nothing"])
@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x"])
def test_without_the_token_nothing_is_answered(address: str, path: str, token: str) -> None:
    answer = post(address, path, {"prompt": BEFORE}, token)
    assert answer.status_code == 401
    assert "articles" not in answer.text


def test_the_token_may_stand_in_the_path(address: str) -> None:
    body = {"prompt": BEFORE, "suffix": "\n", "stream": False}
    answer = httpx.post(f"{address}/token/{TOKEN}/api/generate", json=body, timeout=30)
    assert answer.json()["response"].startswith(EXPECTED)
    assert httpx.post(f"{address}/token/wrong/api/generate", json=body, timeout=30).status_code == 401


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"prompt": 1}',
        b'{"prompt": "a", "stop": [1]}',
        b'{"prompt": "a", "suffix": {}}',
        b"\xff" * 9,
    ],
)
def test_a_wrong_request_is_refused_with_the_next_step(address: str, content: bytes) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    answer = httpx.post(f"{address}/v1/completions", content=content, headers=headers, timeout=30)
    assert answer.status_code == 400
    assert "Send" in answer.json()["error"]["message"]


def test_a_request_that_is_too_large_is_refused(address: str) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    content = b'{"prompt": "' + b"a" * MAX_BODY_BYTES + b'"}'
    assert httpx.post(f"{address}/v1/completions", content=content, headers=headers, timeout=30).status_code == 413


def test_a_client_that_goes_away_cancels_its_request(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    began, cancelled = threading.Event(), threading.Event()

    def wait(*_: Any, cancel: Any, **__: Any) -> Completion:
        began.set()
        if cancel.wait(20):
            cancelled.set()
        return completion("", 0, 0)

    monkeypatch.setattr(workspace, "complete", wait)
    with running(workspace) as address:
        client = httpx.Client(timeout=0.5)
        with pytest.raises(httpx.ReadTimeout):
            client.post(f"{address}/v1/completions", json={"prompt": "x"}, headers={"authorization": f"Bearer {TOKEN}"})
        client.close()
        assert began.is_set() and cancelled.wait(10)


# The command.


def test_the_command_serves_until_it_is_stopped(workspace: Workspace, tmp_path: Path) -> None:
    folder, token_file = next(iter(workspace.indexes())), tmp_path / "token"
    command = ["serve", "--http", "127.0.0.1:0", folder, "--no-cache", "--token-file", str(token_file)]
    process = subprocess.Popen(
        [sys.executable, "-m", "weft", *command], stderr=subprocess.PIPE, text=True, env=environment(tmp_path)
    )
    try:
        assert process.stderr is not None
        first = process.stderr.readline()
        address = first.split()[-1]
        answer = post(address, "/v1/completions", {"prompt": BEFORE, "suffix": "\n"}, token_file.read_text().strip())
        assert answer.json()["choices"][0]["text"].startswith(EXPECTED)
        process.terminate()
        process.wait(20)
    finally:
        process.kill()
        process.stderr.close()


def test_without_the_extra_the_command_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in [name for name in sys.modules if name.startswith("weft.server.http_api")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", "--http", "127.0.0.1:0", str(tmp_path)]) == 2
    assert "http]" in capsys.readouterr().err


def test_an_answer_waits_for_no_acknowledgement() -> None:
    with listen_on("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
