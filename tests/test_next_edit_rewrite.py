"""Rewrites by a model: when one is asked, what it reads, and which of its edits are offered."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from next_edit_cases import files_of
from weft.errors import ModelError
from weft.llm import Cancel, CodeModel, CompletionRequest, ModelConfig, ModelInfo, Piece, open_model
from weft.llm.protocol import ChatRequest, ModelUnreachable, ModelWrapper, Speed
from weft.server.config import Config
from weft.server.config.settings import NextEditOptions
from weft.server.next_edit.rewrite.minimal_edits import apply_edits, edits_left, minimal_edits
from weft.server.next_edit.rewrite.request import Diagnostic, region_at
from weft.server.next_edit.rewrite.service import MAX_LATE, RewriteOptions
from weft.server.workspace.text import TextLines
from weft.server.workspace.workspace import Workspace

SHOP = """
    #- shop.py
    from price import net


    def gross(amount):
        rate = 1.2
        total = net(amount)
        return total


    def cheap(amount):
        return net(amount) < 5
    #- price.py
    def net(amount):
        return amount
    """

NAME = "sweep-next-edit-1.5b.gguf"


class Model:
    """A next-edit model with Sweep's format that replaces one text of the window by another."""

    def __init__(self, old: str = "", new: str = "", *, name: str = NAME, chats: bool = False) -> None:
        self.info = ModelInfo(name, "test", 4096, True, False, True, chats=chats)
        self.speed, self.asked = Speed(), list[CompletionRequest | ChatRequest]()
        self.old, self.new = old, new
        self.answer: str | None = None

    def prepare(self, cancel: Cancel) -> None: ...

    def count_tokens(self, text: str) -> int:
        return len(text) // 3 + 1

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        self.asked.append(request)
        if not request.prompt:  # a completion
            return
        prompt = "".join(part.text for part in request.prompt)
        window = prompt.partition(f"<|file_sep|>current/{request.path}\n")[2].partition("<|file_sep|>")[0]
        yield from map(Piece, self.rewritten(window).splitlines(keepends=True))

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        self.asked.append(request)
        window = request.messages[-1].text.partition("<region>\n")[2].partition("</region>")[0]
        yield Piece(f"```\n{self.rewritten(window.replace('<cursor/>', ''))}```")

    def rewritten(self, window: str) -> str:
        if self.answer is not None:
            return self.answer
        assert not self.old or self.old in window, window
        return window.replace(self.old, self.new) if self.old else window

    @property
    def prompts(self) -> list[str]:
        return [
            "".join(part.text for part in each.prompt) for each in self.asked if isinstance(each, CompletionRequest)
        ]

    def close(self) -> None: ...


def opened(folder: Path, asked: Model, /, **options: object) -> Workspace:
    for name, text in files_of(SHOP).items():
        (folder / name).write_text(text)
    workspace = Workspace([folder], Config(next_edits=NextEditOptions(**options)), model=asked, cache=False)
    workspace.index()
    return workspace


def edited(workspace: Workspace, folder: Path, old: str = "rate = 1.2", new: str = "rate = 1.3", name: str = "shop.py"):
    text = files_of(SHOP)[name]
    assert text.count(old) == 1
    workspace.open_buffer(folder / name, text)
    workspace.edit_buffer(folder / name, text.replace(old, new))


def found(workspace: Workspace, folder: Path, line: int = 4) -> list[tuple[object, ...]]:
    edits = workspace.next_edits(folder / "shop.py", line, 0)
    return [(edit.kind, edit.start, edit.old, edit.new) for edit in edits]


RATED = ("rewrite", (6, 16), "", " * rate")


def test_a_rewrite_becomes_a_minimal_edit_with_its_reason(tmp_path):
    model = Model("return total", "return total * rate")
    with opened(tmp_path, model) as workspace:
        edited(workspace, tmp_path)
        assert found(workspace, tmp_path) == [RATED]
        (edit,) = workspace.next_edits(tmp_path / "shop.py", 4, 0)
        assert edit.reason == f"{NAME} rewrites these lines after the recent edits."
        assert (edit.origin.path, edit.origin.line) == ("shop.py", 4) and edit.confidence == 0.5


