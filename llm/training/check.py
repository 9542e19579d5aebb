"""Agreement of the exports: logits, greedy text and token numbers of each, against the model that was exported.

Owns the comparison and its limits. That model is the trained one with its weights rounded to 8 bits; what rounding
did stands in the table's first line. Every export is read by the library that will serve it, at one thread.
What is not installed is named in the table, not passed over.
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

from .eight_bits import rounded
from .export import GGUF_KINDS
from .model import SmallLlama
from .same_text import N_GREEDY_TOKENS, Logits, greedy
from .server_process import running_server
from .tokenizer import TrainingTokenizer

# Where the weights are the same 32 bits only the order of sums differs.
MOST_DIFFERENCE = 5e-3

# What tokenizers disagree about, if they do: white space, digits, other scripts, half characters, contractions.
AWKWARD_TEXTS = (
    "def f(x):\n\treturn x  # tab\n\n\n    \n",
    "x = 1234567890.5e-10 + 0xFF ½ ٣ Ⅷ",
    "naïve = 'žluťoučký 漢字 🦊👩‍👩‍👧 \u200b\u00a0 end'",
    "it's we'll I'D they're 'tis",
    "a" + " " * 70 + "b\r\n \t \n\n\tc",
    "<|fim_prefix|> as letters, and <|endoftext|>",
)


class Reader(Protocol):
    """One export, as the library that serves it reads it."""

    def logits(self, tokens: Sequence[int]) -> Logits:
        """Of every token."""
        ...

    def encode(self, text: str) -> list[int]:
        """Plain text, letters of special tokens being letters."""
        ...


@dataclass(frozen=True, slots=True)
class Agreement:
    """How an export compares with the model that was exported."""

    name: str
    difference: float  # the largest of any logit
    same_best: float  # share of tokens after which both put the same one first
    same_text: float  # share of prompts that both continue alike
    same_tokens: bool
    exact: bool  # it computes in 32 bits, so it must agree

    @property
    def agrees(self) -> bool:
        right = self.difference <= MOST_DIFFERENCE and self.same_text == 1.0
        return self.same_tokens and (right or not self.exact)


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found."""

    found: tuple[Agreement, ...]  # one for each export that can be read here
    missing: tuple[str, ...]  # a line for each that can't
    texts: tuple[str, ...]  # what the exported model wrote after each prompt


def check_exports(
    trained: SmallLlama, tokenizer: TrainingTokenizer, out: Path, name: str, prompts: Sequence[Sequence[int]]
) -> Checked:
    """Every export in `out` against `trained` with its weights in 8 bits, and that against `trained` itself."""
    model = rounded(trained)
    found, missing = [], []
    ours = [_torch_logits(model, prompt) for prompt in prompts]
    texts = [greedy(partial(_torch_logits, model), prompt, tokenizer.ends) for prompt in prompts]
    for title, open_reader, exact in (_unrounded(trained, tokenizer), *_readers(out, name)):
        try:
            reader = open_reader()
        except ImportError as error:
            missing.append(f"{title}: not read, {error.name or error} is not installed")
            continue
        theirs = [reader.logits(prompt)[:, : model.shape.n_vocabulary] for prompt in prompts]
        best = [mine.argmax(-1) == other.argmax(-1) for mine, other in zip(ours, theirs, strict=True)]
        their_texts = [greedy(reader.logits, prompt, tokenizer.ends) for prompt in prompts]
        found.append(
            Agreement(
                title,
                max(float(np.abs(mine - other).max()) for mine, other in zip(ours, theirs, strict=True)),
                float(np.concatenate(best).mean()),
                float(np.mean([mine == other for mine, other in zip(texts, their_texts, strict=True)])),
                all(reader.encode(text) == tokenizer.encode(text) for text in AWKWARD_TEXTS),
                exact,
            )
        )
    return Checked(tuple(found), tuple(missing), tuple(map(tokenizer.decode, texts)))


