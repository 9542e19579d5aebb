"""Beacon weights in files: our own folder with its base, and checkpoints by the published names."""

import json
from pathlib import Path

import pytest

for _name in ("torch", "transformers", "safetensors"):
    pytest.importorskip(_name, reason=f"a beacon memory needs {_name}: the extra local")

import torch  # noqa: E402
from safetensors.torch import save_file  # noqa: E402
from weft.llm.protocol import ModelMissing  # noqa: E402
from weft.memory.memorag.beacon import BeaconError  # noqa: E402
from weft.memory.memorag.beacon.checkpoint import (  # noqa: E402
    load_beacon,
    load_published,
    read_manifest,
    save_beacon,
)
from weft.memory.memorag.beacon.model import BeaconModel  # noqa: E402

pytestmark = [pytest.mark.local, pytest.mark.usefixtures("one_torch_thread")]

# As configurations of MemoRAG's published checkpoints say it.
PUBLISHED = {
    "beacon_window": 8,
    "beacon_stride": 8,
    "beacon_attn": "full-coverage",
    "beacon_attend_prev": True,
    "beacon_pos": "interleave",
    "beacon_param": ["q", "k", "v"],
    "beacon_ratio": [2, 4, 8],
    "beacon_sink_size": 0,
    "beacon_parallel_window": 1,
}


TOKENS = torch.randint(0, 40, (1, 37), generator=torch.Generator().manual_seed(0))


def ratio_of(number: int) -> int:
    return 4


def loss_of(model: BeaconModel) -> torch.Tensor:
    with torch.no_grad():
        return model.score(TOKENS, ratio_of).loss


def train_a_step(model: BeaconModel) -> None:
    model.zero_grad()
    model.score(TOKENS, ratio_of).loss.backward()
    for _, weight in model.beacon_parameters():
        weight.data -= 0.05 * weight.grad


@pytest.fixture
def trained(beacon_base) -> BeaconModel:
    model = BeaconModel.wrap(beacon_base("qwen2"), 8)
    train_a_step(model)
    return model


def published_state(with_bias: bool, n_layers: int = 2) -> dict[str, torch.Tensor]:
    """The beacon's part of a published checkpoint, written out by name; numbers are random."""
    generator = torch.Generator().manual_seed(7)
    state = {"model.beacon_embed_tokens.weight": torch.randn(1, 32, generator=generator)}
    for layer in range(n_layers):
        for name, n_out in (("q", 32), ("k", 16), ("v", 16)):
            at = f"model.layers.{layer}.self_attn.beacon_{name}_proj"
            state[f"{at}.weight"] = torch.randn(n_out, 32, generator=generator)
            if with_bias:
                state[f"{at}.bias"] = torch.randn(n_out, generator=generator)
    return state


