"""RepoCoder's loop: what is asked and written round by round, and `weft complete --iterations`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft import Config, Workspace
from weft.llm import Cancel, ModelConfig, ModelInfo, ModelUnreachable, Piece
from weft.llm.prompting.prompts import build_prompt
from weft.llm.protocol import CompletionRequest, PromptFragment, Speed
from weft.retrieval import REPOCODER, RetrievalOptions, RetrievalSettings
from weft.server.cli import main
from weft.server.completion import Cursor, Request
from weft.server.completion.iterate import Loop, best_of, complete_in_rounds, in_file, oracle, rounds
from weft.server.workspace.analysis import analyse
from weft.server.workspace.snapshot import FolderSnapshot
from weft.server.workspace.text import TextLines

FILES = {
    "shop.py": "def checkout(basket):\n    total = planted_answer(basket)\n    return total\n",
    "price.py": "def price_of(item):\n    cents = item.cents\n\n    return cents\n",
    "old/price.py": "def price_of(item):\n    cents = item.cents\n\n    return cents\n",
    "tax.py": "def with_tax(cents):\n    rate = 1.19\n    return cents * rate\n",
    "like.py": "def checkout(basket):\n    basket.lock()\n",
}
PREFIX = "def checkout(basket):\n"


class Scripted:
    """A model that writes one text after another, and remembers what it was asked."""

    def __init__(self, *texts: str | Exception) -> None:
        self.texts, self.requests = list(texts), []
        self.info, self.speed = ModelInfo("scripted", "test", 4096, False, False, local=True), Speed()

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        self.requests.append(request)
        text = self.texts.pop(0)
        if isinstance(text, Exception):
            raise text
        for line in text.splitlines(keepends=True):
            yield Piece(line, 0.9)

    def prepare(self, cancel: Cancel) -> None: ...

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None: ...

    def count_tokens(self, text: str) -> int:
        return len(text)

    def close(self) -> None: ...


def loop_at(prefix: str, model: Scripted, retrieval: RetrievalOptions = REPOCODER, suffix: str = "") -> Loop:
    """At the end of `prefix` in shop.py, which is indexed as FILES has it."""
    snapshot = FolderSnapshot.empty(RetrievalSettings()).with_changes(
        [analyse(path, text) for path, text in FILES.items()]
    )
    lines = TextLines(prefix + suffix)
    return Loop(snapshot, model, Cursor("shop.py", lines, *lines.position(len(prefix))), Config(), retrieval)


def found(fragments) -> set[str]:
    return {place.path for ranked in fragments for place in ranked.fragment.locations}


@pytest.mark.parametrize("strategy", ["bm25", "jaccard", "fragrel", "weft"])
def test_the_second_round_finds_what_the_first_one_named(strategy):
    model = Scripted("    cents = with_tax(rate)\n", "    cents = with_tax(price_of(basket))\n")
    first, second = rounds(loop_at(PREFIX, model, RetrievalOptions(strategy, k=1)), 2)
    assert (found(first.fragments), found(second.fragments)) == ({"like.py"}, {"tax.py"})
    assert "rate = 1.19" in model.requests[1].fragments[0].text
    assert second.written.text == "    cents = with_tax(price_of(basket))\n"


def test_each_round_asks_for_what_the_last_one_wrote():
    first, second, third = rounds(loop_at(PREFIX, Scripted("    a\n\n    b\n", "    c", "    d")), 3)
    assert first.query.before == ("def checkout(basket):",) and first.query.after == ()
    assert second.query.after == ("    a", "    b")
    assert third.query.after == ("    c",)


def test_in_file_nothing_is_asked():
    model = Scripted("    pass\n")
    done = in_file(loop_at(PREFIX, model))
    assert (done.query, done.fragments, model.requests[0].fragments) == (None, (), ())
    assert model.requests[0].max_new_tokens == 100


def test_only_the_oracle_asks_for_the_truth():
    truth = "    total = planted_answer(basket)\n"
    loop = loop_at(PREFIX, Scripted("    x\n", "    y\n", "    z\n"))
    for done in rounds(loop, 2):
        assert not any("planted" in line for line in (*done.query.before, *done.query.after))
    assert oracle(loop, truth).query.after == (truth.rstrip("\n"),)


@pytest.mark.parametrize("strategy", ["bm25", "jaccard", "fragrel", "weft"])
@pytest.mark.parametrize("asked", ["rounds", "oracle"])
def test_what_follows_the_cursor_is_in_no_fragment_and_no_plain_prompt(strategy, asked):
    """Also when the index holds the finished file, and when the oracle asks for the very text."""
    after = "    total = planted_answer(basket)\n"
    model = Scripted(*["    planted_answer(total)\n", "    planted_answer(basket)\n", "    planted\n"])
    loop = loop_at(PREFIX, model, RetrievalOptions(strategy, shift=True), suffix=after)
    if asked == "rounds":
        list(rounds(loop, 3))
    else:
        oracle(loop, after)
    for request in model.requests:
        assert request.prefix == PREFIX
        assert not any("planted_answer" in fragment.text for fragment in request.fragments)
        assert "planted_answer" not in build_prompt(request, None, len, 100_000).text


def test_blocks_are_shifted_in_the_first_round_alone():
    texts = ["(item):\n    other", "(item):\n", "(item):\n"]
    loop = loop_at("def price_of", Scripted(*texts), replace(REPOCODER, shift=True))
    long_file = "def price_of(item):\n" + "".join(f"    line_{number}\n" for number in range(40))
    snapshot = loop.snapshot.with_changes([analyse("price.py", long_file)])
    first, second = rounds(replace(loop, snapshot=snapshot), 2)
    third = oracle(replace(loop, snapshot=snapshot), "(item):\n")
    ends = [
        [ranked.fragment.locations[0].end_line for ranked in done.fragments if "price.py" in found([ranked])]
        for done in (first, second, third)
    ]
    assert ends == [[20, 30], [10, 20], [10, 20]]


def test_rounds_end_when_nothing_new_is_written():
    model = Scripted("    a\n", "    b\n", "    b\n", "    c\n")
    assert [done.written.text for done in rounds(loop_at(PREFIX, model), 4)] == ["    a\n", "    b\n", "    b\n"]


def test_a_round_is_there_before_the_next_one_begins():
    model = Scripted("    a\n", "    b\n")
    running = rounds(loop_at(PREFIX, model), 2)
    next(running)
    assert len(model.requests) == 1


def test_a_round_that_is_cancelled_is_none():
    cancel = Cancel()
    model = Scripted("    a\n", "    b\n", "    c\n")
    done = []
    for one in rounds(replace(loop_at(PREFIX, model), cancel=cancel), 3):
        done.append(one)
        cancel.cancel()
    assert len(done) == 1


def test_the_best_round_is_chosen_by_a_score_the_first_of_equals():
    done = list(rounds(loop_at(PREFIX, Scripted("    a\n", "    bb\n", "    cc\n")), 3))
    assert best_of(done, lambda one: len(one.written.text)) is done[1]


def test_prompts_of_rounds_do_not_depend_on_earlier_ones():
    model = Scripted("    a\n", "    b\n")
    list(rounds(loop_at(PREFIX, model), 2))
    assert all(request.in_score_order for request in model.requests)


class Models:
    """A chain of models that are all up, and what it was told of them."""

    def __init__(self, *models: Scripted) -> None:
        self.models, self.failures, self.worked_last = models, [], None

    def usable(self) -> Iterator[Scripted]:
        yield from self.models

    def failed(self, model: Scripted, error: Exception) -> None:
        self.failures.append(str(error))

    def worked(self, model: Scripted) -> None:
        self.worked_last = model


def complete(*models: Scripted, n_rounds: int = 2, on_round=lambda done: None, **others):
    """In shop.py after PREFIX: the completion, and the chain of models."""
    loop, chain = loop_at(PREFIX, Scripted()), Models(*models)
    request = Request(loop.snapshot, chain, loop.cursor, **{"config": Config(), "trigger": "invoked", **others})
    return complete_in_rounds(request, n_rounds, on_round), chain


def test_the_last_round_is_shown_and_times_are_added_up():
    told = []
    model = Scripted("    pass\n", "    return basket\n")
    completion, chain = complete(model, on_round=told.append)
    assert (completion.text, completion.model) == ("    return basket", "scripted")
    assert completion.fragments == told[-1].fragments
    assert completion.timings_ms["model"] == sum(done.timings_ms["model"] for done in told)
    assert chain.worked_last is model


def test_a_round_that_wrote_nothing_is_not_shown():
    assert complete(Scripted("    return basket\n", ""))[0].text == "    return basket"


def test_when_a_model_fails_in_a_later_round_the_next_one_begins_anew():
    gone = ModelUnreachable("Nothing answers. Start it.")
    completion, chain = complete(Scripted("    half\n", gone), Scripted("    a\n", "    whole\n"))
    assert (completion.text, chain.failures) == ("    whole", ["Nothing answers. Start it."])


def test_without_a_model_the_reason_is_said():
    config = Config(model=(ModelConfig(backend="none"),))
    assert complete(config=config)[0].why_empty == "no model is available; configure one, or enable the workspace model"
    gone = ModelUnreachable("Nothing answers. Start it.")
    assert complete(Scripted(gone), config=config)[0].why_empty == "Nothing answers. Start it."


def test_a_cancelled_loop_shows_nothing():
    cancel = Cancel()
    model = Scripted("    a\n", "    b\n")
    completion, chain = complete(model, cancel=cancel, on_round=lambda done: cancel.cancel())
    assert (completion.text, completion.why_empty, chain.worked_last) == ("", "cancelled", None)


def test_less_than_one_round_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        complete(n_rounds=0)


def test_the_workspace_completes_in_rounds(tmp_path):
    (tmp_path / "price.py").write_text(FILES["price.py"])
    (tmp_path / "shop.py").write_text(PREFIX)
    told = []
    model = Scripted("    pass\n", "    return price_of(basket)\n")
    with Workspace([tmp_path], Config(), model=model, cache=False) as workspace:
        workspace.index()
        completion = workspace.complete_in_rounds(tmp_path / "shop.py", 1, 0, 2, on_round=told.append)
        assert (completion.text, len(told)) == ("    return price_of(basket)", 2)
        assert workspace.stats.text(completion.id) == completion.text
        model.texts = ["    a\n", "    b\n"]
        assert workspace.complete_in_rounds(tmp_path / "shop.py", 1, 0, 2).text == "    b"


def test_files_that_may_hold_secrets_are_not_completed_in_rounds_either(tmp_path):
    (tmp_path / ".env").write_text("KEY=")
    with Workspace([tmp_path], Config(), model=Scripted(), cache=False) as workspace:
        assert "secrets" in workspace.complete_in_rounds(tmp_path / ".env", 0, 4, 2).why_empty


CLI_FILES = """
    #- price.py
    def price_of(basket):
        return sum(basket)
    #- pay.py
    from price import price_of

    def pay(basket):
        total = price_of(basket)
        return total
    #- new.py
    from price import price_of

    def checkout(basket):
        total = pri"""


@pytest.fixture
def weft(project, tmp_path, monkeypatch, capsys):
    """`weft("complete new.py:4")` in a small project: exit status, stdout, stderr."""
    monkeypatch.chdir(project(CLI_FILES))
    for variable in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "WEFT_CACHE_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))

    def run(arguments: str):
        status = main(arguments.split())
        return status, *capsys.readouterr()

    return run


def test_the_command_line_shows_what_each_round_wrote(weft):
    status, out, _ = weft("complete new.py:4 --folder . --iterations 3")
    assert status == 0
    assert "4 │     total = price_of(basket)" in out
    assert "Round 1 (workspace):" in out and "Round 2 (workspace):" in out
    assert "Round 3" not in out, "the second wrote what the first one did"


def test_rounds_as_json_are_all_that_is_printed(weft):
    status, out, err = weft("complete new.py:4 --folder . --iterations 2 --json")
    completion = json.loads(out)
    assert (status, err, completion["text"]) == (0, "", "ce_of(basket)")
    assert [done["text"] for done in completion["rounds"]] == ["ce_of(basket)"] * 2
    assert completion["rounds"][1]["query"][-1] == "    total = price_of(basket)"
    assert completion["rounds"][0]["fragments"] and completion["fragments"]


def test_no_rounds_at_all_are_a_mistake(weft):
    status, out, err = weft("complete new.py:4 --folder . --iterations 0")
    assert (status, out) == (2, "") and "Give at least 1" in err


GOLDEN = Path(__file__).parent / "golden" / "repocoder" / "prompt.txt"


def test_a_prompt_of_a_round_is_the_papers_letter_by_letter():
    """Reviewed against prompt 2 of FragRel, which is RepoCoder's: ascending similarity, the best next to the code."""
    model = Scripted("    total = price_of(item)\n", "    return total\n")
    *_, second = rounds(loop_at(PREFIX, model), 2)
    scores = [ranked.score for ranked in second.fragments]
    assert len(scores) > 1 and scores == sorted(scores, reverse=True)
    prompt = build_prompt(model.requests[1], None, len, 10_000).text
    if os.environ.get("WEFT_GOLDEN") == "write":
        GOLDEN.write_text(prompt, encoding="utf-8", newline="")
    assert prompt == GOLDEN.read_bytes().decode("utf-8")