def test_several_changes_are_several_edits_of_one_group(tmp_path):
    model = Model()
    with opened(tmp_path, model) as workspace:
        edited(workspace, tmp_path)
        text = files_of(SHOP)["shop.py"].replace("1.2", "1.3")
        model.answer = text.replace("return total", "return total * rate").replace("< 5", "< 6")
        edits = workspace.next_edits(tmp_path / "shop.py", 4, 0)
        assert [(edit.start, edit.old, edit.new) for edit in edits] == [((6, 16), "", " * rate"), ((10, 25), "5", "6")]
        assert len({edit.cause for edit in edits}) == 1


def test_the_other_edits_of_an_answer_stay_when_one_is_made(tmp_path):
    model = Model()
    with opened(tmp_path, model) as workspace:
        edited(workspace, tmp_path)
        text = files_of(SHOP)["shop.py"].replace("1.2", "1.3")
        model.answer = text.replace("return total", "return total * rate").replace("< 5", "< 6")
        assert len(found(workspace, tmp_path)) == 2
        workspace.edit_buffer(tmp_path / "shop.py", text.replace("return total", "return total * rate"))
        assert found(workspace, tmp_path, line=6) == [("rewrite", (10, 25), "5", "6")]
        assert len(model.asked) == 1
        workspace.edit_buffer(tmp_path / "shop.py", model.answer)
        assert found(workspace, tmp_path) == []
        assert len(model.asked) == 2


def test_the_prompt_has_recent_edits_and_related_code(tmp_path):
    model = Model()
    with opened(tmp_path, model) as workspace:
        edited(workspace, tmp_path)
        assert found(workspace, tmp_path) == []  # the answer is the text
        (prompt,) = model.prompts
        assert "<|file_sep|>price.py\ndef net(amount):\n    return amount\n" in prompt
        assert "<|file_sep|>shop.py.diff\noriginal:\n" in prompt and "    rate = 1.3\n" in prompt
        original = prompt.partition("original/shop.py\n")[2].partition("<|file_sep|>")[0]
        assert original.rstrip("\n") == files_of(SHOP)["shop.py"].rstrip("\n")


def test_the_same_text_is_asked_once(tmp_path):
    model = Model("return total", "return total * rate")
    with opened(tmp_path, model) as workspace:
        edited(workspace, tmp_path)
        assert found(workspace, tmp_path) == found(workspace, tmp_path, line=6) == [RATED]
        assert len(model.asked) == 1
        text = files_of(SHOP)["shop.py"].replace("1.2", "1.4")
        workspace.edit_buffer(tmp_path / "shop.py", text)
        assert found(workspace, tmp_path) == [RATED]
        assert len(model.asked) == 2


def test_no_model_is_asked_where_another_next_edit_is_known(tmp_path):
    model = Model("5", "6")
    with opened(tmp_path, model) as workspace:
        edited(workspace, tmp_path, "def net", "def netto", "price.py")
        workspace.open_buffer(tmp_path / "shop.py", files_of(SHOP)["shop.py"])
        assert {kind for kind, *_ in found(workspace, tmp_path)} == {"rename"}
        assert not model.asked


def test_edits_in_other_files_leave_room_for_one_here_where_the_client_wants_it(tmp_path):
    model = Model("return amount", "return amount * 2")
    with opened(tmp_path, model) as workspace:
        edited(workspace, tmp_path, "def net", "def netto", "price.py")
        at = workspace.next_edits_of.at
        options = RewriteOptions(Cancel())
        assert {each.edit.kind for each in at(tmp_path / "price.py", 0, 0, rewrite=options)} == {"rename"}
        here = at(tmp_path / "price.py", 0, 0, rewrite=replace(options, only_here=True))
        assert here[-1].edit.kind == "rewrite" and here[0].edit.kind == "rename"
        assert not any(each.edit.kind == "rewrite" for each in at(tmp_path / "price.py", 0, 0))


@pytest.mark.parametrize(
    ("options", "name", "chats", "is_asked"),
    [
        ({}, "qwen2.5-coder", True, False),
        ({"model": "any"}, "qwen2.5-coder", True, True),
        ({"model": "any"}, "qwen2.5-coder", False, False),
        ({"model": "off"}, NAME, False, False),
        ({"min_confidence": 0.6}, NAME, False, False),
        ({"enabled": False}, NAME, False, False),
    ],
)
def test_only_next_edit_models_are_asked_unless_the_settings_say_otherwise(tmp_path, options, name, chats, is_asked):
    model = Model("return total", "return total * rate", name=name, chats=chats)
    with opened(tmp_path, model, **options) as workspace:
        edited(workspace, tmp_path)
        assert found(workspace, tmp_path) == ([RATED] if is_asked else [])
        assert bool(model.asked) == is_asked


