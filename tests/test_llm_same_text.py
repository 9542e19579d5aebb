"""One set of weights, three libraries: the tiny trained model writes the same text in each of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from weft.llm.local.model import LocalModel, LocalSettings
from weft.llm.prompting.formats import PROBE, FimChoice
from weft.llm.protocol import Cancel, CompletionRequest, PromptFragment

pytestmark = pytest.mark.local

# A prompt that a slow machine may take its time for: measured budgets would cut each library's prompts elsewhere.
SETTINGS = LocalSettings(context_tokens=1024, prompt_ms=1_000_000)
SHOP = '''"""Orders and what they cost."""

from dataclasses import dataclass


@dataclass
class Order:
    name: str
    price: int
    count: int = 1

    def total(self) -> int:
        return self.price * self.count


def cheapest(orders: list[Order]) -> Order:
    return min(orders, key=lambda order: order.total())


def names(orders: list[Order]) -> list[str]:
'''
PRICES = PromptFragment(
    ("prices.py",), "def discount(order, percent):\n    return order.total() * percent // 100\n", 0, 1.0
)


def python(prefix: str, suffix: str = "", **how: object) -> CompletionRequest:
    how = {"single_line": False, "max_new_tokens": 24, **how}
    return CompletionRequest("shop.py", "python", prefix, suffix, repository="shop", **how)


REQUESTS = {
    "next line": python(SHOP, "\n\ndef main():\n    pass\n"),
    "rest of a line": python(SHOP + "    return [order.", "]\n", single_line=True),
    "argument": python(SHOP + "    result = cheapest(", ")\n    return result.name\n"),
    "with a fragment": python(SHOP + "    ...\n\n\ndef reduced(order):\n    return ", "\n", fragments=(PRICES,)),
    "letters of a special token": python('text = "<|fim_middle|>"\nprint(', ")\n"),
    "other scripts": python("# Größe, 価格 und 🎲\nname = '", "'\n"),
    "nothing after": python("import os\n\n\ndef read(path):\n    with open(path) as file:\n        "),
    "nothing before": python("", "\nprint(os.getcwd())\n"),
}


def open_transformers(folder: Path, fim: FimChoice) -> LocalModel:
    pytest.importorskip("torch", reason="needs torch")
    pytest.importorskip("transformers", reason="needs transformers")
    from weft.llm.local.transformers_model import open_transformers

    return open_transformers(folder / "transformers", settings=SETTINGS, fim=fim, device="cpu", threads=1)


def open_onnx(folder: Path, fim: FimChoice) -> LocalModel:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    from weft.llm.local.onnx_model import open_onnx

    return open_onnx(folder / "onnx", settings=SETTINGS, fim=fim, threads=1)


def open_gguf(folder: Path, fim: FimChoice) -> LocalModel:
    from weft.llm.local.gguf_model import open_gguf

    return open_gguf(folder / "tiny-f32.gguf", settings=SETTINGS, fim=fim, threads=1)


def written(model: LocalModel) -> dict[str, str]:
    return {
        name: "".join(piece.text for piece in model.stream(request, Cancel())) for name, request in REQUESTS.items()
    }


@pytest.fixture(scope="module", params=[PROBE, FimChoice("none")], ids=["filling", "continuing"])
def fim(request: pytest.FixtureRequest) -> FimChoice:
    return request.param


@pytest.fixture(scope="module")
def expected(tiny_model: Path, fim: FimChoice) -> dict[str, str]:
    model = open_transformers(tiny_model, fim)
    texts = written(model)
    model.close()
    return texts


@pytest.mark.parametrize("opener", [open_onnx, open_gguf], ids=["onnx", "llama.cpp"])
def test_the_text_is_that_of_transformers(
    tiny_model: Path,
    expected: dict[str, str],
    fim: FimChoice,
    opener: Callable[[Path, FimChoice], LocalModel],
    request: pytest.FixtureRequest,
) -> None:
    if opener is open_gguf:
        request.getfixturevalue("llama_library")
    model = opener(tiny_model, fim)
    assert written(model) == expected
    # Once more, where caches of other requests are there to be used.
    assert written(model) == expected
    model.close()


def test_something_is_written(expected: dict[str, str], fim: FimChoice) -> None:
    """Texts that are all empty, or all the same, would be equal as well; a minute of training may give no more."""
    assert len({text for text in expected.values() if text.strip()}) >= 2


@pytest.mark.parametrize("name", ["tiny-f32.gguf", "tiny-q8_0.gguf"])
def test_both_tokenizers_cut_alike(tiny_model: Path, llama_library: None, name: str) -> None:
    from weft.llm.local.engines.llama_engine import LlamaModel, LlamaTokenizer
    from weft.llm.local.tokenizer import HfTokenizer

    ours = LlamaTokenizer(LlamaModel(tiny_model / name))
    theirs = HfTokenizer.open(tiny_model / "transformers")
    texts = [text for request in REQUESTS.values() for text in (request.prefix, request.suffix)]
    texts += [
        "\t\t  x = 1_000.5e3\r\n",
        "<|fim_prefix|><|endoftext|>",
        "日本語 ÀÉÎ\u00a0\u3000 \x00\x07",
        "a\ud800b",
        " " * 70,
    ]
    for text in texts:
        assert ours.encode(text) == theirs.encode(text), text
        assert [ours.bytes_of(token) for token in ours.encode(text)] == [
            theirs.bytes_of(token) for token in theirs.encode(text)
        ]
    assert ours.special_tokens == theirs.special_tokens
    assert (ours.start, ours.special("<|fim_middle|>")) == (theirs.start, theirs.special("<|fim_middle|>"))
    assert theirs.ends <= ours.ends
