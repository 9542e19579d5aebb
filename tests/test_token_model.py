"""The token model: how tokens are encoded, and the scores of candidates after a context."""

import numpy as np
import pytest
from weft.llm.workspace_model.token_model import (
    DEEPER,
    FIRST_WORD,
    LANGUAGES,
    N_LINES,
    N_PART_ROWS,
    N_STARTS,
    N_WINDOW,
    NO_INDENT,
    SAME_INDENT,
    SHALLOWER,
    WEIGHTS_FILE,
    TokenEncoder,
    TokenModel,
    Weights,
    fitted_token_model,
    line_break_identity,
    packed,
    part_rows,
    unpacked,
)
from weft.llm.workspace_model.tokens import split_tokens

WORDS = ["return", "(", ")", ":", "self", "if"]
CODE = "def load(self, path):\n    if path:\n        return self.read(path)\n\n    return None\n"


def random_model(seed=0, d=8, h=12):
    random = np.random.default_rng(seed)

    def array(*shape):
        return random.normal(size=shape).astype(np.float32)

    n = FIRST_WORD + len(WORDS)
    weights = Weights(
        identity=array(n, d),
        part=array(1 + N_PART_ROWS, d),
        spaced=array(d),
        bias=array(n),
        first=array((N_WINDOW + N_LINES * N_STARTS) * d, h),
        language=array(len(LANGUAGES), h),
        second=array(h, h),
        second_bias=array(h),
        output=array(h, d),
        output_bias=array(d),
    )
    return TokenModel(WORDS, weights)


# Encoding


@pytest.mark.parametrize(
    "indent, new_indent, identity", [(4, 4, SAME_INDENT), (4, 8, DEEPER), (8, 4, SHALLOWER), (8, 0, NO_INDENT)]
)
def test_a_line_break_is_its_change_of_indentation(indent, new_indent, identity):
    assert line_break_identity(indent, new_indent) == identity


def test_a_known_word_has_an_identity_of_its_own_with_and_without_a_space():
    encoder = TokenEncoder(WORDS)
    plain, spaced = encoder.encoded("return"), encoder.encoded(" return")
    assert plain.identity == spaced.identity == FIRST_WORD
    assert (plain.is_spaced, spaced.is_spaced) == (False, True)


def test_unknown_names_are_told_apart_by_their_parts_alone():
    encoder = TokenEncoder(WORDS)
    first, second = encoder.encoded("loadFile"), encoder.encoded("load_file")
    assert first == second
    assert first.parts == part_rows("load") + part_rows("file")
    assert encoder.encoded("LoadFile").identity != first.identity  # a type


def test_the_beginning_of_a_file_is_padding():
    assert TokenEncoder(WORDS).encoded("").identity == 0


# Contexts


def test_a_context_extended_token_by_token_is_the_context_of_all_tokens():
    model, tokens = random_model(), split_tokens(CODE)
    whole = model.context(tokens, "python")
    grown = model.context(tokens[:3], "python")
    for token in tokens[3:]:
        grown = model.extended(grown, [token])
    assert grown.starts == whole.starts and grown.indent == whole.indent
    np.testing.assert_allclose(grown.expected, whole.expected, rtol=1e-4, atol=1e-4)


def test_the_indentation_of_a_context_is_that_of_its_last_line_with_code():
    model = random_model()
    assert model.context(split_tokens("if x:\n    y\n\n"), "python").indent == 4
    assert model.context(split_tokens("if x:\n    y\n\nz"), "python").indent == 0


def test_the_language_counts_and_an_unknown_one_is_no_error():
    model, tokens = random_model(), split_tokens(CODE)
    found = {language: model.context(tokens, language).expected.tolist() for language in ("python", "go", "klingon")}
    assert len({tuple(each) for each in found.values()}) == 3


def test_scores_do_not_depend_on_the_other_candidates_nor_on_what_was_asked_before():
    model = random_model()
    context = model.context(split_tokens(CODE), "python")
    alone = [model.scores(context, [each])[0] for each in (" path", "\n    ", "self")]
    together = model.scores(context, [" path", "\n    ", "self"])
    fresh = random_model()
    again = fresh.scores(fresh.context(split_tokens(CODE), "python"), [" path", "\n    ", "self"])
    np.testing.assert_allclose(together, alone, rtol=1e-5)
    np.testing.assert_allclose(together, again, rtol=1e-5)


def test_embeddings_are_forgotten_after_many_tokens_and_stay_right():
    model = random_model()
    context = model.context(split_tokens(CODE), "python")
    before = model.scores(context, ["name"])
    for start in range(0, 40_000, 1_000):
        model.scores(context, [f"name{number}x" for number in range(start, start + 1_000)])
    assert len(model._rows) < 20_000
    np.testing.assert_allclose(model.scores(context, ["name"]), before)


def test_likely_words_are_the_known_words_with_the_best_scores():
    model = random_model()
    context = model.context(split_tokens(CODE), "python")
    scores = dict(zip(WORDS, model.scores(context, WORDS).tolist(), strict=True))
    expected = sorted(WORDS, key=lambda word: -scores[word])[:3]
    assert [word.strip() for word in model.likely_words(context, 3)] == expected
    assert model.likely_words(context, 3, " re") == [" return"]
    assert model.likely_words(context, 3, "zzz") == []


def test_an_empty_context_has_scores():
    model = random_model()
    assert np.isfinite(model.scores(model.context([], ""), ["a", "\n", ""])).all()


# Weights


def test_packed_weights_give_nearly_the_same_scores():
    model = random_model()
    again = unpacked(packed(WORDS, model.weights))
    tokens, candidates = split_tokens(CODE), ["path", " return", "\n    "]
    expected = model.scores(model.context(tokens, "python"), candidates)
    found = again.scores(again.context(tokens, "python"), candidates)
    np.testing.assert_allclose(found, expected, atol=0.05 * np.abs(expected).max() + 1.0)


def test_the_shipped_weights_are_small_and_know_a_common_line():
    model = fitted_token_model()
    assert model is not None and WEIGHTS_FILE.stat().st_size < 2_000_000
    context = model.context(
        split_tokens("import os\n\n\nclass Shop:\n    def __init__(self, name):\n        self"), "python"
    )
    scores = model.scores(context, [".", "(", " return", "\n    "])
    assert int(scores.argmax()) == 0
