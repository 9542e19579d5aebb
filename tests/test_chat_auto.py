"""`auto` in questions: which are about documents or a long chat, what answers them, what it costs, and its limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from weft.errors import InvalidArgument
from weft.llm.protocol import ModelUnreachable
from weft.memory.storage import MemoryStore
from weft.server.chat.generation import StreamCallbacks
from weft.server.chat.subject import QuestionSubject, documents_of_evidence, named_documents
from weft.server.chat.values import EvidenceItem, EvidenceSet
from weft.server.config import ChatOptions, Config, MemoryOptions
from weft.server.workspace.workspace import Workspace

CHAPTERS = "".join(
    f"## Island {i}\n\nOn island {i} the keeper {name} guards the {thing} and sails to {other} every spring. "
    + f"The harbour of island {i} is calm, and the road behind it leads over hill number {i} to the old mill. " * 6
    + "\n\n"
    for i, (name, thing, other) in enumerate(
        [("Ada", "lamp", "Orsk"), ("Bo", "bell", "Vint"), ("Cy", "gate", "Lund"), ("Di", "well", "Rask")] * 6
    )
)
FILES = f"""
#- shop.py
def total_price(items):
    return sum(items)
#- docs/guide.md
# Guide

A basket over one hundred euros is ten percent cheaper: that is the discount.
#- docs/zoo.md
# Zoo

Kangaroos eat hay, and penguins eat herring.
#- docs/islands.md
# Islands

{CHAPTERS}
#- other/guide.md
# Another guide

