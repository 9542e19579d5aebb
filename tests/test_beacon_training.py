"""The two stages of a beacon memory: what they learn from, what changes, and that a run goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

for _name in ("torch", "transformers", "tokenizers", "safetensors"):
    pytest.importorskip(_name, reason=f"training needs {_name}: the extra train")

import torch  # noqa: E402
from tiny_chat_model import TEMPLATE, write_chat_model  # noqa: E402
from transformers import AutoModelForCausalLM  # noqa: E402
from weft.errors import ModelError  # noqa: E402
from weft.llm.protocol import Message  # noqa: E402
from weft.memory.memorag.beacon.checkpoint import load_beacon, read_manifest  # noqa: E402
from weft.memory.memorag.beacon.model import BeaconModel  # noqa: E402
from weft.memory.memorag.beacon.training.__main__ import main  # noqa: E402
from weft.memory.memorag.beacon.training.data import (  # noqa: E402
    ModelTokenizer,
    TextCounts,
    read_documents,
    rows_of_documents,
    texts_of_samples,
)
from weft.memory.memorag.beacon.training.dataset import (  # noqa: E402
    IGNORED_LABEL,
    BatchSampler,
    TextDataset,
    TrainingText,
    group_strictly,
    open_texts,
    write_texts,
)
from weft.memory.memorag.beacon.training.recipe import (  # noqa: E402
    STAGE_1,
    STAGE_1_AS_PRINTED,
    STAGE_2,
    STAGE_2_AS_PRINTED,
)
from weft.memory.memorag.beacon.training.stages import Stage, stage1_texts, stage2_texts  # noqa: E402
from weft.memory.memorag.beacon.training.train import Intervals, held_out_loss, train  # noqa: E402
from weft.memory.memorag.prompts import PROMPTS  # noqa: E402
from weft.memory.memorag.sft_data import Sample, write_samples  # noqa: E402
from weft.memory.prompting import fill  # noqa: E402

pytestmark = [pytest.mark.local, pytest.mark.usefixtures("one_torch_thread")]

WINDOW = 16
RECIPE = replace(
    STAGE_1, window=WINDOW, lengths=(40, 64), ratios=(2, 4), learning_rate=1e-2, accumulate=2, bf16=False, steps=6
)
# What memory tokens ask for in the last layer is read by nobody, so it learns nothing.
UNREAD = "model.layers.1.self_attn.beacon_q_proj.weight"
STORY = "The boat of Ines lay behind the church. Nobody knew why. " * 8
SAMPLE = Sample(STORY, "Where did the boat lie?", "Behind the church", ("boat of Ines", "behind the church"))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a tiny random model that chats."""
    folder: Path = tmp_path_factory.mktemp("beacon")
    write_chat_model(folder, [STORY, "Copy them from the text word for word."], 400)
    return folder / "model"


@pytest.fixture
def words(base: Path) -> ModelTokenizer:
    return ModelTokenizer(base)


def base_model(base: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(base)


def wrapped(base: Path, placement: Any = "interleaved") -> BeaconModel:
    return BeaconModel.wrap(base_model(base), WINDOW, placement)


def some_texts(folder: Path, lengths: Sequence[int] = (40, 64, 64, 40)) -> TextDataset:
    random = np.random.default_rng(0)
    made = (TrainingText(random.integers(20, 60, n).astype(np.int32), np.arange(n) > 0) for n in lengths)
    return write_texts(folder, made)


def log_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def weights_of(model: BeaconModel) -> dict[str, torch.Tensor]:
    return {name: weight.detach().clone() for name, weight in model.base.named_parameters()}


# What is learnt from


def test_documents_come_from_files_lines_and_folders_in_order(tmp_path: Path):
    (tmp_path / "b.txt").write_text("two", encoding="utf-8")
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n\n{"text": " "}\n', encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\xff\xfe")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "c.md").write_text("three", encoding="utf-8")
    assert list(read_documents([tmp_path, tmp_path / "b.txt"])) == ["one", "two", "three", "two"]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("none.txt", None, "is unreadable"),
        ("latin.txt", b"caf\xe9", "not UTF-8"),
        ("lines.jsonl", b'{"text": "a"}\n{"words": "b"}', "lines.jsonl:2 is not a line"),
        ("lines.jsonl", b"[", "lines.jsonl:1 is not a line"),
        ("blank.txt", b" \n", "There is no text"),
    ],
)
def test_what_holds_no_text_is_named(tmp_path: Path, name: str, content: bytes | None, says: str):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelError, match=says):
        list(read_documents([tmp_path / name]))


