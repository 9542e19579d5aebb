"""Settings of QRMeM, with the values of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Navigation = Literal["reflection", "expansion", "trial"]  # QRMeM proper, Graph Expansion Search, Entity Trial


@dataclass(frozen=True)
class QRMeMSettings:
    """Frozen. The four ablations of the paper switch off `graph_update`, `open_entity`, `reflection` and `navigate`."""

    navigation: Navigation = "reflection"
    segment_tokens: int = 600
    window_tokens: int = 4096  # prompt and answer; at most the model's context window
    query_oriented: bool = True  # read segments again for each question; False reads each one once
    open_entity: bool = True  # extract entities with the model
    entity_tool: str = "patterns"  # "none", or "spacy:" with an installed pipeline
    graph_update: bool = True  # generate questions about the text and read matching segments for them
    n_questions: int = 8
    update_segments: int = 3  # best segments of each generated question
    fuse_relations: bool = True
    most_fusions: int = 24  # pairs whose relations are fused; bounds the cost
    reflection: bool = True  # the missing information guides the next step
    navigate: bool = True  # go beyond the segments of the question's entities
    max_updates: int = 5
    expansion_rounds: int = 3
    # Share of the window for the first segments; navigation fills the rest. Measured on HotpotQA without a model, with
    # the next two, see benchmarks/results/memory-log.md; the paper's values are 1, None and 0.
    first_share: float = 0.4
    segments_per_update: int | None = 1
    common_penalty: float = 0.05  # subtracted from an edge's cosine, times log(1 + number of segments of its entity)

    def __post_init__(self) -> None:
        if self.navigation not in get_args(Navigation):
            raise ValueError(f"unknown navigation {self.navigation!r}; use one of {', '.join(get_args(Navigation))}.")
        if not 0 <= self.first_share <= 1:
            raise ValueError(f"first_share is {self.first_share}; it must be from 0 to 1.")