def write_published(folder: Path, base: object, state: dict[str, torch.Tensor], **config: object) -> None:
    """A full checkpoint in two files with an index, as the hub has them."""
    whole = {name: tensor.clone().contiguous() for name, tensor in base.state_dict().items()} | state
    names = sorted(whole)
    files = {name: f"model-0000{1 + n % 2}-of-00002.safetensors" for n, name in enumerate(names)}
    folder.mkdir(exist_ok=True)
    for file in set(files.values()):
        save_file({name: whole[name] for name in names if files[name] == file}, folder / file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": files}))
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen2"} | PUBLISHED | config))


# Our own folder.


def test_saved_loaded_and_trained_on_is_as_trained_on(trained, beacon_base, tmp_path):
    save_beacon(trained, tmp_path, ratios=(2, 4))
    again = load_beacon(beacon_base("qwen2"), tmp_path)
    assert again.window == 8
    assert torch.equal(loss_of(again), loss_of(trained))
    for model in (trained, again):
        train_a_step(model)
    assert torch.equal(loss_of(again), loss_of(trained))
    assert {path.name for path in tmp_path.iterdir()} == {"beacon.json", "beacon.safetensors"}
    assert read_manifest(tmp_path).ratios == (2, 4)


def test_the_placement_is_saved_and_read_with_the_weights(beacon_base, tmp_path):
    model = BeaconModel.wrap(beacon_base("qwen2"), 8, "appended")
    train_a_step(model)
    save_beacon(model, tmp_path)
    again = load_beacon(beacon_base("qwen2"), tmp_path)
    assert again.placement == read_manifest(tmp_path).placement == "appended"
    assert torch.equal(loss_of(again), loss_of(model))


def test_weights_of_version_1_are_interleaved(trained, beacon_base, tmp_path):
    save_beacon(trained, tmp_path)
    stored = json.loads((tmp_path / "beacon.json").read_text())
    del stored["placement"]
    (tmp_path / "beacon.json").write_text(json.dumps(stored | {"version": 1}))
    again = load_beacon(beacon_base("qwen2"), tmp_path)
    assert again.placement == "interleaved"
    assert torch.equal(loss_of(again), loss_of(trained))
    (tmp_path / "beacon.json").write_text(json.dumps(stored | {"placement": "before"}))
    with pytest.raises(BeaconError, match="placement 'before' is unknown"):
        read_manifest(tmp_path)


def test_a_published_checkpoint_says_where_its_memory_tokens_are(beacon_base, tmp_path):
    for value, placement in (("append", "appended"), ("interleave", "interleaved")):
        write_published(tmp_path / value, beacon_base("qwen2"), published_state(with_bias=True), beacon_pos=value)
        assert load_beacon(beacon_base("qwen2"), tmp_path / value).placement == placement


def test_only_the_beacon_is_saved(trained, tmp_path):
    save_beacon(trained, tmp_path)
    n_bytes = sum(weight.nbytes for _, weight in trained.beacon_parameters())
    assert n_bytes < (tmp_path / "beacon.safetensors").stat().st_size < n_bytes + 3000


def test_weights_of_another_model_are_refused(trained, beacon_base, tmp_path):
    trained.base.config.name_or_path = "/somewhere/small-base"
    save_beacon(trained, tmp_path)
    assert "/somewhere" not in (tmp_path / "beacon.json").read_text()
    with pytest.raises(BeaconError, match=r"to a base model of another architecture. Load small-base, or train"):
        load_beacon(beacon_base("qwen3"), tmp_path)
    with pytest.raises(BeaconError, match="another architecture"):
        load_beacon(beacon_base("qwen2", rope_parameters={"rope_type": "default", "rope_theta": 500.0}), tmp_path)
    with pytest.raises(BeaconError, match=r"to another model of this architecture. Load small-base"):
        load_beacon(beacon_base("qwen2", seed=1), tmp_path)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_base_may_be_loaded_in_another_precision(trained, beacon_base, tmp_path, dtype):
    save_beacon(trained, tmp_path)
    again = load_beacon(beacon_base("qwen2").to(dtype), tmp_path)
    assert all(weight.dtype == torch.float64 for _, weight in again.beacon_parameters())  # as stored
    assert float(loss_of(again)) == pytest.approx(float(loss_of(trained)), rel=0.05)


def test_a_refused_base_is_unchanged(trained, beacon_base, tmp_path):
    save_beacon(trained, tmp_path)
    base = beacon_base("qwen3")
    before = list(base.state_dict())
    with pytest.raises(BeaconError):
        load_beacon(base, tmp_path)
    assert list(base.state_dict()) == before
    assert all(weight.requires_grad for weight in base.parameters())


def test_a_folder_that_is_not_whole_says_what_to_do(trained, beacon_base, tmp_path):
    def load() -> None:
        load_beacon(beacon_base("qwen2"), tmp_path)

    with pytest.raises(ModelMissing, match=r"contains no beacon weights .* Train them with"):
        load()
    save_beacon(trained, tmp_path)
    manifest = (tmp_path / "beacon.json").read_text()
    (tmp_path / "beacon.json").write_text(manifest.replace('"version": 2', '"version": 3'))
    with pytest.raises(BeaconError, match=r"is version 3; this Weft reads up to 2. Upgrade"):
        load()
    for broken in (manifest[:40], "[]", '{"version": 1}'):
        (tmp_path / "beacon.json").write_text(broken)
        with pytest.raises(BeaconError, match=r"beacon.json can't be read"):
            load()
    (tmp_path / "beacon.json").write_text(manifest)
    weights = (tmp_path / "beacon.safetensors").read_bytes()
    (tmp_path / "beacon.safetensors").write_bytes(weights[:-100])
    with pytest.raises(ModelMissing, match=r"beacon.safetensors can't be read"):
        load()


def test_a_stopped_save_leaves_no_folder_that_looks_whole(trained, tmp_path, monkeypatch):
    save_beacon(trained, tmp_path)
    monkeypatch.setattr("safetensors.torch.save_file", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        save_beacon(trained, tmp_path)
    assert not (tmp_path / "beacon.json").exists()


# Published checkpoints.


@pytest.mark.parametrize(("kind", "with_bias"), [("qwen2", True), ("mistral", False), ("llama", False)])
def test_published_names_reach_their_places(beacon_base, kind, with_bias):
    state, base = published_state(with_bias), beacon_base(kind)
    model = load_published(base, {**base.state_dict(), **state}, window=8)
    assert {name for name, _ in model.beacon_parameters()} == state.keys()
    for name, weight in model.beacon_parameters():
        assert torch.equal(weight.detach(), state[name].double())
        assert weight.requires_grad


def test_a_full_checkpoint_in_parts_is_read_for_its_beacon(beacon_base, tmp_path):
    state = published_state(with_bias=True)
    write_published(tmp_path, beacon_base("qwen2"), state)
    model = load_beacon(beacon_base("qwen2"), tmp_path)
    assert model.window == 8
    assert torch.equal(loss_of(model), loss_of(load_published(beacon_base("qwen2"), state, 8)))


def test_a_published_memory_of_another_form_is_refused(beacon_base, tmp_path):
    state = published_state(with_bias=True)

    def check(match: str, **config: object) -> None:
        write_published(tmp_path, beacon_base("qwen2"), state, **config)
        with pytest.raises(BeaconError, match=match):
            load_beacon(beacon_base("qwen2"), tmp_path)

    check("has beacon_pos 'before'; this memory reads 'interleave' or 'append' only", beacon_pos="before")
    check("has beacon_stride 4; this memory reads 8 only", beacon_stride=4)
    check("has beacon_sink_size 1", beacon_sink_size=1)
    check("has beacon_attn 'segmentation'", beacon_attn="segmentation")
    check("says nothing of a beacon memory", beacon_window=None)


def test_beacon_names_that_are_not_understood_are_an_error(beacon_base):
    state = published_state(with_bias=True)
    for name in (
        "model.layers.0.self_attn.beacon_o_proj.weight",
        "model.layers.1.mlp.beacon_up_proj.weight",
        "model.layers.2.self_attn.beacon_q_proj.weight",  # of a third layer
    ):
        with pytest.raises(BeaconError, match=f"The checkpoint has the unknown parameter `{name}`"):
            load_published(beacon_base("qwen2"), {**state, name: torch.zeros(1)}, 8)
    with pytest.raises(BeaconError, match=r"unknown parameter `.*beacon_k_proj.bias`"):
        load_published(beacon_base("llama"), state, 8)


def test_beacon_names_that_are_missing_are_an_error(beacon_base):
    for name in ("model.beacon_embed_tokens.weight", "model.layers.1.self_attn.beacon_k_proj.bias"):
        state = published_state(with_bias=True)
        del state[name]
        with pytest.raises(BeaconError, match=f"The checkpoint lacks `{name}"):
            load_published(beacon_base("qwen2"), state, 8)
    no_bias = {name: tensor for name, tensor in published_state(with_bias=True).items() if "v_proj.bias" not in name}
    with pytest.raises(BeaconError, match=r"lacks `model.layers.0.self_attn.beacon_v_proj.bias"):
        load_published(beacon_base("qwen2"), no_bias, 8)
    with pytest.raises(BeaconError, match=r"lacks `model.beacon_embed_tokens.weight"):
        load_published(beacon_base("qwen2"), beacon_base("qwen2").state_dict(), 8)


def test_a_projection_that_was_not_trained_stays_the_bases(beacon_base):
    state = {name: tensor for name, tensor in published_state(with_bias=True).items() if "beacon_q" not in name}
    model = load_published(beacon_base("qwen2"), state, 8)
    for layer in model.base.model.layers:
        assert torch.equal(layer.self_attn.beacon_q_proj.weight, layer.self_attn.q_proj.weight)


def test_weights_of_another_shape_are_an_error(beacon_base):
    with pytest.raises(BeaconError, match=r"has the shape \(32, 32\), and this base model needs \(64, 64\)"):
        base = beacon_base("qwen2", hidden_size=64, num_attention_heads=8, num_key_value_heads=2)
        state = published_state(with_bias=True)
        del state["model.beacon_embed_tokens.weight"]
        load_published(base, {"model.beacon_embed_tokens.weight": torch.zeros(1, 64), **state}, 8)


def test_pickled_checkpoints_are_not_read(beacon_base, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(PUBLISHED))
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80")
    with pytest.raises(ModelMissing, match="pickle files are not supported"):
        load_beacon(beacon_base("qwen2"), tmp_path)