def test_rows_hold_every_token_of_the_documents_between_start_and_end(words: ModelTokenizer):
    documents, counts = [STORY, "Nobody knew.", STORY * 2], TextCounts()
    texts = list(rows_of_documents(documents, words, (64, 40), counts))
    stream = [token for document in documents for token in [*words.tokenizer.encode(document), words.end]]
    joined = [token for text in texts for token in text.tokens.tolist()]
    assert joined == stream[: len(joined)] and len(stream) - len(joined) == counts.dropped_tokens < 40
    assert {len(text.tokens) for text in texts} == {40, 64}
    assert all(text.learnt[1:].all() and not text.learnt[0] for text in texts)
    assert (counts.read, counts.texts, counts.tokens) == (3, len(texts), len(joined))


def test_each_length_gets_its_share_of_the_tokens(words: ModelTokenizer):
    lengths = [len(text.tokens) for text in rows_of_documents([STORY] * 40, words, (20, 80), TextCounts())]
    assert 0.4 < 80 * lengths.count(80) / sum(lengths) < 0.6


def test_a_text_shorter_than_a_row_is_dropped_and_counted(words: ModelTokenizer):
    counts = TextCounts()
    assert list(rows_of_documents(["boat"], words, (40,), counts)) == []
    assert counts.dropped_tokens == len(words.tokenizer.encode("boat")) + 1


def test_a_sample_is_asked_for_its_clues_and_its_answer_and_only_those_are_learnt(words: ModelTokenizer):
    counts = TextCounts()
    clues, answer = texts_of_samples([SAMPLE], words, WINDOW, 4096, counts)
    assert counts.texts == counts.read == 2
    for text, written in ((clues, "boat of Ines\nbehind the church"), (answer, "Behind the church")):
        learnt = text.tokens[text.learnt].tolist()
        assert words.tokenizer.decode(learnt) == written and learnt[-1] == words.end
        asked = words.tokenizer.decode(text.tokens[~text.learnt].tolist())
        assert asked.startswith("user: A long text follows.") and asked.endswith("Where did the boat lie?\nassistant: ")
        assert STORY in asked and "assistant: I have read the whole text. What is the first task?\n" in asked


def test_a_sample_without_clues_is_asked_for_its_answer_alone(words: ModelTokenizer):
    assert len(list(texts_of_samples([replace(SAMPLE, clues=())], words, WINDOW, 4096, TextCounts()))) == 1


def test_samples_without_a_memory_to_learn_or_too_long_are_counted(words: ModelTokenizer):
    counts = TextCounts()
    assert list(texts_of_samples([SAMPLE], words, 4096, 65536, counts)) == []
    assert list(texts_of_samples([SAMPLE], words, WINDOW, 64, counts)) == []
    assert (counts.too_short, counts.too_long, counts.texts) == (2, 2, 0)


def test_a_model_that_does_not_chat_cannot_be_asked(base: Path, tmp_path: Path):
    for file in base.iterdir():
        if file.suffix != ".jinja":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    with pytest.raises(ModelError, match=r"is not a chat model.*chat_template\.jinja"):
        ModelTokenizer(tmp_path).conversations()


def test_the_end_of_a_turn_is_the_one_that_the_template_writes(base: Path, tmp_path: Path):
    for file in base.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    turn_end = "<|fim_pad|>"  # a token that is there, in place of one for turns
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE.replace("eos_token", f"'{turn_end}'"), encoding="utf-8")
    number = ModelTokenizer(base).tokenizer.special(turn_end)
    ends = {"eos_token_id": [ModelTokenizer(base).end, number]}
    (tmp_path / "generation_config.json").write_text(json.dumps(ends), encoding="utf-8")
    words = ModelTokenizer(tmp_path)
    assert words.end != number
    for text in texts_of_samples([SAMPLE], words, WINDOW, 4096, TextCounts()):
        assert text.tokens[-1] == number and text.learnt[-1]


