"""Typed commits: which ones are chosen, how they are typed, what is recorded and fitted, and golden rows."""

from __future__ import annotations

import difflib
import json
import math
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import cursor_in
from weft.benchmarks.histories import OWN_REPOSITORY, FileEdit, NoHistory, commits_between, files_at
from weft.benchmarks.typed import __main__ as command
from weft.benchmarks.typed.causes import CAUSES, cause_of
from weft.benchmarks.typed.commits import (
    FOR_FITTING,
    FOR_REPORTING,
    HISTORIES,
    LEAST_ADDED,
    MOST_FILES,
    NoClone,
    TypedCommit,
    TypedHistory,
    clone_of,
    is_source,
    typed_commits,
)
from weft.benchmarks.typed.figures import calibration_error, figures_of
from weft.benchmarks.typed.fit import fit_confidence, sample_of
from weft.benchmarks.typed.record import RecordedText, record_commit
from weft.benchmarks.typed.replay import KeyRow, Mode, Tree, Typing
from weft.benchmarks.typed.report import tables
from weft.benchmarks.typed.subset import COMMIT, FILES, N_KEYS, ROWS, as_lines, subset_rows
from weft.retrieval import RetrievalSettings
from weft.server.completion.confidence import ConfidenceModel
from weft.server.completion.evidence import FEATURES
from weft.server.completion.values import Completion
from weft.server.config import Config
from weft.server.workspace.analysis_run import INLINE_BYTES
from weft.server.workspace.snapshot import FolderSnapshot
from weft.server.workspace.text import Cursor, TextLines
from weft.server.workspace.workspace import Workspace

SUBSET = Path(__file__).parent / "typed"
PRICE = "def total(basket):\n    prices = [item.price for item in basket.items]\n    return sum(prices)\n"
NEW_LINES = "".join(f"\n\ndef total_{n}(basket):\n    return {n} * sum(basket.prices)\n" for n in range(4))

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", folder, *who, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "clones" / "somebody+shop" / "repo"
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    return folder


def commit(clone: Path, files: Mapping[str, str]) -> str:
    """The name of a commit that writes these files."""
    for name, content in files.items():
        path = clone / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8", newline="")
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "a change")
    return git(clone, "rev-parse", "HEAD")


HISTORY = TypedHistory("somebody/shop", "HEAD", (".py",), FOR_FITTING)


# The choice of commits


def lines(n: int, name: str = "x") -> str:
    return "".join(f"{name}_{number} = {number}\n" for number in range(n))


@needs_git
def test_the_newest_commits_that_a_person_could_have_typed_are_chosen(clone: Path) -> None:
    commit(clone, {"a.py": "x = 1\n"})
    older = commit(clone, {"a.py": lines(LEAST_ADDED)})
    commit(clone, {"a.py": lines(LEAST_ADDED + 1)})  # one line
    commit(clone, {"b.py": lines(1000)})  # too many lines
    commit(clone, {f"many_{n}.py": lines(2) for n in range(MOST_FILES + 1)})
    commit(clone, {"README.md": lines(20)})
    newer = commit(clone, {"b.py": lines(1000) + lines(10, "y"), "notes.txt": "x\n" * 20})
    assert [each.commit for each in typed_commits(clone, HISTORY, 5)] == [newer, older]
    assert [each.commit for each in typed_commits(clone, HISTORY, 1)] == [newer]
    (found, *_) = typed_commits(clone, HISTORY, 1)
    assert [edit.path for edit in found.edits] == ["b.py"]


@needs_git
def test_the_first_commit_has_nothing_to_be_typed_into(clone: Path) -> None:
    commit(clone, {"a.py": lines(20)})
    assert list(typed_commits(clone, HISTORY, 5)) == []


@pytest.mark.parametrize(
    ("path", "chosen"),
    [("a.py", True), ("src/a.py", True), ("a.pyi", False), ("vendor/a.py", False), ("x/node_modules/b/a.py", False)],
)
def test_code_that_people_edit(path: str, chosen: bool) -> None:
    assert is_source(path, (".py",)) == chosen


