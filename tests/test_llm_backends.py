"""Model backends: the model of a configuration, its FIM setting, and messages for a wrong configuration."""

from __future__ import annotations

from typing import Any

import pytest
from weft.llm.backends import FIM_WORDS, ModelConfig, fim_choice, open_model
from weft.llm.http.llama_cpp import LlamaCppServer
from weft.llm.prompting.formats import FIM_FORMATS, FimChoice, FimTokens
from weft.llm.protocol import ModelMissing


@pytest.mark.parametrize("backend", ["none", "workspace"])
def test_backends_that_need_no_model_open_none(backend: str):
    assert open_model(ModelConfig(backend=backend)) is None


def test_opening_a_server_sends_no_request():
    assert isinstance(open_model(ModelConfig(backend="llama.cpp", url="http://127.0.0.1:1")), LlamaCppServer)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (ModelConfig(backend="transformer"), "Did you mean transformers"),
        (ModelConfig(backend="transformers"), "needs `path`"),
        (ModelConfig(backend="onnx"), "needs `path`"),
        (ModelConfig(backend="llama.cpp"), "needs `url` or `path`"),
        (ModelConfig(backend="llama.cpp", url="http://localhost", path="coder.gguf"), "Set one of them"),
        (ModelConfig(backend="llama.cpp", url="localhost:8080"), "http://host:port"),
        (ModelConfig(backend="llama.cpp", url="http://localhost", fim="gwen"), "Did you mean qwen"),
        (ModelConfig(backend="llama.cpp", url="http://localhost", fim_prefix="<PRE>"), 'fim = "custom"'),
        (ModelConfig(backend="llama.cpp", url="http://localhost", fim="custom"), "`fim_prefix` and `fim_suffix`"),
        (ModelConfig(backend="openai"), "needs `url`"),
        (ModelConfig(backend="onnx", path="model", fim="suffix"), "is for servers, not for onnx"),
        (ModelConfig(backend="openai", url="http://localhost", next_edit="swep"), "Did you mean sweep"),
    ],
)
def test_the_message_for_a_wrong_configuration_says_what_to_do(config: ModelConfig, says: str):
    with pytest.raises(ModelMissing, match=says):
        open_model(config)


def test_without_a_setting_the_format_is_detected():
    assert fim_choice(ModelConfig()) == FimChoice("probe")


@pytest.mark.parametrize("name", FIM_FORMATS)
def test_a_format_is_chosen_by_its_name(name: str):
    assert fim_choice(ModelConfig(fim=name)) == FimChoice("tokens", FIM_FORMATS[name])


@pytest.mark.parametrize("way", ["suffix", "chat", "none"])
def test_the_other_kinds_of_infilling_have_no_tokens(way: str):
    assert fim_choice(ModelConfig(fim=way)) == FimChoice(way)


def test_every_value_of_fim_is_tested_here():
    assert set(FIM_WORDS) == {*FIM_FORMATS, "custom", "suffix", "chat", "none"}


@pytest.mark.parametrize(
    ("settings", "tokens"),
    [
        ({"fim_middle": "<m>"}, FimTokens("<p>", "<s>", "<m>")),
        ({"fim_middle": "<m>", "fim_suffix_first": True}, FimTokens("<p>", "<s>", "<m>", suffix_first=True)),
        ({}, FimTokens("<p>", "<s>", suffix_first=True)),
    ],
)
def test_an_unknown_format_is_given_by_its_tokens(settings: dict[str, Any], tokens: FimTokens):
    config = ModelConfig(fim="custom", fim_prefix="<p>", fim_suffix="<s>", **settings)
    assert fim_choice(config) == FimChoice("tokens", tokens)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (ModelConfig(fim="custom", fim_prefix="<p>"), "needs `fim_prefix` and `fim_suffix`"),
        (ModelConfig(fim="qwen", fim_middle="<m>"), '`fim_middle` is used with fim = "custom" only'),
        (ModelConfig(fim_suffix_first=True), '`fim_suffix_first` is used with fim = "custom" only'),
    ],
)
def test_tokens_that_would_not_be_used_are_a_mistake(config: ModelConfig, says: str):
    with pytest.raises(ModelMissing, match=says):
        fim_choice(config)