def test_several_questions_about_a_text_share_a_conversation_in_the_words_of_the_template(words: ModelTokenizer):
    questions = ("Where did the boat lie?", "Whose boat was it?", "What did she know?")
    samples = [replace(SAMPLE, question=question, answer=f"answer {n}") for n, question in enumerate(questions)]
    counts = TextCounts()
    both, *last = texts_of_samples([*samples, SAMPLE], words, WINDOW, 4096, counts, questions=3)
    asked, _ = words.conversations()
    clues = "boat of Ines\nbehind the church"
    prompts = PROMPTS["en"]
    turns = [
        Message("user", fill(prompts.article, article=STORY)),
        Message("assistant", prompts.reply),
        Message("user", fill(prompts.spans, question=questions[0])),
        Message("assistant", clues),
        Message("user", fill(prompts.answer, question=questions[1])),
        Message("assistant", "answer 1"),
        Message("user", fill(prompts.spans, question=questions[2])),
    ]
    assert both.tokens.tolist() == [*asked(turns), *words.tokenizer.encode(clues), words.end]
    assert words.tokenizer.decode(both.tokens[both.learnt].tolist()) == f"{clues}answer 1{clues}"
    assert both.learnt.sum() == sum(len(words.tokenizer.encode(text)) + 1 for text in (clues, "answer 1", clues))
    # The fourth sample of the text is asked alone: in one conversation for its clues, in another for its answer.
    written = [words.tokenizer.decode(text.tokens[text.learnt].tolist()) for text in last]
    assert written == [clues, SAMPLE.answer]
    assert counts.texts == counts.read == 3


def test_a_template_that_changes_earlier_turns_has_one_question_a_conversation(base: Path, tmp_path: Path):
    for file in base.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    changing = TEMPLATE.replace("{{ message.content }}", "{{ message.content if loop.last else 'earlier' }}")
    (tmp_path / "chat_template.jinja").write_text(changing, encoding="utf-8")
    words = ModelTokenizer(tmp_path)
    assert len(list(texts_of_samples([SAMPLE], words, WINDOW, 4096, TextCounts()))) == 2
    with pytest.raises(ModelError, match="Leave `--questions` at 1"):
        list(texts_of_samples([SAMPLE], words, WINDOW, 4096, TextCounts(), questions=2))


def test_texts_are_encoded_together_as_alone(words: ModelTokenizer):
    texts = [STORY, "", "Nobody knew.", "a\ud800b"]
    assert words.tokenizer.encode_all(texts) == [words.tokenizer.encode(text) for text in texts]


# Batches


def test_a_dataset_is_opened_again_and_an_incomplete_one_refused(tmp_path: Path):
    texts = some_texts(tmp_path)
    again = open_texts(tmp_path)
    assert (again.lengths, again.key, len(again)) == (texts.lengths, texts.key, 4)
    assert (again[2].tokens == texts[2].tokens).all() and (again[2].learnt == texts[2].learnt).all()
    (tmp_path / "texts.json").unlink()
    with pytest.raises(ModelError, match="no complete dataset"):
        open_texts(tmp_path)


def test_tokens_of_a_batch_make_batches_of_long_texts_smaller():
    lengths = [30] * 5 + [64] * 5
    batches = group_strictly(lengths, WINDOW, 1, np.random.default_rng(0), batch_tokens=128)
    assert sorted(number for batch in batches for number in batch) == list(range(10))
    assert sorted((lengths[batch[0]], len(batch)) for batch in batches) == [(30, 1), (30, 4), (64, 1), (64, 2), (64, 2)]
    assert {len(batch) for batch in group_strictly([64], WINDOW, 3, np.random.default_rng(0), batch_tokens=1)} == {1}


