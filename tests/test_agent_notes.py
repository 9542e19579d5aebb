"""Recall of agents' notes: planted facts that are asked for in other words, and strategies with a chat model."""

from __future__ import annotations

import time

import pytest
from weft import Config, Workspace
from weft.errors import ModelError
from weft.server.agents.tools import answer_text, call_tool
from weft.server.config import MemoryOptions

FACTS = (
    ("payment order", "Refunds are slow, so customers pay before an order is shipped.", "why must buyers pay first?"),
    (
        "cache",
        "The Redis cache is emptied at every deploy, as keys have no version.",
        "what does a release do to Redis?",
    ),
    ("ci", "The Windows job is flaky: it fails with less than 2 GB of free disk.", "why does the Windows build fail?"),
    ("dates", "Timestamps in the database are UTC; the page converts them.", "which time zone do stored dates have?"),
    ("auth", "We chose JWT over server sessions since the API runs on several hosts.", "why no server-side sessions?"),
    ("search", "Elasticsearch needed too much memory; we use Postgres.", "did anybody evaluate Elasticsearch?"),
    ("tests", "Run `make test-fast` before a commit; all tests take 40 minutes.", "what is run before committing?"),
    ("naming", "Customer ids are called `party_id` in billing for historical reasons.", "what is a party_id?"),
    ("bug", "VAT is wrong for Swiss francs, which round to 5 centimes.", "what is the problem with Swiss VAT?"),
    ("deploy", "Deployments happen on Tuesdays; Fridays are forbidden.", "on which weekday do we deploy?"),
    ("api", "Version 1 of the API is kept until June 2027 for the app.", "how long is version 1 of the API supported?"),
    ("logging", "Do not log e-mail addresses: the data protection officer asked.", "may we log mail addresses?"),
    ("speed", "An index on orders(created_at) brought /reports to 80 ms.", "how was the reports endpoint made faster?"),
    ("flags", "Feature flags live in a table, so that support can change them.", "where are feature flags stored?"),
    ("people", "Mira owns the shipping module and reviews its changes.", "who is responsible for shipping?"),
    (
        "migration",
        "Migration 0042 runs before 0041 on staging.",
        "is there something special about staging migrations?",
    ),
    ("front end", "State is kept with zustand, not with Redux any more.", "which library keeps the state?"),
    ("limits", "The API of the carrier allows 10 requests a second.", "what is the rate limit of the carrier?"),
    ("style", "Errors are returned as problem+json, never as plain text.", "in which format do we return errors?"),
    ("secrets", "Credentials come from Vault; .env is for local work alone.", "how do we get passwords in production?"),
)
MODULES = [
    "orders",
    "carts",
    "users",
    "billing",
    "mail",
    "stock",
    "prices",
    "vouchers",
    "reviews",
    "ratings",
    "images",
    "pages",
    "menus",
    "roles",
    "audit",
]


@pytest.fixture
def opened(tmp_path):
    """A function that opens a workspace with a model, on one store."""
    (tmp_path / "code").mkdir()
    stored = {"data_dir": str(tmp_path / "data"), "cache_dir": str(tmp_path / "cache")}
    config = Config(**stored, memory=MemoryOptions(embeddings="hashing"))
    workspaces = []

    def open_workspace(model=None):
        workspaces.append(Workspace([tmp_path / "code"], config, model=model))
        return workspaces[-1]

    yield open_workspace
    for each in workspaces:
        each.close()


def shown(workspace, tool, **arguments):
    return answer_text(workspace, call_tool(workspace, tool, arguments))


@pytest.mark.parametrize("strategy", ["fragrel", "qrmem", "memorag"])
def test_planted_facts_are_recalled_without_a_model(opened, strategy):
    """Of 20 facts among 30 other notes at least 16 are the first, and 18 in the first eight."""
    workspace = opened()
    for number, (topic, fact, _) in enumerate(FACTS):
        shown(workspace, "remember", text=fact, topic=topic)
        for module in (MODULES[number % len(MODULES)], f"{MODULES[-1 - number % len(MODULES)]} tests")[
            : 1 + number % 2
        ]:
            shown(workspace, "remember", text=f"Looked at {module}: {number} functions, no surprise.", topic="survey")
    ranks = []
    for _, fact, question in FACTS:
        found = call_tool(workspace, "recall", {"question": question, "strategy": strategy}).entries
        ranks.append(next((rank for rank, each in enumerate(found, 1) if each.text == fact), 99))
    assert sum(rank == 1 for rank in ranks) >= 16, ranks
    assert sum(rank <= 8 for rank in ranks) >= 18, ranks


def test_extracted_text_is_not_repeated_below_it(opened):
    workspace = opened()
    for topic, fact, _ in FACTS[:4]:
        shown(workspace, "remember", text=fact, topic=topic)
    text = shown(workspace, "recall", question="why must customers pay before an order?", strategy="segment_plus")
    assert "Extracted for the question:" in text and "payment order" in text.rpartition("note 1, ")[2]
    assert text.count(FACTS[0][1]) == 1


def test_the_extracted_text_is_of_so_many_notes_as_are_asked_for(opened):
    workspace = opened()
    for number in range(60):
        shown(workspace, "remember", text=f"Customer {number} pays before the order is shipped. " * 4)
    text = shown(workspace, "recall", question="when do customers pay?", strategy="segment_plus", limit=3)
    assert text.startswith("3 notes of 60 by segment_plus") and len(text) < 8_000


def test_the_clues_of_memorag_find_what_the_question_does_not_name(opened, scripted_chat, monkeypatch):
    """The model's clue has words of the note; the question has none of them. Also after a restart."""
    monkeypatch.setattr("weft.server.agents.notes.MODEL_WITHIN_S", 3600.0)
    model, first = scripted_chat(lambda messages: "credentials come from the Vault of the company"), opened()
    for topic, fact, _ in FACTS:
        shown(first, "remember", text=fact, topic=topic)
    asked = {"question": "how do we get passwords in production?", "strategy": "memorag"}
    assert FACTS[-1][1] not in shown(first, "recall", **asked, limit=3)
    for workspace in (opened(model), opened(model)):
        assert FACTS[-1][1] in shown(workspace, "recall", **asked, model=True, limit=3)
    assert model.asked


def test_a_model_that_fails_is_named_and_notes_are_recalled_without_it(opened, scripted_chat, monkeypatch):
    monkeypatch.setattr("weft.server.agents.notes.MODEL_WITHIN_S", 3600.0)
    workspace = opened(scripted_chat([("", ModelError("scripted is out of memory. Choose a smaller one."))]))
    shown(workspace, "remember", text=FACTS[0][1])
    text = shown(workspace, "recall", question="customers pay", strategy="memorag", model=True)
    assert FACTS[0][1] in text and "scripted is out of memory." in text and "No model is configured" not in text


def test_a_model_that_is_too_slow_is_given_up(opened, scripted_chat, monkeypatch):
    def slow(messages):
        time.sleep(0.3)
        return "x"

    monkeypatch.setattr("weft.server.agents.notes.MODEL_WITHIN_S", 0.1)
    workspace = opened(scripted_chat(slow))
    shown(workspace, "remember", text=FACTS[0][1])
    text = shown(workspace, "recall", question="customers pay", strategy="memorag", model=True)
    assert FACTS[0][1] in text and "The model was too slow: recalled without it." in text
