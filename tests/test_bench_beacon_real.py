"""The benchmark of a beacon memory on a real base model: batched reading, its files, and a run too small to learn."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

for _name in ("torch", "transformers", "tokenizers", "safetensors", "gguf"):
    pytest.importorskip(_name, reason=f"training needs {_name}: the extra train")

import torch  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from tiny_chat_model import write_chat_model  # noqa: E402
from weft.benchmarks.beacon.__main__ import main  # noqa: E402
from weft.benchmarks.beacon.asked import (  # noqa: E402
    QUESTION_ROOM,
    AskedText,
    ReadingPrompts,
    answer_rows,
    asked_texts,
    clue_rows,
    ranked_pieces,
    read_asked,
    retrieved_rows,
    write_asked,
)
from weft.benchmarks.beacon.batched import AskedRow, check_answers, read_texts, write_answers  # noqa: E402
from weft.benchmarks.beacon.gguf_base import write_base  # noqa: E402
from weft.benchmarks.beacon.planted import TRAINING, Density, plant  # noqa: E402
from weft.benchmarks.beacon.weight_deltas import (  # noqa: E402
    PART_BYTES,
    apply_deltas,
    deltas_of,
    read_deltas,
    write_deltas,
)
from weft.errors import ModelError, UserError  # noqa: E402
from weft.llm.training.export import export_gguf  # noqa: E402
from weft.llm.training.sources import Document  # noqa: E402
from weft.memory.memorag.beacon.model import BeaconModel  # noqa: E402
from weft.memory.memorag.beacon.ratios import RatioSequence  # noqa: E402
from weft.memory.memorag.beacon.training.data import ModelTokenizer  # noqa: E402
from weft.memory.memorag.prompts import ENGLISH  # noqa: E402

pytestmark = [pytest.mark.local, pytest.mark.usefixtures("one_torch_thread")]

LINES = "".join(f"def name_{number}(value):\n    return value + {number}\n" for number in range(300))
DOCUMENTS = [Document("package", f"file_{number}.py", LINES) for number in range(6)]
WINDOW = 16
END = 2


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random chat model as `model` and as `model.gguf`, and a corpus."""
    folder: Path = tmp_path_factory.mktemp("beacon-real")
    asked = plant(Random(0), LINES[:2000], TRAINING)
    prompts = [ENGLISH.article, ENGLISH.reply, ENGLISH.answer, ENGLISH.spans]
    words = [question.question + question.clues[-1] for question in asked.questions]
    model = write_chat_model(folder, [LINES[:4000], *prompts, *words], 700)
    export_gguf(model, folder / "tokenizer.json", folder / "model.gguf", "f32", "micro")
    (folder / "corpus").mkdir()
    for name in ("training", "held_out"):
        lines = [json.dumps({"package": of.package, "path": of.path, "text": of.text}) for of in DOCUMENTS]
        (folder / "corpus" / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def prompts(files: Path) -> ReadingPrompts:
    return ReadingPrompts(ModelTokenizer(files / "model"))


@pytest.fixture
def model(beacon_base: Any) -> BeaconModel:
    return BeaconModel.wrap(beacon_base(), WINDOW)


def rows_of_text(n_rows: int = 2, n_tokens: int = 39) -> torch.Tensor:
    return torch.randint(3, 40, (n_rows, n_tokens), generator=torch.Generator().manual_seed(1))


QUESTIONS = [AskedRow(0, (5, 6, 7), (8, 9)), AskedRow(1, (11, 12, 13, 14), (15,)), AskedRow(1, (30,), (31, 32, 33))]


def greedy(model: BeaconModel, text: torch.Tensor, prompt: tuple[int, ...], n_new: int, ratio: int) -> list[int]:
    ratio_of = RatioSequence((ratio,)).for_text(0, Random())
    _, memory = model.read(model.empty(), text[None], ratio_of)
    # In the open window, as the batched form is.
    return list(model.generate(memory, torch.tensor([prompt]), n_new, [END], ratio_of))


# Batched reading


def test_written_answers_are_those_of_the_model_alone_on_each_row(model: BeaconModel):
    texts = rows_of_text()
    written = write_answers(model, read_texts(model, texts, 4), QUESTIONS, 5, END, rows_at_once=2)
    assert written == [greedy(model, texts[of.row], of.prompt, 5, 4) for of in QUESTIONS]


def test_an_answer_is_right_if_greedy_decoding_writes_it(model: BeaconModel):
    texts = rows_of_text()
    memory = read_texts(model, texts, 4)
    written = write_answers(model, memory, QUESTIONS, 2, END)
    own = [AskedRow(of.row, of.prompt, tuple(tokens)) for of, tokens in zip(QUESTIONS, written, strict=True)]
    other = [AskedRow(of.row, of.prompt, (*of.answer[:-1], (of.answer[-1] + 1) % 40)) for of in own]
    assert [found.is_right for found in check_answers(model, memory, own, rows_at_once=2)] == [True] * 3
    assert [found.is_right for found in check_answers(model, memory, other)] == [False] * 3


def test_the_nats_of_an_answer_are_those_of_the_whole_text(model: BeaconModel):
    texts = rows_of_text()
    found = check_answers(model, read_texts(model, texts, 4), QUESTIONS)
    for of, checked in zip(QUESTIONS, found, strict=True):
        row = torch.tensor([[*texts[of.row].tolist(), *of.prompt, *of.answer]])
        labels = torch.full_like(row, -100)
        labels[0, -len(of.answer) :] = row[0, -len(of.answer) :]
        assert checked.nats == pytest.approx(float(model.score(row, lambda _: 4, labels).loss.detach()), abs=1e-5)


def test_without_a_ratio_reading_is_full_attention(model: BeaconModel, beacon_base: Any):
    texts, base = rows_of_text(), beacon_base()
    found = check_answers(model, read_texts(model, texts, None), QUESTIONS)
    for of, checked in zip(QUESTIONS, found, strict=True):
        row = torch.tensor([[*texts[of.row].tolist(), *of.prompt, *of.answer]])
        with torch.no_grad():
            nats = -base(row).logits[0, :-1].log_softmax(-1)[-len(of.answer) :]
        expected = nats[torch.arange(len(of.answer)), torch.tensor(of.answer)].mean()
        assert checked.nats == pytest.approx(float(expected), abs=1e-5)
    assert model.window == WINDOW


def test_a_question_that_would_close_the_window_is_refused(model: BeaconModel):
    memory = read_texts(model, rows_of_text(n_tokens=46), 4)
    with pytest.raises(ModelError, match="do not fit the open window of 16 tokens"):
        check_answers(model, memory, QUESTIONS)


# Texts and questions


def texts_of(prompts: ReadingPrompts) -> list[AskedText]:
    return asked_texts(DOCUMENTS, prompts, 1600, 2, Density(2, 1), seed=0)


def test_texts_have_exactly_their_length_and_hold_all_facts(prompts: ReadingPrompts):
    texts = texts_of(prompts)
    assert texts_of(prompts) == texts
    for text in texts:
        assert len(text.tokens) == 1600 - QUESTION_ROOM and len(text.questions) == 4
        assert all(clue in text.text for asked in text.questions for clue in asked.clues)
        assert prompts.decode(text.tokens).count(text.text) == 1
        for asked, position in zip(text.questions, text.positions, strict=True):
            after = prompts.decode(text.tokens[position - 2 :])
            assert after.index(asked.clues[-1]) < 20
            assert len(text.found) == 4 and all(len(prompts.encode(found)) <= 1100 for found in text.found)


def test_texts_are_read_again_as_they_were(prompts: ReadingPrompts, tmp_path: Path):
    write_asked(tmp_path / "asked.jsonl", texts_of(prompts))
    assert read_asked(tmp_path / "asked.jsonl") == texts_of(prompts)


def test_a_question_follows_its_text_as_in_the_template(prompts: ReadingPrompts, files: Path):
    (text, _), words = texts_of(prompts), ModelTokenizer(files / "model")
    row = answer_rows([text], prompts)[0]
    asked = text.questions[0]
    shown = words.tokenizer.decode([*text.tokens, *row.prompt, *row.answer])
    assert shown.startswith("user: A long text follows.")
    assert f"</text>\nassistant: {ENGLISH.reply}\nuser: Answer the question from the text." in shown
    assert shown.endswith(f"{asked.question}\nassistant: {asked.lead} {asked.value}")
    assert words.tokenizer.decode(row.answer).strip() == asked.value
    clues = clue_rows([text], prompts)[0]
    assert words.tokenizer.decode(clues.prompt).endswith(f"{asked.question}\nassistant: ") and not clues.answer


def test_pieces_are_found_by_the_question_and_by_clues(prompts: ReadingPrompts):
    text = texts_of(prompts)[0]
    assert "".join(piece.text for piece in text.pieces) == text.text
    (bridged,) = [asked for asked in text.questions if asked.bridged]
    assert bridged.clues[1] in ranked_pieces(text, [("span", bridged.clues[1])])[0].text
    best = ranked_pieces(text, [("question", bridged.question), ("span", bridged.clues[1])])[:2]
    assert any(bridged.clues[1] in piece.text for piece in best)
    rows = retrieved_rows([text], prompts, None)
    shown = prompts.decode(rows[0].prompt)
    assert len(rows) == 4 and "<text>" in shown and shown.endswith(text.questions[0].lead)
    assert [row.row for row in rows] == [0, 1, 2, 3]


# Files


def test_a_base_from_gguf_has_the_weights_of_the_transformers_directory(files: Path, tmp_path: Path):
    for name in ("generation_config.json", "tokenizer_config.json"):
        assert (files / "model" / name).is_file()
    write_base(files / "model.gguf", files / "model", tmp_path, torch.float32)
    one, other = load_file(files / "model" / "model.safetensors"), load_file(tmp_path / "model.safetensors")
    assert one.keys() == other.keys()
    assert all(torch.equal(weight.float(), other[name]) for name, weight in one.items())
    with pytest.raises(ModelError, match="is missing"):
        write_base(files / "none.gguf", files / "model", tmp_path)


def test_weights_come_back_from_their_differences(model: BeaconModel, tmp_path: Path, monkeypatch: Any):
    begins = {name: weight.detach().clone() for name, weight in model.beacon_parameters()}
    for name, weight in model.beacon_parameters():
        weight.data += 0.01 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(len(name)))
    trained = {name: weight.detach().clone() for name, weight in model.beacon_parameters()}
    monkeypatch.setattr("weft.benchmarks.beacon.weight_deltas.PART_BYTES", 4000)
    paths = write_deltas(deltas_of(model), tmp_path, "stage-2")
    assert len(paths) == 2 and PART_BYTES == 15 << 20
    apply_deltas(model, None)
    assert all(torch.allclose(weight, begins[name].float()) for name, weight in model.beacon_parameters())
    apply_deltas(model, read_deltas(tmp_path, "stage-2"))
    for name, weight in model.beacon_parameters():
        assert float((weight - trained[name]).abs().max()) < 0.05 / 127, name
    with pytest.raises(ModelError, match="Train the memory first"):
        read_deltas(tmp_path, "stage-1")


