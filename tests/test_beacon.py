"""A beacon memory on tiny random models in float64, beside a slow, plain reference that reads one token at a time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

for _name in ("torch", "transformers"):
    pytest.importorskip(_name, reason=f"a beacon memory needs {_name}: the extra local")

import torch  # noqa: E402
from weft.llm.tensor_file import read_tensors, write_tensors  # noqa: E402
from weft.memory.memorag.beacon import BeaconError, TextTooLong  # noqa: E402
from weft.memory.memorag.beacon.cache import Memory  # noqa: E402
from weft.memory.memorag.beacon.model import BeaconModel  # noqa: E402

pytestmark = [pytest.mark.local, pytest.mark.usefixtures("one_torch_thread")]

WINDOW = 8
KINDS = ("llama", "mistral", "qwen2", "qwen3")
# The library computes norms, angles and softmax of a float64 model in float32.
CLOSE = {"rtol": 2e-5, "atol": 2e-5}


@pytest.fixture
def wrapped(beacon_base):
    """`wrapped("qwen2", window=8)`: a tiny model with a memory whose weights are not those of the base any more."""

    def make(
        kind: str = "llama", window: int = WINDOW, seed: int = 0, placement: str = "interleaved", **changes: object
    ) -> BeaconModel:
        model = BeaconModel.wrap(beacon_base(kind, seed, **changes), window, placement)
        torch.manual_seed(seed + 1)
        for _, weight in model.beacon_parameters():
            weight.data += 0.2 * torch.randn_like(weight)
        return model

    return make


def tokens_of(n: int, batch: int = 1, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, 40, (batch, n), generator=torch.Generator().manual_seed(seed))


def in_turn(*ratios: int):
    return lambda number: ratios[number % len(ratios)]


# The reference.


@dataclass
class Plain:
    """The paper's memory, token by token and head by head, in numpy. Everything that is seen is a list in order."""

    model: BeaconModel
    ratio_of: object
    memory: list[list[tuple]] = field(default_factory=list)  # of each layer: (key before rotary, value) of each head

    def __post_init__(self) -> None:
        self.config = self.model.base.config
        self.weights = {name: tensor.double().numpy() for name, tensor in self.model.base.state_dict().items()}
        self.memory = [[] for _ in range(self.config.num_hidden_layers)]

    def read(self, tokens: Sequence[int], last_is_laid: bool = True) -> list[np.ndarray]:
        """Logits behind each raw token. Full windows leave memory tokens, the last one only when `last_is_laid`."""
        logits = []
        for start in range(0, len(tokens), WINDOW):
            piece = tokens[start : start + WINDOW]
            is_laid = len(piece) == WINDOW and (last_is_laid or start + WINDOW < len(tokens))
            logits += self._window(piece, self.ratio_of(start // WINDOW) if is_laid else None)
        return logits

    def _window(self, tokens: Sequence[int], ratio: int | None) -> list[np.ndarray]:
        seen = [list(of_layer) for of_layer in self.memory]
        logits = []
        for n, token in enumerate(tokens, 1):
            hidden = self._step(self.weights["model.embed_tokens.weight"][token], seen, "")
            head = "model.embed_tokens.weight" if self.config.tie_word_embeddings else "lm_head.weight"
            logits.append(self.weights[head] @ self._norm(hidden, "model.norm.weight"))
            if ratio and n % ratio == 0 and self.model.placement == "interleaved":
                self._memory_token(seen)
        if ratio and self.model.placement == "appended":
            for _ in range(WINDOW // ratio):
                self._memory_token(seen)
        return logits

    def _memory_token(self, seen: list[list[tuple]]) -> None:
        self._step(self.weights["model.beacon_embed_tokens.weight"][0], seen, "beacon_")
        for kept, of_layer in zip(self.memory, seen, strict=True):
            kept.append(of_layer[-1])

    def _step(self, x: np.ndarray, seen: list[list[tuple]], own: str) -> np.ndarray:
        """One token through all layers; it is added to what each of them has seen."""
        for layer, of_layer in enumerate(seen):
            at = f"model.layers.{layer}."
            normed = self._norm(x, at + "input_layernorm.weight")
            q, k, v = (self._heads(normed, f"{at}self_attn.{own}{name}_proj", name) for name in "qkv")
            of_layer.append((k, v))
            group, mixed = len(q) // len(k), []
            for head, query in enumerate(q):
                turned = self._turn(query, len(of_layer) - 1)
                scores = [
                    turned @ self._turn(keys[head // group], place) / math.sqrt(len(query))
                    for place, (keys, _) in enumerate(of_layer)
                ]
                odds = np.exp(np.array(scores) - max(scores))
                values = [values[head // group] for _, values in of_layer]
                mixed.append(sum(odd * value for odd, value in zip(odds / odds.sum(), values, strict=True)))
            x = x + self.weights[at + "self_attn.o_proj.weight"] @ np.concatenate(mixed)
            normed = self._norm(x, at + "post_attention_layernorm.weight")
            gate = self.weights[at + "mlp.gate_proj.weight"] @ normed
            up = self.weights[at + "mlp.up_proj.weight"] @ normed
            x = x + self.weights[at + "mlp.down_proj.weight"] @ (gate / (1 + np.exp(-gate)) * up)
        return x

    def _heads(self, x: np.ndarray, name: str, kind: str) -> list[np.ndarray]:
        projected = self.weights[f"{name}.weight"] @ x + self.weights.get(f"{name}.bias", 0.0)
        heads = list(projected.reshape(-1, 8))
        norm = f"{name.rpartition('.')[0]}.{kind}_norm.weight"
        return [self._norm(head, norm) for head in heads] if norm in self.weights else heads

    def _norm(self, x: np.ndarray, name: str) -> np.ndarray:
        return x / math.sqrt((x * x).mean() + self.config.rms_norm_eps) * self.weights[name]

    def _turn(self, x: np.ndarray, position: int) -> np.ndarray:
        half, theta = len(x) // 2, self.config.rope_parameters["rope_theta"]
        turned = np.empty_like(x)
        for pair in range(half):
            angle = position / theta ** (pair / half)
            low, high = x[pair], x[pair + half]
            turned[pair] = low * math.cos(angle) - high * math.sin(angle)
            turned[pair + half] = high * math.cos(angle) + low * math.sin(angle)
        return turned


CASES = [
    ("llama", {"placement": "appended"}, (2,), 29),
    ("llama", {"placement": "appended", "attn_implementation": "eager", "num_key_value_heads": 4}, (4, 2, 8), 37),
    ("mistral", {"placement": "appended", "sliding_window": 40}, (2, 4), 29),
    ("qwen2", {"placement": "appended"}, (8, 1), 32),
    ("qwen3", {"placement": "appended"}, (4, 2), 25),
    ("llama", {}, (2,), 29),
    ("llama", {"attn_implementation": "eager", "num_key_value_heads": 4}, (4, 2, 8), 37),
    ("llama", {"tie_word_embeddings": True, "num_key_value_heads": 1}, (8, 1), 26),
    ("llama", {"attention_bias": False, "rope_parameters": {"rope_type": "default", "rope_theta": 100.0}}, (4,), 32),
    ("mistral", {"sliding_window": None}, (4, 8), 30),
    ("mistral", {"sliding_window": 40}, (2, 4), 29),
    ("qwen2", {}, (2, 8), 29),
    ("qwen2", {"attn_implementation": "eager", "tie_word_embeddings": True}, (4,), 24),
    ("qwen3", {}, (4, 2), 29),
    ("qwen3", {"attn_implementation": "eager"}, (8, 2), 25),
]


@pytest.mark.parametrize(("kind", "changes", "ratios", "n"), CASES)
def test_memory_and_logits_are_those_of_the_reference(wrapped, kind, changes, ratios, n):
    model, tokens = wrapped(kind, **changes), tokens_of(n)
    logits, memory = model.read(model.empty(), tokens, in_turn(*ratios))
    plain = Plain(model, in_turn(*ratios))
    expected = plain.read(tokens[0].tolist())
    np.testing.assert_allclose(logits[0].numpy(), expected[-1], **CLOSE)
    for of_layer, keys, values in zip(plain.memory, memory.keys, memory.values, strict=True):
        # (n_memory, n_kv_heads, head_dim) there, (1, n_kv_heads, n_memory, head_dim) here
        np.testing.assert_allclose(keys[0].transpose(0, 1).numpy(), [key for key, _ in of_layer], **CLOSE)
        np.testing.assert_allclose(values[0].transpose(0, 1).numpy(), [value for _, value in of_layer], **CLOSE)
    assert memory.n_memory == sum(WINDOW // in_turn(*ratios)(number) for number in range(n // WINDOW))
    assert (memory.n_tokens, memory.n_open) == (n, n % WINDOW)


@pytest.mark.parametrize(("kind", "changes", "ratios", "n"), CASES)
def test_the_loss_is_the_mean_over_all_windows_and_their_borders(wrapped, kind, changes, ratios, n):
    model, tokens = wrapped(kind, **changes), tokens_of(n)
    scores = model.score(tokens, in_turn(*ratios))
    logits = Plain(model, in_turn(*ratios)).read(tokens[0].tolist(), last_is_laid=False)
    nats = [
        math.log(np.exp(row - row.max()).sum()) + row.max() - row[token]
        for row, token in zip(logits[:-1], tokens[0, 1:].tolist(), strict=True)
    ]
    assert scores.n_labels == n - 1
    assert float(scores.loss.detach()) == pytest.approx(sum(nats) / (n - 1), abs=2e-5)
    by_window = [nats[start : start + WINDOW] for start in range(0, n, WINDOW)]
    # A window of the last token alone predicts nothing.
    expected = [sum(part) / len(part) if part else math.nan for part in by_window]
    assert scores.window_losses == pytest.approx(expected, abs=2e-5, nan_ok=True)


# With the memory off.


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_model_with_its_memory_off_is_the_base_bit_for_bit(beacon_base, kind, attention):
    base = beacon_base(kind, attn_implementation=attention).requires_grad_(False)
    tokens = tokens_of(WINDOW - 1, batch=2)
    whole, last = base(tokens).logits, base(tokens, logits_to_keep=1).logits[:, 0]
    model = BeaconModel.wrap(base, WINDOW)
    assert torch.equal(model.base(tokens).logits, whole)
    read, memory = model.read(model.empty(2), tokens, in_turn(2))
    assert torch.equal(read, last)
    assert (memory.n_memory, memory.n_cached) == (0, WINDOW - 1)


def test_an_untrained_memory_begins_as_the_base_reading_its_end_token(beacon_base):
    base = beacon_base("qwen2").requires_grad_(False)
    tokens = tokens_of(WINDOW + 3)
    row = [[*tokens[0, : WINDOW // 2], 2, *tokens[0, WINDOW // 2 : WINDOW], 2]]
    kept = base(torch.tensor(row)).past_key_values.layers[0].values[:, :, [WINDOW // 2, WINDOW + 1]]
    model = BeaconModel.wrap(base, WINDOW)
    _, memory = model.read(model.empty(), tokens, in_turn(4))
    torch.testing.assert_close(memory.values[0], kept)


def test_appended_memory_tokens_come_after_the_window_and_interleaved_ones_between_its_tokens(beacon_base):
    """Eq. 5: x_1 … x_l, then x^m_1 … x^m_k. Before training, the memory is the base reading its end token there."""
    base, tokens = beacon_base("qwen2").requires_grad_(False), tokens_of(WINDOW + 3)
    window = tokens[0, :WINDOW].tolist()
    rows = {
        "appended": ([*window, 2, 2], [WINDOW, WINDOW + 1]),
        "interleaved": ([*window[:4], 2, *window[4:], 2], [4, WINDOW + 1]),
    }
    for placement, (row, at) in rows.items():
        kept = base(torch.tensor([row])).past_key_values.layers[0].values[:, :, at]
        model = BeaconModel.wrap(beacon_base("qwen2"), WINDOW, placement)
        torch.testing.assert_close(model.read(model.empty(), tokens, in_turn(4))[1].values[0], kept)


def test_raw_tokens_do_not_see_the_appended_memory_tokens_of_their_window(wrapped):
    """So the first window is read as by the base, whatever the ratio; later windows see only its memory tokens."""
    tokens = tokens_of(2 * WINDOW)
    for placement, is_base in (("appended", True), ("interleaved", False)):
        model = wrapped("qwen2", placement=placement)
        base = model.base(tokens[:, :WINDOW]).logits[0]
        row = torch.log_softmax(base, -1)
        expected = -row[torch.arange(WINDOW), tokens[0, 1 : WINDOW + 1]].mean()
        losses = [model.score(tokens, in_turn(ratio)).window_losses[0] for ratio in (2, 8)]
        assert (losses == pytest.approx([float(expected)] * 2, abs=2e-5)) is is_base
        assert losses[0] == pytest.approx(losses[1], abs=2e-5) or not is_base


def test_gradients_flow_into_appended_memory_tokens(wrapped):
    model = wrapped("llama", placement="appended")
    model.score(tokens_of(3 * WINDOW), in_turn(4)).loss.backward()
    moved = {
        name for name, weight in model.beacon_parameters() if weight.grad is not None and weight.grad.abs().max() > 0
    }
    unread = "model.layers.1.self_attn.beacon_q_proj.weight"  # of the last layer: nothing reads its queries
    assert moved == {name for name, _ in model.beacon_parameters()} - {unread}


def test_an_unknown_placement_is_refused(beacon_base):
    with pytest.raises(BeaconError, match=r"placement 'before' is unknown\. Use one of interleaved, appended"):
        BeaconModel.wrap(beacon_base(), WINDOW, "before")


def test_the_memory_is_used(wrapped):
    model = wrapped()
    one, other = (tokens_of(2 * WINDOW, seed=seed) for seed in (1, 2))
    question = tokens_of(3)
    answers = [
        model.read(model.read(model.empty(), text, in_turn(4))[1], question, in_turn(4))[0] for text in (one, other)
    ]
    assert (answers[0] - answers[1]).abs().max() > 0.01


# Reading.


@pytest.mark.parametrize("placement", ["interleaved", "appended"])
@settings(deadline=None, max_examples=20)
@given(lengths=st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_any_pieces_of_a_text_give_the_same(beacon_base, placement, lengths):
    model = BeaconModel.wrap(beacon_base("qwen3", num_hidden_layers=1), WINDOW, placement)
    tokens, ratio_of = tokens_of(sum(lengths)), in_turn(2, 8, 4)
    whole, expected = model.read(model.empty(), tokens, ratio_of)
    memory = model.empty()
    for piece in tokens.split(lengths, 1):
        logits, memory = model.read(memory, piece, ratio_of)
    torch.testing.assert_close(logits, whole)
    for name, array in expected.to_arrays().items():
        np.testing.assert_allclose(memory.to_arrays()[name], array, err_msg=name)


def test_rows_of_a_batch_are_read_as_they_are_alone(wrapped):
    model, tokens, ratio_of = wrapped("qwen2"), tokens_of(27, batch=3), in_turn(4, 2)
    together, memory = model.read(model.empty(3), tokens, ratio_of)
    for row in range(3):
        alone, own = model.read(model.empty(), tokens[row : row + 1], ratio_of)
        torch.testing.assert_close(together[row : row + 1], alone)
        torch.testing.assert_close(memory.keys[1][row : row + 1], own.keys[1])
    losses = [float(model.score(tokens[row : row + 1], ratio_of).loss.detach()) for row in range(3)]
    assert float(model.score(tokens, ratio_of).loss.detach()) == pytest.approx(sum(losses) / 3)


@pytest.mark.parametrize("ratio", [1, 2, 4, 8])
def test_bytes_are_one_part_in_ratio_of_the_raw_ones(wrapped, ratio):
    model, n = wrapped("qwen2"), 6 * WINDOW
    raw = model.base(tokens_of(n)).past_key_values
    n_raw_bytes = sum(kept.nbytes for layer in raw.layers for kept in (layer.keys, layer.values))
    _, memory = model.read(model.empty(), tokens_of(n), in_turn(ratio))
    assert memory.n_bytes == n_raw_bytes // ratio
    assert memory.n_cached == n // ratio
    kept = [*memory.keys, *memory.values, *memory.open_keys, *memory.open_values]
    # What the tensors hold on to, and not only what they show.
    assert sum(tensor.untyped_storage().nbytes() for tensor in kept) == memory.n_bytes


def test_a_memory_is_never_changed(wrapped):
    model, ratio_of = wrapped(), in_turn(2)
    _, memory = model.read(model.empty(), tokens_of(21), ratio_of)
    before = {name: array.copy() for name, array in memory.to_arrays().items()}
    first = model.read(memory, tokens_of(9, seed=5), ratio_of)[0]
    list(model.generate(memory, tokens_of(2), 12, (), ratio_of))
    model.read(memory, tokens_of(20, seed=6), ratio_of)
    assert torch.equal(model.read(memory, tokens_of(9, seed=5), ratio_of)[0], first)
    for name, array in memory.to_arrays().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_memory_comes_back_from_a_file(wrapped, tmp_path, dtype):
    model = wrapped("qwen2").to(dtype)
    _, memory = model.read(model.empty(), tokens_of(21), in_turn(4))
    write_tensors(tmp_path / "memory.safetensors", memory.to_arrays())
    again = Memory.from_arrays(read_tensors(tmp_path / "memory.safetensors"))
    assert (again.n_tokens, again.n_cached, again.n_bytes) == (memory.n_tokens, memory.n_cached, memory.n_bytes)
    more, ratio_of = tokens_of(11, seed=3), in_turn(2)
    assert torch.equal(model.read(again, more, ratio_of)[0], model.read(memory, more, ratio_of)[0])


def test_16_bit_weights_read_score_and_generate(wrapped):
    exact = float(wrapped().score(tokens_of(30), in_turn(4)).loss.detach())
    model = wrapped().to(torch.bfloat16)
    scores = model.score(tokens_of(30), in_turn(4))
    assert scores.loss.dtype == torch.float32  # the logits' type is too coarse for a loss
    assert float(scores.loss.detach()) == pytest.approx(exact, rel=0.05)
    _, memory = model.read(model.empty(), tokens_of(30), in_turn(4))
    assert memory.keys[0].dtype == torch.bfloat16
    assert len(list(model.generate(memory, tokens_of(3), 9, (), in_turn(4)))) == 9


def test_beacon_weights_may_be_finer_than_the_base(wrapped):
    model = wrapped().to(torch.bfloat16)
    for _, weight in model.beacon_parameters():
        weight.data = weight.data.float()
    model.score(tokens_of(30), in_turn(4)).loss.backward()
    assert all(weight.grad.dtype == torch.float32 for _, weight in model.beacon_parameters())


# Generating.


@pytest.mark.parametrize("n_read", [0, 5, 8, 19, 23])
def test_generated_tokens_are_the_likeliest_read_one_by_one(wrapped, n_read):
    model, ratio_of, question = wrapped("qwen3"), in_turn(2, 4), tokens_of(3, seed=4)
    memory = model.read(model.empty(), tokens_of(n_read), ratio_of)[1] if n_read else model.empty()
    expected, (logits, state) = [], model.read(memory, question, ratio_of)
    for _ in range(20):
        expected.append(int(logits.argmax()))
        logits, state = model.read(state, torch.tensor([expected[-1:]]), ratio_of)
    assert list(model.generate(memory, question, 20, (), ratio_of)) == expected
    assert len(set(expected)) > 2  # else the test says little
    end = expected[7]
    assert list(model.generate(memory, question, 20, (end,), ratio_of)) == expected[: expected.index(end)]


def test_generating_stops_when_asked(wrapped):
    asked = iter([False, False, True])
    model = wrapped()
    assert len(list(model.generate(model.empty(), tokens_of(3), 20, (), in_turn(2), lambda: next(asked)))) == 2


# Gradients.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("checkpoint", [False, True])
def test_gradients_flow_through_memory_and_only_beacon_weights_change(wrapped, kind, checkpoint):
    model, tokens = wrapped(kind), tokens_of(2 * WINDOW)
    labels = tokens.clone()
    labels[:, : WINDOW + 1] = -100  # predicted by tokens of the second window alone, which has no memory tokens
    before = {name: weight.detach().clone() for name, weight in model.base.named_parameters()}
    beacon = dict(model.beacon_parameters())
    assert {name for name, weight in model.base.named_parameters() if weight.requires_grad} == beacon.keys()
    optimiser = torch.optim.SGD([weight for weight in model.parameters() if weight.requires_grad], lr=0.1)
    model.score(tokens, in_turn(4), labels, checkpoint).loss.backward()
    optimiser.step()
    for name, weight in model.base.named_parameters():
        # Behind the last layer's attention nobody looks at a memory token, so its query is never asked.
        learns = name in beacon and "layers.1.self_attn.beacon_q" not in name
        assert (weight.grad is not None and bool(weight.grad.abs().max() > 0)) == learns, name
        assert torch.equal(weight.detach(), before[name]) == (not learns), name


@pytest.mark.parametrize("kind", KINDS)
def test_windows_computed_again_have_the_same_gradients(wrapped, kind):
    model, tokens = wrapped(kind), tokens_of(29, batch=2)
    gradients = []
    for checkpoint in (False, True):
        model.zero_grad()
        model.score(tokens, in_turn(2, 8), checkpoint=checkpoint).loss.backward()
        gradients.append([weight.grad.clone() for _, weight in model.beacon_parameters()])
    torch.testing.assert_close(gradients[0], gradients[1])


def test_gradients_are_the_slope_of_the_loss(wrapped):
    model, tokens = wrapped("qwen2"), tokens_of(3 * WINDOW)
    model.score(tokens, in_turn(4)).loss.backward()
    torch.manual_seed(3)
    for name, weight in model.beacon_parameters():
        along, step = torch.randn_like(weight), 1e-3
        losses = []
        for sign in (1, -1):
            weight.data += sign * step * along
            losses.append(float(model.score(tokens, in_turn(4)).loss.detach()))
            weight.data -= sign * step * along
        slope = (losses[0] - losses[1]) / (2 * step)
        assert slope == pytest.approx(float((weight.grad * along).sum()), rel=1e-2, abs=2e-4), name


def test_nothing_has_a_gradient_that_was_not_asked_for(wrapped):
    model = wrapped()
    logits, memory = model.read(model.empty(), tokens_of(20), in_turn(2))
    assert not any(tensor.requires_grad for tensor in (logits, *memory.keys, *memory.values, *memory.open_keys))
    with torch.no_grad():
        assert not model.score(tokens_of(20), in_turn(2)).loss.requires_grad


def test_labels_count_by_token_and_a_window_may_have_none(wrapped):
    model, tokens = wrapped(), tokens_of(3 * WINDOW, batch=2)
    labels = torch.full_like(tokens, -100)
    labels[0, 3], labels[1, 20] = tokens[0, 3], tokens[1, 20]
    scores = model.score(tokens, in_turn(2), labels)
    first, none, third = scores.window_losses
    assert math.isnan(none)
    assert scores.n_labels == 2
    assert float(scores.loss.detach()) == pytest.approx((first + third) / 2)


# What is refused.


def test_a_text_that_needs_too_many_positions_is_refused_before_it_is_read(wrapped):
    model = wrapped(max_position_embeddings=32)
    model.read(model.empty(), tokens_of(55), in_turn(2))
    with pytest.raises(TextTooLong, match=r"56 tokens needs 36 positions with ratio 2, .* has 32: .* with ratio 4"):
        model.read(model.empty(), tokens_of(56), in_turn(2))
    model.score(tokens_of(56), in_turn(2))  # its last window has no memory tokens
    with pytest.raises(TextTooLong, match="57 tokens"):
        model.score(tokens_of(57), in_turn(2))
    memory = model.read(model.empty(), tokens_of(40), in_turn(2))[1]
    with pytest.raises(TextTooLong, match="60 tokens"):
        next(model.generate(memory, tokens_of(10), 10, (), in_turn(2)))


def test_a_sliding_window_bounds_the_positions(wrapped):
    model = wrapped("mistral", sliding_window=20)
    assert model.max_positions == 20
    with pytest.raises(TextTooLong, match="has 20"):
        model.read(model.empty(), tokens_of(40), in_turn(2))
    assert wrapped("qwen2", sliding_window=20).max_positions == 128  # written there, and not used


def test_models_that_cannot_have_a_memory_are_refused(beacon_base):
    with pytest.raises(BeaconError, match=r"`Linear` does not support a beacon memory. Use one of Llama"):
        BeaconModel.wrap(torch.nn.Linear(2, 2))
    with pytest.raises(BeaconError, match="already has a beacon memory"):
        BeaconModel.wrap(BeaconModel.wrap(beacon_base()).base)
    with pytest.raises(BeaconError, match='The rotary embedding "dynamic" depends'):
        rope = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10_000.0}
        BeaconModel.wrap(beacon_base(rope_parameters=rope))
    with pytest.raises(BeaconError, match="The window has 0 tokens"):
        BeaconModel.wrap(beacon_base(), 0)
    checkpointing = beacon_base()
    checkpointing.model.gradient_checkpointing = True
    with pytest.raises(BeaconError, match="Disable it"):
        BeaconModel.wrap(checkpointing)


@pytest.mark.parametrize("ratio", [0, -2, 3, 16])
def test_a_ratio_that_does_not_divide_the_window_is_refused(wrapped, ratio):
    model = wrapped()
    with pytest.raises(BeaconError, match=f"The ratio {ratio} does not divide the window of 8 tokens. Use"):
        model.read(model.empty(), tokens_of(20), in_turn(ratio))


def test_tokens_and_labels_must_fit(wrapped):
    model = wrapped()
    for tokens in (tokens_of(0), tokens_of(3, batch=2), tokens_of(3)[0]):
        with pytest.raises(BeaconError, match=r"Tokens must be \(1, at least 1\)"):
            model.read(model.empty(), tokens, in_turn(2))
    with pytest.raises(BeaconError, match=r"Labels \(1, 19\) must have the shape of the tokens \(1, 20\)"):
        model.score(tokens_of(20), in_turn(2), tokens_of(19))
    with pytest.raises(BeaconError, match="No token of this text has a label"):
        model.score(tokens_of(20), in_turn(2), torch.full((1, 20), -100))
