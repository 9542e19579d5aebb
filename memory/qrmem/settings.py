"""What of QRMeM can be set, with the values of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Navigation = Literal["reflection", "expansion", "trial"]
"""QRMeM proper, Graph Expansion Search, Entity Trial."""


@dataclass(frozen=True)
class QRMeMSettings:
    """Frozen. The four ablations of the paper are `graph_update`, `open_entity`, `reflection` and `navigate`, off."""

    navigation: Navigation = "reflection"
    segment_tokens: int = 600
    window_tokens: int = 4096  # prompt and answer; a smaller window of the model counts
    query_oriented: bool = True  # read segments for each question anew; False reads each once for all questions
    open_entity: bool = True  # entities by the model
    entity_tool: str = "patterns"  # "none", or "spacy:" and a pipeline of this machine
    graph_update: bool = True  # questions about the whole, for which matching segments are read again
    n_questions: int = 8
    update_segments: int = 3  # that fit such a question best, and are read for it
    fuse_relations: bool = True
    most_fusions: int = 24  # pairs whose relations are made one, so that the cost has a bound
    reflection: bool = True  # what is missing guides the next step
    navigate: bool = True  # go beyond the segments of the question's entities
    max_updates: int = 5
    expansion_rounds: int = 3
    # Of the window for the first segments, the rest is for where the graph leads. Measured on HotpotQA without a model
    # with the next two, see benchmarks/results/memory-log.md; 1, None and 0 are the paper's.
    first_share: float = 0.4
    segments_per_update: int | None = 1
    common_penalty: float = 0.05  # off an edge's cosine, for each e-fold of segments that its entity stands in

    def __post_init__(self) -> None:
        if self.navigation not in get_args(Navigation):
            raise ValueError(
                f"no navigation is called {self.navigation!r}; there are {', '.join(get_args(Navigation))}."
            )
        if not 0 <= self.first_share <= 1:
            raise ValueError(f"first_share is a part of the window, 0 to 1, not {self.first_share}.")
