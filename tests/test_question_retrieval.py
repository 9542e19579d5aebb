"""Questions in words: how they are read, which units of a repository they find, and in which order."""

import math
import textwrap
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.codegraph import parse_file
from weft.retrieval import InvertedIndex, RepositoryIndex, slice_file
from weft.retrieval.questions import KINDS, SearchOptions, UnitFilter, analyse_question, is_test, search, units_of
from weft.retrieval.questions.query_expansion import expand_word
from weft.retrieval.terms import count_terms


def index_of(text, **kwargs):
    """An index of files in one text: `#- name` opens each."""
    return RepositoryIndex.build(map(part_of, files_in(text).items()), **kwargs)


def files_in(text):
    files = {}
    for part in textwrap.dedent(text).split("#- ")[1:]:
        name, _, content = part.partition("\n")
        files[name.strip()] = content
    return files


def part_of(item):
    return parse_file(*item), slice_file(*item)


def found(index, question, **options):
    """The names of what a question finds, best first: symbols, headings, or places."""
    units = search(index, question, SearchOptions(**options)).units
    return [w.unit.symbol or w.unit.title or f"{w.unit.path}:{w.unit.start_line + 1}" for w in units]


# Words


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("decides", "decided"),
        ("decided", "deciding"),
        ("decision", "decide"),
        ("scheduling", "scheduler"),
        ("scheduler", "schedules"),
        ("queries", "query"),
        ("stopping", "stop"),
        ("normalised", "normalize"),
        ("initialization", "initialise"),
        ("configuration", "cfg"),
        ("directory", "dir"),
        ("gradient", "grad"),
        ("written", "writes"),
        ("children", "child"),
        ("measurements", "measured"),
        ("behaviour", "behavior"),
        ("removed", "delete"),
    ],
)
def test_a_word_is_known_in_its_other_forms(asked, written):
    assert 0 < expand_word(asked)[written] <= 1


@pytest.mark.parametrize(("asked", "other"), [("class", "clas"), ("bus", "bu"), ("string", "str")])
def test_a_word_counts_most_as_it_is_asked(asked, other):
    forms = expand_word(asked)
    assert forms[asked] == 1 == max(forms.values())
    assert forms.get(other, 0) < 1


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What calls step_mdp?", ("step_mdp",)),
        ("Who uses RandomPolicy()?", ("RandomPolicy",)),
        ("What does Trainer.train return?", ("Trainer.train",)),
        ("What is in server/chat/values.py?", ("server/chat/values.py",)),
        ("Where is `pay` used?", ("pay",)),
        ("Where is Shop::pay used?", ("Shop.pay",)),
        ("What is _private, e.g. in a test?", ("_private",)),
        ("Where is the total computed?", ()),
    ],
)
def test_names_are_taken_as_they_are_written(question, names):
    assert analyse_question(question).names == names


def test_words_that_only_build_the_question_are_no_concepts():
    concepts = {c.word: c.weight for c in analyse_question("Where is it decided how the total is rounded?").concepts}
    assert set(concepts) == {"decided", "total", "rounded"}
    assert concepts["decided"] < concepts["total"] == concepts["rounded"] == 1


def test_a_question_of_intent_alone_goes_by_that():
    assert [c.weight for c in analyse_question("Where are the defaults set?").concepts] == [1, 1]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What calls pay?", "callers"),
        ("Where is pay used?", "callers"),
        ("What does pay call?", "callees"),
        ("Where is it decided?", "decision"),
        ("Which file documents the cache?", "documentation"),
        ("How does a reach b?", "path"),
        ("Which classes inherit from Base?", "subclasses"),
        ("What does pay raise?", "raisers"),
        ("What does pay return?", "returns"),
        ("How many workers are there?", "value"),
    ],
)
def test_the_kind_of_a_question_follows_from_its_words(question, kind):
    assert kind in analyse_question(question).kinds


@given(st.text(max_size=300))
def test_any_text_can_be_read(text):
    wording = analyse_question(text)
    assert len(wording.concepts) <= 40
    assert all(concept.forms for concept in wording.concepts)


# Units