def test_all_texts_of_a_batch_have_as_many_windows_and_none_is_lost():
    lengths = [17, 32, 33, 48, 20, 64, 31, 18, 40]
    batches = group_strictly(lengths, WINDOW, 2, np.random.default_rng(0))
    assert sorted(number for batch in batches for number in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) <= 2 and len({-(-lengths[number] // WINDOW) for number in batch}) == 1


def test_a_course_takes_every_text_once_an_epoch_in_another_order():
    course = BatchSampler([20] * 12, WINDOW, 1, 0)
    first, second = ([course.batch(n)[0] for n in range(start, start + 12)] for start in (0, 12))
    assert sorted(first) == sorted(second) == list(range(12)) and first != second
    assert course.batch(3)[0] == first[3]


def test_a_batch_is_filled_up_with_what_is_not_learnt(tmp_path: Path):
    texts = some_texts(tmp_path, (40, 44))
    tokens, labels = texts.batch([0, 1])
    assert tokens.shape == labels.shape == (2, 44)
    assert (labels[0, 40:] == IGNORED_LABEL).all() and (labels[:, 0] == IGNORED_LABEL).all()
    assert (labels[0, 1:40] == tokens[0, 1:40]).all() and (tokens[1] == texts[1].tokens).all()


def test_filling_up_changes_no_loss(base: Path, tmp_path: Path):
    model, texts = wrapped(base).eval(), some_texts(tmp_path, (40, 44))
    losses, counts = [], []
    for numbers in ([0], [1], [0, 1]):
        tokens, labels = (torch.from_numpy(part) for part in texts.batch(numbers))
        scores = model.score(tokens, lambda _: 4, labels)
        losses.append(float(scores.loss))
        counts.append(scores.n_labels)
    assert counts == [39, 43, 82]
    assert losses[2] == pytest.approx((39 * losses[0] + 43 * losses[1]) / 82, abs=1e-5)


# Training


def test_the_loss_goes_down_and_only_the_memory_changes(base: Path, tmp_path: Path):
    model = wrapped(base)
    before = weights_of(model)
    texts = some_texts(tmp_path / "texts", (64, 64))
    untrained = held_out_loss(model, texts, (4,), bf16=False)["loss_at_4"]
    train(model, texts, replace(RECIPE, steps=16), tmp_path)
    losses = [line["loss"] for line in log_of(tmp_path) if "loss" in line]
    assert np.mean(losses[-4:]) < np.mean(losses[:4]) - 0.02
    assert held_out_loss(model, texts, (4,), bf16=False)["loss_at_4"] < untrained - 0.02
    changed = {name for name, weight in weights_of(model).items() if not torch.equal(weight, before[name])}
    assert changed == {name for name, _ in model.beacon_parameters()} - {UNREAD}


def test_appended_memory_tokens_are_trained_as_well(base: Path, tmp_path: Path):
    model, recipe = wrapped(base, "appended"), replace(RECIPE, placement="appended", steps=16)
    texts = some_texts(tmp_path / "texts", (64, 64))
    untrained = held_out_loss(model, texts, (4,), bf16=False)["loss_at_4"]
    train(model, texts, recipe, tmp_path)
    assert held_out_loss(model, texts, (4,), bf16=False)["loss_at_4"] < untrained - 0.02


def test_weights_of_another_placement_are_refused(base: Path, tmp_path: Path):
    with pytest.raises(ModelError, match="of these weights are appended, those of the recipe interleaved"):
        train(wrapped(base, "appended"), some_texts(tmp_path / "texts"), RECIPE, tmp_path)


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_a_run_that_was_stopped_ends_with_the_weights_it_would_have_had(base: Path, tmp_path: Path, optimiser: Any):
    texts = some_texts(tmp_path / "texts")
    whole, recipe = wrapped(base), replace(RECIPE, optimiser=optimiser)
    train(whole, texts, recipe, tmp_path / "whole")

    def stop(model: BeaconModel) -> dict[str, float]:
        if log_of(tmp_path / "stopped")[1:]:
            raise KeyboardInterrupt
        return {}

    (tmp_path / "stopped").mkdir()
    (tmp_path / "stopped" / "log.jsonl").touch()
    with pytest.raises(KeyboardInterrupt):
        train(wrapped(base), texts, recipe, tmp_path / "stopped", stop, Intervals(checkpoint=2, evaluate=3))
    assert log_of(tmp_path / "stopped")[-1]["step"] == 3  # and step 2 is kept
    resumed = wrapped(base)
    last = train(resumed, texts, recipe, tmp_path / "stopped")
    assert last["step"] == 6 and last["tokens"] == log_of(tmp_path / "whole")[-1]["tokens"]
    expected = dict(whole.beacon_parameters())
    for name, weight in resumed.beacon_parameters():
        assert torch.equal(weight, expected[name]), name


def test_an_epoch_reads_every_text_once_and_the_rate_goes_down_to_nothing(base: Path, tmp_path: Path):
    texts = some_texts(tmp_path / "texts", (40, 40, 64))
    last = train(wrapped(base), texts, replace(RECIPE, steps=0, epochs=2, accumulate=4), tmp_path)
    assert (last["step"], last["tokens"]) == (2, 2 * (40 + 40 + 64))
    assert [line["rate"] for line in log_of(tmp_path) if "rate" in line] == [0.01, 0.005]


def test_the_rate_may_stay(base: Path, tmp_path: Path):
    train(wrapped(base), some_texts(tmp_path / "texts"), replace(RECIPE, steps=2, decays=False), tmp_path)
    assert [line["rate"] for line in log_of(tmp_path) if "rate" in line] == [0.01, 0.01]


def test_the_rate_rises_in_the_warm_up(base: Path, tmp_path: Path):
    recipe = replace(RECIPE, steps=4, decays=False, warm_up_steps=2)
    train(wrapped(base), some_texts(tmp_path / "texts"), recipe, tmp_path)
    assert [line["rate"] for line in log_of(tmp_path) if "rate" in line] == [0.005, 0.01, 0.01, 0.01]


def test_a_run_may_end_by_time_and_its_rate_goes_down_with_it(base: Path, tmp_path: Path):
    texts = some_texts(tmp_path / "texts", (40,))
    last = train(wrapped(base), texts, replace(RECIPE, steps=0, seconds=1.0, accumulate=1), tmp_path)
    rates = [line["rate"] for line in log_of(tmp_path) if "rate" in line]
    assert len(rates) == last["step"] > 1  # more than the one step of an epoch
    assert rates == sorted(rates, reverse=True) and rates[-1] < rates[0] / 2
    assert 1.0 <= last["train_seconds"] < 10


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("changes", [{}, {"bf16": True}, {"optimiser": "muon", "checkpointing": False}], ids=str)
def test_the_same_run_ends_with_the_same_weights_to_the_digit(
    base: Path, tmp_path: Path, threads: int, changes: dict[str, Any]
):
    torch.set_num_threads(threads)
    texts, ends = some_texts(tmp_path / "texts"), []
    for number in range(2):
        torch.manual_seed(number)  # no weight is drawn from torch's own generator
        model = wrapped(base)
        if changes.get("bf16"):
            model.base.to(torch.bfloat16)
        train(model, texts, replace(RECIPE, batch=2, steps=4, **changes), tmp_path / str(number))
        ends.append(weights_of(model))
    for name, weight in ends[0].items():
        assert torch.equal(weight, ends[1][name]), name


def test_a_text_is_read_the_same_with_and_without_its_windows_kept(base: Path, tmp_path: Path):
    texts, models = some_texts(tmp_path / "texts"), []
    for checkpointing in (True, False):
        models.append(wrapped(base))
        recipe = replace(RECIPE, checkpointing=checkpointing, steps=2)
        train(models[-1], texts, recipe, tmp_path / str(checkpointing))
    for (name, one), (_, other) in zip(models[0].beacon_parameters(), models[1].beacon_parameters(), strict=True):
        torch.testing.assert_close(one, other, msg=name)


def test_in_bf16_the_weights_stay_in_32_bits(base: Path, tmp_path: Path):
    model = wrapped(base)
    model.base.to(torch.bfloat16)
    train(model, some_texts(tmp_path / "texts"), replace(RECIPE, bf16=True, steps=2), tmp_path)
    assert {weight.dtype for _, weight in model.beacon_parameters()} == {torch.float32}
    assert model.base.lm_head.weight.dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("name", "value"), [("learning_rate", 1e-3), ("ratios", (2,)), ("steps", 7), ("seed", 1), ("lengths", (99,))]
)
def test_a_checkpoint_of_another_recipe_is_refused(base: Path, tmp_path: Path, name: str, value: Any):
    texts, recipe = some_texts(tmp_path / "texts"), replace(RECIPE, steps=1)
    train(wrapped(base), texts, recipe, tmp_path)
    with pytest.raises(ModelError, match=f"with other {name}"):
        train(wrapped(base), texts, replace(recipe, **{name: value}), tmp_path)


def test_a_checkpoint_of_other_texts_is_refused(base: Path, tmp_path: Path):
    recipe = replace(RECIPE, steps=1)
    train(wrapped(base), some_texts(tmp_path / "texts"), recipe, tmp_path)
    with pytest.raises(ModelError, match="with other texts"):
        train(wrapped(base), some_texts(tmp_path / "others", (64, 40)), recipe, tmp_path)


def test_a_checkpoint_of_another_base_is_refused(base: Path, tmp_path: Path):
    texts, recipe, other = some_texts(tmp_path / "texts"), replace(RECIPE, steps=1), wrapped(base)
    train(wrapped(base), texts, recipe, tmp_path)
    with torch.no_grad():
        for _, weight in other.beacon_parameters():  # as copies of another base's projections
            weight.mul_(1.01)
    with pytest.raises(ModelError, match="with other weights to begin with"):
        train(other, texts, recipe, tmp_path)


def test_a_memory_of_another_window_is_refused(base: Path, tmp_path: Path):
    with pytest.raises(ModelError, match="windows of 16 tokens"):
        train(wrapped(base), some_texts(tmp_path / "texts"), replace(RECIPE, window=8), tmp_path)


def test_a_ratio_that_needs_more_positions_than_the_base_has_is_not_drawn(base: Path, tmp_path: Path):
    def trained(ratios: tuple[int, ...]) -> BeaconModel:
        model = wrapped(base)
        model.base.config.max_position_embeddings = 36  # three memories of half a window and a window need 40
        train(model, texts, replace(RECIPE, ratios=ratios, steps=2), tmp_path / f"ratios {ratios}")
        return model

    texts = some_texts(tmp_path / "texts", (64, 64))
    both, four = trained((2, 4)), trained((4,))
    for (name, one), (_, other) in zip(both.beacon_parameters(), four.beacon_parameters(), strict=True):
        assert torch.equal(one, other), name
    assert held_out_loss(both, texts, (2, 4), bf16=False).keys() == {"loss_at_4"}
    with pytest.raises(ModelError, match="needs 40 positions with ratio 2"):
        trained((2,))


def test_a_gradient_that_is_no_number_ends_the_run_and_spoils_nothing(base: Path, tmp_path: Path):
    model = wrapped(base)
    with torch.no_grad():
        model.base.model.norm.weight.fill_(float("nan"))
    before = {name: weight.clone() for name, weight in model.beacon_parameters()}
    with pytest.raises(ModelError, match="step 1 is not finite"):
        train(model, some_texts(tmp_path / "texts"), RECIPE, tmp_path)
    assert all(torch.equal(weight, before[name]) for name, weight in model.beacon_parameters())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"window": 2048, "lengths": (2048,)}, "no memory to train"),
        ({"ratios": (3,)}, "ratio 3"),
        ({"accumulate": 0}, "above 0"),
        ({"epochs": 0}, "at least 1 epoch"),
        ({"seconds": -1.0}, "no negative number"),
        ({"questions": 0}, "questions is 0"),
        ({"placement": "before"}, "placement 'before' is unknown"),
    ],
)
def test_a_recipe_that_cannot_be_is_refused(change: dict[str, Any], says: str):
    with pytest.raises(ModelError, match=says):
        replace(RECIPE, **change)


