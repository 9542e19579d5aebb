"""Every family of code models with random weights: read in parts, taken back and drafted as `generate()` writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.llm.local.engines import OutOfMemory

pytestmark = pytest.mark.local

torch = pytest.importorskip("torch", reason="needs the extra `local`")
transformers = pytest.importorskip("transformers", reason="needs the extra `local`")

from weft.llm.local.engines import lean_llama as lean_module  # noqa: E402
from weft.llm.local.engines import torch_engine  # noqa: E402
from weft.llm.local.engines.lean_llama import agrees, lean_llama  # noqa: E402
from weft.llm.local.engines.torch_engine import HfDecoder, TorchEngine  # noqa: E402

SIZES = {
    "vocab_size": 160,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "initializer_range": 0.2,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}
GPT_SIZES = {
    "vocab_size": 160, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256, "initializer_range": 0.2,
    "bos_token_id": None, "eos_token_id": None,
}  # fmt: skip
MOE = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 64}
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}  # fmt: skip

# Each name: the class of its configuration, and what differs from SIZES.
LEAN_FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("LlamaConfig", {}),
    "llama, tied, wide heads": ("LlamaConfig", {"tie_word_embeddings": True, "head_dim": 16}),
    "llama, biases": ("LlamaConfig", {"attention_bias": True, "mlp_bias": True}),
    "llama 3 positions": ("LlamaConfig", {"rope_parameters": LLAMA3}),
    "qwen2": ("Qwen2Config", {"num_key_value_heads": 1}),
    "qwen2, yarn": ("Qwen2Config", {"rope_parameters": YARN}),
    "qwen3": ("Qwen3Config", {"head_dim": 16}),
    "mistral": ("MistralConfig", {"sliding_window": None}),
}
OTHER_FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "starcoder2": ("Starcoder2Config", {"sliding_window": 4096}),
    "codegemma": ("GemmaConfig", {"head_dim": 8, "tie_word_embeddings": False}),
    "starcoder": ("GPTBigCodeConfig", GPT_SIZES),
    "santacoder with all heads": ("GPTBigCodeConfig", {**GPT_SIZES, "multi_query": False}),
    "stable code": ("StableLmConfig", {}),
    "granite": ("GraniteConfig", {}),
    "gpt-neox": ("GPTNeoXConfig", {}),
    "qwen3 coder": ("Qwen3MoeConfig", {**MOE, "head_dim": 8}),
    "mistral, wide window": ("MistralConfig", {"sliding_window": 2100, "max_position_embeddings": 8192}),
}
FORGETFUL_FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "mistral, narrow window": ("MistralConfig", {"sliding_window": 8}),
    "gemma 3": (
        "Gemma3TextConfig",
        {
            "head_dim": 8,
            "tie_word_embeddings": False,
            "sliding_window": 8,
            "layer_types": ["sliding_attention", "full_attention"],
        },
    ),
    "qwen3 next": ("Qwen3NextConfig", {**MOE, "head_dim": 8, "layer_types": ["linear_attention", "full_attention"]}),
}  # fmt: skip
FAMILIES = {**LEAN_FAMILIES, **OTHER_FAMILIES, **FORGETFUL_FAMILIES}

PROMPT = [7, 3, 99, 20, 4, 4, 120, 55, 31, 8, 77]
N_NEW = 24


def make_model(family: str) -> Any:
    kind, differences = FAMILIES[family]
    sizes = {} if kind == "GPTBigCodeConfig" else SIZES
    torch.manual_seed(5)
    config = getattr(transformers, kind)(**{**sizes, **differences})
    return transformers.AutoModelForCausalLM.from_config(config).eval()


def engine_of(model: Any) -> TorchEngine:
    return TorchEngine(HfDecoder(model), model.device, threads=1)


def lean_engine_of(model: Any) -> TorchEngine:
    lean = lean_llama(model, 256)
    assert lean is not None
    return TorchEngine(lean, model.device, threads=1)


@pytest.fixture(params=[*FAMILIES, *(f"lean {name}" for name in LEAN_FAMILIES)])
def pair(request: pytest.FixtureRequest) -> tuple[Any, TorchEngine]:
    """A model of each family, and its engine; of those that have a lean form both engines."""
    name = request.param
    model = make_model(name.removeprefix("lean "))
    return model, lean_engine_of(model) if name.startswith("lean ") else engine_of(model)


@pytest.fixture
def llama() -> Any:
    return make_model("llama")


@pytest.fixture(autouse=True)
def same_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def generated(model: Any) -> list[int]:
    ids = torch.tensor([PROMPT])
    out = model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=N_NEW, do_sample=False, pad_token_id=0
    )
    return out[0, len(PROMPT) :].tolist()


def logits_of(model: Any, tokens: list[int]) -> Any:
    with torch.inference_mode():
        return model(input_ids=torch.tensor([tokens])).logits[0].numpy()


def test_writes_what_generate_writes(pair: tuple[Any, TorchEngine]):
    model, engine = pair
    expected = generated(model)
    assert len(set(expected)) > 1, "a model that says one thing proves nothing"
    cache = engine.new_cache()
    written = engine.forward(cache, PROMPT).best()[0]
    while len(written) < N_NEW:
        written += engine.forward(cache, written[-1:]).best()[0]
    assert written == expected
    assert cache.n_tokens == len(PROMPT) + N_NEW - 1


def test_reading_in_parts_gives_the_logits_of_reading_at_once(pair: tuple[Any, TorchEngine]):
    model, engine = pair
    tokens = PROMPT * 3
    cache = engine.new_cache()
    parts = [tokens[:5], tokens[5:6], tokens[6:9], tokens[9:]]
    logits = np.concatenate([engine.forward(cache, part, len(part)).logits() for part in parts])
    np.testing.assert_allclose(logits, logits_of(model, tokens), rtol=2e-4, atol=2e-4)


def test_what_was_taken_back_leaves_no_trace(pair: tuple[Any, TorchEngine]):
    model, engine = pair
    cache = engine.new_cache()
    engine.forward(cache, [*PROMPT, 1, 2, 3])
    if engine.crop(cache, 6):
        assert cache.n_tokens == 6
        last = engine.forward(cache, [9, 9, *PROMPT], 1).logits()
        np.testing.assert_allclose(last, logits_of(model, [*PROMPT[:6], 9, 9, *PROMPT])[-1:], rtol=2e-4, atol=2e-4)
    else:
        assert cache.n_tokens == len(PROMPT) + 3, "a crop that is refused does nothing"
        last = engine.forward(cache, [9]).logits()
        np.testing.assert_allclose(last, logits_of(model, [*PROMPT, 1, 2, 3, 9])[-1:], rtol=2e-4, atol=2e-4)


def test_drafts_do_not_change_what_is_written(pair: tuple[Any, TorchEngine]):
    model, engine = pair
    expected = generated(model)
    cache = engine.new_cache()
    written = engine.forward(cache, PROMPT).best()[0]
    while len(written) < N_NEW:
        right = expected[len(written) : len(written) + 3]
        draft = [*right[:2], 0, 1] if len(written) % 2 else right
        tokens, _ = engine.forward(cache, [written[-1], *draft], len(draft) + 1).best()
        n_right = next((i for i, token in enumerate(draft) if token != tokens[i]), len(draft))
        n_kept = cache.n_tokens - (len(draft) - n_right)
        if not engine.crop(cache, n_kept):
            pytest.skip("this architecture can't take tokens back, so nothing is drafted for it")
        written += tokens[: n_right + 1]
    assert written[:N_NEW] == expected


@pytest.mark.parametrize("family", FORGETFUL_FAMILIES)
def test_an_architecture_that_evicts_tokens_refuses_to_crop(family: str):
    engine = engine_of(make_model(family))
    cache = engine.new_cache()
    engine.forward(cache, PROMPT)
    assert not engine.crop(cache, 3)
    assert engine.crop(cache, len(PROMPT)), "nothing to take back"


@pytest.mark.parametrize("family", [*LEAN_FAMILIES, *OTHER_FAMILIES])
def test_an_architecture_that_keeps_every_token_can_take_back(family: str):
    engine = engine_of(make_model(family))
    cache = engine.new_cache()
    engine.forward(cache, PROMPT)
    assert engine.crop(cache, 3)
    assert engine.crop(cache, 0)
    assert cache.n_tokens == 0


STEPS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20), st.integers(0, 159)), min_size=1, max_size=6)


@settings(max_examples=25)
@given(steps=STEPS, lean=st.booleans())
def test_any_order_of_taking_back_and_reading_gives_the_logits_of_a_cold_run(
    steps: list[tuple[int, int, int]], lean: bool
):
    model = make_model("llama")
    engine = (lean_engine_of if lean else engine_of)(model)
    cache, tokens = engine.new_cache(), list[int]()
    for n_taken, n_new, first in steps:
        kept = max(0, len(tokens) - n_taken)
        assert engine.crop(cache, kept)
        new = [(first + 7 * number) % 160 for number in range(n_new)]
        tokens = tokens[:kept] + new
        logits = engine.forward(cache, new, n_new).logits()
        assert cache.n_tokens == len(tokens)
    np.testing.assert_allclose(logits, logits_of(model, tokens)[-n_new:], rtol=2e-4, atol=2e-4)


def test_a_wide_window_is_not_exceeded_so_that_reuse_works():
    assert engine_of(make_model("mistral, wide window")).context_tokens == 2099


@pytest.mark.parametrize(
    ("family", "values"), [("llama", 2 * 2 * 8 * 2), ("starcoder", 2 * 1 * 8 * 2), ("gpt-neox", 2 * 4 * 8 * 2)]
)
def test_the_memory_of_a_token_is_that_of_its_keys_and_values(family: str, values: int):
    model = make_model(family)
    assert engine_of(model).cache_bytes_per_token == 4 * values  # layers, heads, size of a head, keys and values
    assert engine_of(model.bfloat16()).cache_bytes_per_token == 2 * values


def test_both_forms_need_the_same_memory_and_hold_the_same_context(llama: Any):
    plain, lean = engine_of(llama), lean_engine_of(llama)
    for each in (plain, lean):
        assert (each.n_vocabulary, each.context_tokens, each.cache_bytes_per_token) == (160, 256, 256)


@pytest.mark.parametrize("make", [engine_of, lean_engine_of])
def test_more_than_the_context_is_out_of_memory_and_not_a_wrong_answer(llama: Any, make: Any):
    engine = make(llama)
    cache = engine.new_cache()
    engine.forward(cache, [1] * 256)
    with pytest.raises(OutOfMemory):
        engine.forward(cache, [1])


@pytest.mark.parametrize("make", [engine_of, lean_engine_of])
def test_caches_are_independent(llama: Any, make: Any):
    engine = make(llama)
    first, second = engine.new_cache(), engine.new_cache()
    engine.forward(first, PROMPT)
    engine.forward(second, [5, 5, 5])
    continued = engine.forward(first, [1, 2], 2).logits()
    np.testing.assert_allclose(continued, logits_of(llama, [*PROMPT, 1, 2])[-2:], rtol=2e-4, atol=2e-4)


def test_probabilities_are_those_of_the_softmax(llama: Any):
    engine = engine_of(llama)
    scores = engine.forward(engine.new_cache(), PROMPT, 3)
    expected = torch.tensor(scores.logits()).softmax(-1)
    tokens, probabilities = scores.best()
    np.testing.assert_allclose(probabilities, expected.max(-1).values.numpy(), rtol=1e-5)
    token, probability = scores.best_of(1, [17, 4, 90])
    assert token == max((17, 4, 90), key=lambda each: expected[1, each])
    assert probability == pytest.approx(float(expected[1, token]), rel=1e-5)
    assert tokens == expected.argmax(-1).tolist()


def test_the_lowest_number_wins_a_tie():
    scores = torch_engine.TorchScores(torch.tensor([[1.0, 3.0, 3.0, 2.0, 3.0]]))
    assert scores.best()[0] == [1]
    assert scores.best_of(0, [4, 3, 2])[0] == 2


@pytest.mark.parametrize("family", LEAN_FAMILIES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_lean_form_says_what_its_plain_twin_says(family: str, dtype: str):
    model = make_model(family).to(getattr(torch, dtype))
    expected = HfDecoder(model)
    lean = lean_llama(model, 256)
    assert lean is not None
    with torch.inference_mode():
        assert agrees(lean, expected, torch.tensor(PROMPT))


@pytest.mark.parametrize("family", [*OTHER_FAMILIES, *FORGETFUL_FAMILIES])
def test_other_shapes_have_no_lean_form(family: str):
    assert lean_llama(make_model(family), 256) is None


def test_a_lean_form_that_computes_something_else_is_found_out(llama: Any):
    lean, plain = lean_llama(llama, 256), HfDecoder(llama)
    assert lean is not None
    tokens = torch.tensor(PROMPT)
    with torch.inference_mode():
        assert agrees(lean, plain, tokens)
        lean.rope.scale = 1.01
        lean.rope._table = lean.rope._table[:, :0]
        assert not agrees(lean, plain, tokens)


def test_the_lean_form_shares_the_memory_of_its_twin(llama: Any):
    layer = llama.model.layers[0]
    lean = lean_llama(llama, 256)
    assert lean is not None
    fused = lean.layers[0].qkv.keywords["weight"]
    assert layer.self_attn.q_proj.weight.data_ptr() == fused.data_ptr()
    assert layer.self_attn.v_proj.weight.untyped_storage().data_ptr() == fused.untyped_storage().data_ptr()


def test_a_lean_cache_grows_with_what_is_read(llama: Any):
    lean = lean_llama(llama, 256)
    assert lean is not None
    engine = TorchEngine(lean, llama.device, threads=1)
    cache = engine.new_cache()
    assert cache.room == 0
    tokens = (PROMPT * 30)[:256]
    for start in range(0, 256, 51):
        logits = engine.forward(cache, tokens[start : start + 51]).logits()
        assert cache.n_tokens <= cache.room <= 1.25 * cache.n_tokens + lean_module.CACHE_STEP_TOKENS
    np.testing.assert_allclose(logits, logits_of(llama, tokens)[-1:], rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_8_bits_are_nearly_the_same(dtype: str):
    model = make_model("qwen2").to(getattr(torch, dtype))
    expected = logits_of(model.float(), PROMPT)
    with torch.inference_mode():
        lean = lean_llama(model.to(getattr(torch, dtype)), 256)
        assert lean is not None
        engine = TorchEngine(lean.int8(), model.device, threads=1)
    found = engine.forward(engine.new_cache(), PROMPT, len(PROMPT)).logits()
    error = np.linalg.norm(found - expected) / np.linalg.norm(expected - expected.mean())
    assert 0 < error < 0.1


def test_a_token_and_a_block_have_the_threads_that_were_measured_to_be_fastest(
    llama: Any, monkeypatch: pytest.MonkeyPatch
):
    engine = TorchEngine(HfDecoder(llama), llama.device)
    used: list[int] = []
    forward = engine._decoder.forward

    def note(cache: Any, tokens: Any, n_scored: int) -> Any:
        used.append(torch.get_num_threads())
        return forward(cache, tokens, n_scored)

    def measure(use: Any, cores: int) -> int:
        use(2 if len(used) < 2 else 1)()
        return used[-1]

    monkeypatch.setattr(engine._decoder, "forward", note)
    monkeypatch.setattr(torch_engine, "fastest_threads", measure)
    monkeypatch.setattr(torch_engine, "DEFAULT_THREADS", 2)
    engine.tune()
    cache = engine.new_cache()
    engine.forward(cache, [1])
    engine.forward(cache, [1] * torch_engine.BLOCK_TOKENS)
    assert used[-2:] == [2, 1]


def test_tuning_leaves_the_engine_as_it_was_but_for_its_threads(llama: Any):
    engine = TorchEngine(lean_llama(llama, 256), llama.device)
    engine.tune()
    logits = engine.forward(engine.new_cache(), PROMPT, len(PROMPT)).logits()
    np.testing.assert_allclose(logits, logits_of(llama, PROMPT), rtol=2e-4, atol=2e-4)


def test_a_slow_model_is_not_measured(llama: Any, monkeypatch: pytest.MonkeyPatch):
    engine = TorchEngine(HfDecoder(llama), llama.device)
    monkeypatch.setattr(torch_engine, "SLOW_TOKEN_S", 0)
    monkeypatch.setattr(torch_engine, "fastest_threads", None)
    engine.tune()
    engine.forward(engine.new_cache(), [1])
    assert torch.get_num_threads() == torch_engine.DEFAULT_THREADS


def test_a_number_of_threads_that_was_given_stays_whatever_others_set(llama: Any):
    engine = TorchEngine(HfDecoder(llama), llama.device, threads=1)
    torch.set_num_threads(2)
    engine.tune()
    engine.forward(engine.new_cache(), [1])
    assert torch.get_num_threads() == 1


@pytest.mark.parametrize(
    "error",
    [
        torch.cuda.OutOfMemoryError("CUDA out of memory."),
        RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"),
        RuntimeError("MPS backend out of memory"),
    ],
)
def test_running_out_of_memory_is_one_error(llama: Any, error: Exception, monkeypatch: pytest.MonkeyPatch):
    engine = engine_of(llama)

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(engine._decoder, "forward", fail)
    with pytest.raises(OutOfMemory):
        engine.forward(engine.new_cache(), PROMPT)


def test_other_errors_stay_what_they_are(llama: Any):
    engine = engine_of(llama)
    with pytest.raises((IndexError, RuntimeError)):
        engine.forward(engine.new_cache(), [10_000])


def test_a_model_that_keeps_nothing_is_refused(llama: Any, monkeypatch: pytest.MonkeyPatch):
    forward = llama.forward
    monkeypatch.setattr(llama, "forward", lambda **options: forward(**{**options, "use_cache": False}))
    with pytest.raises(ValueError, match="no KV cache"):
        HfDecoder(llama)