def test_a_function_is_one_unit_and_a_class_leaves_its_methods_out():
    text = textwrap.dedent(
        """\
        import os

        LIMIT = 3

        class Shop:
            \"\"\"Sells.\"\"\"

            def pay(self):
                return LIMIT

        def main():
            return Shop()
        """
    )
    units = units_of(parse_file("shop.py", text), text.encode())
    lines = {unit.symbol: [n + 1 for n in unit.lines()] for unit in units}
    assert lines == {"": [1, 2, 3], "Shop": [5, 6, 7], "Shop.pay": [8, 9], "main": [11, 12]}


def test_sections_of_a_document_know_the_headings_above():
    text = "Intro\n\n# Guide\n\n## Install\n\nRun it.\n\n```\n# no heading\n```\n\nUse\n===\n\nAsk.\n"
    titles = [unit.title for unit in units_of(parse_file("a.md", text), text.encode())]
    assert titles == ["", "Guide", "Guide > Install", "Use"]


def test_front_matter_is_no_heading():
    text = "---\ntitle: Guide\noutline: deep\n---\n\n# Guide\n\n## Install\n\nRun it.\n"
    titles = [unit.title for unit in units_of(parse_file("a.md", text), text.encode())]
    assert titles == ["", "Guide", "Guide > Install"]


LINES = st.sampled_from(
    ["", "def f():", "class A:", "    def g(self):", "    x = 1", "        return x", "@d", "# hi", '"""']
)


@given(st.lists(LINES, max_size=40), st.sampled_from(["a.py", "a.md", "a.txt", "a.js"]))
def test_every_line_with_words_lies_in_exactly_one_unit(lines, path):
    text = "\n".join(lines)
    counts = Counter(n for unit in units_of(parse_file(path, text), text.encode()) for n in unit.lines())
    assert all(counts[n] == 1 for n, line in enumerate(lines) if line.strip())
    assert all(count == 1 and n < len(lines) for n, count in counts.items())


def test_a_paragraph_without_end_is_cut():
    text = "x = 1\n" * 1000
    assert max(u.end_line - u.start_line for u in units_of(parse_file("a.py", text), text.encode())) <= 40


# Scores


@given(
    st.lists(
        st.lists(st.sampled_from(["pay", "pays", "paid", "loan", "loans", "cash"]), max_size=12), min_size=1, max_size=8
    ),
    st.lists(
        st.dictionaries(
            st.sampled_from(["pay", "pays", "paid", "loan", "none"]), st.sampled_from([0.5, 1.0]), min_size=1
        )
    ),
)
def test_a_group_of_terms_is_scored_as_one_term(texts, groups):
    index = InvertedIndex.build([slice_file(f"{n}.txt", " ".join(words)) for n, words in enumerate(texts)])
    weights = [1.0 + n for n in range(len(groups))]
    scores, df = index.bm25_of_groups(groups, weights)
    live = [words for words in texts if words]
    average = sum(sum(count_terms(" ".join(words)).values()) for words in live) / max(len(live), 1)
    for n, words in enumerate(texts):
        counts = count_terms(" ".join(words))
        expected = 0.0
        for group, weight, frequency in zip(groups, weights, df, strict=True):
            assert frequency == sum(any(term in count_terms(" ".join(w)) for term in group) for w in live)
            tf = sum(counts[term] * share for term, share in group.items())
            idf = math.log1p((len(live) - frequency + 0.5) / (frequency + 0.5))
            norm = 1.5 * (0.25 + 0.75 * sum(counts.values()) / (average or 1))
            expected += weight * idf * 2.5 * tf / (tf + norm) if tf else 0.0
        assert [scores[i] for i in index.ids(f"{n}.txt")] == pytest.approx([expected] if words else [])


SHOP = """
    #- shop/price.py
    def round_total(total):
        \"\"\"Round half a cent up.\"\"\"
        return int(total * 100 + 0.5) / 100

    class DataLoader:
        def __init__(self, batch_size=32):
            self.batch_size = batch_size

        def read_batches(self):
            return []
    #- shop/stop.py
    def should_stop(losses, patience):
        # Training is over when the loss has not improved for a while.
        return len(losses) > patience and min(losses[-patience:]) >= min(losses[:-patience])
    #- tests/test_price.py
    def test_round_total():
        assert round_total(1.005) == 1.01
    #- docs/guide.md
    # Guide

    ## Rounding

    Totals are rounded half up.

    ## Loading

    Batches of data are read by the loader.
    """


