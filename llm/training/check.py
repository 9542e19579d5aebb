"""Numerical agreement of the exports with the exported model: logits, greedy text and token numbers.

Owns the comparison and its tolerances. The exported model is the trained one with its weights quantised to 8 bits; the
first line of the table shows the effect of quantisation. Each export runs in the library that serves it, with one
thread. The table names the libraries that are not installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Protocol

import httpx
import numpy as np

from ..local.engines.onnx_engine import OnnxEngine
from .export import GGUF_KINDS
from .model import SmallLlama
from .quantisation import quantised
from .same_text import N_GREEDY_TOKENS, Logits, greedy
from .server_process import running_server
from .tokenizer import TrainingTokenizer

# With the same 32-bit weights only the order of summation differs.
MAX_DIFFERENCE = 5e-3
MAX_PROMPT_TOKENS = 1 << 20  # no limit: the model has its own

# Texts on which tokenizers tend to differ: white space, digits, other scripts, emoji sequences, contractions.
TOKENIZER_EDGE_CASES = (
    "def f(x):\n\treturn x  # tab\n\n\n    \n",
    "x = 1234567890.5e-10 + 0xFF ½ ٣ Ⅷ",
    "naïve = 'žluťoučký 漢字 🦊👩‍👩‍👧 \u200b\u00a0 end'",
    "it's we'll I'D they're 'tis",
    "a" + " " * 70 + "b\r\n \t \n\n\tc",
    "<|fim_prefix|> as letters, and <|endoftext|>",
)


class ExportRunner(Protocol):
    """One export in the library that serves it."""

    def logits(self, tokens: Sequence[int]) -> Logits:
        """The logits after every token."""
        ...

    def encode(self, text: str) -> list[int]:
        """The tokens of plain text; the text of a special token is not a special token."""
        ...


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of an export with the exported model."""

    name: str
    difference: float  # the largest absolute difference of a logit
    same_best: float  # share of positions with the same argmax
    same_text: float  # share of prompts with the same greedy text
    same_tokens: bool
    exact: bool  # whether it computes in 32 bits, so that it must agree

    @property
    def agrees(self) -> bool:
        right = self.difference <= MAX_DIFFERENCE and self.same_text == 1.0
        return self.same_tokens and (right or not self.exact)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check."""

    found: tuple[Agreement, ...]  # one for each export whose library is installed
    missing: tuple[str, ...]  # a line for each of the others
    texts: tuple[str, ...]  # the greedy text of the exported model for each prompt


def check_exports(
    trained: SmallLlama, tokenizer: TrainingTokenizer, out: Path, name: str, prompts: Sequence[Sequence[int]]
) -> CheckResult:
    """Compare every export in `out` with `trained` after quantisation, and that with `trained` itself."""
    model = quantised(trained)
    found, missing = [], []
    ours = [_torch_logits(model, prompt) for prompt in prompts]
    texts = [greedy(partial(_torch_logits, model), prompt, tokenizer.ends) for prompt in prompts]
    unquantised: RunnerEntry = ("trained, not quantised", partial(_TrainedRunner, trained, tokenizer), False)
    for title, open_runner, exact in (unquantised, *_runners(out, name)):
        try:
            runner = open_runner()
        except ImportError as error:
            missing.append(f"{title}: not read, {error.name or error} is not installed")
            continue
        theirs = [runner.logits(prompt)[:, : model.shape.n_vocabulary] for prompt in prompts]
        best = [mine.argmax(-1) == other.argmax(-1) for mine, other in zip(ours, theirs, strict=True)]
        their_texts = [greedy(runner.logits, prompt, tokenizer.ends) for prompt in prompts]
        found.append(
            Agreement(
                title,
                max(float(np.abs(mine - other).max()) for mine, other in zip(ours, theirs, strict=True)),
                float(np.concatenate(best).mean()),
                float(np.mean([mine == other for mine, other in zip(texts, their_texts, strict=True)])),
                all(runner.encode(text) == tokenizer.encode(text) for text in TOKENIZER_EDGE_CASES),
                exact,
            )
        )
    return CheckResult(tuple(found), tuple(missing), tuple(map(tokenizer.decode, texts)))


def check_server(
    binary: Path, trained: SmallLlama, tokenizer: TrainingTokenizer, gguf: Path, prompts: Sequence[Sequence[int]]
) -> tuple[float, bool]:
    """For a real llama-server on `gguf`: the share of prompts with the same greedy text, and whether tokens agree."""
    model, same = quantised(trained), 0
    # A KV cache in 16 bits would dominate the difference.
    exact = ["-t", "1", "-np", "1", "--cache-type-k", "f32", "--cache-type-v", "f32"]
    command = [str(binary), "-m", str(gguf), "-c", str(model.shape.context_tokens), *exact]
    with running_server(command) as (url, _), httpx.Client(base_url=url, timeout=60, trust_env=False) as server:
        for prompt in prompts:
            body = {"prompt": list(prompt), "n_predict": N_GREEDY_TOKENS, "temperature": 0, "return_tokens": True}
            tokens = server.post("/completion", json=body).json()["tokens"]
            theirs = [token for token in tokens if token not in tokenizer.ends]
            same += theirs == greedy(partial(_torch_logits, model), prompt, tokenizer.ends)
        tokens = [
            server.post("/tokenize", json={"content": text, "parse_special": False}).json()["tokens"]
            for text in TOKENIZER_EDGE_CASES
        ]
    alike = all(theirs == tokenizer.encode(text) for theirs, text in zip(tokens, TOKENIZER_EDGE_CASES, strict=True))
    return same / max(1, len(prompts)), alike


def agreement_table(checked: CheckResult) -> str:
    lines = [
        "| export | largest difference of a logit | same best token | same greedy text | same tokens | agrees |",
        "|---|---|---|---|---|---|",
    ]
    for a in checked.found:
        words = "yes" if a.agrees else "NO"
        verdict = words if a.exact else "other precision"
        tokens = "yes" if a.same_tokens else "NO"
        lines.append(
            f"| {a.name} | {a.difference:.2g} | {a.same_best:.1%} | {a.same_text:.0%} | {tokens} | {verdict} |"
        )
    return "\n".join([*lines, "", *(f"- {line}" for line in checked.missing)]).rstrip() + "\n"


RunnerEntry = tuple[str, Callable[[], ExportRunner], bool]  # title, constructor, and whether it must agree


def _runners(out: Path, name: str) -> Iterator[RunnerEntry]:
    yield "transformers", partial(_TransformersRunner, out / "transformers"), True
    yield "onnx", partial(_OnnxRunner, out / "onnx" / "model.onnx"), True
    yield "onnx int8", partial(_OnnxRunner, out / "onnx" / "model_int8.onnx"), True
    for kind in GGUF_KINDS:
        path = out / f"{name}-{kind}.gguf"
        yield f"gguf {kind} (llama-cpp-python)", partial(_LlamaRunner, path), kind == "f32"


class _TrainedRunner:
    """The model before quantisation."""

    def __init__(self, trained: SmallLlama, tokenizer: TrainingTokenizer) -> None:
        self.encode = tokenizer.encode
        self.logits = partial(_torch_logits, trained)


class _TransformersRunner:
    def __init__(self, folder: Path) -> None:
        transformers = import_module("transformers")
        self._torch = import_module("torch")
        self._model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="float32").eval()
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def logits(self, tokens: Sequence[int]) -> Logits:
        with self._torch.inference_mode():
            logits: Logits = self._model(self._torch.tensor([list(tokens)])).logits[0].numpy()
        return logits

    def encode(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False, split_special_tokens=True).input_ids)


class _OnnxRunner:
    def __init__(self, path: Path) -> None:
        import_module("onnxruntime")  # its ImportError leaves this export out
        self._engine = OnnxEngine(path, context_tokens=MAX_PROMPT_TOKENS, threads=1)
        self.encode = TrainingTokenizer.load(path.parent / "tokenizer.json").encode

    def logits(self, tokens: Sequence[int]) -> Logits:
        """In two parts, so that the comparison includes the KV cache."""
        cache, half = self._engine.new_cache(), len(tokens) // 2
        parts = [part for part in (tokens[:half], tokens[half:]) if part]
        return np.concatenate([self._engine.forward(cache, part, len(part)).logits() for part in parts])


class _LlamaRunner:
    def __init__(self, path: Path) -> None:
        llama_cpp = import_module("llama_cpp")
        f32 = llama_cpp.GGML_TYPE_F32  # a KV cache in 16 bits would dominate the difference
        options = {"n_threads": 1, "n_threads_batch": 1, "logits_all": True, "verbose": False}
        self._llama = llama_cpp.Llama(str(path), n_ctx=0, type_k=f32, type_v=f32, **options)

    def logits(self, tokens: Sequence[int]) -> Logits:
        self._llama.reset()
        self._llama.eval(list(tokens))
        scores: Logits = np.array(self._llama.scores[: len(tokens)], np.float32)
        return scores

    def encode(self, text: str) -> list[int]:
        return list(self._llama.tokenize(text.encode(), add_bos=False, special=False))


def _torch_logits(model: SmallLlama, tokens: Sequence[int]) -> Logits:
    torch = import_module("torch")
    with torch.inference_mode():
        logits: Logits = model(torch.tensor([list(tokens)]))[0].numpy()
    return logits
