"""What a model of our own learns from: licences, files, spans, samples and their rows. Nothing here needs torch."""

import zipfile
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.llm.prompting.formats import find_fim_tokens
from weft.llm.prompting.prompts import build_prompt
from weft.llm.protocol import CompletionRequest, PromptFragment
from weft.llm.training.lexical_retrieval import LexicalRetriever, oracle_fragment, retrieval_named
from weft.llm.training.licences import find_licence, has_restrictive_header, is_permissive
from weft.llm.training.samples import Sample, SampleGenerator, SampleMix, pack_rows
from weft.llm.training.sources import (
    Document,
    SourceOptions,
    drop_reason,
    gather_sources,
    licence_table,
    read_documents,
    write_corpus,
)
from weft.llm.training.spans import Span, choose_line_end, choose_span
from weft.llm.training.tokenizer import END, FORMAT, PAD, SPECIAL_TOKENS


class Letters:
    """A tokenizer whose tokens are bytes, behind the special ones."""

    end, pad = SPECIAL_TOKENS.index(END), SPECIAL_TOKENS.index(PAD)

    def special(self, token):
        return SPECIAL_TOKENS.index(token)

    def encode(self, text):
        return [byte + len(SPECIAL_TOKENS) for byte in text.encode()]

    def count(self, text):
        return len(text.encode())

    def encode_part(self, part):
        return [self.special(part.text)] if part.special else self.encode(part.text)

    def spell(self, tokens):
        """Tokens as text, special ones by their letters."""
        n = len(SPECIAL_TOKENS)
        return "".join(SPECIAL_TOKENS[token] if token < n else chr(token - n) for token in tokens)


def code(name: str, n_lines: int = 30) -> str:
    return "".join(
        f"def {name}_{n}(first, second):\n    return first * {n} + second_{name}\n\n" for n in range(n_lines)
    )


# Licences


@pytest.mark.parametrize(
    "expression",
    [
        "MIT",
        "Apache-2.0 OR GPL-3.0-only",
        "BSD-3-Clause AND MIT",
        "(MIT OR GPL-2.0) AND ISC",
        "Apache-2.0 WITH LLVM-exception",
    ],
)
def test_permissive_expressions(expression):
    assert is_permissive(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "GPL-3.0-only",
        "MPL-2.0 AND MIT",
        "MIT AND (GPL-2.0 OR LGPL-3.0)",
        "",
        "MIT AND",
        "(MIT",
        "MIT MIT",
        "LicenseRef-X",
    ],
)
def test_expressions_that_are_not_permissive_or_not_understood(expression):
    assert not is_permissive(expression)


@given(st.text(alphabet="MITORANDWH()- ", max_size=30))
def test_any_expression_is_judged(expression):
    assert is_permissive(expression) in (True, False)


def test_the_expression_has_the_last_word():
    licence = find_licence("GPL-3.0-only", "MIT", ["License :: OSI Approved :: MIT License"])
    assert not licence.permissive and licence.known_by == "License-Expression"


def test_every_classifier_must_be_permissive():
    mit, gpl = "License :: OSI Approved :: MIT License", "License :: OSI Approved :: GNU General Public License (GPL)"
    assert find_licence("", "", [mit]).permissive
    assert not find_licence("", "MIT", [mit, gpl]).permissive


@pytest.mark.parametrize("field", ["MIT", "The MIT License", "Apache 2.0", "Apache License, Version 2.0", "new BSD"])
def test_a_plain_field_is_understood(field):
    assert find_licence("", field, ["License :: OSI Approved"]).permissive


def test_an_unknown_licence_is_left_out_with_what_it_says():
    licence = find_licence("", "see LICENSE.txt", [])
    assert not licence.permissive and licence.name == "see LICENSE.txt"
    assert find_licence("", "", []).known_by == "nothing"


@pytest.mark.parametrize(
    "head",
    [
        "# under the GNU Lesser General Public License",
        "# SPDX-License-Identifier: GPL-2.0",
        "# GPL v3",
        "# Mozilla Public License",
    ],
)
def test_a_header_may_say_otherwise(head):
    assert has_restrictive_header(head + "\nx = 1\n")


def test_a_permissive_header_is_none():
    assert not has_restrictive_header("# SPDX-License-Identifier: MIT\nx = 1\n")


# Files