@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("Where are totals rounded?", "round_total"),
        ("where is the data_loader", "DataLoader"),
        ("When is it decided that training stops?", "should_stop"),
        ("Which document describes how totals are rounded?", "Guide > Rounding"),
        ("What tests the rounding of totals?", "test_round_total"),
        ("`read_batches`", "DataLoader.read_batches"),
        ("What is the default batch size?", "DataLoader.__init__"),
        ("shop/stop.py", "should_stop"),
    ],
)
def test_the_unit_that_answers_comes_first(question, best):
    assert found(index_of(SHOP), question)[0] == best


def test_tests_come_after_the_code_that_they_test():
    names = found(index_of(SHOP), "Where is the total rounded?")
    assert names.index("round_total") < names.index("test_round_total")


@pytest.mark.parametrize("path", ["tests/a.py", "a/test_b.py", "b_test.go", "conftest.py", "x/ui.spec.ts"])
def test_tests_are_known_by_their_paths(path):
    assert is_test(path)
    assert not is_test(f"src/{path.replace('test', 'best').replace('spec', 'app')}")


def test_what_belongs_to_related_code_comes_before_what_stands_alone():
    index = index_of(
        """
        #- a/engine.py
        from parts import blades

        def turbine():
            return blades()
        #- a/parts.py
        def blades():
            return "steam"
        #- b/c/parts.py
        def blades():
            return "steam"
        #- b/c/garden.py
        def grow():
            return "roses"
        """
    )
    places = [(w.unit.path, w.unit.symbol) for w in search(index, "turbine blades steam").units]
    assert places.index(("a/parts.py", "blades")) < places.index(("b/c/parts.py", "blades"))
    parts = {part.name for w in search(index, "turbine blades steam").units for part in w.parts}
    assert "related code" in parts
    alone = search(index, "turbine blades steam", SearchOptions(relation=0.0)).units
    assert not any(part.name == "related code" for w in alone for part in w.parts)


def test_a_line_that_gives_a_value_counts_more_than_prose_about_it():
    index = index_of(
        """
        #- a.py
        def explain():
            # The retry limit is a limit of retries, and a retry is limited by the limit.
            return "retry"
        #- b.py
        def connect(url, retry_limit=3):
            return url
        """
    )
    assert found(index, "What is the default retry limit?")[0] == "connect"


def test_the_parts_of_a_score_add_up_to_it():
    for question in ("Where are totals rounded?", "`read_batches`", "What tests the rounding of totals?"):
        for weighed in search(index_of(SHOP), question).units:
            assert sum(part.value for part in weighed.parts) == pytest.approx(weighed.score)


def test_nothing_is_found_where_nothing_is_said():
    assert found(index_of(SHOP), "Where are kangaroos fed?") == []
    assert found(index_of(SHOP), "?!") == []
    assert found(RepositoryIndex(), "Where are totals rounded?") == []


def test_the_same_question_gives_the_same_answer():
    question = "Where are totals of batches rounded?"
    first, second = search(index_of(SHOP), question), search(index_of(SHOP), question)
    assert first.units == second.units


# Names


def test_a_name_is_found_however_it_is_spelled():
    names = index_of(SHOP).names
    for name in ("DataLoader", "data_loader", "dataloader", "price.DataLoader", "shop.price.DataLoader"):
        assert [named.definition.qualified_name for named in names.definitions(name)] == ["DataLoader"]
    assert names.definitions("stop.DataLoader") == names.definitions("") == names.definitions(".") == []


def test_a_name_as_it_is_written_comes_before_other_spellings():
    index = index_of("#- a.py\nclass Shop: pass\ndef shop(): pass\n")
    assert [named.definition.name for named in index.names.definitions("shop")] == ["shop"]
    assert [named.definition.name for named in index.names.definitions("SHOP")] == ["Shop", "shop"]


def test_values_of_modules_and_classes_are_found_by_name():
    index = index_of("#- a.py\nLIMIT = 3\nclass Shop:\n    limit = 4\n    def f(self):\n        self.rate = Rate()\n")
    assert [(given.name, given.line) for given in index.names.value_bindings("limit")] == [("Shop.limit", 2)]
    assert [(given.name, given.line) for given in index.names.value_bindings("LIMIT")] == [("LIMIT", 0)]
    assert [(given.name, given.line) for given in index.names.value_bindings("Shop.rate")] == [("Shop.rate", 4)]


