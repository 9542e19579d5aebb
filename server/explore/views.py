"""The views of the page: their names and parameters, and one function that computes any of them as JSON.

Owns the table of views, the check of arguments, and that every text is visible. Knows no transport: `app.py` serves
the views over HTTP, and `server/lsp/requests/explore.py` in the server that the editors share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import InvalidArgument
from ...retrieval import STRATEGIES
from ..agents.folders import Folders, folders_of
from ..agents.tools import Parameter, read_arguments
from ..completion.stats import read_stats, read_stats_by_day, stats_folder, summary_json
from ..output.as_json import status_json
from ..output.safe_text import for_editor
from ..search.as_json import hit_json
from ..workspace.workspace import Workspace
from . import levels, places, symbols

Json = dict[str, Any]

N_DAYS = 30
N_HITS = 20
MAX_LINE = 10**7


@dataclass(frozen=True, slots=True)
class View:
    """A view: `run` gets the workspace, its folders in one snapshot, and checked arguments."""

    name: str
    run: Callable[[Workspace, Folders, Mapping[str, Any]], Json]
    all_parameters: tuple[Parameter, ...] = ()


def view(workspace: Workspace, name: str, arguments: Mapping[str, Any]) -> Json:
    """A view of a workspace as JSON. Lines are 1-based, and those of fragments 0-based and half-open.

    Raises InvalidArgument with the next step for an unknown view, wrong arguments, and files that are not indexed.
    """
    found = VIEWS.get(name)
    if found is None:
        raise InvalidArgument(f"There is no view {name[:80]!r}. Use one of {', '.join(VIEWS)}.")
    shown: Json = _visible(found.run(workspace, folders_of(workspace), read_arguments(found, arguments)))
    return shown


def _visible(value: Any) -> Any:
    """The same value with control and invisible characters of its texts escaped."""
    if isinstance(value, str):
        return value if value.isascii() and value.isprintable() else for_editor(value)
    if isinstance(value, Mapping):
        return {key: _visible(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_visible(each) for each in value]
    return value


def _start(workspace: Workspace, folders: Folders, given: Mapping[str, Any]) -> Json:
    """What the page needs before anything else: the status and the settings of retrieval."""
    settings = workspace.config.retrieval
    return {
        "folders": [{"path": str(folder.root), "prefix": folder.prefix} for folder in folders],
        "status": status_json(workspace.status(), with_page=False),
        "strategies": [name for name in STRATEGIES if name != "none"],
        "strategy": settings.strategy,
        "alphaPercent": round(100 * settings.alpha),
        "k": settings.k,
    }


def _search(workspace: Workspace, folders: Folders, given: Mapping[str, Any]) -> Json:
    found = workspace.search(given["query"], N_HITS, documents_wait_s=0.0)
    prefixes = {str(folder.root): folder.prefix for folder in folders}
    hits: list[Json] = [
        {**hit_json(hit), "path": f"{prefixes.get(hit.folder, '')}{hit.path}", "symbol": hit.symbol}
        for hit in found.hits
    ]
    for hit in hits:
        hit["preview"] = places.shown_text(workspace, hit["preview"])
    return {"hits": hits, "notes": list(found.notes)}


def _stats(workspace: Workspace, folders: Folders, given: Mapping[str, Any]) -> Json:
    """Counters of all processes of this user, those of this one as far as they are stored."""
    workspace.stats.save()
    folder, n_days = stats_folder(workspace.config.cache_dir), given["days"]
    by_day = read_stats_by_day(folder, n_days)
    return {
        "days": n_days,
        "total": summary_json(read_stats(folder, n_days)),
        "byDay": [{"date": date, **summary_json(summary)} for date, summary in by_day.items()],
        "status": status_json(workspace.status(), with_page=False),
    }


_PATH = Parameter("path", "string", "A file as the map shows it.")
_ANY_PATH = Parameter("path", "string", "A file or folder as the map shows it; empty for the whole workspace.", "")
_LINE = Parameter("line", "integer", "1-based line.", None, 1, MAX_LINE)
_SYMBOL = (
    Parameter("symbol", "string", "Name such as `pay` or `Shop.pay`.", ""),
    Parameter("path", "string", "File that defines or uses the symbol.", ""),
    Parameter("line", "integer", "1-based line in `path`.", 0, 1, MAX_LINE),
)

VIEWS: Mapping[str, View] = {
    each.name: each
    for each in (
        View("start", _start),
        View(
            "map",
            lambda workspace, folders, given: levels.map_of(workspace, folders, given["path"], given["start"]),
            (_ANY_PATH, Parameter("start", "integer", "Number of the first box.", 0, 0, MAX_LINE)),
        ),
        View("calls", lambda workspace, folders, given: levels.calls_of(folders, given["path"]), (_ANY_PATH,)),
        View(
            "file",
            lambda workspace, folders, given: places.file_at(workspace, folders, given["path"], given["line"]),
            (_PATH, Parameter("line", "integer", "1-based line to show.", 1, 1, MAX_LINE)),
        ),
        View(
            "retrieval",
            lambda workspace, folders, given: places.retrieved_at(
                workspace,
                folders,
                given["path"],
                given["line"],
                given["strategy"],
                given["alphaPercent"] / 100,
                given["k"],
            ),
            (
                _PATH,
                _LINE,
                Parameter("strategy", "string", "The ranking; empty: that of the settings.", ""),
                Parameter("alphaPercent", "integer", "Weight of the relations of `fragrel`, in percent.", 50, 0, 100),
                Parameter("k", "integer", "Most fragments.", 10, 1, 50),
            ),
        ),
        View(
            "completion",
            lambda workspace, folders, given: places.completion_at(workspace, folders, given["path"], given["line"]),
            (_PATH, _LINE),
        ),
        View(
            "symbol",
            lambda workspace, folders, given: symbols.symbol_of(folders, given["symbol"], given["path"], given["line"]),
            _SYMBOL,
        ),
        View(
            "uses",
            lambda workspace, folders, given: symbols.uses_of(
                folders, given["symbol"], given["path"], given["line"], given["depth"]
            ),
            (*_SYMBOL, Parameter("depth", "integer", "Steps of callers.", 2, 1, 5)),
        ),
        View(
            "path",
            lambda workspace, folders, given: symbols.path_between(folders, given["from"], given["to"]),
            (
                Parameter("from", "string", "A symbol, as its name or as `path:line name`."),
                Parameter("to", "string", "Another symbol."),
            ),
        ),
        View("search", _search, (Parameter("query", "string", "A name or words."),)),
        View("stats", _stats, (Parameter("days", "integer", "How many days.", N_DAYS, 1, 365),)),
    )
}
"""Every view by its name."""
