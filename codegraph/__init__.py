"""The code graph: syntax trees, resolved calls and relation strengths of a repository, as immutable snapshots."""

from ..string_table import StringArray, StringTable
from .cover import Spans
from .directory_tree import DirectoryTree
from .file_graph import Binding, Call, Definition, FileGraph, Import
from .forest import Forest
from .graph import CallEdge, Caller, CodeGraph
from .graph_arrays import CallEndpoints, GraphArrays, IdTable, NodeItems
from .imports_at import Export, ModulePath, exports_at, imported_module_at, module_paths_at
from .name_table import NameTable
from .reachability import ReachableSymbol, reachable_symbols
from .relations import Relations
from .resolve import HOW, resolve
from .resolver import Resolution
from .segmented_graph import GraphSegment, SegmentedGraph
from .syntax import SyntaxTree, parse_file
from .time_limit import CpuTimeLimit, TimeLimitExceeded, TooRiskyToParse
from .weights import Weights

STORED_CLASSES: tuple[type, ...] = (
    *(CodeGraph, DirectoryTree, Relations, Spans, Weights),
    *(Forest, NodeItems, GraphArrays, SegmentedGraph, CallEndpoints, IdTable, GraphSegment),
    *(NameTable, StringArray, StringTable),
)
"""The classes of this room that a stored index may contain."""

__all__ = [
    "HOW",
    "STORED_CLASSES",
    "Binding",
    "Call",
    "CallEdge",
    "Caller",
    "CodeGraph",
    "CpuTimeLimit",
    "Definition",
    "Export",
    "FileGraph",
    "Import",
    "ModulePath",
    "ReachableSymbol",
    "Relations",
    "Resolution",
    "Spans",
    "SyntaxTree",
    "TimeLimitExceeded",
    "TooRiskyToParse",
    "Weights",
    "exports_at",
    "imported_module_at",
    "module_paths_at",
    "parse_file",
    "reachable_symbols",
    "resolve",
]
