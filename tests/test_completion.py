"""What is cut from a model's text, which models are asked, and what they are given."""

from __future__ import annotations

import queue
import threading
from pathlib import Path

import pytest
from weft import Config, Workspace
from weft.llm import Cancel, ModelConfig, ModelInfo, ModelUnreachable, Piece
from weft.llm.protocol import Speed
from weft.server.completion.service import Position
from weft.server.completion.trigger import only_closes
from weft.server.config import CompletionOptions


@pytest.mark.parametrize(("rest", "closes"), [("", True), (")", True), ("]):  ", True), ('")', True), ("x)", False)])
def test_only_closing_punctuation_allows_an_automatic_completion(rest, closes):
    assert only_closes(rest) is closes


class Scripted:
    """A model that says what it is told to, and remembers what it was asked."""

    def __init__(self, *pieces, error: str = "", local: bool = True):
        self.pieces, self.error, self.requests, self.warmed = pieces, error, [], queue.Queue()
        self.info, self.speed = ModelInfo("scripted", "test", 4096, True, False, local), Speed()

    def prepare(self, cancel): ...

    def warm(self, request, cancel):
        self.warmed.put(request)

    def count_tokens(self, text: str) -> int:
        return len(text)

    def stream(self, request, cancel):
        self.requests.append(request)
        if self.error:
            raise ModelUnreachable(self.error)
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            if callable(piece):
                piece(cancel)
            else:
                yield Piece(piece, 0.9)

    def close(self) -> None: ...


CONFIG = Config(completion=CompletionOptions(min_confidence=0.0))


@pytest.fixture
def folder(tmp_path):
    price = 'def total_price(items):\n    key = "AKIAIOSFODNN7EXAMPLQ"\n    return sum(items)\n'
    (tmp_path / "price.py").write_text(price)
    (tmp_path / "shop.py").write_text("from price import total_price\n\n\ndef pay(items):\n    return total_price(")
    return tmp_path


def completed(folder: Path, model: Scripted, config: Config | None = None, **options):
    with Workspace([folder], config or CONFIG, model=model, cache=False) as workspace:
        workspace.index()
        return workspace.complete(folder / "shop.py", 4, 23, **options), workspace.status()


def test_the_first_model_writes_and_is_named(folder):
    model = Scripted("items", ")", "\nmore that is not wanted")
    completion, _ = completed(folder, model)
    assert (completion.text, completion.model) == ("items)", "scripted")
    (request,) = model.requests
    assert request.prefix.endswith("return total_price(") and request.suffix == "" and request.language == "python"
    assert any("def total_price" in fragment.text for fragment in request.fragments)


def test_when_a_model_fails_the_workspace_model_answers_and_the_status_says_so(folder):
    (folder / "other.py").write_text(
        "from price import total_price\n\n\ndef refund(items):\n    return total_price(items)\n"
    )
    completion, status = completed(folder, Scripted(error="Nothing answers at the endpoint. Start it."))
    assert (completion.text, completion.model) == ("items)", "workspace")
    assert "Nothing answers" in status.notes[0]


def test_without_the_workspace_model_a_failure_is_an_empty_answer(folder):
    config = Config(model=(ModelConfig(backend="none"),))
    completion, _ = completed(folder, Scripted(error="gone"), config)
    assert completion.text == "" and completion.why_empty


def test_a_model_that_failed_is_left_alone_for_a_while(folder):
    model = Scripted(error="gone")
    with Workspace([folder], Config(), model=model, cache=False) as workspace:
        workspace.index()
        for _ in range(3):
            workspace.complete(folder / "shop.py", 4, 23)
    assert len(model.requests) == 1


def test_secrets_are_blanked_in_prompts_that_leave_the_machine(folder):
    for local in (True, False):
        model = Scripted("x", local=local)
        completed(folder, model)
        shown = "".join(fragment.text for fragment in model.requests[0].fragments)
        assert ("AKIAIOSFODNN7EXAMPLQ" in shown) is local


def test_a_cancelled_request_is_empty_at_once_and_the_model_ends_when_nobody_comes_back_for_it(folder):
    cancel, ended = Cancel(), queue.Queue()
    model = Scripted("it", lambda _: cancel.cancel(), lambda own: ended.put(own.wait(30)), "ems")
    with Workspace([folder], Config(), model=model, cache=False) as workspace:
        workspace.index()
        completion = workspace.complete(folder / "shop.py", 4, 23, cancel=cancel)
        assert (completion.text, completion.why_empty) == ("", "cancelled")
        assert ended.get(timeout=30) is True