def test_half_of_the_repositories_are_for_fitting_and_half_for_reporting() -> None:
    purposes = [history.purpose for history in HISTORIES]
    assert abs(purposes.count(FOR_FITTING) - purposes.count(FOR_REPORTING)) <= 1
    assert len({history.name for history in HISTORIES}) == len(HISTORIES)
    for purpose in (FOR_FITTING, FOR_REPORTING):
        extensions = {history.extensions for history in HISTORIES if history.purpose == purpose}
        assert {(".py",), (".go",), (".rs",)} < extensions


def test_a_clone_is_found_by_either_name(tmp_path: Path) -> None:
    with pytest.raises(NoClone, match="git clone https://github.com/somebody/shop".replace(".", r"\.")):
        clone_of(HISTORY, tmp_path)
    with pytest.raises(NoClone, match="--clones DIR"):
        clone_of(HISTORY, None)
    for name in ("shop", "somebody/shop", "somebody+shop/repo"):
        (tmp_path / name).mkdir(parents=True)
        assert clone_of(HISTORY, tmp_path) == tmp_path / name
    assert clone_of(replace(HISTORY, name="weft"), None) == OWN_REPOSITORY


@needs_git
def test_a_tree_goes_from_one_commit_to_another(clone: Path, tmp_path: Path) -> None:
    first = commit(clone, {"a.py": "one\n", "b/c.py": "old\n", "image.png": "x", "go.mod": "module x\n"})
    git(clone, "rm", "-q", "-r", "b")
    second = commit(clone, {"a.py": "two\n", "b": "a file now\n"})
    folder = tmp_path / "tree"
    tree = Tree(folder, clone)
    for name, files in ((first, {"a.py", "b/c.py", "go.mod"}), (second, {"a.py", "b", "go.mod"})):
        tree.go_to(name)
        assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == files
    assert (folder / "a.py").read_text() == "two\n"


# Causes of wrong texts


@pytest.mark.parametrize(
    ("cause", "text", "shown", "n_agreeing"),
    [
        ("copied sibling", "    self.total = 1\n    <CURSOR>\n", "self.total = 1", 8),
        ("wrong member", "self.<CURSOR>", "items()", 0),
        ("wrong member", "<CURSOR>", "self.items()", 7),
        ("wrong member", "x = ba<CURSOR>", "sket.total", 8),
        ("wrong argument", "pay(<CURSOR>)", "basket", 2),
        ("wrong argument", "<CURSOR>", "pay(basket)", 4),
        ("wrong argument", "pay(1, <CURSOR>", "basket)", 0),
        ("other", "<CURSOR>", "pay(basket).x", 11),
        ("other", "x = <CURSOR>", "basket", 0),
        ("other", "values = [1, <CURSOR>]", "2", 0),
        ("other", "}\n<CURSOR>\n", "}", 0),
    ],
)
def test_cause_of_a_wrong_text(cause: str, text: str, shown: str, n_agreeing: int) -> None:
    assert cause_of(cursor_in("a.py", text), shown, n_agreeing) == cause
    assert cause in CAUSES


# Figures


def key(number: int, text: str = "", right: bool = False, **changed: object) -> KeyRow:
    """A key of one line, at a key a second."""
    row = KeyRow(
        repo="somebody/shop",
        commit="c0ffee",
        path="a.py",
        number=number,
        at_s=float(number),
        line_key="1:3",
        place="mid-line",
        text=text,
        becomes=f"x = {text}" if text else "",
        confidence=0.5 if text else None,
        n_agreeing=len(text) if right else 0,
        is_right=right,
        n_units=len(text) if right else 1,
        n_presses=1,
        cause="other" if text and not right else None,
        is_harmful=False,
        why_empty="" if text else "low confidence",
        ms=float(number),
        source="model",
    )
    return replace(row, **changed)  # type: ignore[arg-type]


def test_what_is_accepted_is_saved() -> None:
    figures = figures_of([key(0), key(1, "total()", right=True), key(2), key(3)])
    assert (figures["n_characters"], figures["n_keys"], figures["saved"]) == (10, 4, 0.6)


