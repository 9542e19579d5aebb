"""The C kernel: loops over characters, words and nodes that take most of the time of an index, where it was compiled.

Owns the decision whether `kernel.c` is used. Its functions have plain twins, which are the reference and run otherwise:

| function | twin |
|---|---|
| `term_keys` | `retrieval.terms.plain_term_keys` |
| `window_terms` | `retrieval.fragments.plain_window_terms` |
| `weighted_sums` | `retrieval.static_vectors.plain_weighted_sums` |
| `number_tokens` | `llm.workspace_model.tokens.plain_number_tokens` |
| `merged_postings` | `retrieval.inverted_index.plain_merged_postings` |
| `list_nodes` | `codegraph.walk.plain_list_nodes` |
| `to_json` | `codegraph.json_bytes.plain_to_json` |
| `best_scores` | `retrieval.max_score.plain_best_fragments` |
| `count_common` | `retrieval.inverted_index.n_common` |
| `sorted_positions` | `llm.workspace_model.ngram_index.plain_sorted_positions` |

Knows no file, no index and no model.
"""

from __future__ import annotations

import os
from types import ModuleType

VERSION = 5
"""Of the functions: a kernel that was compiled for another version is not used. Equal to that in `kernel.c`."""

SWITCH = "WEFT_KERNEL"
"""The environment variable that turns the kernel off if it is "0"."""

STALE = "compiled for another version of Weft"


def _load() -> tuple[ModuleType | None, str]:
    if os.environ.get(SWITCH) == "0":
        return None, f"turned off by {SWITCH}=0"
    try:
        from . import kernel
    except ImportError:
        return None, "not compiled; installed from source on a machine with a C compiler, Weft has it"
    if kernel.VERSION != VERSION:
        return None, STALE
    return kernel, ""


compiled, why_not = _load()
"""The module of the compiled functions and "", or None and the reason why there is none."""