def test_a_chat_model_reads_diagnostics(tmp_path):
    model = Model("return total", "return total * rate", name="chat", chats=True)
    with opened(tmp_path, model, model="any") as workspace:
        edited(workspace, tmp_path)
        options = RewriteOptions(Cancel(), (Diagnostic(4, "warning", "unused variable 'rate'\nmore"),))
        assert len(workspace.next_edits_of.at(tmp_path / "shop.py", 4, 0, rewrite=options)) == 1
        (asked,) = model.asked
        assert "shop.py:5: warning: unused variable 'rate'\n</diagnostics>" in asked.messages[-1].text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return total", "return total * rebate"),  # no such name
        ("return total", "return total * (rate"),  # no such syntax
        ("rate = 1.3", "rate = 1.2"),  # undoes the recent edit
        ("rate = 1.3\n    total", "rate = 1.2\n    total"),
        ("net(amount)\n    return", "nett(amount)\n    return"),
    ],
)
def test_what_names_nothing_breaks_the_syntax_or_undoes_is_not_offered(tmp_path, old, new):
    with opened(tmp_path, Model(old, new)) as workspace:
        edited(workspace, tmp_path)
        assert found(workspace, tmp_path) == []


def test_a_part_of_an_answer_that_undoes_a_recent_edit_is_not_offered(tmp_path):
    model = Model("< 5", "< 6")
    with opened(tmp_path, model) as workspace:
        edited(workspace, tmp_path, "    rate = 1.2\n", "    rate = 1.2\n    share = 2\n")
        text = files_of(SHOP)["shop.py"]
        model.answer = text.replace("< 5", "< 6")  # without the new line
        assert found(workspace, tmp_path) == [("rewrite", (11, 25), "5", "6")]


def test_a_name_may_come_with_another_edit_of_the_answer(tmp_path):
    model = Model(
        "total = net(amount)\n    return total", "share = net(amount)\n    # the share\n    return share * rate"
    )
    with opened(tmp_path, model) as workspace:
        edited(workspace, tmp_path)
        assert found(workspace, tmp_path)


@pytest.mark.parametrize("answer", ["", "\n", "Sorry, I can not do that.", "x = 1\n" * 11, "def gross(amount):\n"])
def test_an_answer_that_is_another_text_is_not_offered(tmp_path, answer):
    model = Model()
    model.answer = answer
    with opened(tmp_path, model) as workspace:
        edited(workspace, tmp_path)
        assert found(workspace, tmp_path) == []
        assert len(model.asked) == 1


def test_a_refused_rewrite_is_not_offered_again(tmp_path):
    model = Model("return total", "return total * rate")
    with opened(tmp_path, model) as workspace:
        edited(workspace, tmp_path)
        (offer,) = workspace.next_edits_of.at(tmp_path / "shop.py", 4, 0, rewrite=RewriteOptions(Cancel()))
        workspace.next_edits_of.refused(offer.id)
        assert found(workspace, tmp_path) == []
        assert workspace.stats.summary().day.n_next_refused == {"rewrite": 1}


def test_a_region_with_a_secret_is_not_sent(tmp_path):
    model = Model()
    with opened(tmp_path, model) as workspace:
        edited(workspace, tmp_path, "rate = 1.2", 'password = "x7Kq9mP2vL4wZ"')
        assert found(workspace, tmp_path) == [] and not model.asked


def test_secrets_around_the_region_are_redacted_for_a_server(tmp_path):
    model = Model("return total", "return total * rate", name="zeta")
    model.info = replace(model.info, behind_address=True)
    with opened(tmp_path, model, region_lines=3) as workspace:
        text = files_of(SHOP)["shop.py"].replace("from price", 'password = "x7Kq9mP2vL4wZ"\nfrom price')
        workspace.open_buffer(tmp_path / "shop.py", text)
        workspace.edit_buffer(tmp_path / "shop.py", text.replace("rate = 1.2", "rate = 1.3"))
        model.answer = "<|editable_region_end|>"
        workspace.next_edits(tmp_path / "shop.py", 6, 0)
        (prompt,) = model.prompts
        assert "x7Kq9mP2vL4wZ" not in prompt and "password" in prompt


def test_windows_line_breaks_keep_positions(tmp_path):
    model = Model("return total", "return total * rate")
    with opened(tmp_path, model) as workspace:
        text = files_of(SHOP)["shop.py"].replace("\n", "\r\n")
        workspace.open_buffer(tmp_path / "shop.py", text)
        workspace.edit_buffer(tmp_path / "shop.py", text.replace("1.2", "1.3"))
        assert found(workspace, tmp_path) == [RATED]


