"""Text in, symbols and relations out: here is a repository, what belongs to what?"""

from .cover import Spans
from .directories import Directories
from .facts import Binding, Call, Definition, FileGraph, Import
from .forest import Forest
from .graph import CallEdge, Caller, CodeGraph
from .languages import comment_prefix, language_of
from .layout import Items, Layout, Links, Names
from .layouts import Layouts, View
from .lookup import Target
from .reach import Reached, reachable_definitions
from .relations import Related, Relations
from .resolve import HOW, resolve
from .syntax import SyntaxTree, parse_file
from .time_limit import TimeLimit, TimeLimitExceeded, TooRiskyToParse
from .weights import Weights

STORED_CLASSES: tuple[type, ...] = (
    *(CodeGraph, Directories, Relations, Spans, Weights),
    *(Forest, Items, Layout, Layouts, Links, Names, View),
)
"""The classes of a kept index that come from this room."""

__all__ = [
    "HOW",
    "STORED_CLASSES",
    "Binding",
    "Call",
    "CallEdge",
    "Caller",
    "CodeGraph",
    "Definition",
    "FileGraph",
    "Import",
    "Reached",
    "Related",
    "Relations",
    "Spans",
    "SyntaxTree",
    "Target",
    "TimeLimit",
    "TimeLimitExceeded",
    "TooRiskyToParse",
    "Weights",
    "comment_prefix",
    "language_of",
    "parse_file",
    "reachable_definitions",
    "resolve",
]
