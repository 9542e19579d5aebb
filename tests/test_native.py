"""The C kernel gives what its plain twins give, bit for bit; without a compiler only the twins run."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from repository import ROOT
from test_fragments import slicings
from weft import native
from weft.codegraph import SyntaxTree, json_bytes, walk
from weft.languages import LANGUAGES, grammar
from weft.llm.workspace_model import ngram_index, tokens
from weft.retrieval import bm25, fragments, inverted_index, static_vectors, terms
from weft.retrieval.fragments import FRAGMENT_ARRAYS, Slicing, count_lines, normalise
from weft.retrieval.terms import encode
from weft.server.output import doctor

needs_kernel = pytest.mark.skipif(native.compiled is None, reason=f"the C kernel is {native.why_not}")

# Words and sub-words of every kind, signs, line breaks and blanks, and what breaks naive tools.
PIECES = [
    *("name", "HTTPServer2", "ABc", "aB", "Aé", "größe", "x_1", "__init__", "7", "12ab", "_", "名前", "ß" * 60),
    *("w" * 63, "w" * 64, "w" * 65, "w" * 100, "W" * 101, "é" * 50, "é" * 51),
    *(" ", "  ", "\t", "\n", "\r\n", "\r", "\f", "\v", "\x1c", "\x85", "\xa0", "\u2028", "\u3000", "\0", "\x7f"),
    *(
        "-",
        "---",
        "-----",
        "-=#*~.",
        "..",
        '"',
        '"""',
        "'''",
        "'",
        "(",
        "€",
        "😀",
        "\ud83d",
        "\ude00",
        "²",
        "٣",
        "\u0301",
    ),
]
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.characters()), max_size=80).map("".join)


@needs_kernel
@given(text=texts)
@example(text="")
@example(text="long " * 20_000)
@example(text=" ".join(f"name{n}" for n in range(70_000)))
def test_tokens_are_those_of_the_regular_expression(text):
    text = tokens.normalise_line_breaks(text)
    words, numbers = tokens._compiled_number_tokens(text)
    expected_words, expected = tokens.plain_number_tokens(text)
    assert words == expected_words
    assert numbers.dtype == expected.dtype and np.array_equal(numbers, expected)


def fragment_arrays(terms_of_windows, text: str, slicing: Slicing, first: int) -> dict[str, bytes]:
    """The arrays of a file's fragments as bytes, by name."""
    data = encode(normalise(text))
    starts, ends = (edges[first:] for edges in slicing.windows(count_lines(data)))
    if not len(starts):
        return {}
    found = fragments._file_fragments("a", data, starts=starts, ends=ends, **terms_of_windows(data, starts, ends))
    return {name: getattr(found, name).tobytes() for name, _ in FRAGMENT_ARRAYS}


@needs_kernel
@given(text=texts, slicing=slicings, first=st.integers(0, 3))
@example(text="word\n" * 70_000, slicing=Slicing("plain", 70_000, 70_000), first=0)
@example(text="\n" * 30 + "a" * 100_000, slicing=Slicing(), first=1)
@example(text="x", slicing=Slicing(), first=0)
def test_windows_have_the_terms_of_the_plain_twin(text, slicing, first):
    compiled = fragment_arrays(fragments._compiled_window_terms, text, slicing, first)
    assert compiled == fragment_arrays(fragments.plain_window_terms, text, slicing, first)


@needs_kernel
def test_a_term_that_many_others_followed_has_its_own_key():
    # The kernel keeps digests of terms, and each new one may replace an earlier one.
    text = "\n".join(f"first second{n} Third{n % 7}" for n in range(60_000))
    compiled = fragment_arrays(fragments._compiled_window_terms, text, Slicing(), 0)
    assert compiled == fragment_arrays(fragments.plain_window_terms, text, Slicing(), 0)


@needs_kernel
@given(seed=st.integers(0, 1 << 32), n_words=st.integers(1, 40), n_texts=st.integers(1, 90))
def test_vectors_are_those_of_the_plain_twin(seed, n_words, n_texts):
    random = np.random.default_rng(seed)
    components = random.integers(-127, 128, (n_words, static_vectors.N_STORED), np.int8)
    scales = random.random(n_words, np.float32)
    sizes = random.integers(0, n_texts + 1, n_words)
    texts = np.concatenate([np.sort(random.permutation(n_texts)[:size]) for size in sizes])
    weights = static_vectors.weight_of_count(random.integers(1, 50, len(texts)).astype(np.uint16))
    compiled, plain = (
        static_vectors.stored(static_vectors.normalised(sums(components, scales, sizes, texts, weights, n_texts)))
        for sums in (static_vectors._compiled_weighted_sums, static_vectors.plain_weighted_sums)
    )
    assert compiled.tobytes() == plain.tobytes()