def wheel(folder: Path, name: str, licence: str, files: dict[str, str]) -> None:
    """An unpacked wheel in `folder`, as pip leaves one."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\nLicense-Expression: {licence}\n"
    )
    (info / "RECORD").write_text("".join(f"{path},,\n" for path in files))
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, newline="")


def gather(folder: Path, **options):
    return gather_sources(SourceOptions(folders=(folder,), held_out=frozenset({"kept-apart"}), **options))


def test_only_permissive_packages_are_learnt_from(tmp_path):
    wheel(tmp_path, "free", "MIT", {"free/a.py": code("free")})
    wheel(tmp_path, "bound", "GPL-3.0-only", {"bound/a.py": code("bound")})
    corpus = gather(tmp_path)
    assert [document.path for document in corpus.training] == ["free/a.py"]
    assert [package.name for package in corpus.packages] == ["free"]
    assert corpus.left_out[0].name == "bound" and "GPL-3.0-only" in corpus.left_out[0].reason
    assert "| free | 1.0 | MIT |" in licence_table(corpus) and "- bound 1.0: licence GPL" in licence_table(corpus)


def test_held_out_packages_are_apart_whole_and_without_their_copies_in_training(tmp_path):
    shared = code("shared")
    wheel(tmp_path, "Kept.Apart", "MIT", {"apart/a.py": shared})
    wheel(tmp_path, "another", "MIT", {"another/a.py": shared, "another/b.py": code("own")})
    corpus = gather(tmp_path)
    assert [document.package for document in corpus.held_out] == ["kept-apart"]
    assert [document.path for document in corpus.training] == ["another/b.py"]
    assert corpus.dropped_files == {"copy": 1}


def test_a_near_copy_is_dropped(tmp_path):
    original = code("original")
    wheel(tmp_path, "one", "MIT", {"one/a.py": original})
    wheel(tmp_path, "two", "MIT", {"two/a.py": original.replace("original_3(", "changed_3(")})
    corpus = gather(tmp_path)
    assert len(corpus.training) == 1 and corpus.dropped_files == {"near copy": 1}


def test_a_package_ends_at_its_bound(tmp_path):
    wheel(tmp_path, "big", "MIT", {f"big/{name}.py": code(name) for name in "abcdef"})
    size = len(code("a"))
    assert len(gather(tmp_path, most_package_characters=2 * size - 1).training) == 2


@pytest.mark.parametrize(
    ("reason", "path", "text"),
    [
        ("vendored code", "p/_vendor/x.py", code("x")),
        ("data", "p/fixtures/x.py", code("x")),
        ("too short", "p/x.py", "x = 1\n"),
        ("too long", "p/x.py", code("x", 4000)),
        ("minified or data", "p/x.py", "x = [" + "1, " * 200 + "]\n" + code("x")),
        ("generated", "p/x.py", "# Generated by a tool. DO NOT EDIT.\n" + code("x")),
        ("another licence", "p/x.py", "# GNU General Public License\n" + code("x")),
        ("may hold a secret", "p/x.py", code("x") + "KEY = 'AKIA" + "ABCDEFGH" * 2 + "'\n"),
        ("may hold a secret", "p/x.py", code("x") + "# -----BEGIN RSA PRIVATE " + "KEY-----\n"),
        ("", "p/tests/test_x.py", code("x")),
    ],
)
def test_why_a_file_is_not_learnt_from(reason, path, text):
    assert drop_reason(Document("p", path, text)) == reason


def test_the_same_files_give_the_same_corpus_and_it_is_read_back(tmp_path):
    wheel(tmp_path / "wheels", "one", "MIT", {f"one/{name}.py": code(name).replace("\n", "\r\n") for name in "abc"})
    corpus = gather(tmp_path / "wheels")
    assert gather(tmp_path / "wheels") == corpus
    write_corpus(corpus, tmp_path / "out")
    assert read_documents(tmp_path / "out" / "training.jsonl") == corpus.training
    assert all("\r" not in document.text for document in corpus.training)


# Holes


@given(st.text(alphabet="ab \n\t.", min_size=1), st.integers(0, 1000))
def test_a_hole_is_never_empty_and_ends_in_no_white_space(text, seed):
    for choose in (choose_span, choose_line_end):
        hole = choose(text, Random(seed))
        if hole is not None:
            middle = text[hole.start : hole.end]
            assert middle and middle == middle.rstrip()


def test_an_evaluated_hole_is_code_from_a_word_to_the_end_of_its_line():
    text = '"""Prose here.\n\nMore prose.\n"""\n# a remark\nvalue = compute(first)\n'
    spans = {choose_line_end(text, Random(seed)) for seed in range(200)} - {None}
    assert {text[hole.start : hole.end] for hole in spans} == {"value = compute(first)", "compute(first)", "first)"}


# Samples


DOCUMENTS = tuple(Document("shop", f"shop/{name}.py", code(name)) for name in ("cart", "price", "stock"))
FILL_ONLY = SampleMix(fill=1.0, retrieved=0.0, oracle=0.0)


def maker(mix: SampleMix, context_tokens: int = 700, **options) -> SampleGenerator:
    return SampleGenerator(DOCUMENTS, Letters(), context_tokens, mix, **options)


def test_the_tokenizer_has_the_format_that_serving_finds():
    assert find_fim_tokens(set(SPECIAL_TOKENS)) == FORMAT


def test_a_sample_is_the_prompt_of_serving_then_the_middle_and_the_end():
    random = Random(3)
    spelled = Letters().spell(maker(FILL_ONLY).sample(random).tokens)
    prompt, middle = spelled.split(FORMAT.middle)
    document = next(d for d in DOCUMENTS if f"{FORMAT.file}{d.path}\n" in prompt)
    prefix, suffix = prompt.split(FORMAT.prefix)[1].split(FORMAT.suffix)
    middle = middle.removesuffix(END)
    assert prefix + middle + suffix in document.text
    start = document.text.index(prefix + middle + suffix) + len(prefix)
    request = CompletionRequest(
        document.path,
        "python",
        document.text[:start],
        document.text[start + len(middle) :],
        repository="shop",
        max_new_tokens=len(middle) + 1,
    )
    # The sample drew its length by chance; serving with the same length writes the same.
    lengths = range(100, 701)
    served = {build_prompt(request, FORMAT, Letters().count, length).text for length in lengths}
    assert prompt + FORMAT.middle in served


def test_only_text_counts_and_the_middle_more():
    sample = maker(FILL_ONLY).sample(Random(3))
    start = sample.tokens.index(Letters().special(FORMAT.middle)) + 1
    special = [weight for token, weight in zip(sample.tokens[:start], sample.weights, strict=False) if token < 7]
    assert set(special) == {0}
    assert set(sample.weights[start:]) == {FILL_ONLY.middle_weight}
    assert sample.tokens[-1] == Letters.end


def test_a_practice_sample_shows_what_it_asks_for():
    document, text = DOCUMENTS[0], DOCUMENTS[0].text
    start = text.index("cart_7")
    shown = [oracle_fragment(document, Span(start, start + 6), "shop/other.py", Random(seed)) for seed in range(20)]
    assert any("cart_7" in fragment.text for fragment in shown)
    assert any(fragment.text not in text for fragment in shown)  # a name was changed
    assert {fragment.paths for fragment in shown} == {("shop/other.py",)}


def test_practice_fragments_fit_into_the_prompts_that_ask_for_them():
    practised, random = maker(SampleMix(fill=1.0, oracle=1.0), 2000), Random(0)
    samples = [Letters().spell(practised.sample(random).tokens) for _ in range(50)]
    assert sum(spelled.count(FORMAT.file) == 2 for spelled in samples) > 45


def test_retrieved_fragments_come_from_other_files_and_stand_before_the_file():
    asked = []

    def retrieve(document, before):
        asked.append((document, before))
        return [PromptFragment(("shop/elsewhere.py",), "elsewhere = 1", 0, 1.0)]

    mix = SampleMix(fill=1.0, retrieved=1.0, oracle=0.0)
    sample = maker(mix, retrieve=retrieve).sample(Random(1))
    ((document, before),) = asked
    assert document.text.startswith(before) and before != document.text
    assert f"{FORMAT.file}shop/elsewhere.py\nelsewhere = 1\n{FORMAT.file}{document.path}" in Letters().spell(
        sample.tokens
    )


def test_neighbours_are_windows_of_other_files_with_the_same_rare_words():
    far = Document("shop", "shop/far.py", "def pay(order):\n    return settle_invoice(order)\n")
    foreign = Document("bank", "bank/far.py", "def pay(order):\n    return settle_invoice(order)\n")
    lexical_retrieval = LexicalRetriever([*DOCUMENTS, far, foreign])
    near = Document("shop", "shop/near.py", "")
    assert [f.paths for f in lexical_retrieval(near, "x = settle_invoice")] == [("shop/far.py",)]
    assert lexical_retrieval(far, "x = settle_invoice") == []


def test_files_of_a_package_are_read_one_after_another():
    sample = maker(SampleMix(fill=0.0), 3000).sample(Random(0))
    spelled = Letters().spell(sample.tokens)
    assert spelled.startswith(f"{FORMAT.repository}shop\n{FORMAT.file}shop/")
    assert spelled.count(FORMAT.file) > 1 and len(sample.tokens) == 3000


@given(st.lists(st.integers(2, 20), min_size=1), st.integers(20, 40))
def test_samples_are_packed_whole_and_beside_nothing_but_padding(lengths, context_tokens):
    letters = Letters()

    def samples():
        while True:
            for n, length in enumerate(lengths):
                yield Sample([100 + n] * length, [0, *[1] * (length - 1)])

    rows = pack_rows(samples(), 5, context_tokens, letters.pad)
    assert rows.tokens.shape == rows.weights.shape == (5, context_tokens + 1)
    for tokens, weights in zip(rows.tokens, rows.weights, strict=True):
        at = 0
        while at <= context_tokens and tokens[at] != letters.pad:
            length = lengths[tokens[at] - 100]
            assert list(tokens[at : at + length]) == [tokens[at]] * length
            assert list(weights[at : at + length]) == [0, *[1] * (length - 1)]
            at += length
        assert np.all(tokens[at:] == letters.pad) and not weights[at:].any()


def test_a_wheel_file_is_read_without_unpacking(tmp_path):
    wheel(tmp_path / "unpacked", "zipped", "MIT", {"zipped/a.py": code("zipped")})
    (tmp_path / "wheels").mkdir()
    with zipfile.ZipFile(tmp_path / "wheels" / "zipped-1.0-py3-none-any.whl", "w") as archive:
        for path in sorted((tmp_path / "unpacked").rglob("*")):
            archive.write(path, path.relative_to(tmp_path / "unpacked"))
    corpus = gather(tmp_path / "wheels")
    assert [document.text for document in corpus.training] == [code("zipped")]
    assert licence_table(corpus).startswith("| package |")


def test_a_line_at_the_end_has_its_indentation_and_nothing_behind_it():
    mix = SampleMix(fill=1.0, retrieved=0.0, oracle=0.0, at_end=1.0)
    made = maker(mix)
    spelled = [Letters().spell(made.sample(Random(seed)).tokens) for seed in range(40)]
    assert all(f"{FORMAT.suffix}{FORMAT.middle}" in text for text in spelled)
    middles = [text.split(FORMAT.middle)[1] for text in spelled]
    assert sum(middle.startswith("    return first * ") for middle in middles) > 5


def test_what_is_evaluated_on_is_not_learnt_from_under_another_name(tmp_path):
    wheel(tmp_path / "wheels", "copier", "MIT", {"copier/a.py": code("cart"), "copier/b.py": code("price")})
    wheel(tmp_path / "wheels", "diffusers", "MIT", {"diffusers/a.py": code("stock")})
    (tmp_path / "tree").mkdir(exist_ok=True)
    (tmp_path / "tree" / "own.py").write_text(code("cart") + "x = 1\n")
    corpus = gather_sources(SourceOptions(folders=(tmp_path / "wheels",), unlike=(tmp_path / "tree",)))
    assert [document.path for document in corpus.training] == ["copier/b.py"]
    assert [(package.name, package.reason) for package in corpus.left_out] == [("diffusers", "excluded")]


def test_a_model_learns_from_what_weft_would_show():
    """The function that settles a price, and where it is used: related and alike, in other files only."""
    far = Document("shop", "shop/far.py", "def settle_invoice(order):\n    return order\n")
    foreign = Document("bank", "bank/far.py", "def settle_invoice(order):\n    return order\n")
    before = "from shop.far import settle_invoice\n\n\ndef pay(order):\n    total = settle_invoice("
    near = Document("shop", "shop/near.py", before + "order)\n")
    retrieve = retrieval_named("weft.server.completion.teaching:ShownByWeft")([*DOCUMENTS, far, foreign, near])
    shown = [fragment.paths for fragment in retrieve(near, before)]
    assert shown[0] == ("shop/far.py",)
    assert {path for paths in shown for path in paths} <= {"shop/far.py", *(document.path for document in DOCUMENTS)}


@pytest.mark.parametrize("name", ["", "nothing", "weft.nothing:at_all", "weft.llm.training.lexical_retrieval:Nothing"])
def test_a_retrieval_that_is_not_there_is_named(name):
    with pytest.raises(ValueError, match="MODULE:NAME"):
        retrieval_named(name)
