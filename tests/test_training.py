"""A model of our own, from rows of tokens to files that agree. A micro model is enough: no figure here is quality."""

import json
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

for _name in ("torch", "tokenizers"):
    pytest.importorskip(_name, reason=f"training needs {_name}: the extra train")

import torch  # noqa: E402
from weft.llm.training import check, export  # noqa: E402
from weft.llm.training.model import PRESETS, SmallLlama, count_parameters  # noqa: E402
from weft.llm.training.quantisation import BLOCK, quantised  # noqa: E402
from weft.llm.training.recipe import RECIPES, SMOKE, WorkFolder  # noqa: E402
from weft.llm.training.samples import Rows, SampleMix, read_rows, write_rows  # noqa: E402
from weft.llm.training.sources import Corpus, Document, write_corpus  # noqa: E402
from weft.llm.training.tokenizer import TrainingTokenizer, train_tokenizer  # noqa: E402
from weft.llm.training.train import (  # noqa: E402
    Stage,
    TrainOptions,
    can_compile,
    held_out_loss,
    load_model,
    optimisers_of,
    rate_factor,
    stage_at,
    train,
)

pytestmark = [pytest.mark.local, pytest.mark.usefixtures("one_torch_thread")]

MICRO = replace(PRESETS["micro"], context_tokens=256)
OPTIONS = TrainOptions(
    steps=6, batch_tokens=64, warm_up_steps=2, bf16=False, compile=False, log_every=1, checkpoint_every=100
)


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    """A folder with a small corpus and a tokenizer of it."""
    folder = tmp_path_factory.mktemp("training")
    text = "def add_{0}(left, right):\n    total_{0} = left + right * {0}\n    return total_{0}\n\n"
    documents = tuple(
        Document("sums", f"sums/part{n}.py", "".join(text.format(n * 20 + k) for k in range(20))) for n in range(6)
    )
    write_corpus(Corpus(documents, documents[:2], (), (), {}), folder)
    train_tokenizer((document.text for document in documents), 400).save(folder / "tokenizer.json")
    return folder


def micro(seed: int = 0) -> SmallLlama:
    torch.manual_seed(seed)
    return SmallLlama(MICRO)


def rows(n: int = 8, context_tokens: int = 32) -> Rows:
    generator = np.random.default_rng(0)
    tokens = generator.integers(8, MICRO.n_vocabulary, (n, context_tokens + 1)).astype(np.uint16)
    return Rows(tokens, np.ones_like(tokens, np.uint8))


def run(folder: Path, options: TrainOptions, model: SmallLlama | None = None) -> SmallLlama:
    model = model or micro()
    train(model, [Stage(rows, 0.5), Stage(lambda: rows(8, 64), 0.5)], options, folder, lambda _: {})
    return model


def log_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


# Tokenizer


@pytest.mark.parametrize("text", check.TOKENIZER_EDGE_CASES)
def test_every_text_comes_back_and_digits_are_apart(written, text):
    tokenizer = TrainingTokenizer.load(written / "tokenizer.json")
    tokens = tokenizer.encode(text)
    assert tokenizer.decode(tokens) == text
    assert not any(token in tokenizer.ends for token in tokens)
    assert len(tokenizer.encode("12345")) == 5


# Model


def test_reading_with_a_cache_equals_reading_at_once():
    model = micro().eval()
    tokens = torch.randint(8, 500, (1, 20))
    with torch.inference_mode():
        whole = model(tokens)
        past, parts, at = model.empty_past(), [], 0
        for length in (7, 1, 12):
            logits, past = model.forward_cached(tokens[:, at : at + length], torch.arange(at, at + length)[None], past)
            parts.append(logits)
            at += length
    torch.testing.assert_close(torch.cat(parts, 1), whole)


def test_generation_is_greedy_and_stops_at_an_end():
    model = micro().eval()
    prompt = [9, 10, 11]
    written = model.generate(prompt, 5, frozenset())
    with torch.inference_mode():
        for n, token in enumerate(written):
            assert int(model(torch.tensor([prompt + written[:n]]))[0, -1].argmax()) == token
    assert model.generate(prompt, 5, frozenset(written[:1])) == []


# Training


def test_a_run_learns_its_rows(tmp_path):
    options = replace(OPTIONS, steps=40, learning_rate=5e-3)
    train(micro(), [Stage(lambda: rows(2), 1.0)], options, tmp_path, lambda _: {})
    losses = [line["loss"] for line in log_of(tmp_path) if "loss" in line]
    assert losses[-1] < losses[0] - 1