def check_server(
    binary: Path, trained: SmallLlama, tokenizer: TrainingTokenizer, gguf: Path, prompts: Sequence[Sequence[int]]
) -> tuple[float, bool]:
    """Of a real llama-server on `gguf`: the share of prompts it continues alike, and whether it tokenizes alike."""
    model, same = rounded(trained), 0
    # Keys and values in 16 bits would be most of the difference.
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
            for text in AWKWARD_TEXTS
        ]
    alike = all(theirs == tokenizer.encode(text) for theirs, text in zip(tokens, AWKWARD_TEXTS, strict=True))
    return same / max(1, len(prompts)), alike


def agreement_table(checked: Checked) -> str:
    lines = [
        "| export | largest difference of a logit | same best token | same greedy text | same tokens | agrees |",
        "|---|---|---|---|---|---|",
    ]
    for a in checked.found:
        words = "yes" if a.agrees else "NO"
        verdict = words if a.exact else "rounds otherwise"
        tokens = "yes" if a.same_tokens else "NO"
        lines.append(
            f"| {a.name} | {a.difference:.2g} | {a.same_best:.1%} | {a.same_text:.0%} | {tokens} | {verdict} |"
        )
    return "\n".join([*lines, "", *(f"- {line}" for line in checked.missing)]).rstrip() + "\n"


Opening = tuple[str, Callable[[], Reader], bool]  # of a reader: its title, how to get it, and whether it is exact


def _unrounded(trained: SmallLlama, tokenizer: TrainingTokenizer) -> Opening:
    return "trained, not rounded", partial(_TrainedReader, trained, tokenizer), False


def _readers(out: Path, name: str) -> Iterator[Opening]:
    yield "transformers", partial(_TransformersReader, out / "transformers"), True
    yield "onnx", partial(_OnnxReader, out / "onnx" / "model.onnx"), True
    yield "onnx int8", partial(_OnnxReader, out / "onnx" / "model_int8.onnx"), True
    for kind in GGUF_KINDS:
        path = out / f"{name}-{kind}.gguf"
        yield f"gguf {kind} (llama-cpp-python)", partial(_LlamaReader, path), kind == "f32"


class _TrainedReader:
    """The model before its weights were rounded."""

    def __init__(self, trained: SmallLlama, tokenizer: TrainingTokenizer) -> None:
        self.encode = tokenizer.encode
        self.logits = partial(_torch_logits, trained)


class _TransformersReader:
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


class _OnnxReader:
    def __init__(self, path: Path) -> None:
        onnxruntime = import_module("onnxruntime")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._past = {
            part.name: (1, part.shape[1], 0, part.shape[3])
            for part in self._session.get_inputs()
            if part.name.startswith("past_key_values")
        }
        self._tokenizer = TrainingTokenizer.load(path.parent / "tokenizer.json")

    def logits(self, tokens: Sequence[int]) -> Logits:
        """In two pieces, so that the cache is part of what is compared."""
        past = {name: np.zeros(shape, np.float32) for name, shape in self._past.items()}
        half = len(tokens) // 2
        rows = []
        for start, end in ((0, half), (half, len(tokens))):
            if start == end:
                continue
            inputs = {
                "input_ids": np.array([tokens[start:end]], np.int64),
                "attention_mask": np.ones((1, end), np.int64),
                "position_ids": np.arange(start, end, dtype=np.int64)[None],
                "num_logits_to_keep": np.array(end - start, np.int64),
            }
            logits, *present = self._session.run(None, {**inputs, **past})
            past = dict(zip(past, present, strict=True))
            rows.append(logits[0])
        return np.concatenate(rows)

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text)


class _LlamaReader:
    def __init__(self, path: Path) -> None:
        llama_cpp = import_module("llama_cpp")
        f32 = llama_cpp.GGML_TYPE_F32  # keys and values in 16 bits would be most of the difference
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