# The whole


def test_training_and_evaluation_run_end_to_end(files: Path, tmp_path: Path, monkeypatch: Any, capsys: Any):
    from dataclasses import replace

    from weft.benchmarks.beacon import real

    evaluation = replace(real.TINY.evaluation, lengths=(1568, 1696), clue_lengths=(1568,), held_out_tokens=512)
    stage_2 = replace(real.TINY.stage_2, lengths=(4096,))
    monkeypatch.setattr(real, "TINY", replace(real.TINY, evaluation=evaluation, stage_2=stage_2))
    main(["real-base", "--gguf", str(files / "model.gguf"), "--files", str(files / "model"), "--out", str(tmp_path)])
    common = ["--base", str(tmp_path), "--tiny"]
    corpus = ["--corpus", str(files / "corpus")]
    assert main(["real-prepare", *common, *corpus, "--out", str(tmp_path / "data")]) == 0
    command = ["real-train", *common, "--data", str(tmp_path / "data"), "--device", "cpu"]
    assert main([*command, "--out", str(tmp_path / "out"), "--seconds", "600"]) == 0, capsys.readouterr()
    results = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))
    assert not results["left_out"]
    answers = {(cell["method"], cell["stage"], cell["ratio"], cell["length"]): cell for cell in results["answers"]}
    assert len(answers) == len(results["answers"])
    for length in (1568, 1696):
        for stage in ("untrained", "stage-1", "stage-2"):
            assert len(answers["beacon", stage, 32, length]["right"]) == 4
        assert len(answers["bm25", "base", None, length]["nats"]) == len(results["questions"][str(length)]) == 4
    assert ("bm25 by clues, ratio 32", "base", None, 1568) not in answers
    assert {(cell["stage"], cell["ratio"]) for cell in results["clues"]} >= {("stage-2", 4)}
    assert {"full attention", "no memory", "untrained", "stage-1", "stage-2"} == {
        cell["method"] for cell in results["losses"]
    }
    repeated = next(part for part in results["parts"] if part["part"] == "repeatability")
    assert repeated["default"]["equal"] and repeated["deterministic"]["equal"]
    assert (tmp_path / "out" / "stage-2-1.safetensors").is_file()

    assert main([*command, "--out", str(tmp_path / "short"), "--seconds", "0.001"]) == 0
    short = json.loads((tmp_path / "short" / "results.json").read_text("utf-8"))
    assert "answers stage-2 1568" in short["left_out"] and not short["answers"]


