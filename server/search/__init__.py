"""Search of a workspace by names and words.

`search_folders` is the entry point: it ranks definitions, other code and sections of documents of all folders.
"""

from .filters import read_filter
from .values import SearchHit, SearchResult
from .workspace_search import search_folders

__all__ = ["SearchHit", "SearchResult", "read_filter", "search_folders"]