def test_a_stopped_run_goes_on_to_the_weights_it_would_have_had(tmp_path):
    whole = run(tmp_path / "whole", OPTIONS)

    def stop(model):
        raise KeyboardInterrupt

    stopping = replace(OPTIONS, checkpoint_every=2, evaluate_every=5)
    with pytest.raises(KeyboardInterrupt):
        train(micro(), [Stage(rows, 0.5), Stage(lambda: rows(8, 64), 0.5)], stopping, tmp_path / "stopped", stop)
    resumed = run(tmp_path / "stopped", OPTIONS, micro(seed=1))
    assert log_of(tmp_path / "stopped")[-1]["step"] == 6
    for name, weight in whole.state_dict().items():
        assert torch.equal(weight, resumed.state_dict()[name]), name


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    run(tmp_path, OPTIONS)
    other = SmallLlama(replace(MICRO, n_layers=1))
    with pytest.raises(ValueError, match="another model"):
        run(tmp_path, OPTIONS, other)
    assert load_model(tmp_path / "checkpoint.pt").shape == MICRO


def test_what_weighs_nothing_teaches_nothing(tmp_path):
    silent = Rows(rows().tokens, np.zeros_like(rows().weights))
    model, before = micro(), micro()
    options = replace(OPTIONS, weight_decay=0.0)
    train(model, [Stage(lambda: silent, 1.0)], options, tmp_path, lambda _: {})
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), before.parameters(), strict=True))


def test_the_rate_warms_up_stays_and_goes_down():
    options = replace(OPTIONS, warm_up_steps=4, decay_share=0.5)
    assert [rate_factor(step, 0.0, options) for step in (0, 1, 3, 9)] == [0.25, 0.5, 1.0, 1.0]
    assert [round(rate_factor(9, progress, options), 2) for progress in (0.5, 0.75, 1.0)] == [1.0, 0.5, 0.02]


def test_stages_follow_each_other_by_their_shares():
    stages = [Stage(rows, 3.0), Stage(rows, 1.0)]
    assert [stage_at(stages, progress) for progress in (0.0, 0.74, 0.75, 1.0)] == [0, 0, 1, 1]


@pytest.mark.parametrize("optimiser", ["muon", "adamw"])
def test_every_weight_is_in_one_optimiser(optimiser):
    model = micro()
    optimisers = optimisers_of(model, replace(OPTIONS, optimiser=optimiser))
    weights = [id(w) for o in optimisers for group in o.param_groups for w in group["params"]]
    assert sorted(weights) == sorted(map(id, model.parameters()))


def test_held_out_loss_of_an_untrained_model_is_that_of_guessing():
    figures = held_out_loss(micro().eval(), rows(), bf16=False)
    assert figures["held_out_loss"] == pytest.approx(np.log(MICRO.n_vocabulary), abs=0.1)


@pytest.mark.slow
@pytest.mark.skipif(not can_compile("cpu"), reason="torch.compile needs a C++ compiler")
def test_a_compiled_run_learns_the_same(tmp_path):
    plain, compiled = run(tmp_path / "plain", OPTIONS), run(tmp_path / "compiled", replace(OPTIONS, compile=True))
    for a, b in zip(plain.parameters(), compiled.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-3, rtol=1e-2)


# Rows and exports


def test_rows_are_the_same_however_many_processes_make_them(written, tmp_path):
    made = []
    with ProcessPoolExecutor(2) as two:
        for name, pool in (("one", None), ("two", two)):
            files = (written / "training.jsonl", written / "tokenizer.json", tmp_path / name)
            made.append(write_rows(*files, 64, 300, SampleMix(), 0, pool))
    assert np.array_equal(made[0].tokens, made[1].tokens) and np.array_equal(made[0].weights, made[1].weights)
    assert read_rows(tmp_path / "one").context_tokens == 64


def test_the_exports_of_one_model_agree(written, tmp_path):
    for name in ("transformers", "onnx", "onnxruntime", "gguf", "safetensors"):
        pytest.importorskip(name, reason=f"needs {name}: the extra train")
    tokenizer = TrainingTokenizer.load(written / "tokenizer.json")
    model = SmallLlama(export.padded_shape(MICRO, tokenizer)).eval()
    for weight in model.parameters():
        weight.data.mul_(4)  # spread out, so that no two tokens are nearly as likely
    export.export_all(model, written / "tokenizer.json", tmp_path, "micro")
    prompts = [tokenizer.encode("def add_1(left, right):\n    total"), tokenizer.encode("return total_7 + 12")]
    checked = check.check_exports(model, tokenizer, tmp_path, "micro", prompts)
    assert len(checked.found) + len(checked.missing) == 7
    assert [agreement for agreement in checked.found if not agreement.agrees] == []
    exact = {agreement.name for agreement in checked.found if agreement.exact}
    assert exact >= {"transformers", "onnx", "onnx int8"}
    whole, small = ((tmp_path / "onnx" / f"model{name}.onnx").stat().st_size for name in ("", "_int8"))
    assert small < whole / 2