def test_a_text_counts_at_each_key_and_once_as_long_as_it_stays() -> None:
    stays = [key(n, "total"[n:], becomes="x = total") for n in range(3)]
    figures = figures_of([*stays, key(3, "basket", right=True), key(4), key(5)])
    assert figures["shown_per_100"] == pytest.approx(100 * 4 / 6)
    assert figures["wrong_per_100"] == pytest.approx(50)
    assert figures["distinct_wrong_per_100"] == pytest.approx(100 / 6)
    assert (figures["distinct"], figures["shown_right"], figures["distinct_right"]) == (2, 0.25, 0.5)


def test_a_text_that_was_right_at_one_key_is_right() -> None:
    rows = [key(0, "tot", becomes="x = tot"), key(1, "ot", right=True, becomes="x = tot")]
    assert figures_of(rows)["distinct_right"] == 1


def test_the_same_text_on_another_line_or_in_another_file_is_another_one() -> None:
    rows = [key(0, "a"), key(1, "a", line_key="2:3"), key(2, "a", path="b.py"), key(3, "a", commit="cafe")]
    assert figures_of(rows)["distinct"] == 4


def test_causes_are_shares_of_wrong_distinct_texts() -> None:
    rows = [key(0, "a"), key(1, "b", cause="wrong member"), key(2, "c", cause="wrong member"), key(3, "d", right=True)]
    causes = figures_of(rows)["causes"]
    assert causes.keys() == set(CAUSES)
    assert (causes["wrong member"], causes["other"]) == (pytest.approx(2 / 3), pytest.approx(1 / 3))


def test_the_time_to_the_first_right_text_begins_with_the_line() -> None:
    rows = [key(0), key(2, "a"), key(3, "b", right=True), key(5, "c", right=True), key(7, line_key="9:9")]
    assert figures_of(rows)["first_right_s"] == 3


def test_answers_from_before_have_a_time_of_their_own() -> None:
    rows = [key(9, "a"), key(1, "b", source="cache"), key(2, "c", source="typed-through"), key(8, source="cache")]
    assert 1 <= figures_of(rows)["kept_p95_ms"] <= 2


def test_keys_without_a_text_have_no_shares_of_texts() -> None:
    figures = figures_of([key(0), key(1)])
    assert (figures["saved"], figures["shown_per_100"], figures["distinct"]) == (0, 0, 0)
    missing = ("shown_right", "distinct_right", "distinct_harmful", "calibration_error", "first_right_s")
    assert all(math.isnan(figures[name]) for name in missing)


def test_the_calibration_error_is_the_distance_in_groups_of_equal_size() -> None:
    sure = [key(n, "a", right=n % 4 != 0, confidence=0.75) for n in range(40)]
    unsure = [key(n, "a", right=n % 4 == 0, confidence=0.45) for n in range(40)]
    assert calibration_error(sure, n_groups=1) == pytest.approx(0)
    assert calibration_error([*sure, *unsure], n_groups=2) == pytest.approx(0.1)
    assert math.isnan(calibration_error([key(0, "a", confidence=None)]))