def test_the_names_of_a_snapshot_follow_its_changes():
    before = index_of(SHOP)
    assert before.names.definitions("should_stop")
    changed = [part_of(("shop/stop.py", "def go_on(): pass\n"))]
    after = before.with_changes(changed, ["tests/test_price.py"])
    assert not after.names.definitions("should_stop")
    assert not after.names.definitions("test_round_total")
    assert after.names.definitions("go_on")
    assert before.names.definitions("should_stop")


# Filters


FILTERED = """
    #- src/shop.py
    class Shop:
        def pay(self, basket):
            return basket.total()
    #- src/deep/rate.ts
    export function pay(basket) { return basket }
    #- tests/test_shop.py
    def test_pay():
        assert pay(basket)
    #- docs/pay.md
    # How to pay

    A basket is paid in euros.
    """


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({"languages": {"python"}}, {"Shop.pay", "test_pay"}),
        ({"languages": {"typescript"}}, {"pay"}),
        ({"paths": ("src",)}, {"Shop.pay", "pay"}),
        ({"paths": ("*.py", "!tests")}, {"Shop.pay"}),
        ({"paths": ("!src/**", "!*.md")}, {"test_pay"}),
        ({"paths": ("src/*/*.ts",)}, {"pay"}),
        ({"paths": ("./src/**/*.py",)}, {"Shop.pay"}),
        ({"paths": ("shop.py",)}, {"Shop.pay"}),
        ({"paths": ("/shop.py",)}, set()),
        ({"kinds": {"method"}}, {"Shop.pay"}),
        ({"kinds": {"function", "method"}, "paths": ("src",)}, {"Shop.pay", "pay"}),
        ({"kinds": {"document"}}, {"How to pay"}),
        ({"kinds": {"section"}}, {"How to pay"}),
        ({"kinds": {"test"}}, {"test_pay"}),
        ({"kinds": {"code"}}, {"Shop.pay", "pay", "test_pay"}),
        ({"kinds": {"enum"}}, set()),
    ],
)
def test_a_filter_keeps_languages_paths_and_kinds(filter, expected):
    chosen = {name: value if name == "paths" else frozenset(value) for name, value in filter.items()}
    assert set(found(index_of(FILTERED), "pay a basket", filter=UnitFilter(**chosen))) == expected


@pytest.mark.parametrize(
    "filter",
    [UnitFilter(kinds=frozenset({"class"})), UnitFilter(paths=("z.py",)), UnitFilter(languages=frozenset({"go"}))],
)
def test_a_filter_empties_no_result_that_has_matches(filter):
    # Many better windows and definitions, and next to each a class that does not match.
    many = "".join(f"#- a{n}.py\nclass A{n}:\n    x = 1\n\ndef pay():\n    return pay(pay, pay)\n" for n in range(120))
    few = '#- z.py\nclass Counter:\n    """Where to pay."""\n#- z.go\npackage z\n\nfunc total() { pay() }\n'
    index = index_of(many + few)
    assert not any(unit in ("Counter", "total") for unit in found(index, "pay"))
    assert set(found(index, "pay", filter=filter)) <= {"Counter", "total"}
    assert found(index, "pay", filter=filter)


def test_every_kind_of_definition_can_be_named():
    text = {
        "a.cs": "delegate int D(int a); namespace N { record R(int a); struct S {} }",
        "a.rs": "mod m {}\nunion U { a: i32 }\ntrait T {}\nimpl T for U {}\nmacro_rules! m { () => {} }\n",
        "a.cpp": "namespace n { class A { int f(); }; }\n",
        "a.swift": "extension A {}\nenum E { case a }\n",
        "a.kt": "object O { fun f() {} }\ninterface I\nclass A { constructor(a: Int) {} }\n",
        "a.lua": "local M = {}\nfunction M.f() end\n",
        "a.rb": "module M\nend\n",
    }
    kinds = {d.kind for path, content in text.items() for d in parse_file(path, content).definitions}
    assert kinds <= set(KINDS) and len(kinds) > 12


def test_the_metadata_of_a_document_is_no_heading() -> None:
    text = "---\ntitle: Shops\ndescription: All about shops\n---\n\n# Payment\n\nPay first.\n"
    units = units_of(parse_file("shop.mdx", text), text.encode())
    assert [unit.title for unit in units] == ["", "Payment"]
    unclosed = "---\n# Payment\n"
    assert [unit.title for unit in units_of(parse_file("a.md", unclosed), unclosed.encode())] == ["", "Payment"]