def test_the_presets_append_memory_tokens_and_change_nothing_else():
    for stage, printed in ((STAGE_1, STAGE_1_AS_PRINTED), (STAGE_2, STAGE_2_AS_PRINTED)):
        assert replace(printed, placement="interleaved") == stage != printed


def test_the_defaults_are_the_papers_and_its_scripts():
    assert (STAGE_1.ratios, STAGE_1.learning_rate) == ((2, 4, 8, 16, 32), 5e-5)
    assert (STAGE_2.ratios, STAGE_2.learning_rate) == ((2, 4, 8), 1e-5)
    for recipe in (STAGE_1, STAGE_2):
        assert (recipe.window, recipe.epochs, recipe.batch, recipe.accumulate) == (2048, 1, 1, 8)
        assert (min(recipe.lengths), max(recipe.lengths)) == (4096, 65536)
        assert recipe.bf16 and recipe.checkpointing


# Both stages


def test_stage_2_begins_with_the_weights_of_stage_1_and_saves_its_own(base: Path, tmp_path: Path):
    (tmp_path / "story.txt").write_text(STORY * 4, encoding="utf-8")
    write_samples(tmp_path / "samples.jsonl", [SAMPLE])
    story, one, two = tmp_path / "story.txt", tmp_path / "one", tmp_path / "two"
    recipe = replace(RECIPE, window=64, lengths=(80, 120), steps=2)
    Stage(stage1_texts, recipe, base, one, device="cpu").run([story], [story], Intervals())
    assert {"loss_at_2", "loss_at_4"} <= log_of(one / "work")[-1].keys()
    recipe = replace(STAGE_2, window=64, accumulate=1, steps=1, bf16=False)
    Stage(stage2_texts, recipe, base, two, start=one, device="cpu").run([tmp_path / "samples.jsonl"], [], Intervals())
    untrained, first, second = (
        dict(model.beacon_parameters())
        for model in (wrapped(base), load_beacon(base_model(base), one), load_beacon(base_model(base), two))
    )
    for name in untrained.keys() - {UNREAD}:
        moved = float((first[name] - untrained[name]).abs().max())
        # A small step from stage 1, not anew.
        assert 0 < float((second[name] - first[name]).abs().max()) < moved, name


