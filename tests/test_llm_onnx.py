"""onnxruntime in this process: on a graph of a few nodes, on our own export with random weights, on broken files."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.llm.installation import install_command
from weft.llm.local.engines import OutOfMemory
from weft.llm.local.model import LocalSettings
from weft.llm.local.onnx_model import ROUNDED, open_onnx
from weft.llm.prompting.formats import FimChoice
from weft.llm.protocol import Cancel, CompletionRequest, ModelMissing

pytestmark = pytest.mark.local

onnx = pytest.importorskip("onnx", reason="writing a graph needs onnx")
pytest.importorskip("onnxruntime", reason="needs onnxruntime")

from weft.llm.local.engines.onnx_engine import OnnxEngine  # noqa: E402

N_VOCABULARY = 8


def write_counter(path: Path, *, kind: str = "float", shape: Any = (1, 1, "past", N_VOCABULARY), **names: str) -> Path:
    """A model that keeps a one-hot key for each token; its logits count how often a number was read so far."""
    helper, types = onnx.helper, onnx.TensorProto
    past_kind = {"float": types.FLOAT, "float16": types.FLOAT16, "double": types.DOUBLE}[kind]
    ids = names.get("ids", "input_ids")
    past = names.get("past", "past_key_values.0.")
    nodes = [
        helper.make_node("Gather", ["table", ids], ["hot"]),
        helper.make_node("Unsqueeze", ["hot", "one"], ["new"]),
        helper.make_node("Concat", [past + "key", "new"], ["present.0.key"], axis=2),
        helper.make_node("Concat", [past + "value", "new"], ["present.0.value"], axis=2),
        helper.make_node("CumSum", ["present.0.key", "two"], ["counts"]),
        helper.make_node("Squeeze", ["counts", "one"], ["all"]),
        # Rows of logits: as many as the caller says in the input `rows`, else one a token.
        helper.make_node("Unsqueeze", [names["rows"], "zero"], ["size"])
        if "rows" in names
        else helper.make_node("Shape", [ids], ["size"], start=1, end=2),
        helper.make_node("Neg", ["size"], ["first"]),
        helper.make_node("Slice", ["all", "first", "end", "one"], ["last"]),
        helper.make_node("Cast", ["last"], [names.get("logits", "logits")], to=types.FLOAT),
    ]
    table = np.eye(N_VOCABULARY, dtype={"float": "f4", "float16": "f2", "double": "f8"}[kind])
    constants = {
        "table": table,
        "zero": np.array([0]),
        "one": np.array([1]),
        "two": np.array(2),
        "end": np.array([2**31]),
    }
    inputs = {ids: (types.INT64, (1, "n")), past + "key": (past_kind, shape), past + "value": (past_kind, shape)}
    if "rows" in names:
        inputs[names["rows"]] = (types.INT64, ())
    if "more" in names:
        inputs[names["more"]] = (types.INT64, (1, "any"))
    outputs = {names.get("logits", "logits"): (types.FLOAT, (1, "n", N_VOCABULARY))}
    outputs |= {f"present.0.{part}": (past_kind, (1, 1, "total", N_VOCABULARY)) for part in ("key", "value")}
    graph = helper.make_graph(
        nodes,
        "counter",
        [helper.make_tensor_value_info(name, *each) for name, each in inputs.items()],
        [helper.make_tensor_value_info(name, *each) for name, each in outputs.items()],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory as `make tiny-model` writes it, with random weights and a tokenizer over bytes."""
    torch = pytest.importorskip("torch", reason="the export needs torch")
    from weft.llm.training.export import export_onnx
    from weft.llm.training.model import PRESETS, SmallLlama
    from weft.llm.training.quantisation import quantised
    from weft.llm.training.tokenizer import train_tokenizer

    folder = tmp_path_factory.mktemp("exported")
    train_tokenizer(["def ret(x): return x"], 300).save(folder / "letters.json")
    torch.manual_seed(3)
    export_onnx(quantised(SmallLlama(PRESETS["micro"])), folder / "letters.json", folder / "model")
    return folder / "model"


