"""The border at which text is redacted: which models are wrapped, and what reaches them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.llm import Cancel, CompletionRequest, ModelConfig, ModelInfo, Piece, PromptFragment, open_model
from weft.llm.protocol import ChatRequest, Message, Speed
from weft.server.config import MemoryOptions
from weft.server.models.embeddings import embedder_of
from weft.server.models.redacting import RedactingEmbedder, RedactingModel, redact_around, without_secrets
from weft.server.secrets import REDACTED, redact

SECRET = "Zk3vQ8nB1mX7pL0s"


class Model:
    def __init__(self, *pieces: str, local: bool = True, behind_address: bool = False) -> None:
        self.info = ModelInfo("m", "test", 4096, True, False, local, True, behind_address=behind_address)
        self.speed, self.pieces = Speed(), pieces
        self.requests: list[CompletionRequest | ChatRequest | str] = []

    def prepare(self, cancel: Cancel) -> None: ...

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        self.requests.append(request)

    def count_tokens(self, text: str) -> int:
        self.requests.append(text)
        return len(text)

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        self.requests.append(request)
        yield from (Piece(piece, 0.5) for piece in self.pieces)

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        self.requests.append(request)
        yield Piece("answer")

    def close(self) -> None: ...


@pytest.mark.parametrize(
    "setting, local, behind_address, wraps",
    [
        ("auto", True, False, False),
        ("auto", True, True, True),  # 127.0.0.1 may be a tunnel
        ("auto", False, True, True),
        ("auto", False, False, True),
        ("always", True, False, True),
        ("never", False, True, False),
    ],
)
def test_the_setting_says_which_models_are_sent_no_secrets(
    setting: str, local: bool, behind_address: bool, wraps: bool
) -> None:
    model = without_secrets(Model(local=local, behind_address=behind_address), setting)
    assert isinstance(model, RedactingModel) is wraps


@pytest.mark.parametrize("backend", ["openai", "ollama", "llama.cpp"])
def test_every_server_is_behind_an_address(backend: str) -> None:
    model = open_model(ModelConfig(backend, url="http://127.0.0.1:1", name="m"))
    assert model is not None and model.info.local and model.info.behind_address


def test_nothing_that_a_model_is_sent_holds_the_secret() -> None:
    inner = Model()
    model = RedactingModel(inner)
    line = f'password = "{SECRET}"'
    fragment = PromptFragment(("a.py",), line, 0, 1.0)
    request = CompletionRequest("b.py", "python", f"{line}\nx = ", f"\n{line}\n", (fragment,))
    list(model.stream(request, Cancel()))
    model.warm(request, Cancel())
    list(model.chat(ChatRequest((Message("system", line), Message("user", line))), Cancel()))
    model.count_tokens(line)
    assert len(inner.requests) == 4
    assert SECRET not in str(inner.requests)
    assert str(inner.requests).count(REDACTED) == 3 + 3 + 2 + 1


@pytest.mark.parametrize(
    "text, before, after",
    [
        (f'token = "{SECRET}"\nnext = |1', f'token = "{REDACTED}"\nnext = ', "1"),
        (f'token = |"{SECRET}"\n', "token = ", f'"{REDACTED}"\n'),
        (f'token = "{SECRET}"|\n', f'token = "{REDACTED}"', "\n"),
        (f'token = "{SECRET}|', f'token = "{REDACTED}', ""),
        (f'token = "{SECRET[:8]}|{SECRET[8:]}"; a = 1\n', f'token = "{REDACTED}', '"; a = 1\n'),
        (f'call(|token="{SECRET}")', "call(", f'token="{REDACTED}")'),
    ],
)
def test_the_cursor_stays_where_it_was_on_a_line_with_a_secret(text: str, before: str, after: str) -> None:
    prefix, _, suffix = text.partition("|")
    assert redact_around(prefix, suffix) == (before, after)


LINES = st.lists(
    st.sampled_from([f"token = '{SECRET}'", "x = 1", f"a b {SECRET} password", "", "密 token: x"]), max_size=6
)


@given(LINES, st.integers(0, 200))
def test_both_sides_of_a_cursor_hold_no_more_than_the_redacted_text(lines: list[str], at: int) -> None:
    text = "\n".join(lines)
    at = min(at, len(text))
    before, after = redact_around(text[:at], text[at:])
    assert before.count("\n") == text[:at].count("\n") and after.count("\n") == text[at:].count("\n")
    assert SECRET not in before and SECRET not in after
    if redact(text) == text:
        assert (before, after) == (text[:at], text[at:])


@pytest.mark.parametrize(
    "pieces, shown",
    [
        (("a = 1",), "a = 1"),
        (('"', "[red", "acted]", '"'), '"'),
        (("x[", "1]"), "x[1]"),
        (("[redac", "ting"), "[redacting"),
        (("[redacted]",), ""),
    ],
)
def test_a_completion_ends_where_the_model_repeats_the_mark(pieces: tuple[str, ...], shown: str) -> None:
    stream = RedactingModel(Model(*pieces)).stream(CompletionRequest("a.py", "python", "", ""), Cancel())
    assert "".join(piece.text for piece in stream) == shown


def test_an_embedder_behind_an_address_is_sent_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []

    class Embedder:
        name, n_dimensions = "e", 2

        def embed(self, texts: list[str], *, are_queries: bool = False) -> np.ndarray:
            sent.extend(texts)
            return np.ones((len(texts), 2), np.float32)

    RedactingEmbedder(Embedder()).embed([f"password: {SECRET}"], are_queries=True)  # type: ignore[arg-type]
    assert sent == [f"password: {REDACTED}"]


@pytest.mark.parametrize("redact, wraps", [("auto", True), ("never", False)])
def test_the_setting_holds_for_embedders(redact: str, wraps: bool) -> None:
    from weft.memory.storage import MemoryStore

    options = MemoryOptions(embeddings="api", embeddings_url="http://127.0.0.1:1", embeddings_model="e")
    embedder, _ = embedder_of(options, MemoryStore(None), redact=redact)
    assert isinstance(embedder.inner, RedactingEmbedder) is wraps  # type: ignore[attr-defined]