def test_the_command_trains_appended_memory_tokens_in_both_stages(base: Path, tmp_path: Path):
    (tmp_path / "story.txt").write_text(STORY * 4, encoding="utf-8")
    write_samples(tmp_path / "samples.jsonl", [SAMPLE])
    common = ["--model", str(base), "--window", "64", "--lengths", "80", "120", "--ratios", "4", "--steps", "1"]
    common += ["--accumulate", "1", "--precision", "float32", "--device", "cpu", "--placement", "appended"]
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    assert main(["stage1", *common, "--data", str(tmp_path / "story.txt"), "--out", one]) == 0
    rest = ["--data", str(tmp_path / "samples.jsonl"), "--start", one, "--lengths", "4096", "--out", two]
    assert main(["stage2", *common, *rest]) == 0
    assert read_manifest(tmp_path / "two").placement == "appended"


def test_too_little_text_says_what_was_found_and_what_to_do(base: Path, tmp_path: Path):
    (tmp_path / "short.txt").write_text("boat", encoding="utf-8")
    with pytest.raises(ModelError, match=r"No training data in.*1 documents.*short of a row of 40.*longer texts"):
        Stage(stage1_texts, RECIPE, base, tmp_path / "out").run([tmp_path / "short.txt"], [], Intervals())


# The command line


