"""The trace of a request names the model, the cache and the failure that decided it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from weft import Config, Workspace
from weft.llm import Cancel, CompletionRequest, ModelInfo, ModelUnreachable, Piece
from weft.llm.protocol import Speed
from weft.server.completion.values import NO_TRACE, Trace
from weft.server.config import CompletionOptions

LINE, COLUMN = 4, 23


class Scripted:
    """A model that writes `text`, or fails with `error`."""

    def __init__(self, text: str = "items)", error: str = "") -> None:
        self.text, self.error = text, error
        self.info, self.speed = ModelInfo("scripted", "test", 4096, True, False, local=True), Speed()

    def prepare(self, cancel: Cancel) -> None: ...

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None: ...

    def close(self) -> None: ...

    def count_tokens(self, text: str) -> int:
        return len(text)

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        if self.error:
            raise ModelUnreachable(self.error)
        yield Piece(self.text, 0.9)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "price.py").write_text("def total_price(items):\n    return sum(items)\n")
    (tmp_path / "shop.py").write_text("from price import total_price\n\n\ndef pay(items):\n    return total_price(")
    return tmp_path


def traced(workspace: Workspace, folder: Path) -> dict[str, list[str]]:
    """The details of each step of one request, by the name of the step."""
    trace = Trace()
    workspace.complete(folder / "shop.py", LINE, COLUMN, trace=trace)
    details: dict[str, list[str]] = {}
    for step in trace.steps:
        details.setdefault(step.name, []).append(step.detail)
    return details


def opened(folder: Path, model: Scripted) -> Workspace:
    workspace = Workspace([folder], Config(completion=CompletionOptions(debounce_ms=0)), model=model, cache=False)
    workspace.index()
    return workspace


def test_a_model_is_called_with_fragments_and_its_text_is_in_the_trace(folder: Path) -> None:
    with opened(folder, Scripted()) as workspace:
        found = traced(workspace, folder)
    assert "price.py:1-2" in found["retrieval"][0]
    assert found["model"] == ["calling scripted, fragments: 1", "scripted wrote 'items)'"]
    assert found["confidence"] == ["0.90, minimum 0.30"]
    assert found["result"] == ["shown: 'items)'"]


def test_the_second_request_is_a_cache_hit_without_a_call(folder: Path) -> None:
    with opened(folder, Scripted()) as workspace:
        traced(workspace, folder)
        found = traced(workspace, folder)
    assert found["cache"] == ["hit: scripted, 6 of its characters are left"]
    assert "model" not in found and found["result"] == ["shown: 'items)'"]


def test_a_failure_and_the_model_that_answers_instead_are_in_the_trace(folder: Path) -> None:
    with opened(folder, Scripted(error="Nothing answers there.")) as workspace:
        found = traced(workspace, folder)
    assert found["model"][1] == "scripted failed: Nothing answers there."
    assert found["model"][2].startswith("workspace wrote ")


def test_repair_rules_that_applied_are_named(folder: Path) -> None:
    shop = folder / "shop.py"
    shop.write_text(shop.read_text() + ")\n")
    with opened(folder, Scripted()) as workspace:
        found = traced(workspace, folder)
    assert found["repair"] == ["rules: remove_duplicate_closers"]


def test_a_trace_takes_steps_from_several_threads() -> None:
    trace = Trace()
    threads = [threading.Thread(target=trace.step, args=("model", lambda: "x")) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [step.detail for step in trace.steps] == ["x"] * 20


def test_without_a_trace_no_detail_is_formatted() -> None:
    def fails() -> str:
        raise AssertionError

    NO_TRACE.step("retrieval", fails)
    assert NO_TRACE.steps == ()
