"""One answer is read until it is whole, cut where its structure ends it, and known to be cut when a limit did."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from weft.llm import Cancel, CompletionRequest, ModelInfo, ModelUnreachable, Piece
from weft.llm.protocol import Speed
from weft.llm.workspace_model.model import WorkspaceModel, tokenise_document
from weft.server.completion.stopping import Stopping
from weft.server.completion.values import Written
from weft.server.completion.writing import write


class Spoken:
    """A model that says given pieces, and knows whether its stream was closed."""

    def __init__(self, *pieces: str | Exception) -> None:
        self.info, self.speed = ModelInfo("spoken", "test", 4096, True, False, True), Speed()
        self.pieces, self.n_said, self.closed = pieces, 0, False

    def count_tokens(self, text: str) -> int:
        return len(text)

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        try:
            for piece in self.pieces:
                if isinstance(piece, Exception):
                    raise piece
                self.n_said += 1
                yield Piece(piece, 0.5)
        finally:
            self.closed = True


class StopAt(Stopping):
    """Ends a text after `n` characters as soon as it is `seen` long."""

    def __init__(self, n: int, seen: int) -> None:
        self.n, self.seen = n, seen

    def end_of(self, text: str) -> int | None:
        return self.n if len(text) >= self.seen else None


NEVER = StopAt(0, 10_000)


def asked(max_new_tokens: int = 64, prefix: str = "x = ") -> CompletionRequest:
    return CompletionRequest("a.py", "python", prefix, "", max_new_tokens=max_new_tokens)


def written(model: Spoken, stopping: Stopping = NEVER, max_new_tokens: int = 64) -> Written:
    return write(model, asked(max_new_tokens), stopping, Cancel())  # type: ignore[arg-type]


def test_an_end_before_the_last_piece_takes_back_whole_pieces():
    model = Spoken("ab", "cd", "ef", "gh")
    done = written(model, StopAt(3, 6))
    assert done.pieces == (("ab", 0.5), ("c", 0.5))
    assert (model.n_said, model.closed, done.cut_by_limit, done.complete) == (3, True, False, True)


def test_a_text_of_as_many_pieces_as_were_allowed_was_cut_by_the_limit():
    assert written(Spoken("a", "b", "c"), max_new_tokens=3).cut_by_limit
    assert not written(Spoken("a", "b"), max_new_tokens=3).cut_by_limit
    assert not written(Spoken("a", "b", "c"), StopAt(3, 3), max_new_tokens=3).cut_by_limit


def test_the_workspace_model_s_lines_are_counted_in_its_tokens():
    line = "x = total_price(items, discount)\n"
    model = WorkspaceModel.build([tokenise_document(f"{n}.py", line) for n in range(5)], threshold=0.0)
    short = write(model, asked(3), NEVER, Cancel())
    assert short.cut_by_limit and "discount" not in short.text
    assert not write(model, asked(64), NEVER, Cancel()).cut_by_limit


def test_progress_reports_the_text_so_far():
    heard: list[Written] = []
    write(Spoken("a", "b", "c"), asked(), StopAt(2, 3), Cancel(), heard.append)  # type: ignore[arg-type]
    assert [(so_far.text, so_far.complete) for so_far in heard] == [("a", False), ("ab", False)]


def test_a_cancelled_text_was_cut():
    cancel = Cancel()
    done = write(Spoken("a", "b"), asked(), NEVER, cancel, lambda so_far: cancel.cancel())  # type: ignore[arg-type]
    assert done.text in ("a", "ab") and done.cut_by_limit


def test_a_broken_stream_is_an_error():
    with pytest.raises(ModelUnreachable):
        written(Spoken("a", ModelUnreachable("gone")))