def random_runs(random: np.random.Generator, n_ids: int) -> list[list[int]]:
    """The fragments of some terms, of which some are rare and some frequent."""
    return [sorted(random.permutation(n_ids)[: random.integers(0, n_ids + 1) >> random.integers(9)]) for _ in range(20)]


@needs_kernel
@given(seed=st.integers(0, 1 << 32), n_ids=st.integers(1, 6_000), n=st.integers(1, 70))
@example(seed=1, n_ids=6_000, n=64)
def test_the_best_scores_are_those_of_all_postings(seed, n_ids, n):
    random = np.random.default_rng(seed)
    runs = random_runs(random, n_ids)
    ids = np.concatenate(runs).astype(np.int32)
    counts = random.integers(1, 9, len(ids)).astype(np.uint16)
    ends = np.cumsum([len(run) for run in runs])
    firsts = ends - [len(run) for run in runs]
    factors = random.random(len(runs)) * 4.0 ** random.integers(-4, 2)
    lengths = random.integers(0, 300, n_ids).astype(np.int32)
    live, hidden = random.random(n_ids) < 0.9, sorted(random.integers(0, n_ids + 1, 2).tolist())
    norms = bm25.length_norm(lengths.astype(np.float64), 90.5)
    scores = np.zeros(n_ids)
    parts = counts / (norms[ids] + counts) * np.repeat(factors, ends - firsts)
    np.add.at(scores, ids, parts)
    allowed = live & ~((np.arange(n_ids) >= hidden[0]) & (np.arange(n_ids) < hidden[1]))
    least = float(random.choice([0.0, np.quantile(scores, 0.9)]))
    found, its = native.compiled.best_scores(
        *(ids, counts, firsts, ends, factors, lengths, live, tuple(hidden), (bm25.K1, bm25.B, 90.5), n, least)
    )
    found, its = np.frombuffer(found, np.int32), np.frombuffer(its, np.float64)
    assert np.all(np.diff(found) > 0) and np.all(allowed[found])
    assert its.tobytes() == scores[found].tobytes()
    best = np.sort(scores[allowed & (scores > 0)])[-n:]
    wanted = np.flatnonzero(allowed & (scores > 0) & (scores >= max(least, best[0] if len(best) else np.inf)))
    assert set(wanted.tolist()) <= set(found.tolist())


@needs_kernel
@given(seed=st.integers(0, 1 << 32), n_ids=st.integers(1, 3_000))
def test_common_fragments_are_counted_as_by_the_plain_twin(seed, n_ids):
    random = np.random.default_rng(seed)
    *runs, others = [np.array(run, np.int32) for run in random_runs(random, n_ids)]
    ends = np.cumsum([len(run) for run in runs])
    firsts = ends - [len(run) for run in runs]
    found = np.frombuffer(native.compiled.count_common(np.concatenate(runs), firsts, ends, others), np.int64)
    assert found.tolist() == [inverted_index.n_common(run, others) for run in runs]


@needs_kernel
def test_damaged_postings_are_rejected_or_left_out():
    one = np.zeros(1, np.int64)
    arrays = (np.array([7, -3, 2, 1 << 30, 2], np.int32), np.ones(5, np.uint16), one, one + 5, np.ones(1))
    lengths, live, norm = np.ones(4, np.int32), np.ones(4, bool), (bm25.K1, bm25.B, 1.0)
    found, _ = native.compiled.best_scores(*arrays, lengths, live, (0, 0), norm, 3, 0.0)
    assert set(np.frombuffer(found, np.int32).tolist()) <= {0, 1, 2, 3}
    for firsts, ends in ((one, one + 6), (one + 3, one + 2), (one - 1, one + 2), (one, np.zeros(2, np.int64))):
        with pytest.raises(ValueError, match=r"postings|lengths"):
            native.compiled.best_scores(
                *(arrays[0], arrays[1], firsts, ends, arrays[4], lengths, live, (0, 0), norm, 3, 0.0)
            )
        with pytest.raises(ValueError, match="postings"):
            native.compiled.count_common(arrays[0], firsts, ends, arrays[0])
    with pytest.raises(ValueError, match="lengths"):
        native.compiled.best_scores(*arrays, lengths, live[:3], (0, 0), norm, 3, 0.0)


