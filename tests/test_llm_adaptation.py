"""The workspace model adapts kind matches to the names at the cursor."""

from __future__ import annotations

import json
import textwrap

import numpy as np
import pytest
from weft.llm.protocol import Cancel, CompletionRequest
from weft.llm.workspace_model.features import FEATURES
from weft.llm.workspace_model.model import WorkspaceModel, tokenise_document
from weft.llm.workspace_model.nearby_names import renamed_part
from weft.llm.workspace_model.scorer import WEIGHTS_FILE, CandidateScorer, fitted_scorer

OTHER_CLASSES = """
    class Point:
        def __init__(self, across, down):
            self.across = across
            self.down = down

    class Span:
        def __init__(self, first, last):
            self.first = first
            self.last = last

    class Colour:
        def __init__(self, red, blue):
            self.red = red
            self.blue = blue
    """


def check(expected: str, text: str, other: str = OTHER_CLASSES, language: str = "python") -> None:
    """The line at `<CURSOR>` goes on as expected, though it stands nowhere else."""
    model = WorkspaceModel.build([tokenise_document("other", textwrap.dedent(other))], threshold=0.0)
    prefix, _, suffix = textwrap.dedent(text).lstrip("\n").partition("<CURSOR>")
    pieces = list(model.stream(CompletionRequest("here", language, prefix, suffix), Cancel()))
    assert "".join(piece.text for piece in pieces) == expected
    assert all(piece.probability is not None and 0.0 < piece.probability < 1.0 for piece in pieces)


def test_a_parameter_is_assigned_to_the_attribute_of_its_name():
    check("size", "class Box:\n    def __init__(self, size, weight):\n        self.size = <CURSOR>")


def test_parameters_are_assigned_in_their_order():
    check(
        "weight = weight",
        "class Box:\n    def __init__(self, size, weight):\n        self.size = size\n        self.<CURSOR>",
    )


def test_a_whole_line_is_adapted():
    check(
        "self.weight = weight",
        "class Box:\n    def __init__(self, size, weight):\n        self.size = size\n        <CURSOR>",
    )


def test_keyword_arguments_repeat_names():
    other = "run(width=width, height=height)\nsend(title=title, body=body)\nkeep(key=key, value=value)\n"
    check("colour, ", "def paint(colour, shade):\n    fill(colour=<CURSOR>shade=shade)", other)


def test_a_renamed_neighbour_is_followed():
    check(
        "valid_set, batch_size)",
        """
        train_set = read(train_path)
        train_loader = DataLoader(train_set, batch_size)
        valid_set = read(valid_path)
        valid_loader = DataLoader(<CURSOR>
        """,
    )


def test_other_languages_are_adapted_too():
    check(
        "weight = weight;",
        "class Box {\n  constructor(size, weight) {\n    this.size = size;\n    this.<CURSOR>",
        """
        class Point {
          constructor(across, down) {
            this.across = across;
            this.down = down;
          }
        }
        class Span {
          constructor(first, last) {
            this.first = first;
            this.last = last;
          }
        }
        """,
        "javascript",
    )


def test_a_name_of_this_file_is_finished_as_others_are_elsewhere():
    check("perature)", "temperature = 3\nprint(tem<CURSOR>", "print(value)\nprint(other)\nprint(third)\n")


@pytest.mark.parametrize(
    ("name", "there", "here", "expected"),
    [
        ("train_steps", "train_loss", "valid_loss", "valid_steps"),
        ("TrainSteps", "train_loss", "valid_loss", "ValidSteps"),
        ("fy", "fx", "cx", "cy"),
        ("fy", "ax", "bx", None),
        ("steps", "train_loss", "valid_loss", None),
        ("steps", "same", "same", None),
        ("train_steps", "train_loss", "loss", "steps"),
    ],
)
def test_the_part_of_a_name_that_changed_in_another_is_changed(name: str, there: str, here: str, expected: str | None):
    assert renamed_part(name, there, here) == expected


def test_the_shipped_weights_are_those_of_the_features():
    names = list(json.loads(WEIGHTS_FILE.read_text(encoding="utf-8")))
    assert names == [*(name for name in FEATURES if name in names), "bias", "output"]
    assert fitted_scorer().probabilities(np.zeros((3, len(FEATURES)))).tolist() == pytest.approx([1 / 3] * 3)


def test_a_feature_without_weights_changes_nothing_and_an_unknown_name_is_ignored():
    weights = {"exact match": [1.0, 0.5], "no longer a feature": [9.0, 9.0], "bias": [0.0, 0.2], "output": [0.0, 2.0]}
    scorer = CandidateScorer.from_weights(weights)
    assert scorer.hidden.shape == (len(FEATURES), 1)
    rows = np.zeros((2, len(FEATURES)))
    rows[0, FEATURES.index("kind match")] = 5.0
    assert scorer.probabilities(rows).tolist() == pytest.approx([0.5, 0.5])
    rows[0, FEATURES.index("exact match")] = 3.0
    odds = np.exp(3.0 + 2.0 * (np.tanh(3.0 * 0.5 + 0.2) - np.tanh(0.2)))
    assert scorer.probabilities(rows)[0] == pytest.approx(odds / (1.0 + odds))