def test_tables_have_a_row_for_each_repository_and_a_mean_for_each_purpose() -> None:
    figures = figures_of([key(0, "total()", right=True), key(1)])
    empty = figures_of([key(0)])
    results = [
        {"repo": repo, "purpose": purpose, "modes": {"whole": of, "words": of}}
        for repo, purpose, of in (("a", FOR_FITTING, figures), ("b", FOR_FITTING, empty), ("c", FOR_REPORTING, figures))
    ]
    text = tables(results)
    assert "| a | 75.0 | 75.0 |" in text.replace(" %", "")
    assert [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| mean")] == ["| mean"]
    assert "nan" not in text.lower()
    only_words = [{"repo": "a", "purpose": FOR_FITTING, "modes": {"words": figures}}]
    assert "| a | " in tables(only_words)


# The replay


BEFORE = "from price import total\n"
AFTER = BEFORE + "\n\ndef total(basket):\n    prices = [item.price for item in basket.items]\n    return sum(prices)\n"


@pytest.fixture
def workspace(tmp_path: Path, all_sure: None) -> Iterator[Workspace]:
    folder = tmp_path.resolve() / "shop"
    folder.mkdir()
    for n in range(3):
        (folder / f"price_{n}.py").write_text(PRICE)
    (folder / "cart.py").write_text(BEFORE)
    with Workspace([folder], Config(), cache=False) as workspace:
        workspace.index()
        yield workspace


def type_cart(workspace: Workspace, folder: Path, mode: Mode = "whole", n_keys: int = 500) -> list[KeyRow]:
    edit = FileEdit("c0ffee", "cart.py", BEFORE, AFTER)
    return list(Typing(workspace, folder, "shop", mode, n_keys).type_commit(TypedCommit("c0ffee", (edit,))))


def test_right_texts_are_accepted_and_the_rest_is_typed(workspace: Workspace, tmp_path: Path) -> None:
    rows = type_cart(workspace, tmp_path.resolve() / "shop")
    assert [row.number for row in rows] == list(range(len(rows)))
    assert [row.at_s for row in rows] == sorted(row.at_s for row in rows)
    assert all(row.n_units == 1 for row in rows if not row.is_right)
    # A line break is one key with its indentation, and so is an auto-closed bracket with its pair.
    n_units = sum(row.n_units for row in rows)
    assert n_units == len(AFTER.removeprefix(BEFORE).replace("\n    ", "\n"))
    right = [row for row in rows if row.is_right]
    assert right and sum(row.n_units for row in right) > n_units / 5
    assert all(AFTER.count(row.becomes) for row in right)
    assert all(row.cause for row in rows if row.text and not row.is_right)
    assert all(row.why_empty for row in rows if not row.text)


def test_by_word_the_right_words_of_a_text_are_accepted_too(workspace: Workspace, tmp_path: Path) -> None:
    rows = type_cart(workspace, tmp_path.resolve() / "shop", "words")
    assert sum(row.n_units for row in rows) == len(AFTER.removeprefix(BEFORE).replace("\n    ", "\n"))
    assert all(row.n_presses <= row.n_units for row in rows)


class Suggesting:
    """A workspace whose completions are the next `n` characters of a text, and then a wrong end."""

    def __init__(self, text: str, n: int, wrong: str = "") -> None:
        self.text, self.n, self.wrong, self.now = text, n, wrong, ""

    def open_buffer(self, path: Path, text: str, version: int) -> None:
        self.now = text

    def edit_buffer(self, path: Path, text: str, version: int, change: object = None) -> None:
        self.now = text

    @property
    def completion(self) -> Suggesting:
        """Itself as the completion service."""
        return self

    def request_at(self, path: Path, line: int, character: int) -> Any:
        cursor = Cursor(path.name, TextLines(self.now), line, character, "/w")
        return SimpleNamespace(cursor=cursor, snapshot=FolderSnapshot.empty(RetrievalSettings()))

    def complete(self, request: Any) -> Completion:
        cursor = request.cursor
        here = (cursor.line, cursor.character)
        return Completion(self.text[cursor.offset : cursor.offset + self.n] + self.wrong, here, here, 0.5)

    def close_buffer(self, path: Path) -> None: ...

    def flush(self) -> None: ...


def suggested(after: str, n: int, wrong: str = "", mode: Mode = "whole") -> list[KeyRow]:
    """The rows of a new file, typed with these completions."""
    edit = FileEdit("c0ffee", "a.py", "", after)
    workspace: Any = Suggesting(after, n, wrong)
    rows = list(Typing(workspace, Path.cwd(), "shop", mode, 500).type_commit(TypedCommit("c0ffee", (edit,))))
    assert workspace.now == after
    return rows


def test_a_right_character_is_right_but_saves_nothing() -> None:
    rows = suggested("a = b + c", 1)
    assert [(row.text, row.is_right, row.n_units) for row in rows] == [(each, True, 1) for each in "a = b + c"]


def test_a_text_that_ends_inside_of_a_word_is_wrong() -> None:
    rows = suggested("total", 3)
    assert [(row.text, row.is_right) for row in rows[:3]] == [("tot", False), ("ota", False), ("tal", True)]
    assert len(rows) == 3, "the right text was accepted"


def test_a_wrong_end_makes_a_text_wrong_and_its_words_are_accepted_one_by_one() -> None:
    whole, words = (suggested("x = total + 1", 11, " nothing", mode) for mode in ("whole", "words"))
    assert [row.is_right for row in whole] == [False] * 13
    assert (whole[0].text, whole[0].n_agreeing) == ("x = total + nothing", 12)
    assert (words[0].n_units, words[0].n_presses) == (11, 4)


def test_no_more_keys_than_wanted_are_typed(workspace: Workspace, tmp_path: Path) -> None:
    assert len(type_cart(workspace, tmp_path.resolve() / "shop", n_keys=7)) == 7


def test_a_commit_leaves_the_workspace_as_it_was(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path.resolve() / "shop"
    once, again = (
        [(row.text, row.is_right, row.n_units, row.place) for row in type_cart(workspace, folder)] for _ in range(2)
    )
    assert once[0] == again[0]
    assert (folder / "cart.py").read_text() == BEFORE


def test_rows_become_lines(workspace: Workspace) -> None:
    rows = [key(0), key(1, "total", right=True), key(2, path="b.py"), key(3, "x", path="b.py")]
    assert as_lines(rows) == [
        "keys 4, characters 8, distinct texts 2, of these right 50%",
        "#- a.py",
        "1 right 'x = ' 'total'",
        "#- b.py",
        "3 wrong 'x = ' 'x'",
    ]


# The record and the fit


def test_the_record_has_every_text_with_its_parts(workspace: Workspace, tmp_path: Path) -> None:
    after = AFTER.replace("return sum(prices)", "return sum(items)")
    edit = FileEdit("c0ffee", "cart.py", BEFORE, after)
    folder = tmp_path.resolve() / "shop"
    recorded = list(record_commit(workspace, folder, "shop", TypedCommit("c0ffee", (edit,)), 500))
    assert 10 < len(recorded) < len(AFTER)
    assert all(len(features) == len(FEATURES) for text in recorded for features, _ in text.parts)
    assert {text.family for text in recorded} == {"python"}
    whole = [text.parts[-1][1] for text in recorded]
    assert any(whole) and not all(whole)
    partly = [text for text in recorded if any(right for _, right in text.parts) and not text.parts[-1][1]]
    assert partly, "right words before the first wrong one"
    assert all(json.loads(json.dumps(text.parts)) == [list(part) for part in text.parts] for text in recorded)


def recorded_text(probability: float, right: bool, number: int, repo: str = "a/b") -> RecordedText:
    features = [0.0] * len(FEATURES)
    features[FEATURES.index("text")] = math.log(probability)
    return RecordedText(repo, "python", "c0ffee", f"a.py:{number}", f"x{number}", "mid-line", [(features, right)])


def test_the_fit_learns_what_decides(tmp_path: Path) -> None:
    shares = [(n % 20 + 0.5) / 20 for n in range(9000)]
    recorded = {
        "a/b": [recorded_text(share, share > 0.5, n) for n, share in enumerate(shares[:4000])],
        "c/d": [recorded_text(share, share > 0.5, n) for n, share in enumerate(shares[4000:])],
    }
    file = tmp_path / "confidence.json"
    assert "9000 parts of texts in 2 repositories" in fit_confidence(recorded, file)
    content = json.loads(file.read_text(encoding="utf-8"))
    model = ConfidenceModel.from_weights(content["weights"], content["least"])
    rows = np.array([recorded_text(share, True, 0).parts[0][0] for share in (0.1, 0.3, 0.7, 0.95)])
    low, lower, higher, high = model.probabilities(rows).tolist()
    assert low < 0.1 and lower < 0.35 and higher > 0.65 and high > 0.8
    assert content["least"][0][0] == 0
    assert content["least"] == sorted(content["least"])
    assert dict(map(tuple, content["least"]))[0.5] == pytest.approx(0.5, abs=0.15)


def test_repositories_count_alike_and_so_do_texts_with_more_parts() -> None:
    recorded = {"a/b": [recorded_text(0.5, True, n) for n in range(30)], "c/d": [recorded_text(0.5, False, 0)]}
    _, right, weights = sample_of(recorded)
    assert weights[right].sum() == pytest.approx(weights[~right].sum())
    assert weights.sum() == pytest.approx(len(weights))


def test_a_text_that_stays_counts_less_at_each_key() -> None:
    stays = [recorded_text(0.5, True, 0) for _ in range(4)]
    _, _, weights = sample_of({"a/b": [*stays, recorded_text(0.5, True, 1)]})
    assert weights[:4] == pytest.approx([weights[4] / 2] * 4)


# The command


@pytest.fixture
def bench(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The arguments for a history of one commit."""
    commit(clone, {"price.py": PRICE, "cart.py": BEFORE})
    last = commit(clone, {"cart.py": AFTER + NEW_LINES})
    monkeypatch.setattr(command, "HISTORIES", (replace(HISTORY, last_commit=last),))
    return ["--clones", str(tmp_path / "clones"), "--work", str(tmp_path / "work"), "--keys", "60"]


@needs_git
def test_the_command_prints_a_table_and_rows_are_cached(
    bench: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(bench) == 0
    table, line = capsys.readouterr().out.rsplit("\n", 2)[:2]
    assert "| somebody/shop | " in table
    (repository,) = json.loads(line)["repositories"]
    assert repository["modes"].keys() == {"whole", "words"}
    assert repository["modes"]["whole"]["n_keys"] == 60

    def type_commit(*_: object) -> None:
        raise AssertionError("typed again")

    monkeypatch.setattr(Typing, "type_commit", type_commit)
    assert command.main(bench) == 0
    assert capsys.readouterr().out.rsplit("\n", 2)[0] == table
    with pytest.raises(AssertionError, match="typed again"):
        command.main([*bench, "--min-confidence", "0.9"])


@needs_git
def test_a_threshold_hides_texts(bench: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for threshold in ("0.01", "0.99"):
        assert command.main([*bench, "--modes", "whole", "--min-confidence", threshold]) == 0
        line = capsys.readouterr().out.rsplit("\n", 2)[1]
        shown.append(json.loads(line)["repositories"][0]["modes"]["whole"]["shown_per_100"])
    assert shown[0] > shown[1]


@needs_git
def test_the_fit_is_written_and_the_record_cached(
    bench: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found: list[dict[str, list[RecordedText]]] = []

    def fit(recorded: dict[str, list[RecordedText]]) -> str:
        found.append(recorded)
        return "fitted"

    monkeypatch.setattr(command, "fit_confidence", fit)
    for _ in range(2):
        assert command.main([*bench, "--fit-confidence"]) == 0
        monkeypatch.setattr(command, "record_commit", None)
    assert "fitted" in capsys.readouterr().err
    first, again = (each["somebody/shop"] for each in found)
    assert first and [text.becomes for text in first] == [text.becomes for text in again]
    assert first[0].parts[0][1] == again[0].parts[0][1]


def test_without_a_clone_the_command_says_how_to_get_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--clones", str(tmp_path), "--repos", "encode/httpx", "--work", str(tmp_path / "work")]
    assert command.main(arguments) == 2
    assert "git clone https://github.com/encode/httpx" in capsys.readouterr().err


# The committed subset


@needs_git
def test_texts_of_a_typed_commit_are_as_committed() -> None:
    try:
        commits_between(OWN_REPOSITORY, f"{COMMIT}^..{COMMIT}")
    except NoHistory as error:
        pytest.skip(f"this clone has no history: {error}")
    sizes = [
        len(text.encode())
        for _, text in files_at(OWN_REPOSITORY, f"{COMMIT}^", lambda path: bool(FILES.fullmatch(path)))
    ]
    assert 0 < sum(sizes) < INLINE_BYTES, "worker processes would finish in any order"
    committed = (SUBSET / ROWS).read_text(encoding="utf-8").splitlines()
    found = subset_rows()
    assert f"keys {N_KEYS}," in found[0]
    diff = "\n".join(difflib.unified_diff(committed, found, "committed", "now", lineterm="", n=0))
    assert not diff, (
        f"{diff}\n\nTexts changed. When they should:\n"
        "    weft bench typed --write-subset tests/typed\nand commit the rows with the change."
    )
