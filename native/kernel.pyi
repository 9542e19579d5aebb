# The functions of kernel.c, which describes their arguments.
from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

_Array = bytes | NDArray[Any]
VERSION: int

def window_terms(
    text: bytes, starts: bytes, ends: bytes
) -> tuple[bytes, bytes, bytes, tuple[bytes, bytes, bytes, bytes]]: ...
def weighted_sums(
    components: bytes, scales: bytes, sizes: bytes, texts: bytes, weights: bytes, n_texts: int
) -> bytes: ...
def number_tokens(text: bytes) -> tuple[tuple[str, ...], bytes]: ...
def sorted_positions(values: bytes, first: int, bits: bytes) -> tuple[bytes, bytes]: ...
def merged_postings(keys: bytes, sizes: bytes, ids: bytes, counts: bytes) -> tuple[bytes, bytes, bytes, bytes]: ...
def term_keys(terms: tuple[str, ...]) -> bytes: ...
def list_nodes(
    walk: object,
    root: object,
    scope: int,
    readers: Mapping[int, Callable[..., object]],
    source: bytes,
    check: Callable[[], None] | None,
) -> tuple[bytes, bytes, bytes, bytes]: ...
def to_json(value: object) -> bytes: ...
def best_scores(
    ids: _Array,
    counts: _Array,
    firsts: _Array,
    ends: _Array,
    factors: _Array,
    lengths: _Array,
    live: _Array,
    hidden: tuple[int, int],
    norm: tuple[float, float, float],
    n: int,
    least: float,
) -> tuple[bytes, bytes]: ...
def count_common(ids: _Array, firsts: _Array, ends: _Array, others: _Array) -> bytes: ...