@needs_kernel
@given(st.lists(texts, max_size=8))
@example([" ".join(f"name{n}" for n in range(3_000)), "name1 name2999", "\n" * 40])
def test_merged_postings_are_those_of_the_plain_twin(files):
    pieces, first = [], 0
    for text in files:
        part = fragments.slice_file("a", text)
        ids = part.windows + np.int32(first)
        pieces.append(inverted_index._PostingLists(part.keys, part.indptr, ids, part.counts))
        first += len(part)
    if pieces:
        compiled = inverted_index._compiled_merged_postings(pieces)
        plain = inverted_index.plain_merged_postings(pieces)
        assert [(each.dtype, each.tobytes()) for each in compiled] == [(each.dtype, each.tobytes()) for each in plain]


@needs_kernel
@given(seed=st.integers(0, 1 << 32), n=st.integers(0, 3_000), n_different=st.integers(1, 400))
@pytest.mark.parametrize("bits", [ngram_index._TOKEN_KEY, ngram_index._KIND_KEY], ids=["tokens", "kinds"])
def test_positions_are_sorted_as_by_the_plain_twin(seed, n, n_different, bits):
    # Squares: a few values are frequent, as in code, so that some keys have many positions.
    values = (np.random.default_rng(seed).random(ngram_index.MAX_ORDER + n) ** 4 * n_different).astype(np.int32)
    compiled = ngram_index._compiled_sorted_positions(values, bits)
    plain = ngram_index.plain_sorted_positions(values, bits)
    assert [(each.dtype, each.tobytes()) for each in compiled] == [(each.dtype, each.tobytes()) for each in plain]


@needs_kernel
@given(st.lists(st.text(st.characters(), max_size=300), max_size=20))
@example(["", "a" * 127, "a" * 128, "a" * 129, "a" * 256, "a" * 257, "\ud800"])
def test_the_keys_of_terms_are_those_of_hashlib(some):
    assert terms.term_keys(some).tolist() == terms.plain_term_keys(some).tolist()


CODE_PIECES = (
    *(
        "class Shop(Base):\n",
        "def pay(self, n: int = 1) -> Till:\n",
        "    ",
        "return ",
        "x = y = f(a, g(b).c)",
        "\n",
        "\n\n",
    ),
    *("import a.b as c\n", "for i in items: go(i)", "(", ")", "{", "}", "[", "fn f<T>(x: T) { g(x) }\n", "struct S;"),
    *(
        "public class Shop extends Base { int n = make(); }\n",
        "let x = () => { y(z) };\n",
        "é",
        '"""',
        "// note\n",
        ";",
    ),
    *(
        "fun pay() = with(till) { open() }\n",
        "impl T for S {\n",
        "#include <a.h>\n",
        "int f(int a)\n",
        "a.b().c()\n",
        "\t",
    ),
)


def walked(list_nodes, name: str, text: str, monkeypatch) -> tuple[object, ...]:
    """All facts of a text and how often the limit was looked at."""
    n_checks = 0

    class Limit:
        samples = False
        is_over = False

        def check(self) -> None:
            nonlocal n_checks
            n_checks += 1

    monkeypatch.setattr(walk, "list_nodes", list_nodes)
    tree = SyntaxTree.parse("a", text, language=LANGUAGES[name])
    state = tree.file_graph(Limit()).__getstate__()
    return tuple(each.tolist() if isinstance(each, np.ndarray) else each for each in state), n_checks


@needs_kernel
@pytest.mark.parametrize("name", ["python", "java", "typescript", "cpp", "rust", "kotlin"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(st.sampled_from(CODE_PIECES), max_size=40))
@example(pieces=["def f(a):\n    return [" + "g(x, " * 300 + ")" * 300 + "]\n"] * 3)
def test_compiled_walks_of_syntax_trees(name, pieces, monkeypatch):
    text = "".join(pieces)
    plain = walked(walk.plain_list_nodes, name, text, monkeypatch)
    assert walked(walk._compiled_list_nodes, name, text, monkeypatch) == plain


@needs_kernel
def test_an_exception_ends_a_compiled_walk():
    def fail(walk, node):
        raise KeyError("broken reader")

    tree = SyntaxTree.parse("a.py", "def f():\n    return g(1)\n")
    for kind in ("function_definition", "call"):
        readers = walk.readers_by_kind(grammar("python"), {kind: fail})
        with pytest.raises(KeyError, match="broken reader"):
            walk.Walk(tree.source, readers).run(tree.root)
        assert len(walk.Walk(tree.source, {}).run(tree.root)[0]) > 1


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters()),
    lambda inner: (
        st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(st.characters(), max_size=5), inner)
    ),
    max_leaves=30,
)


