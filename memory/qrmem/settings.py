"""Settings of QRMeM: Weft's defaults, and the preset with what the paper prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Navigation = Literal["reflection", "expansion", "trial"]  # QRMeM proper, Graph Expansion Search, Entity Trial


@dataclass(frozen=True)
class QRMeMSettings:
    """Frozen. The four ablations of the paper switch off `graph_update`, `open_entity`, `reflection` and `navigate`.

    Where the defaults differ from `AS_PRINTED`, docs/papers.md has the reason. Raises ValueError for a value out of
    range.
    """

    navigation: Navigation = "reflection"
    segment_tokens: int = 600
    at_headings: bool = True  # documents are split at their headings too
    window_tokens: int = 4096  # prompt and answer; at most the model's context window
    query_oriented: bool = True  # read segments again for each question; False reads each one once
    open_entity: bool = True  # extract entities with the model
    entity_tool: str = "patterns"  # "none", or "spacy:" with an installed pipeline
    graph_update: bool = True  # generate questions about the text and read matching segments for them
    n_questions: int = 8
    update_segments: int | None = 3  # best segments of each generated question; None reads all of them for each
    fuse_relations: bool = True
    most_fusions: int | None = 24  # pairs whose relations are fused, which bounds the cost; None fuses all
    reflection: bool = True  # the missing information guides the next step
    navigate: bool = True  # go beyond the segments of the question's entities; without it these alone answer
    max_updates: int = 5
    expansion_rounds: int = 3
    # The next five are measured on HotpotQA without a model, see benchmarks/results/memory-log.md.
    first_share: float = 0.4  # of the window for the first segments; navigation fills the rest
    segments_per_update: int | None = 1  # segments of a new entity; None takes all
    common_penalty: float = 0.05  # subtracted from an edge's cosine, times log(1 + number of segments of its entity)
    # Added to the score (at most 1) of a segment that begins with an entity; each entity of the question first gets
    # such a segment. 0 is neither.
    opening_bonus: float = 0.5
    fills_window: bool = True  # after navigation the segments with the question's words fill the rest of the window
    only_new_segments: bool = True  # no edge to an entity whose segments were all in the window already

    def __post_init__(self) -> None:
        if self.navigation not in get_args(Navigation):
            raise ValueError(f"unknown navigation {self.navigation!r}; use one of {', '.join(get_args(Navigation))}.")
        if not 0 <= self.first_share <= 1:
            raise ValueError(f"first_share is {self.first_share}; it must be from 0 to 1.")
        if self.opening_bonus < 0:
            raise ValueError(f"opening_bonus is {self.opening_bonus}; it must be 0 or more.")


AS_PRINTED = QRMeMSettings(
    at_headings=False,
    update_segments=None,
    most_fusions=None,
    first_share=1.0,
    segments_per_update=None,
    common_penalty=0.0,
    opening_bonus=0.0,
    fills_window=False,
    only_new_segments=False,
)
"""The paper's sections 2 and 3 without what they do not print. What they leave open is as in the papers' spec 3."""
