"""The fit of the candidate scorer: which lines it draws, how it stores rows, and what it fits."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import numpy as np
import pytest
from weft.benchmarks.scorer import samples as samples_module
from weft.benchmarks.scorer.__main__ import main
from weft.benchmarks.scorer.groups import GROUPS, mask_of
from weft.benchmarks.scorer.lines import KINDS, call_columns, code_lines, draw_lines, mid_columns
from weft.benchmarks.scorer.samples import distinct_rows, read_tree, sample_file, sample_tree
from weft.codegraph import parse_file
from weft.languages import language_of
from weft.llm.protocol import SUGGESTION_SOURCES
from weft.llm.workspace_model.features import FEATURES
from weft.llm.workspace_model.scorer import CandidateScorer

PYTHON = '''
"""A module about the shapes of boxes and of spans, over a line."""
import os, sys, json, shutil, hashlib
def area(width, height):
    """The area of a box: its width times its height."""
    # the sides are numbers in metres, here
    size = width * height  # a comment at the end of a line
    text = """the first line of a text (with brackets)
    the second line of a text (with brackets)
    """
    return max(size, width + height, len(text))
broken = f(
'''

GO = """
package shop

/* a block comment with many words
   that goes on (over lines) */
func Total(price int, count int) int {
	// a line comment with words (and signs)
	text := `a raw text with words (and signs)
	that goes on (over lines)`
	sum := price*count + len(text)
	return Limit(sum, price) // a comment at the end
	return Limit(sum, Limit(price, count))
}
"""


def lines_of(path: str, text: str) -> list[str]:
    lines = text.split("\n")
    return [lines[number].strip() for number in code_lines(path, text)]


def test_lines_of_python_are_code_without_comments_and_texts_of_several_lines():
    assert lines_of("shapes.py", PYTHON.replace("broken = f(\n", "")) == [
        "import os, sys, json, shutil, hashlib",
        "def area(width, height):",
        "return max(size, width + height, len(text))",
    ]


def test_python_that_does_not_tokenise_gives_no_line():
    assert lines_of("shapes.py", PYTHON) == []


def test_lines_of_other_languages_are_code_by_their_lexer():
    assert lines_of("shop.go", GO) == [
        "func Total(price int, count int) int {",
        "sum := price*count + len(text)",
        "return Limit(sum, Limit(price, count))",
    ]


def test_a_file_without_a_grammar_gives_no_line():
    assert lines_of("notes.md", "\nsome words, with signs (and brackets)\n") == []


def test_mid_line_cursors_are_followed_by_more_than_signs():
    line = "    total = firstPart(price, 12);"
    assert [line[:column].strip() for column in mid_columns(line)] == [
        "total",
        "total =",
        "total = first",
        "total = firstPart",
        "total = firstPart(",
        "total = firstPart(price",
        "total = firstPart(price,",
    ]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.py", "\nif ready(now) and (old or other()):\n", ["if ready("]),
        ("a.py", "\ndef total(price, count):\n", []),
        ("a.go", GO, ["return Limit(", "return Limit(sum, Limit("]),
        ("a.ts", "\nconst found = new Map<string, number>(entries), one = read<Item>(path)\n", None),
    ],
)
def test_call_cursors_are_behind_the_brackets_of_calls(path: str, text: str, expected: list[str] | None):
    file = parse_file(path, text, language_of(path))
    lines = text.split("\n")
    number = max(range(len(lines)), key=lambda at: lines[at].count("("))
    found = [lines[number][:column].strip() for column in call_columns(path, number, lines[number], {path: file})]
    assert found == expected if expected is not None else found[-1].endswith("read<Item>(")


def write_tree(folder: Path, n_classes: int = 12) -> Path:
    """A tree of Python and Go files in which classes resemble each other."""
    folder.mkdir()
    for number in range(n_classes):
        name = (
            "colour",
            "height",
            "weight",
            "length",
            "volume",
            "amount",
            "number",
            "person",
            "street",
            "window",
            "garden",
            "letter",
        )[number % 12]
        (folder / f"{name}.py").write_text(
            textwrap.dedent(f"""
            import os, sys, {name}_data
            class {name.title()}:
                def __init__(self, {name}, parent):
                    self.{name} = {name}
                    self.parent = parent
                def get_{name}(self, default):
                    return self.parent.find("{name}", default, {number})
                def set_{name}(self, {name}):
                    self.parent.store("{name}", {name}, self.get_{name}({number}))
            """)
        )
        (folder / f"{name}.go").write_text(
            f"package shop\n\nfunc Read{name.title()}(path string, count int) string {{\n"
            f'\tvalue := Find(path, "{name}", count + {number})\n\treturn Join(value, path, count)\n}}\n'
        )
    (folder / "vendor").mkdir()
    (folder / "vendor" / "copied.py").write_text("\ncopied = function(of, another, repository)\n")
    (folder / "large.py").write_text("\nlarge = function(of, many, characters)\n" + "#" * 300_000)
    return folder


def test_vendored_and_large_files_are_left_out(tmp_path: Path):
    paths = set(read_tree(write_tree(tmp_path / "tree")))
    assert len(paths) == 24
    assert not paths & {"vendor/copied.py", "large.py"}


def test_drawn_lines_are_distinct_with_few_imports_and_all_kinds_of_cursors(tmp_path: Path):
    texts = read_tree(write_tree(tmp_path / "tree"))
    files = {path: parse_file(path, text, language_of(path)) for path, text in texts.items()}
    drawn = draw_lines(texts, files, 60)
    assert drawn == draw_lines(texts, files, 60)
    lines = [texts[each.path].split("\n")[each.line] for each in drawn]
    assert len({line.strip() for line in lines}) == len(drawn) == 60
    assert sum(line.startswith("import") for line in lines) <= 3
    assert [sum(each.kind == kind for each in drawn) for kind in KINDS] == [30, 20, 10]
    for each, line in zip(drawn, lines, strict=True):
        assert (each.column == 0) == (each.kind == "start")
        assert (
            each.column
            in {"start": [0], "mid": mid_columns(line), "call": call_columns(each.path, each.line, line, files)}[
                each.kind
            ]
        )
    shared = {each.is_unique for each, line in zip(drawn, lines, strict=True) if line.strip().startswith("return Join")}
    assert shared <= {False}


def test_equal_wrong_rows_are_stored_once_with_their_number():
    rows = np.zeros((6, len(FEATURES)))
    rows[[0, 2, 4], 3] = 1.5
    rows[5, -1] = 1.0
    stored, n_equal, is_right = distinct_rows(rows, [2])
    assert n_equal.tolist() == [2, 2, 1, 1]
    assert is_right.tolist() == [False, False, True, False]
    assert stored[:, 3].tolist() == [0.0, 1.5, 1.5, 0.0]
    assert stored[-1, -1] == 1.0


def test_a_sample_has_a_step_for_each_token_and_one_for_the_end(tmp_path: Path):
    sample = sample_tree(write_tree(tmp_path / "tree"), 12)
    assert sample.n_lines == 12
    assert len(sample.rows) == sample.rows_of_step.sum()
    assert len(sample.rows_of_step) == sample.steps_of_line.sum()
    first_steps = np.concatenate([[0], np.cumsum(sample.steps_of_line)[:-1]])
    starts = np.flatnonzero(sample.kind == KINDS.index("start"))
    assert np.flatnonzero(sample.is_indentation).tolist() == first_steps[starts].tolist()
    ends = np.cumsum(sample.rows_of_step)
    right_of_step = [sample.is_right[end - n : end].any() for n, end in zip(sample.rows_of_step, ends, strict=True)]
    assert all(right_of_step)
    assert set(sample.family) == {"python", "go"}
    assert sample.rows[:, [FEATURES.index(f"suggested {source}") for source in SUGGESTION_SOURCES]].any()


def test_a_group_leaves_out_its_features_alone():
    assert mask_of([]).all()
    left_out = {name for name, share in zip(FEATURES, mask_of(["roles", "no-member"]), strict=True) if not share}
    assert left_out == {*GROUPS["roles"], "no member of the receiver"}
    assert all(len(features) and set(features) <= set(FEATURES) for features in GROUPS.values())


def test_equal_rows_weigh_as_many_candidates():
    fit = pytest.importorskip("weft.benchmarks.scorer.fit", reason="needs torch")
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (40, len(FEATURES))) * (np.arange(len(FEATURES)) < 3)
    rows[:, FEATURES.index("any other token")] = 0
    rows[-1, FEATURES.index("any other token")] = 1
    stored, n_equal, is_right = distinct_rows(rows.astype(np.float64), [7])
    assert len(stored) < 20
    sample = samples_module.TreeSample(
        stored,
        n_equal,
        is_right,
        np.array([len(stored)], np.int32),
        np.array([False]),
        np.array([1], np.int32),
        np.array([True]),
        np.array([0], np.int8),
        np.array(["go"]),
    )
    width = len(FEATURES)
    scorer = CandidateScorer(
        rng.normal(size=width), rng.normal(size=(width, 4)), rng.normal(size=4), rng.normal(size=4)
    )
    expected = scorer.probabilities(rows.astype(np.float64))
    scores = fit.score_lines(sample, scorer)
    assert scores.loss.tolist() == pytest.approx([-np.log(expected[7])], rel=1e-4)
    assert scores.n_tokens.tolist() == [1]


def test_a_fit_lowers_the_loss_on_another_tree_and_reuses_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("torch")
    fitted, held_out = write_tree(tmp_path / "fitted", 8), write_tree(tmp_path / "other", 6)
    weights = tmp_path / "scorer.json"
    common = ["--lines", "12", "--jobs", "1", "--hidden", "4", "--epochs", "16", "--work", str(tmp_path / "work")]
    trees = ["--fit", str(fitted), "--held-out", str(held_out)]
    assert main([*trees, *common, "--output", str(weights)]) == 0
    said = capsys.readouterr()
    assert "reused" not in said.err
    result = json.loads(said.out.splitlines()[-1])
    assert result["fit"] == ["fitted"]
    total = result["figures"]["fitted"][0]
    assert (total["family"], total["kind"], total["all"]["n_lines"]) == ("all", "all", 12)
    assert total["all"]["loss"] < 2.0
    scorer = CandidateScorer.from_weights(json.loads(weights.read_text()))
    assert scorer.hidden.shape == (len(FEATURES), 4)
    assert weights.stat().st_size < 2_000_000

    before = weights.read_text()
    assert main([*trees, *common, "--output", str(weights), "--without", "graph"]) == 0
    said = capsys.readouterr()
    assert said.err.count("reused") == 2
    assert weights.read_text() == before
    result = json.loads(said.out.splitlines()[-1])
    assert result["figures"]["fitted"][0] == total
    assert result["without"]["graph"][0]["all"]["loss"] != total["all"]["loss"]


def test_the_weights_of_a_group_that_is_left_out_are_zero(tmp_path: Path):
    fit = pytest.importorskip("weft.benchmarks.scorer.fit", reason="needs torch")
    sample = sample_tree(write_tree(tmp_path / "tree", 4), 6)
    weights = fit.fit([sample], fit.FitOptions(n_hidden=3, n_epochs=3), ["roles"])
    assert all(weights[feature] == [0.0] * 4 for feature in GROUPS["roles"])
    assert any(weights["exact match"])


def test_a_tree_of_a_held_out_name_is_not_fitted_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("torch", reason="scores are computed with torch")
    (tmp_path / "a").mkdir()
    trees = [write_tree(tmp_path / "a" / "same", 2), write_tree(tmp_path / "same", 2)]
    assert main(["--fit", str(trees[0]), "--held-out", str(trees[1]), "--lines", "2", "--work", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "is held out" in said.err
    assert json.loads(said.out.splitlines()[-1])["fit"] == []


def test_a_sample_file_depends_on_features_tree_lines_and_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tree = tmp_path / "tree"
    file = sample_file(tree, 10, tmp_path)
    assert file == sample_file(tree, 10, tmp_path)
    assert file != sample_file(tree, 11, tmp_path) != sample_file(tmp_path / "b", 11, tmp_path)
    file.write_bytes(b"")
    monkeypatch.setattr(samples_module, "code_digest", lambda *_: "changed")
    assert sample_file(tree, 10, tmp_path) != file
    assert sample_file(tree, 10, tmp_path, any_code=True) == file
    monkeypatch.setattr(samples_module, "FEATURES", FEATURES[1:])
    assert sample_file(tree, 10, tmp_path, any_code=True) != file