@pytest.fixture(scope="module")
def engine(exported: Path) -> OnnxEngine:
    return OnnxEngine(exported / "model.onnx", context_tokens=256, threads=1)


def tokens(count: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(0, 250, count).tolist()


def cold(engine: OnnxEngine, read: list[int], n_scored: int = 1) -> np.ndarray:
    return engine.forward(engine.new_cache(), read, n_scored).logits()


def check_same(logits: np.ndarray, expected: np.ndarray) -> None:
    """Equal but for the last bits: products of one row and of many are summed in another order."""
    assert np.isfinite(logits).all()
    np.testing.assert_allclose(logits, expected, atol=1e-4)


def test_reading_on_gives_the_logits_of_reading_all(engine):
    cache, read = engine.new_cache(), tokens(60)
    engine.forward(cache, read[:25])
    engine.forward(cache, read[25:26])
    check_same(engine.forward(cache, read[26:]).logits(), cold(engine, read))


def test_what_was_cropped_leaves_no_trace(engine):
    cache, read = engine.new_cache(), tokens(60)
    engine.forward(cache, [*read[:40], *tokens(30, seed=1)])
    assert engine.crop(cache, 40)
    assert cache.n_tokens == 40
    check_same(engine.forward(cache, read[40:]).logits(), cold(engine, read))


def test_everything_can_be_cropped(engine):
    cache = engine.new_cache()
    engine.forward(cache, tokens(5, seed=1))
    assert engine.crop(cache, 0)
    check_same(engine.forward(cache, tokens(9)).logits(), cold(engine, tokens(9)))


def test_every_scored_row_is_that_of_its_token(engine):
    rows = cold(engine, tokens(20), n_scored=20)
    assert rows.shape == (20, engine.n_vocabulary)
    check_same(rows, np.concatenate([cold(engine, tokens(20)[:end]) for end in range(1, 21)]))


def test_caches_do_not_see_each_other(engine):
    one, other = engine.new_cache(), engine.new_cache()
    first, second = tokens(30, seed=1), tokens(30, seed=2)
    for start in range(0, 30, 10):
        one_logits = engine.forward(one, first[start : start + 10]).logits()
        other_logits = engine.forward(other, second[start : start + 10]).logits()
    engine.free(one)
    check_same(one_logits, cold(engine, first))
    check_same(other_logits, cold(engine, second))


@given(steps=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(1, 20)), max_size=8))
@settings(max_examples=25)
def test_any_order_of_cropping_and_reading_is_a_cold_run(engine, steps):
    caches, texts = [engine.new_cache() for _ in range(3)], [[], [], []]
    for seed, (which, kept, n_new) in enumerate(steps):
        cache, text, new = caches[which], texts[which], tokens(n_new, seed)
        del text[kept:]
        assert engine.crop(cache, len(text))
        text += new
        n_scored = 1 + seed % n_new
        check_same(engine.forward(cache, new, n_scored).logits(), cold(engine, text, n_scored))
        assert cache.n_tokens == len(text)
    for cache in caches:
        engine.free(cache)


def test_a_cache_takes_the_memory_it_says(engine):
    cache = engine.new_cache()
    engine.forward(cache, tokens(10))
    assert sum(value.numpy().nbytes for value in cache.past) == 10 * engine.cache_bytes_per_token


def test_a_full_cache_says_so_and_keeps_what_it_has(engine):
    cache = engine.new_cache()
    engine.forward(cache, tokens(255))
    with pytest.raises(OutOfMemory):
        engine.forward(cache, [1, 2])
    check_same(engine.forward(cache, [1]).logits(), cold(engine, [*tokens(255), 1]))