def test_errors_are_one_line_and_a_status(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = ["--out", str(tmp_path / "out")]
    (tmp_path / "short.txt").write_text("boat", encoding="utf-8")
    data = ["--data", str(tmp_path / "short.txt")]
    commands = {
        "No training data in": ["stage1", "--model", str(base), *data, *out],
        "is unreadable": ["stage1", "--model", str(base), "--data", str(tmp_path / "none"), *out],
        "not a sample": ["stage2", "--model", str(base), *data, *out],
        "no memory to train": ["stage1", "--model", str(base), *data, "--lengths", "100", *out],
        "tokenizer": ["stage1", "--model", str(tmp_path), *data, *out],
        "does not exist": ["sft-data", "--backend", "transformers", "--path", str(tmp_path / "none"), *data, *out],
    }
    for says, command in commands.items():
        assert main(command) == 2
        said = capsys.readouterr().err
        assert says in said and "Traceback" not in said, said


def test_a_model_behind_a_server_writes_the_samples_and_is_asked_once(
    replaying: Any, chat_routes: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    pair = {"question": "Where did the boat of Ines lie?", "answer": "Behind the church"}
    routes = chat_routes(lambda reply, say: say("boat of Ines lay\nlay behind the church"))
    ask = routes["POST /v1/chat/completions"]
    questions = {"n": 0}

    def chat(reply: Any) -> None:
        if "Write 3 questions" in reply.body["messages"][-1]["content"]:
            questions["n"] += 1
            reply.start()
            choice = {"index": 0, "delta": {"content": json.dumps([pair])}}
            reply.event({"object": "chat.completion.chunk", "choices": [choice]})
            reply.event("data: [DONE]")
            reply.write(b"")
        else:
            ask(reply)

    server = replaying({**routes, "POST /v1/chat/completions": chat})
    (tmp_path / "story.txt").write_text(STORY, encoding="utf-8")
    command = ["sft-data", "--backend", "openai", "--url", server.url, "--name", "org/chat"]
    command += ["--data", str(tmp_path / "story.txt"), "--out", str(tmp_path / "samples.jsonl")]
    for _ in range(2):
        assert main(command) == 0, capsys.readouterr().err
        (line,) = (tmp_path / "samples.jsonl").read_text("utf-8").splitlines()
        assert json.loads(line)["clues"] == ["boat of Ines lay", "lay behind the church"]
    assert questions["n"] == 1
