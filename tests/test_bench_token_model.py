"""The fit of the token model: its corpus, its loss, and that the network is the one that completions use."""

import json

import numpy as np
import pytest
from weft.benchmarks.token_model.corpus import encode_files, known_words, read_files
from weft.llm.workspace_model.token_model import N_WINDOW, PADDING, TokenEncoder, unpacked
from weft.llm.workspace_model.tokens import split_tokens

CODE = """\
class Shop:
    def __init__(self, name):
        self.name = name

    def open(self):
        if self.name:
            return self.name.upper()
        return None
"""


def write_tree(folder, n_files=4):
    for number in range(n_files):
        (folder / f"shop{number}.py").write_text(CODE.replace("Shop", f"Shop{number}") * 6)
    return folder


def test_a_corpus_has_the_first_tokens_of_the_last_lines():
    tokens = split_tokens("a = 1\nbb = 2\n\ncc = a")
    corpus = encode_files([("python", tokens)], TokenEncoder(known_words([[("python", tokens)]], 20)))
    assert (corpus.identity[:N_WINDOW] == PADDING).all()
    begin = N_WINDOW + tokens.index("\n")
    last = corpus.starts[-1].tolist()
    first_of = [tokens[at - N_WINDOW] for at in last if at >= 0]
    assert first_of == ["cc", " =", "bb", " ="]  # the first line follows no line break
    assert (corpus.starts[:begin] == -1).all()


def test_no_token_sees_the_second_token_of_its_line_before_it_is_there():
    tokens = split_tokens("a = 1\nbb = 2\ncc = 3")
    corpus = encode_files([("python", tokens)], TokenEncoder([]))
    assert (corpus.starts <= np.arange(len(corpus))[:, None]).all()


def test_words_are_known_that_many_trees_have(tmp_path):
    trees = [[("python", split_tokens("return x1 + y"))], [("python", split_tokens("return z2"))]]
    assert known_words(trees, 1) == ["return"]


def test_files_of_vendored_folders_are_not_read(tmp_path):
    write_tree(tmp_path, 1)
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "other.py").write_text(CODE)
    assert len(list(read_files(tmp_path, 10_000))) == 1


def test_the_network_over_sequences_scores_as_the_model_at_one_context():
    fit = pytest.importorskip("weft.benchmarks.token_model.fit", reason="needs torch")
    torch = pytest.importorskip("torch")
    tokens = split_tokens(CODE)
    words = known_words([[("python", tokens)]], 12)
    network = fit.Network(len(words), 8, 12)
    from weft.llm.workspace_model.token_model import TokenModel

    model = TokenModel(words, network.weights())
    corpus = encode_files([("python", tokens)], model.encoder)
    identity, parts = (torch.from_numpy(each.astype(np.int64))[None] for each in (corpus.identity, corpus.parts))
    spaced = torch.from_numpy(corpus.is_spaced.astype(np.float32))[None]
    starts = torch.from_numpy(corpus.starts.astype(np.int64))[None]
    language = torch.from_numpy(corpus.language.astype(np.int64))[None]
    with torch.no_grad():
        expected = network.expected(network.embedded(identity, parts, spaced), starts, language)[0].numpy()
    for at in (1, 7, 20, 33, len(tokens) - 1):
        found = model.context(tokens[: at + 1], "python").expected
        np.testing.assert_allclose(found, expected[N_WINDOW + at], rtol=1e-3, atol=1e-4)


def test_a_fit_learns_writes_its_weights_and_measures_held_out_trees(tmp_path, capsys):
    pytest.importorskip("torch")
    from weft.benchmarks.token_model.__main__ import main

    fitted, held_out = tmp_path / "fit", tmp_path / "held"
    fitted.mkdir()
    held_out.mkdir()
    write_tree(fitted), write_tree(held_out, 2)
    output = tmp_path / "weights.npz"
    options = ["--fit", str(fitted), "--held-out", str(held_out), "--tokens", "60000", "--words", "40"]
    assert main([*options, "--hidden", "16", "--size", "8", "--output", str(output)]) == 0
    results = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert results["fitted"]["right"] > 0.3
    with np.load(output, allow_pickle=False) as arrays:
        assert unpacked(dict(arrays)).encoder.encoded("self").identity > PADDING


def test_a_folder_that_is_missing_is_an_error_that_names_it(tmp_path, capsys):
    from weft.benchmarks.token_model.__main__ import main

    assert main(["--held-out", str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err