def test_a_token_that_is_none_costs_only_its_call(engine):
    cache, read = engine.new_cache(), tokens(10)
    engine.forward(cache, read[:5])
    with pytest.raises(RuntimeError, match="failed on 1 tokens"):
        engine.forward(cache, [engine.n_vocabulary])
    check_same(engine.forward(cache, read[5:]).logits(), cold(engine, read))


def test_tuning_changes_no_logits(exported):
    engine = OnnxEngine(exported / "model.onnx", context_tokens=256)
    before = cold(engine, tokens(50))
    engine.tune()
    check_same(cold(engine, tokens(50)), before)


def test_weights_in_eight_bits_are_the_same_weights(exported, engine):
    small = OnnxEngine(exported / "model_int8.onnx", context_tokens=256, threads=1)
    assert small.is_exact()
    check_same(cold(small, tokens(50)), cold(engine, tokens(50)))


def test_an_export_says_only_what_it_is_asked(engine):
    cache = engine.new_cache()
    assert engine.forward(cache, tokens(50), 3).logits().shape == (3, engine.n_vocabulary)
    assert engine.forward(engine.new_cache(), tokens(50), 50).logits().shape == (50, engine.n_vocabulary)


def test_rounding_to_eight_bits_is_found_out_and_said(exported, engine, tmp_path):
    """Exports of other tools round activations, with one scale for all tokens of a call."""
    pytest.importorskip("onnxruntime.quantization", reason="rounding needs onnxruntime's own tools")
    from onnxruntime.quantization import quantize_dynamic

    assert engine.is_exact()
    copied(exported, tmp_path, **SMALL)
    quantize_dynamic(exported / "model.onnx", tmp_path / "model_int8.onnx")
    quantised = open_onnx(tmp_path / "model_int8.onnx", settings=LocalSettings(), threads=1)
    exact = open_onnx(exported / "model.onnx", settings=LocalSettings(), threads=1)
    assert ROUNDED in quantised.info.notes
    assert ROUNDED not in exact.info.notes
    quantised.close()
    exact.close()


@pytest.mark.parametrize("kind", ["float", "float16"])
def test_an_export_without_mask_and_positions_in_either_precision(tmp_path, kind):
    engine = OnnxEngine(write_counter(tmp_path / "model.onnx", kind=kind), context_tokens=100, threads=1)
    assert engine.n_vocabulary == N_VOCABULARY
    assert engine.cache_bytes_per_token == 2 * N_VOCABULARY * {"float": 4, "float16": 2}[kind]
    cache = engine.new_cache()
    engine.forward(cache, [1, 2, 2, 3])
    assert engine.forward(cache, [2, 5], n_scored=2).logits().tolist() == [
        [0, 1, 3, 1, 0, 0, 0, 0],
        [0, 1, 3, 1, 0, 1, 0, 0],
    ]
    engine.crop(cache, 2)
    assert engine.forward(cache, [7]).logits().tolist() == [[0, 1, 1, 0, 0, 0, 0, 1]]