class SlowModel(Model):
    """Writes nothing until it is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked, self.was_cancelled = threading.Event(), threading.Event()

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        self.asked.append(request)
        self.is_asked.set()
        if cancel.wait(20):
            self.was_cancelled.set()
        yield from ()


def test_a_model_has_limited_time_and_is_not_asked_the_same_again(tmp_path):
    model = SlowModel()
    with opened(tmp_path, model, max_seconds=0.1) as workspace:
        edited(workspace, tmp_path)
        started = time.monotonic()
        assert found(workspace, tmp_path) == found(workspace, tmp_path) == []
        assert time.monotonic() - started < 10 and len(model.asked) == 1 and model.was_cancelled.is_set()


def test_a_model_that_is_always_late_is_left_alone_for_a_while(tmp_path, caplog):
    model = SlowModel()
    with opened(tmp_path, model, max_seconds=0.1) as workspace:
        edited(workspace, tmp_path)
        text = files_of(SHOP)["shop.py"]
        for number in range(MAX_LATE + 2):
            workspace.edit_buffer(tmp_path / "shop.py", text.replace("1.2", f"1.{number + 3}"))
            assert found(workspace, tmp_path) == []
        assert len(model.asked) == MAX_LATE
        assert "did not rewrite within 0.1 s, 3 times in a row" in caplog.text


@pytest.mark.parametrize(
    ("config", "is_opened"),
    [
        (ModelConfig("transformers", "/models/coder"), False),
        (ModelConfig("ollama", name="qwen2.5-coder"), False),
        (ModelConfig("transformers", "/models/zeta-2"), True),
        (ModelConfig("transformers", "/models/zeta-2", next_edit="none"), False),
        (ModelConfig("transformers", "/models/coder", next_edit="sweep"), True),
        (ModelConfig("llama.cpp", url="http://127.0.0.1:9"), True),
    ],
)
def test_a_model_that_can_not_fit_is_not_opened(tmp_path, monkeypatch, config, is_opened):
    asked = list[ModelConfig]()
    monkeypatch.setattr("weft.server.models.chain.open_model", lambda each: asked.append(each))
    for name, text in files_of(SHOP).items():
        (tmp_path / name).write_text(text)
    with Workspace([tmp_path], Config(model=(config,)), cache=False) as workspace:
        workspace.index()
        edited(workspace, tmp_path)
        assert found(workspace, tmp_path) == []
        assert bool(asked) == is_opened


def test_a_request_ends_with_its_cancellation_and_with_the_next_one_of_its_session(tmp_path):
    model = SlowModel()
    with opened(tmp_path, model) as workspace:
        edited(workspace, tmp_path)
        cancel = Cancel()
        first = threading.Thread(target=workspace.next_edits, args=(tmp_path / "shop.py", 4, 0))
        first.start()
        assert model.is_asked.wait(20)
        model.is_asked.clear()
        second = threading.Thread(
            target=workspace.next_edits, args=(tmp_path / "shop.py", 4, 0), kwargs={"cancel": cancel}
        )
        second.start()
        first.join(20)
        assert model.was_cancelled.is_set() and model.is_asked.wait(20)
        model.was_cancelled.clear()
        cancel.cancel()
        second.join(20)
        assert model.was_cancelled.is_set() and not first.is_alive() and not second.is_alive()


class BrokenModel(Model):
    def __init__(self, error: ModelError) -> None:
        super().__init__()
        self.error = error

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        self.asked.append(request)
        raise self.error


def test_a_server_that_fails_is_down(tmp_path):
    model = BrokenModel(ModelUnreachable("The server is gone."))
    with opened(tmp_path, model) as workspace:
        edited(workspace, tmp_path)
        assert found(workspace, tmp_path) == [] and len(model.asked) == 1
        assert "The server is gone." in workspace.status().notes[0]


def test_a_request_that_fails_is_not_repeated_and_the_model_stays(tmp_path):
    model = BrokenModel(ModelError("The prompt is too long."))
    with opened(tmp_path, model) as workspace:
        edited(workspace, tmp_path)
        assert found(workspace, tmp_path) == found(workspace, tmp_path) == [] and len(model.asked) == 1
        assert not workspace.status().notes


def test_an_answer_of_as_many_tokens_as_it_may_have_is_cut_off(tmp_path):
    model = Model("return total", "return total * rate")
    with opened(tmp_path, model) as workspace:
        edited(workspace, tmp_path)
        text = files_of(SHOP)["shop.py"].replace("1.2", "1.3")
        model.answer = text.replace("return total", "return total * rate") + "print(gross(1))\n" * 40
        assert found(workspace, tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\nb\nc\n", "a\nx\nc\n"),
        ("a b c", "a x c"),
        ("one\ntwo\nthree", "one\nthree\n"),
        ("", "x\n"),
        ("x\n", ""),
        ("héllo wörld 🙂\n", "héllo wörld 🙃\n"),
        ("a\n" * 5, "a\n" * 7),
    ],
)
def test_minimal_edits_make_the_new_text(old, new):
    edits = minimal_edits(old, new)
    assert apply_edits(old, edits) == new
    assert all(old[edit.start : edit.end] == edit.old for edit in edits)


def test_edits_that_are_left_move_with_those_that_were_made():
    text = "one\ntwo\nthree\nfour\n"
    edits = minimal_edits(text, "zero\ntwo\n3\nfour\nfive\n")
    assert [(edit.old, edit.new) for edit in edits] == [("one", "zero"), ("three", "3"), ("", "five\n")]
    assert edits_left(text, edits, text) == edits
    for number, edit in enumerate(edits):
        now = apply_edits(text, [edit])
        left = edits_left(text, edits, now)
        assert [(each.old, each.new) for each in left] == [
            (each.old, each.new) for at, each in enumerate(edits) if at != number
        ]
        assert apply_edits(now, left) == apply_edits(text, edits)
    assert edits_left(text, edits, apply_edits(text, edits)) == []
    assert edits_left(text, edits, text.replace("two", "2")) is None
    assert edits_left(text, edits, f"{text}more") is None


TEXTS = st.lists(st.sampled_from(("a\n", "b = 1\n", "\n", "  c(d)\n", "é🙂", " ", "b")), max_size=12).map("".join)


@given(old=TEXTS, new=TEXTS)
def test_minimal_edits_of_any_texts_lead_from_one_to_the_other(old, new):
    edits = minimal_edits(old, new)
    assert apply_edits(old, edits) == new
    for n_made in range(len(edits) + 1):
        now = apply_edits(old, edits[:n_made])
        assert apply_edits(now, edits_left(old, edits, now)) == new


def test_names_are_replaced_whole():
    (edit,) = minimal_edits("total = price_of(item)\n", "total = price_in(item)\n")
    assert (edit.old, edit.new) == ("price_of", "price_in")


def test_a_region_ends_at_the_ends_of_the_text():
    lines = TextLines("a\n" * 30)
    assert [(region.first, region.end) for region in (region_at(lines, line, 21) for line in (0, 15, 30))] == [
        (0, 11),
        (5, 26),
        (20, 31),
    ]


class Recorded(ModelWrapper):
    """A real model under the name of a next-edit model, and what it wrote."""

    def __init__(self, model: CodeModel) -> None:
        super().__init__(model)
        self.texts: list[str] = []

    @property
    def info(self) -> ModelInfo:
        return replace(super().info, name=NAME)

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        self.texts.append("")
        for piece in super().stream(request, cancel):
            self.texts[-1] += piece.text
            yield piece


def check_real_model(folder: Path, config: ModelConfig) -> None:
    """A model that was not trained for it is asked, answers, and what is offered of it can be made."""
    model = open_model(config)
    assert model is not None
    recorded = Recorded(model)
    with opened(folder, recorded, max_seconds=60.0) as workspace:
        edited(workspace, folder)
        offers = workspace.next_edits(folder / "shop.py", 4, 0)
        assert len(recorded.texts) == 1 and recorded.texts[0]
        lines = TextLines(files_of(SHOP)["shop.py"].replace("1.2", "1.3"))
        for edit in offers:
            assert lines.text[lines.offset(*edit.start) : lines.offset(*edit.end)] == edit.old != edit.new
    model.close()


@pytest.mark.local
def test_a_model_in_this_process_is_asked(tmp_path, tiny_model, one_torch_thread):
    check_real_model(tmp_path, ModelConfig("transformers", str(tiny_model / "transformers"), threads=1))


@pytest.mark.servers
def test_a_llama_server_is_asked(tmp_path, tiny_model, llama_serving):
    server = llama_serving(tiny_model / "tiny-f16.gguf", "-c", "2048")
    check_real_model(tmp_path, ModelConfig("llama.cpp", url=server.url))
