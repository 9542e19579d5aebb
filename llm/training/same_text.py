"""Reproducibility check: a fixed set of prompts, and the greedy texts of a model for them.

The prompts are in `same_text.txt`: small invented programs with a cursor, from no package in the training or evaluation
data. The texts of the trained model are stored beside its exports and in the release, so that a user can reproduce
them with onnxruntime alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..library.release_file import BadRelease
from ..local.engines.onnx_engine import OnnxEngine
from ..prompting.prompts import build_prompt
from ..protocol import CompletionRequest, PromptFragment
from .tokenizer import FORMAT, TrainingTokenizer

N_GREEDY_TOKENS = 24
# In a model's folder: `{"tokens": most tokens of a text, "prompts": as below, "texts": one for each prompt}`.
SAME_TEXT = "same_text.json"
PROMPTS = Path(__file__).with_suffix(".txt")

_CONTEXT_TOKENS = 1024

Logits = NDArray[np.float32]  # (T, vocabulary)


def fixed_requests(text: str) -> list[CompletionRequest]:
    """The prompts in `text`: in each repository the last file has the cursor, the others are fragments."""
    requests = []
    for block in text.split("#= ")[1:]:
        repository, *files = block.split("#- ")
        *fragments, (path, code) = [file.split("\n", 1) for file in files]
        prefix, suffix = code.split("<CURSOR>")
        shown = tuple(PromptFragment((path,), text, 0, 1.0) for path, text in fragments)
        requests.append(CompletionRequest(path, "python", prefix, suffix, shown, repository.strip()))
    return requests


def fixed_prompts(tokenizer: TrainingTokenizer, text: str = "") -> list[list[int]]:
    """The tokens of the fixed prompts, or of those in `text`, in the prompt format of serving."""
    requests = fixed_requests(text or PROMPTS.read_text(encoding="utf-8"))
    prompts = [build_prompt(request, FORMAT, tokenizer.count, _CONTEXT_TOKENS) for request in requests]
    return [[token for part in prompt.parts for token in tokenizer.encode_part(part)] for prompt in prompts]


def greedy(
    logits_of: Callable[[Sequence[int]], Logits],
    prompt: Sequence[int],
    ends: frozenset[int],
    n_tokens: int = N_GREEDY_TOKENS,
) -> list[int]:
    """Greedy decoding without a KV cache: every token is computed from the whole text."""
    written: list[int] = []
    while len(written) < n_tokens:
        best = int(logits_of([*prompt, *written])[-1].argmax())
        if best in ends:
            break
        written.append(best)
    return written


def save_texts(folder: Path, texts: Sequence[str]) -> None:
    """Write the text for each fixed prompt beside the exports."""
    content = {"tokens": N_GREEDY_TOKENS, "prompts": PROMPTS.read_text(encoding="utf-8"), "texts": list(texts)}
    (folder / SAME_TEXT).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def reproduce_texts(folder: Path) -> list[tuple[str, str]]:
    """For each prompt of an installed release, the text in the release and the text on this machine.

    Raises BadRelease when the folder is not a release, ModelMissing without onnxruntime.
    """
    model, *_ = (*folder.glob("*.onnx"), folder / "model.onnx")
    if missing := [path for path in (folder / SAME_TEXT, folder / "tokenizer.json", model) if not path.is_file()]:
        raise BadRelease(f"{missing[0]} does not exist. Name the folder that `weft models get FILE.zip` printed.")
    stored: Any = json.loads((folder / SAME_TEXT).read_text(encoding="utf-8"))
    engine = OnnxEngine(model, context_tokens=_CONTEXT_TOKENS, threads=1)
    tokenizer = TrainingTokenizer.load(folder / "tokenizer.json")

    def logits_of(tokens: Sequence[int]) -> Logits:
        return engine.forward(engine.new_cache(), tokens).logits()

    prompts = fixed_prompts(tokenizer, stored["prompts"])
    written = [tokenizer.decode(greedy(logits_of, prompt, tokenizer.ends, stored["tokens"])) for prompt in prompts]
    engine.close()
    return list(zip(stored["texts"], written, strict=True))