def test_an_export_that_computes_the_wanted_rows_only(tmp_path):
    path = write_counter(tmp_path / "model.onnx", rows="num_logits_to_keep")
    engine = OnnxEngine(path, context_tokens=100, threads=1)
    cache = engine.new_cache()
    assert engine.forward(cache, [1, 2, 2], n_scored=2).logits().tolist() == [
        [0, 1, 1, 0, 0, 0, 0, 0],
        [0, 1, 2, 0, 0, 0, 0, 0],
    ]
    assert engine.forward(cache, [3, 3]).logits().tolist() == [[0, 1, 2, 2, 0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"past": "cache.0."}, "no keys and values"),
        ({"ids": "inputs_embeds"}, "no input_ids"),
        ({"logits": "scores"}, "no logits"),
        ({"more": "pixel_values"}, "the input pixel_values"),
        ({"kind": "double"}, "not a supported layout"),
        ({"shape": (1, "heads", "past", N_VOCABULARY)}, "not a supported layout"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_graph_of_another_kind_says_why(tmp_path, changes, why):
    path = tmp_path / "model.onnx"
    write_counter(path, **changes)
    with pytest.raises(ModelMissing, match=why):
        OnnxEngine(path, context_tokens=100)


@pytest.mark.parametrize("content", [b"", b"no graph", None], ids=["empty", "text", "half"])
def test_a_damaged_file_says_why(tmp_path, exported, content):
    whole = (exported / "model.onnx").read_bytes()
    (tmp_path / "model.onnx").write_bytes(whole[: len(whole) // 2] if content is None else content)
    with pytest.raises(ModelMissing, match=r"can't open .*model\.onnx: \S+"):
        OnnxEngine(tmp_path / "model.onnx", context_tokens=100)


def test_weights_that_are_missing_beside_the_file_are_named(tmp_path, exported):
    graph = onnx.load(exported / "model.onnx")
    onnx.save(graph, tmp_path / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    OnnxEngine(tmp_path / "model.onnx", context_tokens=100)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(ModelMissing, match=r"weights\.bin"):
        OnnxEngine(tmp_path / "model.onnx", context_tokens=100)


def test_without_onnxruntime_the_next_step_is_said(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ModelMissing, match=re.escape(install_command("onnx"))):
        OnnxEngine(tmp_path / "model.onnx", context_tokens=100)


def copied(exported: Path, folder: Path, **files: str) -> Path:
    """The export with its files under other names."""
    for source, target in files.items():
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        (folder / target).write_bytes((exported / source.replace("_json", ".json")).read_bytes())
    return folder


SMALL = {"tokenizer_json": "tokenizer.json", "config_json": "config.json"}


@pytest.mark.parametrize("name", ["model.onnx", "model_int8.onnx", "model_quantized.onnx", "onnx/model.onnx"])
def test_a_directory_is_a_model_that_fills_the_middle(exported, tmp_path, name):
    model = open_onnx(copied(exported, tmp_path, **SMALL, **{"model.onnx": name}), settings=LocalSettings(), threads=1)
    assert (model.info.backend, model.info.fills_middle, model.info.repository_level) == ("onnx", True, True)
    assert model.info.context_tokens <= 2048
    model.close()


@pytest.mark.parametrize("name", ["model.onnx", "some.onnx", "onnx/model_q4.onnx"])
def test_one_file_of_a_directory_can_be_named(exported, tmp_path, name):
    copied(exported, tmp_path, **SMALL, **{"model.onnx": name})
    open_onnx(tmp_path / name, settings=LocalSettings(), threads=1).close()


def test_a_model_writes_the_same_with_reuse_and_without(exported):
    request = CompletionRequest("a.py", "python", "def ret(x):\n    ret", "\n", max_new_tokens=8, single_line=False)
    texts = []
    for reuse in (True, False):
        model = open_onnx(exported, settings=LocalSettings(reuse_cache=reuse, speculative_decoding=reuse), threads=1)
        texts += ["".join(piece.text for piece in model.stream(request, Cancel())) for _ in range(2)]
        model.close()
    assert len(set(texts)) == 1


def test_a_template_beside_the_file_makes_it_chat(exported, tmp_path):
    folder = copied(exported, tmp_path, **SMALL, **{"model.onnx": "model.onnx"})
    settings = {"chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    model = open_onnx(folder, settings=LocalSettings(), threads=1)
    assert model.info.chats
    model.close()


def test_the_users_word_on_filling_is_heard(exported):
    model = open_onnx(exported, settings=LocalSettings(), fim=FimChoice("none"), threads=1)
    assert not model.info.fills_middle
    model.close()


def test_a_directory_without_a_model_says_what_it_looked_for(tmp_path):
    with pytest.raises(ModelMissing, match=r"has no model\.onnx"):
        open_onnx(tmp_path, settings=LocalSettings())
    with pytest.raises(ModelMissing, match="does not exist"):
        open_onnx(tmp_path / "none", settings=LocalSettings())