Nothing is said here.
"""
DISCOUNT = "When is a basket cheaper?"
SUMMARY = "Summarise docs/islands.md."
BOTH = "Which keeper came first in docs/islands.md, the keeper of the lamp or of the bell?"

# The prompt of today's writer, of MemoRAG's gists, clues and answer, and of QRMeM.
WRITER = "You answer questions of a programmer"


@pytest.fixture
def workspace(project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("WEFT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "cache"))
    folder = project(FILES)
    opened: list[Workspace] = []

    def make(model: Any = None, **chat: Any) -> Workspace:
        config = Config(memory=MemoryOptions(embeddings="hashing"), chat=ChatOptions(**chat))
        opened.append(Workspace([folder], config, model=model, cache=True))
        opened[-1].index()
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def said(messages: Any) -> str:
    """A model that does what each prompt asks for, in the least words."""
    text = messages[-1].text
    if "<evidence>" in text:
        return "A basket over one hundred euros is ten percent cheaper (docs/guide.md:3-3)."
    if '"relations"' in text:
        return json.dumps({"relations": [["Ada", "lamp", "guards it"]]})
    if '"entities"' in text:
        return json.dumps({"entities": [{"name": name} for name in ("Ada", "Bo", "lamp", "bell") if name in text]})
    if '"answerable"' in text:
        return json.dumps({"answerable": True, "answer": "Ada", "missing": ""})
    if '"same"' in text:
        return json.dumps({"same": []})
    return "The keeper Ada guards the lamp on island 0 and sails to Orsk."


# What a question is about


def items(*scored: tuple[str, float]) -> tuple[EvidenceItem, ...]:
    return tuple(EvidenceItem("document", path, 0, 1, "text", score) for path, score in scored)


@pytest.mark.parametrize(
    ("scored", "documents"),
    [
        ([("guide.md", 3), ("shop.py", 1)], ["guide.md"]),
        ([("guide.md", 3), ("shop.py", 2.9)], []),
        ([("shop.py", 3), ("guide.md", 2), ("zoo.md", 2), ("a.md", 2)], []),
        ([("guide.md", 3), ("zoo.md", 1.5), ("a.md", 1.4)], ["guide.md", "zoo.md"]),
        ([("p.pdf#page=3", 3), ("p.pdf#page=1", 2)], ["p.pdf"]),
        ([("a.md", 3), ("b.md", 3), ("c.md", 3), ("d.md", 3)], ["a.md", "b.md", "c.md"]),
        ([], []),
    ],
)
def test_a_question_is_about_documents_if_most_of_its_evidence_is(scored, documents):
    found = documents_of_evidence(EvidenceSet("", items(*scored)))
    assert [path for _, path in found] == documents


def test_a_question_with_a_symbol_of_the_code_is_about_code():
    assert documents_of_evidence(EvidenceSet("", items(("guide.md", 3.0)), names=("total_price",))) == ()


@pytest.mark.parametrize(
    ("question", "documents"),
    [
        ("What does docs/guide.md say about baskets?", ["docs/guide.md"]),
        ("Summarise zoo.md.", ["docs/zoo.md"]),
        ("Summarise guide.md", ["docs/guide.md", "other/guide.md"]),
        ("Compare `ZOO.md` (and docs/guide.md)!", ["docs/zoo.md", "docs/guide.md"]),
        ("How do I install the zoo?", []),
        ("What is in shop.py?", []),
        ("What is in moo.md?", []),
    ],
)
def test_documents_are_named_by_path_or_file_name(workspace, question, documents):
    found = named_documents(question, workspace().chat.context)
    assert [path for _, path in found] == documents


def test_a_subject_is_named_in_notes():
    assert QuestionSubject((("", "a.md"), ("", "b.pdf"))).description == "a.md and b.pdf"
    assert QuestionSubject().description == "this conversation"


# What answers


def test_a_document_that_fits_is_shown_whole_to_the_model_and_cited(workspace, scripted_chat):
    model = scripted_chat(said, context_tokens=20_000)
    streamed: list[str] = []
    reply = workspace(model).ask(DISCOUNT, callbacks=StreamCallbacks(streamed.append))
    assert (reply.strategy, reply.model) == ("full_middle", "scripted")
    assert "".join(streamed) == reply.text and [each.location for each in reply.citations] == ["docs/guide.md:3-3"]
    assert reply.notes[0].startswith(
        "`full_middle` answered from docs/guide.md, because everything fits the context window. Cost: 1 call, "
    )
    assert reply.cost.n_calls == 1
    (prompt,) = model.prompts
    assert WRITER in prompt and "docs/guide.md:1-3" in prompt


def test_a_question_about_code_is_answered_as_before(workspace, scripted_chat):
    model = scripted_chat([("", "It adds (shop.py:1-2).")])
    reply = workspace(model).ask("What does total_price return?")
    assert (reply.strategy, reply.model) == ("", "scripted")
    assert not any("answered from" in note for note in reply.notes)


def test_a_long_document_is_read_once_and_the_cost_is_said(workspace, scripted_chat):
    model = scripted_chat(said, context_tokens=900)
    notes: list[str] = []
    first = workspace(model).ask(SUMMARY, callbacks=StreamCallbacks(on_note=notes.append))
    assert first.strategy == "memorag" and "Ada guards the lamp" in first.text
    assert first.notes[0].startswith(
        "`memorag` answered from docs/islands.md, because the question asks for a summary. Cost: "
    )
    assert notes[-1].startswith("`memorag` reads docs/islands.md with scripted: at most ")
    n_first = len(model.asked)
    assert first.cost.n_calls == n_first
    # Another process, as far as memory goes: only the answer is asked for again.
    again = scripted_chat(said, context_tokens=900)
    second = workspace(again).ask(SUMMARY)
    assert second.text == first.text
    assert second.cost.n_calls == len(again.asked) == 1 < n_first
    assert second.cost.n_cached == n_first - 1


def test_the_graph_of_a_document_serves_other_questions_and_processes(workspace, scripted_chat):
    model = scripted_chat(said, context_tokens=2400)
    first = workspace(model, auto_max_calls=200, auto_max_tokens=1_000_000).ask(BOTH)
    assert first.strategy == "qrmem shared"
    again = scripted_chat(said, context_tokens=2400)
    other = "Which keeper came later in docs/islands.md, the keeper of the gate or of the well?"
    second = workspace(again, auto_max_calls=200, auto_max_tokens=1_000_000).ask(other)
    assert second.strategy == "qrmem shared"
    assert sum('"relations"' in prompt for prompt in model.prompts) > 3
    assert not any('"relations"' in prompt for prompt in again.prompts) and len(again.asked) < 5


def test_a_changed_section_alone_is_read_again(workspace, scripted_chat):
    model = scripted_chat(said, context_tokens=2400)
    shop = workspace(model, auto_max_calls=200, auto_max_tokens=1_000_000)
    shop.ask(BOTH)
    read = sum('"relations"' in prompt for prompt in model.prompts)
    path = Path(shop.status().folders[0]) / "docs/islands.md"
    shop.open_buffer(path, path.read_text().replace("sails to Lund every spring", "stays at home", 1))
    shop.ask(BOTH)
    assert read > 3 and sum('"relations"' in prompt for prompt in model.prompts) == read + 1


def test_without_history_nothing_that_was_read_is_stored(workspace, scripted_chat):
    model = scripted_chat(said, context_tokens=900)
    shop = workspace(model)
    first = shop.ask(SUMMARY, remember=False)
    assert first.strategy == "memorag"
    again = scripted_chat(said, context_tokens=900)
    assert workspace(again).ask(SUMMARY).cost.n_calls == first.cost.n_calls


def test_a_damaged_entry_costs_that_entry(workspace, scripted_chat):
    model = scripted_chat(said, context_tokens=900)
    shop = workspace(model)
    first = shop.ask(SUMMARY)
    memory: MemoryStore = shop.memory
    broken = "UPDATE kept SET value = ? WHERE rowid = (SELECT min(rowid) FROM kept WHERE kind = 'answer')"
    memory._database.write(lambda to: to.execute(broken, (b"{",)))
    again = scripted_chat(said, context_tokens=900)
    second = workspace(again).ask(SUMMARY)
    assert second.text == first.text and second.cost.n_calls == 2


def test_a_document_can_be_attached(workspace, scripted_chat, tmp_path):
    model = scripted_chat([("", "Hay.")], context_tokens=20_000)
    shop = workspace(model)
    folder = Path(shop.status().folders[0])
    reply = shop.ask("What do they eat?", documents=[folder / "docs/zoo.md"])
    assert reply.strategy == "full_middle" and {item.path for item in reply.evidence.items} == {"docs/zoo.md"}
    with pytest.raises(InvalidArgument, match=r"shop\.py is not a document of this workspace"):
        shop.ask("What is it?", documents=[folder / "shop.py"])


# When it is not used


def test_beyond_the_limits_the_best_lines_answer_and_one_note_says_so(workspace, scripted_chat):
    model = scripted_chat([(WRITER, "Islands have keepers (docs/islands.md:5-5).")], context_tokens=2400)
    reply = workspace(model, auto_max_calls=2, auto_max_tokens=1000).ask(SUMMARY)
    assert (reply.strategy, reply.model) == ("", "scripted")
    (note,) = [note for note in reply.notes if "islands.md" in note]
    assert note.startswith("docs/islands.md was searched, not read: the question asks for a summary; ")
    assert "would exceed the cost limit" in note and "2 calls, 1,000 tokens" in note


def test_a_limit_that_is_reached_while_reading_ends_it(workspace, scripted_chat, monkeypatch):
    monkeypatch.setattr("weft.memory.auto.CostLimit.allows", lambda *_: True)
    model = scripted_chat(said, context_tokens=900)
    reply = workspace(model, auto_max_calls=3).ask(SUMMARY)
    assert reply.strategy == "" and len(model.asked) == 4  # three that read, and the answer
    (note,) = [note for note in reply.notes if "islands.md" in note]
    assert note.startswith("Reading docs/islands.md stopped: 3 calls were made, which is the limit.")


def test_without_a_model_one_note_says_that_nothing_was_read(workspace):
    reply = workspace().ask(DISCOUNT)
    assert (reply.strategy, reply.model) == ("", "")
    assert [note for note in reply.notes if "would read" in note] == [reply.notes[0]]
    assert reply.notes[0].startswith("No chat model is configured") and reply.evidence.items[0].path == "docs/guide.md"


def test_a_model_that_fails_leaves_the_lines_and_its_reason(workspace, scripted_chat):
    reply = workspace(scripted_chat([("", ModelUnreachable("Nothing answers."))], context_tokens=900)).ask(SUMMARY)
    assert (reply.strategy, reply.model) == ("", "") and "Nothing answers." in reply.notes


def test_it_can_be_switched_off(workspace, scripted_chat):
    model = scripted_chat([("", "Ten percent (docs/guide.md:3-3).")])
    reply = workspace(model, auto=False).ask(DISCOUNT)
    assert reply.strategy == "" and reply.model == "scripted"


# Long chats


def test_a_question_about_a_long_chat_is_answered_from_its_turns(workspace, scripted_chat):
    model = scripted_chat(
        lambda messages: "You asked about herring." if "herring" in messages[-1].text else "It is so.",
        context_tokens=20_000,
    )
    shop = workspace(model, auto=True)
    id = shop.ask("Do penguins eat herring?").conversation_id
    for i in range(11):
        shop.ask(f"What does total_price return in case {i}?", id)
    reply = shop.ask("What did I ask earlier about penguins and herring?", id)
    assert reply.strategy == "chat returning" and reply.text.startswith("You asked about herring.")
    assert reply.notes[0].startswith("`chat returning` answered from this conversation, because all items are one")
    assert {item.kind for item in reply.evidence.items} == {"turn"}


# A real model


@pytest.mark.local
@pytest.mark.slow
def test_a_real_model_reads_a_document_once_and_later_processes_do_not(workspace, small_chat_model):
    pytest.importorskip("torch", reason="needs torch")
    from weft.llm.local.model import LocalSettings
    from weft.llm.local.transformers_model import open_transformers

    limits: dict[str, Any] = {"auto_max_calls": 500, "auto_max_tokens": 1_000_000, "auto_max_seconds": 3600.0}
    costs = []
    for _ in range(2):
        local = LocalSettings(context_tokens=2048, prompt_ms=10**9)
        model = open_transformers(small_chat_model, settings=local, device="cpu", threads=1)
        reply = workspace(model, **limits).ask(SUMMARY)
        model.close()
        assert reply.strategy == "memorag" and "Cost: " in reply.notes[0]
        costs.append(reply.cost)
    first, second = costs
    assert first.n_calls > second.n_calls and second.n_cached >= first.n_calls - second.n_calls
