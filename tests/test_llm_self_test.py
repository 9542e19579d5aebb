"""The self-test: a scripted model for each result, and the message to the user."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from weft.llm.protocol import (
    Cancel,
    ChatRequest,
    CodeModel,
    CompletionRequest,
    ModelInfo,
    ModelUnreachable,
    Piece,
    Speed,
)
from weft.llm.self_test import LONGEST_MIDDLE, SelfTestResult, self_test

Script = Callable[[CompletionRequest], str]


class Scripted:
    """A model that writes what a function says, a character a piece."""

    speed = Speed()

    def __init__(self, script: Script, fills_middle: bool = True) -> None:
        self.script = script
        self.asked: list[CompletionRequest] = []
        self.n_written = 0
        self.info = ModelInfo("coder", "openai", 4096, fills_middle, False, True)

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        self.asked.append(request)
        for letter in self.script(request):
            if cancel.cancelled:
                return
            self.n_written += 1
            yield Piece(letter)

    def prepare(self, cancel: Cancel) -> None: ...
    def warm(self, request: CompletionRequest, cancel: Cancel) -> None: ...
    def count_tokens(self, text: str) -> int:
        return len(text)

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        yield from ()

    def close(self) -> None: ...


def right(request: CompletionRequest) -> str:
    """What a good model writes."""
    for mark, middle in {
        "def greet(": "name",
        "area": "height",
        "total = 0": "index",
        "numbers": "9, 10]",
        "subtract": "b",
        "__name__": "'__main__':",
    }.items():
        if mark in request.prefix:
            return middle
    raise AssertionError(request.prefix)


def with_suffix(request: CompletionRequest) -> str:
    """A model that does not see the suffix writes it again."""
    return right(request) + request.suffix.partition("\n")[0]


def run(script: Script, fills_middle: bool = True) -> SelfTestResult:
    return self_test(Scripted(script, fills_middle), Cancel())


def test_the_scripted_model_is_one():
    assert isinstance(Scripted(right), CodeModel)


@pytest.mark.parametrize("fills_middle", [True, False])
def test_a_model_that_solves_the_tasks_works(fills_middle: bool):
    result = run(right, fills_middle)
    assert result == SelfTestResult("works")


@pytest.mark.parametrize("parameter", ["name", " name ", "name: str", 'name="you"', "name: str = 'you'"])
def test_a_parameter_may_have_a_type_and_a_default(parameter: str):
    assert (
        run(lambda request: "x" if "total" in request.prefix else parameter.replace("name", right(request))).kind
        == "works"
    )


def test_one_task_of_three_may_fail():
    assert run(lambda request: right(request) if "total" not in request.prefix else "i").kind == "works"


def test_clean_text_that_is_not_the_middle_is_weak():
    result = run(lambda _: "x")
    assert result == SelfTestResult(
        "weak",
        "coder wrote 'x' in place of `name` in `def greet(…):`. "
        "Its completions are of little use; a larger model does better.",
    )
    assert not result.broken


def test_a_middle_within_a_longer_word_does_not_count():
    assert run(lambda request: right(request) + "s").kind == "weak"
    assert run(lambda request: right(request)[:-1] + "12", fills_middle=False).kind == "weak"


@pytest.mark.parametrize(
    ("script", "says", "next_step"),
    [
        (
            lambda r: "<|fim_middle|>x" if "total" in r.prefix else "x",
            "special tokens as plain text",
            "convert it again",
        ),
        (lambda r: "x <EOT>", "special tokens as plain text", "convert it again"),
        (lambda r: "", "it writes nothing", "Check that `fim`"),
        (lambda r: " \n ", "it writes nothing", "Check that `fim`"),
        (with_suffix, "repeats the code after the cursor", 'set fim = "none"'),
        (lambda r: "self, other\n    return 1", "ignores the code after", 'set fim = "none"'),
        (lambda r: "value + " * 100, "ignores the code after", 'set fim = "none"'),
        (lambda r: "\ufffd\ufffda", "writes no code", "Download the model again"),
        (lambda r: "!!!!!!!!!!!!", "writes no code", "Download the model again"),
        (lambda r: "== == == == == == =", "writes no code", "Download the model again"),
    ],
)
def test_what_is_wrong_is_said_with_the_next_step(script: Script, says: str, next_step: str):
    result = run(script)
    assert result.broken
    assert result.text.startswith("coder wrote ")
    assert says in result.text
    assert next_step in result.text


def test_empty_text_in_some_tasks_is_weak():
    assert run(lambda request: "x" if "total" in request.prefix else "").kind == "weak"


def test_mixed_answers_of_which_most_are_unusable_are_broken():
    assert run(lambda request: "x" if "total" in request.prefix else with_suffix(request)).broken


@pytest.mark.parametrize("script", [lambda r: "", lambda r: "- - - - - - - -", lambda r: "<|endoftext|>"])
def test_a_model_that_can_write_nothing_is_broken_without_a_middle_too(script: Script):
    result = run(script, fills_middle=False)
    assert result.broken
    assert "fim" not in result.text
    assert result.text.endswith("Download the model again, or choose another.")


def test_a_model_without_fim_gets_no_suffix():
    model = Scripted(right, fills_middle=False)
    self_test(model, Cancel())
    assert {request.suffix for request in model.asked} == {""}


def test_a_few_tokens_are_enough():
    model = Scripted(lambda _: "x" * 1000)
    self_test(model, Cancel())
    assert model.n_written == len(model.asked) * (LONGEST_MIDDLE + 1), "a model that ignores the suffix is stopped"
    assert len(model.asked) <= 3
    assert max(request.max_new_tokens for request in model.asked) <= 24


def test_a_cancelled_test_says_nothing():
    cancel = Cancel()

    def script(request: CompletionRequest) -> str:
        cancel.cancel()
        return "<|fim_middle|>"

    model = Scripted(script)
    result = self_test(model, cancel)
    assert (result.kind, result.text, len(model.asked)) == ("untested", "", 1)
    assert not result.broken


def test_the_error_of_a_failing_model_is_raised():
    def script(request: CompletionRequest) -> str:
        raise ModelUnreachable("Nothing answers.")

    with pytest.raises(ModelUnreachable, match="Nothing answers"):
        run(script)
