"""Half-typed code for `make demo`: the cursor stands at the end. Edit it and run the demo again."""

from ..retrieval import CursorView, RetrievalOptions
from ..retrieval.ranking import Ranking


def shortest_first(view: CursorView, options: RetrievalOptions) -> Ranking:
    """Short windows before long ones, where words say the same."""
    terms = view.
