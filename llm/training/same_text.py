"""Reproducibility check: a fixed set of prompts, and the greedy texts that a model writes after them.

The prompts are in `same_text.txt`: small invented programs with a cursor, from no package that anything is trained or
evaluated on. What the trained model writes is kept beside its exports and in the release, so that anyone who has the
release can write it again: for that onnxruntime is enough.
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
SAME_TEXT = "same_text.json"
"""In a model's folder: `{"tokens": of each text, at most, "prompts": as below, "texts": one for each prompt}`."""

PROMPTS = Path(__file__).with_suffix(".txt")

_CONTEXT_TOKENS = 1024

Logits = NDArray[np.float32]  # (T, vocabulary)


def fixed_requests(text: str) -> list[CompletionRequest]:
    """The prompts that `text` holds: in each repository the last file has the cursor, the others are fragments."""
    requests = []
    for block in text.split("#= ")[1:]:
        repository, *files = block.split("#- ")
        *fragments, (path, code) = [file.split("\n", 1) for file in files]
        prefix, suffix = code.split("<CURSOR>")
        shown = tuple(PromptFragment((path,), text, 0, 1.0) for path, text in fragments)
        requests.append(CompletionRequest(path, "python", prefix, suffix, shown, repository.strip()))
    return requests


def fixed_prompts(tokenizer: TrainingTokenizer, text: str = "") -> list[list[int]]:
    """The fixed set as tokens, or that of another `text`; each prompt as it is written when it is served."""
    requests = fixed_requests(text or PROMPTS.read_text(encoding="utf-8"))
    prompts = [build_prompt(request, FORMAT, tokenizer.count, _CONTEXT_TOKENS) for request in requests]
    return [[token for part in prompt.parts for token in tokenizer.encode_part(part)] for prompt in prompts]


def greedy(
    read: Callable[[Sequence[int]], Logits],
    prompt: Sequence[int],
    ends: frozenset[int],
    n_tokens: int = N_GREEDY_TOKENS,
) -> list[int]:
    """The slow way, each token from the whole text: no cache of any engine has a part in it."""
    written: list[int] = []
    while len(written) < n_tokens:
        best = int(read([*prompt, *written])[-1].argmax())
        if best in ends:
            break
        written.append(best)
    return written


def keep_texts(folder: Path, texts: Sequence[str]) -> None:
    """Beside the exports, what the model wrote after each prompt of the fixed set."""
    kept = {"tokens": N_GREEDY_TOKENS, "prompts": PROMPTS.read_text(encoding="utf-8"), "texts": list(texts)}
    (folder / SAME_TEXT).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def repeat_texts(folder: Path) -> list[tuple[str, str]]:
    """Of a release's folder: for each prompt what the model wrote when it was made, and what it writes here.

    Raises BadRelease when the folder is none, ModelMissing without onnxruntime.
    """
    model, *_ = (*folder.glob("*.onnx"), folder / "model.onnx")
    if missing := [path for path in (folder / SAME_TEXT, folder / "tokenizer.json", model) if not path.is_file()]:
        raise BadRelease(f"{missing[0]} is not there. Name the folder that `weft models get FILE.zip` printed.")
    kept: Any = json.loads((folder / SAME_TEXT).read_text(encoding="utf-8"))
    engine = OnnxEngine(model, context_tokens=_CONTEXT_TOKENS, threads=1)
    tokenizer = TrainingTokenizer.load(folder / "tokenizer.json")

    def read(tokens: Sequence[int]) -> Logits:
        return engine.forward(engine.new_cache(), tokens).logits()

    prompts = fixed_prompts(tokenizer, kept["prompts"])
    written = [tokenizer.decode(greedy(read, prompt, tokenizer.ends, kept["tokens"])) for prompt in prompts]
    engine.close()
    return list(zip(kept["texts"], written, strict=True))