def test_a_model_slower_than_the_deadline_is_given_up(folder):
    config = Config(completion=CompletionOptions(deadline_ms=300))
    stopped = threading.Event()

    def dawdle(cancel: Cancel) -> None:
        assert cancel.wait(30)
        stopped.set()

    model = Scripted(dawdle)
    completion, _ = completed(folder, model, config)
    assert completion.model == "workspace"
    assert stopped.is_set() or not model.requests  # a machine that is slow enough does not come to ask it


def test_an_invoked_completion_has_no_deadline(folder):
    config = Config(completion=CompletionOptions(deadline_ms=10))
    completion, _ = completed(folder, Scripted(lambda cancel: cancel.wait(0.1), "items)"), config, trigger="invoked")
    assert completion.text == "items)"


def test_what_a_model_wrote_before_it_failed_is_dropped_and_the_next_one_is_asked(folder):
    completion, _ = completed(folder, Scripted("HALF", ModelUnreachable("It broke off.")))
    assert completion.model == "workspace" and "HALF" not in completion.text


def test_what_a_model_wrote_before_the_deadline_is_taken(folder):
    config = Config(completion=CompletionOptions(deadline_ms=2000))
    completion, _ = completed(folder, Scripted("items", lambda cancel: cancel.wait(30)), config)
    assert (completion.text, completion.model) == ("items", "scripted")


def test_a_model_is_told_what_the_repository_would_go_on_with(folder):
    (folder / "other.py").write_text(
        "from price import total_price\n\n\ndef refund(items):\n    return total_price(items)\n"
    )
    model = Scripted("x")
    completed(folder, model)
    (request,) = model.requests
    assert request.draft_source is not None
    assert (request.draft_source(""), request.draft_source("ite")) == ("items)", "ms)")


def test_a_draft_has_suggestions_for_the_lines_that_are_written_already(folder):
    (folder / "other.py").write_text("class Basket:\n    def empty_all(self): ...\n")
    (folder / "shop.py").write_text("from other import Basket\n\n\ndef pay(items):\n    return total_price(")
    model = Scripted("x")
    completed(folder, model)
    (request,) = model.requests
    assert request.draft_source is not None
    assert request.draft_source("items)\n    cart = Basket()\n    cart.e") == "mpty_all()"


def test_warm_up_prefills_the_prompt_of_the_next_completion(folder):
    model = Scripted("items)")
    with Workspace([folder], Config(), model=model, cache=False) as workspace:
        workspace.index()
        workspace.keep_models_ready(lambda news: None)
        text = (folder / "shop.py").read_text()
        workspace.open_buffer(folder / "shop.py", text)
        assert model.warmed.get(timeout=30).prefix == text  # the cursor is unknown
        text = text.replace("def pay(items)", "def pay(many_items)")
        workspace.edit_buffer(folder / "shop.py", text)
        warmed = model.warmed.get(timeout=30)
        workspace.flush()
        workspace.complete(folder / "shop.py", 3, len("def pay(many_"), trigger="invoked")
    (request,) = model.requests
    assert warmed == request


@pytest.mark.parametrize(
    ("warm_up", "local", "is_warmed"),
    [("local", True, True), ("local", False, False), ("all", False, True), ("off", True, False)],
)
def test_warm_up_follows_the_setting(folder, warm_up, local, is_warmed):
    model = Scripted("items)", local=local)
    config = Config(completion=CompletionOptions(warm_up=warm_up))
    with Workspace([folder], config, model=model, cache=False) as workspace:
        workspace.completion._warm_up(Position(folder / "shop.py", 0, 0), Cancel())
    assert model.warmed.empty() is not is_warmed


def test_lines_are_indented_as_the_project_s_editorconfig_says(folder):
    (folder / ".editorconfig").write_text("root = true\n[*.go]\nindent_style = tab\n")
    path, text = folder / "new.go", "package shop\n\nfunc Pay(items []int) int {"
    config = Config(completion=CompletionOptions(min_confidence=0.0, debounce_ms=0))
    with Workspace([folder], config, model=Scripted("\n    return len(items)\n}"), cache=False) as workspace:
        workspace.index()
        workspace.edit_buffer(path, text)
        assert workspace.complete(path, 2, 99, multi_line=True).text == "\n\treturn len(items)\n}"
        (folder / ".editorconfig").write_text("root = true\n[*.go]\nindent_style = space\nindent_size = 2\n")
        workspace.files_changed([folder / ".editorconfig"])
        assert workspace.complete(path, 2, 99, multi_line=True).text == "\n  return len(items)\n}"
