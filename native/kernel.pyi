# The functions of kernel.c, which describes their arguments.
VERSION: int

def window_terms(
    text: bytes, starts: bytes, ends: bytes
) -> tuple[bytes, bytes, bytes, tuple[bytes, bytes, bytes, bytes]]: ...
def weighted_sums(
    components: bytes, scales: bytes, sizes: bytes, texts: bytes, weights: bytes, n_texts: int
) -> bytes: ...
def number_tokens(text: bytes) -> tuple[tuple[str, ...], bytes]: ...