RULE = "# " + "-" * 50 + "\n"
TITLE = "# Here are some relevant code fragments from other files of the repo:\n"


def repocoder_prompt(blocks: list[PromptFragment], in_file: str, limit: int) -> str:
    """RepoCoder's prompt as papers' spec 1.7 and 2.3 have it, a character a token; `limit` without the opening's 20."""
    shown, used = [], 20
    for block in blocks[:20]:
        text = "# the below code fragment can be found in:\n" + "".join(f"# {path}\n" for path in block.paths)
        text += RULE + "".join(f"# {line}\n" for line in block.text.split("\n")) + RULE
        if used + len(text) > limit + 20:
            continue
        used += len(text)
        shown.insert(0, text)
        if len(shown) == 10:
            break
    return (TITLE + RULE + "".join(shown) + "\n" if shown else "") + in_file


line = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\f\v\x1c\x1d\x1e\x85\u2028\u2029"), max_size=30)
block = st.builds(
    PromptFragment,
    st.lists(st.sampled_from(["a.py", "b.py", "pkg/c.py"]), min_size=1, max_size=3).map(tuple),
    st.lists(line, min_size=1, max_size=6).map(lambda lines: "\n".join((*lines, "x"))),
    st.just(0),
    st.just(0.0),
)


@given(st.lists(block, max_size=24, unique_by=lambda block: block.text), st.integers(0, 3000))
def test_prompts_of_plain_models_are_repocoders(blocks, limit):
    in_file = "def checkout(basket):\n"
    request = CompletionRequest("a.py", "python", in_file, "after\n", tuple(blocks[:20]), max_new_tokens=100)
    frame = len(TITLE) + len(RULE) + 1
    context_tokens = 2 * max(limit, len(in_file) + 1) + 100 + frame
    expected = repocoder_prompt(blocks, in_file, max(limit, len(in_file) + 1))
    assert build_prompt(request, None, len, context_tokens).text == expected