def test_a_missing_corpus_is_named(files: Path, tmp_path: Path, capsys: Any):
    command = ["real-prepare", "--base", str(files / "model"), "--corpus", str(tmp_path), "--out", str(tmp_path)]
    assert main(command) == 2
    assert "training.jsonl is missing" in capsys.readouterr().err


def test_a_text_that_is_too_short_for_its_facts_is_refused(prompts: ReadingPrompts):
    with pytest.raises(UserError, match="Ask for fewer"):
        asked_texts(DOCUMENTS, prompts, 600, 1, Density(8, 4), seed=0)


def test_a_stage_without_memory_for_it_goes_on_with_smaller_steps(files: Path, tmp_path: Path, monkeypatch: Any):
    from weft.benchmarks.beacon import real

    recipes = []

    def train(model: Any, texts: Any, recipe: Any, folder: Path, **others: Any) -> dict[str, Any]:
        recipes.append(recipe)
        if len(recipes) == 1:
            raise torch.cuda.OutOfMemoryError("no room")
        return {"step": 1}

    monkeypatch.setattr(real, "train", train)
    plan, folder = real.TINY, files / "model"
    real.prepare(plan, folder, files / "corpus", tmp_path / "data", lambda line: None)
    run = real._Run(plan, folder, tmp_path / "data", tmp_path / "out", 100, "cpu", lambda line: None)
    run.train()
    first, second, third = recipes
    assert (first.checkpointing, second.checkpointing, third.checkpointing) == (False, True, False)
    assert second.batch_tokens == first.batch_tokens // 2 and second.learning_rate == first.learning_rate / 2
    assert second.seconds <= first.seconds
    results = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))
    assert [part["part"] for part in results["parts"]] == ["stage-1 failed", "stage-1", "stage-2"]
