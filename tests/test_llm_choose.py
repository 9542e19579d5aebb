"""From a configuration to a model: what is opened, and what is said of a wrong one."""

from __future__ import annotations

import pytest
from weft.llm.choose import ModelConfig, open_model
from weft.llm.http.llama_cpp import LlamaCppServer
from weft.llm.protocol import ModelMissing


@pytest.mark.parametrize("backend", ["none", "workspace"])
def test_backends_that_need_no_model_open_none(backend: str):
    assert open_model(ModelConfig(backend=backend)) is None


def test_a_server_is_not_asked_when_it_is_opened():
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
    ],
)
def test_a_wrong_configuration_is_said_with_what_is_right(config: ModelConfig, says: str):
    with pytest.raises(ModelMissing, match=says):
        open_model(config)
