"""Meaning: questions find code without a common word, by the table of static vectors that Weft ships."""

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.codegraph import parse_file
from weft.retrieval import RepositoryIndex, fragments, slice_file
from weft.retrieval.questions import SearchOptions, UnitFilter, search, spelling, unit_vectors
from weft.retrieval.questions.unit_features import NAMES, WEIGHTS, Features, as_array, score_parts

FILES = """
    #- src/users.py
    def check_password(user, text):
        return hash_of(text) == user.password_hash
    #- src/cache.py
    def evict_lru(cache):
        while len(cache) > cache.capacity:
            oldest = min(cache, key=cache.used_at)
            del cache[oldest]
    #- src/window.py
    def resize(window, width, height):
        window.width, window.height = width, height
        window.redraw()
    #- src/retry.py
    def with_backoff(send, attempts):
        for n in range(attempts):
            try:
                return send()
            except ConnectionError:
                sleep(2 ** n)
    #- lib/mail.js
    function deliver(message, recipients) {
        for (const recipient of recipients) smtp.sendmail(message, recipient)
    }
    #- lib/picture.js
    class Thumbnail {
        render(image, pixels) { return image.blur().crop(pixels) }
    }
    """


def index_of(text):
    """An index of files in one text: `#- name` opens each."""
    files = (part.partition("\n") for part in textwrap.dedent(text).split("#- ")[1:])
    parts = ((parse_file(name.strip(), content), slice_file(name.strip(), content)) for name, _, content in files)
    return RepositoryIndex.build(parts)


@pytest.fixture(scope="module")
def index():
    return index_of(FILES)


@pytest.fixture
def no_table(monkeypatch):
    for module in (unit_vectors, fragments, spelling):
        monkeypatch.setattr(module, "shipped_vectors", lambda: None)


def units(index, question, **options):
    return search(index, question, SearchOptions(**options)).units


@pytest.mark.parametrize(
    ("question", "unit"),
    [
        ("throw away items when there is no room", "evict_lru"),
        ("verify the credentials of someone", "check_password"),
        ("change the dimensions of the screen", "resize"),
        ("try again after a network failure", "with_backoff"),
        ("notify people by email", "deliver"),
        ("preview of a blurry photo", "Thumbnail"),
    ],
)
def test_a_question_without_a_word_of_the_code_finds_it(index, question, unit):
    best = units(index, question)[0]
    assert best.unit.symbol.startswith(unit)
    assert {part.name: part.value for part in best.parts}["meaning"] > 1


def test_what_no_word_and_no_meaning_matches_is_not_found(index):
    found = {scored.unit.symbol for scored in units(index, "notify people by email")}
    assert "deliver" in found and len(found) < 6
    assert not units(index, "?!") and not units(index, "")


@pytest.mark.parametrize("n_files", [1, 3])
def test_in_a_repository_of_equal_windows_none_stands_out(n_files):
    """Their cosines have no deviation."""
    index = index_of("".join(f"#- a{n}.md\nQuokkas eat leaves.\n" for n in range(n_files)))
    assert all(scored.score < 10 for scored in units(index, "evict_now"))
    assert len(units(index, "which animal eats")) == n_files


@pytest.mark.filterwarnings("error")
def test_nothing_is_found_without_files(index):
    removed = index.with_changes([], list(index.texts))
    assert units(RepositoryIndex(), "notify people by email") == units(removed, "notify people by email") == ()


@pytest.mark.parametrize(
    "filter",
    [
        UnitFilter(languages=frozenset({"javascript"})),
        UnitFilter(paths=("lib",)),
        UnitFilter(paths=("!src",)),
        UnitFilter(kinds=frozenset({"class", "method"})),
    ],
)
@pytest.mark.parametrize("question", ["throw away items when there is no room", "verify the credentials of someone"])
def test_a_filter_holds_for_what_is_found_by_meaning(index, filter, question):
    assert any(not scored.unit.path.startswith("lib") for scored in units(index, question))
    assert all(scored.unit.path.startswith("lib") for scored in units(index, question, filter=filter))


QUESTIONS = ("Where is the password checked?", "notify people by email", "`resize`", "wo wird das Fenster geändert")


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_parts_of_a_score_add_up_to_it(index, question):
    result = search(index, question)
    for scored, features in zip(result.units, result.features, strict=True):
        assert sum(part.value for part in scored.parts) == pytest.approx(scored.score)
        assert as_array([features])[0] @ as_array([WEIGHTS])[0] == pytest.approx(scored.score)


@given(st.lists(st.floats(-10, 10), min_size=len(NAMES), max_size=len(NAMES)))
def test_every_feature_is_in_one_part(values):
    features = Features(*values)
    total = sum(part.value for part in score_parts(features))
    assert total == pytest.approx(as_array([features])[0] @ as_array([WEIGHTS])[0], abs=1e-6)


def test_the_best_units_come_first(index):
    for question in QUESTIONS:
        scores = [scored.score for scored in units(index, question)]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.usefixtures("no_table")
def test_without_a_table_words_and_names_are_searched():
    index = index_of(FILES)
    assert units(index, "Where is the password checked?")[0].unit.symbol == "check_password"
    assert units(index, "`resize`")[0].unit.symbol == "resize"
    assert not units(index, "notify people by email")
    for question in QUESTIONS:
        assert not any(part.name == "meaning" for scored in units(index, question) for part in scored.parts)


@pytest.mark.usefixtures("no_table")
def test_without_a_table_names_are_corrected():
    result = search(index_of(FILES), "Where is check_pasword?")
    assert result.corrections == (("check_pasword", "check_password"),)
    assert result.units[0].unit.symbol == "check_password"


def test_an_index_without_vectors_is_searched_with_a_table(index, monkeypatch):
    """A fragment without a vector has no meaning, but its units do."""
    with monkeypatch.context() as patch:
        patch.setattr(fragments, "shipped_vectors", lambda: None)
        without = index_of(FILES)
    assert units(without, "Where is the password checked?")[0].unit.symbol == "check_password"


def test_a_change_is_found_by_its_meaning(index):
    path, text = "src/mail.py", "def deliver_by_post(letter, recipients):\n    post.sendmail(letter, recipients)\n"
    changed = index.with_changes([(parse_file(path, text), slice_file(path, text))], ["lib/mail.js"])
    found = [scored.unit.symbol for scored in units(changed, "notify people by email")]
    assert found[0] == "deliver_by_post" and "deliver" not in found