def test_rounded_weights_are_near_and_rounding_them_again_changes_nothing():
    model = micro()
    once = quantised(model)
    twice = quantised(once)
    for name, weight in model.named_parameters():
        near = once.get_parameter(name)
        assert torch.equal(near, twice.get_parameter(name)), name
        if weight.dim() == 1:
            assert torch.equal(near, weight), name
            continue
        blocks = weight.detach().reshape(-1, BLOCK)
        steps = blocks.abs().amax(-1, keepdim=True) / 127
        # Half a step, and what the scale loses in 16 bits.
        assert ((near.detach().reshape(-1, BLOCK) - blocks).abs() <= 0.57 * steps).all(), name
        assert not torch.equal(near, weight), name


def test_the_files_in_eight_bits_hold_the_numbers_of_the_others(written, tmp_path):
    for name in ("onnx", "onnxruntime", "gguf"):
        pytest.importorskip(name, reason=f"needs {name}: the extra train")
    import gguf

    shape = export.padded_shape(MICRO, TrainingTokenizer.load(written / "tokenizer.json"))
    model = quantised(SmallLlama(shape))
    export.export_gguf(model, written / "tokenizer.json", tmp_path / "m.gguf", "q8_0", "m")
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(tmp_path / "m.gguf").tensors}
    for ours, theirs in (("model.embed_tokens", "token_embd"), ("model.layers.1.mlp.down_proj", "blk.1.ffn_down")):
        stored = tensors[f"{theirs}.weight"]
        assert stored.tensor_type == gguf.GGMLQuantizationType.Q8_0
        numbers = gguf.dequantize(stored.data, stored.tensor_type)
        assert np.array_equal(numbers, model.get_parameter(f"{ours}.weight").detach().numpy())


def test_a_model_that_is_not_rounded_is_not_stored_in_eight_bits(written, tmp_path):
    pytest.importorskip("onnx", reason="needs onnx: the extra train")
    with pytest.raises(ValueError, match="not quantised"):
        export.export_onnx(micro(), written / "tokenizer.json", tmp_path)
    assert not (tmp_path / "model_int8.onnx").exists()


def test_a_wrong_export_is_noticed(written, tmp_path):
    pytest.importorskip("transformers", reason="needs transformers")
    pytest.importorskip("safetensors", reason="needs safetensors")
    tokenizer = TrainingTokenizer.load(written / "tokenizer.json")
    shape = export.padded_shape(MICRO, tokenizer)
    export.export_transformers(SmallLlama(shape), written / "tokenizer.json", tmp_path / "transformers")
    runner = check._TransformersRunner(tmp_path / "transformers")
    other = SmallLlama(shape).eval()
    assert np.abs(runner.logits([9, 10, 11]) - check._torch_logits(other, [9, 10, 11])).max() > check.MAX_DIFFERENCE


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_has_a_size_that_exists(name):
    assert RECIPES[name].preset in PRESETS
    assert count_parameters(SmallLlama(PRESETS[SMOKE.preset])) < 100_000
    assert max(stage.context_tokens for stage in RECIPES[name].stages) <= PRESETS[RECIPES[name].preset].context_tokens


def work_folder(written, out, recipe):
    """A working folder with the sources and the tokenizer of `written`."""
    work = WorkFolder(out, recipe)
    work.folder.mkdir(parents=True, exist_ok=True)
    for name in ("training.jsonl", "held_out.jsonl", "tokenizer.json", "licences.json", "licences.md"):
        (work.folder / name).write_bytes((written / name).read_bytes())
    return work


def test_a_training_can_begin_while_its_rows_are_written(written, tmp_path):
    recipe = replace(SMOKE, unique_tokens=3_000, tokens=6_000, n_tasks=1)
    work = work_folder(written, tmp_path / "both", recipe)
    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(work.make_rows, 1)
        work.train(wait_for_rows=True, compile=False)
        writing.result()
    after = work_folder(written, tmp_path / "after", recipe)
    after.make_rows(1)
    after.train(compile=False)
    assert log_of(work.folder)[-1]["held_out_loss"] == log_of(after.folder)[-1]["held_out_loss"]


@pytest.mark.slow
def test_two_processes_train_one_model(written, tmp_path):
    """torchrun on two processes over gloo ends with one model, and each has read half of the tokens."""
    work = work_folder(written, tmp_path, replace(SMOKE, unique_tokens=5_000, n_tasks=1))
    work.make_rows(jobs=1)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    step = ["-m", "weft.llm.training", "train", "--recipe=smoke", "--tokens=5000", f"--out={tmp_path}", "--threads=1"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, *step], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-5000:]
    last = log_of(work.folder)[-1]
    assert last["processes"] == 2 and last["tokens"] == 2 * last["step"] * SMOKE.batch_tokens <= 5000