@needs_kernel
@given(value=values)
@example(value="".join(map(chr, range(300))) + "\ud800\U0001f600")
@example(value=[[], (), {}, [[1, -1]], {"": None}])
def test_json_is_that_of_the_json_module(value):
    assert json_bytes.compiled.to_json(value) == json_bytes.plain_to_json(value)


def int32s(*values: int) -> bytes:
    return np.array(values, np.int32).tobytes()


def float32s(*values: float) -> bytes:
    return np.array(values, np.float32).tobytes()


@needs_kernel
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("window_terms", (b"a\nb\n", int32s(0), int32s(3))),
        ("window_terms", (b"a\nb\n", int32s(-1), int32s(1))),
        ("window_terms", (b"a\nb\n", int32s(1, 0), int32s(2, 1))),
        ("window_terms", (b"a\nb\n", int32s(0), int32s(1, 2))),
        ("weighted_sums", (b"12", float32s(1), int32s(2), int32s(0), float32s(1), 1)),
        ("weighted_sums", (b"12", float32s(1), int32s(1), int32s(1), float32s(1), 1)),
        ("weighted_sums", (b"12", float32s(1), int32s(-1), int32s(0), float32s(1), 1)),
        ("weighted_sums", (b"12", float32s(1), int32s(1), int32s(0), float32s(1, 2), 1)),
        ("weighted_sums", (b"12", float32s(1), int32s(1), int32s(0), float32s(1), -1)),
        ("merged_postings", (b"12345678", int32s(1), int32s(0, 1), b"12")),
        ("merged_postings", (b"12345678", int32s(-1), b"", b"")),
        ("merged_postings", (b"12345678", b"", b"", b"")),
        ("sorted_positions", (int32s(*range(40)), 32, int32s(12, 12))),
        ("sorted_positions", (int32s(*range(40)), 1, int32s(12, 24))),
        ("sorted_positions", (int32s(*range(40)), 41, int32s(12, 24))),
        ("sorted_positions", (int32s(*range(40)), 32, int32s(-12, 48))),
        ("sorted_positions", (int32s(*range(40)), 32, b"")),
        ("number_tokens", (b"\xff",)),
        ("term_keys", ((b"bytes",),)),
        ("term_keys", (["a list"],)),
        ("number_tokens", (b"ab \xe2\x82",)),
        ("list_nodes", (None, None, -1, [], b"", None)),
        ("to_json", (0.5,)),
        ("to_json", ([{1: 2}],)),
        ("to_json", (2**63,)),
    ],
)
def test_arguments_that_fit_no_array_raise(name, arguments):
    with pytest.raises((ValueError, TypeError)):
        getattr(native.compiled, name)(*arguments)


def test_the_source_has_the_version_that_is_asked_for():
    source = (ROOT / "native" / "kernel.c").read_text("utf-8")
    (version,) = re.findall(r"^#define KERNEL_VERSION (\d+)$", source, re.MULTILINE)
    assert int(version) == native.VERSION


def test_a_kernel_of_another_version_is_not_used(monkeypatch):
    monkeypatch.setattr(native, "VERSION", native.VERSION + 1)
    assert native._load()[0] is None


def test_the_doctor_says_whether_the_kernel_is_used(monkeypatch):
    monkeypatch.setattr(doctor, "compiled", None)
    monkeypatch.setattr(doctor, "why_not", "turned off by WEFT_KERNEL=0")
    assert doctor._kernel() == doctor.CheckResult("C kernel", "not used: turned off by WEFT_KERNEL=0")
    monkeypatch.setattr(doctor, "why_not", native.STALE)
    assert doctor._kernel().next_step == "Install Weft again."
    monkeypatch.setattr(doctor, "compiled", native)
    assert doctor._kernel().found.startswith("used") and not doctor._kernel().next_step


def test_the_switch_turns_the_kernel_off():
    code = (
        "from weft import native; from weft.retrieval import fragments, static_vectors as vectors;"
        "from weft.llm.workspace_model import ngram_index, tokens;"
        "assert fragments.window_terms is fragments.plain_window_terms;"
        "assert vectors.weighted_sums is vectors.plain_weighted_sums;"
        "assert tokens.number_tokens is tokens.plain_number_tokens;"
        "assert ngram_index.sorted_positions is ngram_index.plain_sorted_positions;"
        "print(native.compiled, native.why_not)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "WEFT_KERNEL": "0"}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "None turned off by WEFT_KERNEL=0\n"
