"""The views of the page: their names and parameters, and one function that computes any of them as JSON.

Owns the table of views, the check of arguments, and that every text is visible. Knows no transport: `app.py` serves
the views over HTTP, and `server/lsp/requests/explore.py` in the server that the editors share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import InvalidArgument
from ...llm import Cancel, TimeLimit
from ...retrieval import STRATEGIES
from ..agents.folders import Folders, folders_of
from ..agents.hints import Unclear
from ..agents.tools import INDEX_WITHIN_S, Parameter, read_arguments
from ..completion.stats import read_stats, read_stats_by_day, stats_folder, summary_json
from ..output.as_json import status_json
from ..output.safe_text import for_editor
from ..search.as_json import hit_json
from ..secrets import redact
from ..workspace.workspace import Workspace
from . import levels, places, symbols, talks

Json = dict[str, Any]

N_DAYS = 30
N_HITS = 20
MAX_LINE = 10**7
MAX_TEXT = 30_000
"""Characters of one text: a fragment of long lines is cut there."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a view: the workspace, its folders in one snapshot, and checked arguments."""

    workspace: Workspace
    folders: Folders
    given: Mapping[str, Any]
    cancel: Cancel


@dataclass(frozen=True, slots=True)
class View:
    """A view: `run` gets checked arguments. A slow one may call a model. `needs_index`: it waits for the index."""

    name: str
    run: Callable[[Request], Json]
    all_parameters: tuple[Parameter, ...] = ()
    is_slow: bool = False
    needs_index: bool = True


def view(workspace: Workspace, name: str, arguments: Mapping[str, Any], cancel: Cancel | None = None) -> Json:
    """A view of a workspace as JSON. Lines are 1-based, and those of fragments 0-based and half-open.

    Raises InvalidArgument with the next step for an unknown view, wrong arguments, and files that are not indexed.
    """
    found = VIEWS.get(name)
    if found is None:
        raise InvalidArgument(f"There is no view {name[:80]!r}. Use one of {', '.join(VIEWS)}.")
    try:
        return _view(workspace, found, arguments, cancel or Cancel())
    except Unclear as error:
        raise InvalidArgument(error.for_page) from error


def _view(workspace: Workspace, found: View, arguments: Mapping[str, Any], cancel: Cancel) -> Json:
    given = read_arguments(found, arguments)
    if found.needs_index:
        with TimeLimit(cancel, INDEX_WITHIN_S) as limit:
            workspace.chat.context.wait_for_index(limit)
    result = found.run(Request(workspace, folders_of(workspace), given, cancel))
    shown: Json = _shown(result, is_redacted=workspace.config.redact != "never")
    return shown


NOT_REDACTED = frozenset({"path", "place", "places", "id", "from", "to", "symbol", "name", "lines"})
"""Fields with names and places; `lines` of a file are redacted as one text."""


def _shown(value: Any, *, is_redacted: bool) -> Any:
    """The same value without secrets, with control and invisible characters of its texts escaped."""
    if isinstance(value, str):
        text = value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}…"
        text = redact(text) if is_redacted else text
        return text if text.isascii() and text.isprintable() else for_editor(text)
    if isinstance(value, Mapping):
        return {key: _shown(each, is_redacted=is_redacted and key not in NOT_REDACTED) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shown(each, is_redacted=is_redacted) for each in value]
    return value


def _start(request: Request) -> Json:
    """What the page needs before anything else: the status and the settings of retrieval."""
    settings = request.workspace.config.retrieval
    return {
        "folders": [{"path": str(folder.root), "prefix": folder.prefix} for folder in request.folders],
        "status": status_json(request.workspace.status(), with_page=False),
        "strategies": [name for name in STRATEGIES if name != "none"],
        "strategy": settings.strategy,
        "alphaPercent": round(100 * settings.alpha),
        "k": settings.k,
    }


def _search(request: Request) -> Json:
    found = request.workspace.search(request.given["query"], N_HITS, documents_wait_s=0.0)
    prefixes = {str(folder.root): folder.prefix for folder in request.folders}
    hits: list[Json] = [
        {**hit_json(hit), "path": f"{prefixes.get(hit.folder, '')}{hit.path}", "symbol": hit.symbol}
        for hit in found.hits
    ]
    return {"hits": hits, "notes": list(found.notes)}


def _stats(request: Request) -> Json:
    """Counters of all processes of this user, those of this one as far as they are stored."""
    request.workspace.stats.save()
    folder, n_days = stats_folder(request.workspace.config.cache_dir), request.given["days"]
    by_day = read_stats_by_day(folder, n_days)
    return {
        "days": n_days,
        "total": summary_json(read_stats(folder, n_days)),
        "byDay": [{"date": date, **summary_json(summary)} for date, summary in by_day.items()],
        "status": status_json(request.workspace.status(), with_page=False),
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
        View("start", _start, needs_index=False),
        View(
            "map",
            lambda request: levels.map_of(
                request.workspace, request.folders, request.given["path"], request.given["start"]
            ),
            (_ANY_PATH, Parameter("start", "integer", "Number of the first box.", 0, 0, MAX_LINE)),
        ),
        View("calls", lambda request: levels.calls_of(request.folders, request.given["path"]), (_ANY_PATH,)),
        View(
            "file",
            lambda request: places.file_at(
                request.workspace, request.folders, request.given["path"], request.given["line"]
            ),
            (_PATH, Parameter("line", "integer", "1-based line to show.", 1, 1, MAX_LINE)),
        ),
        View(
            "retrieval",
            lambda request: places.retrieved_at(
                request.workspace,
                request.folders,
                request.given["path"],
                request.given["line"],
                request.given["strategy"],
                request.given["alphaPercent"] / 100,
                request.given["k"],
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
            lambda request: places.completion_at(
                request.workspace, request.folders, request.given["path"], request.given["line"]
            ),
            (_PATH, _LINE),
        ),
        View(
            "symbol",
            lambda request: symbols.symbol_of(
                request.folders, request.given["symbol"], request.given["path"], request.given["line"]
            ),
            _SYMBOL,
        ),
        View(
            "uses",
            lambda request: symbols.uses_of(
                request.folders,
                request.given["symbol"],
                request.given["path"],
                request.given["line"],
                request.given["depth"],
            ),
            (*_SYMBOL, Parameter("depth", "integer", "Steps of callers.", 2, 1, 5)),
        ),
        View(
            "path",
            lambda request: symbols.path_between(
                request.folders, request.given["from"], request.given["to"], request.cancel
            ),
            (
                Parameter("from", "string", "A symbol, as its name or as `path:line name`."),
                Parameter("to", "string", "Another symbol."),
            ),
        ),
        View(
            "ask",
            lambda request: talks.answer_to(request.workspace, request.given["question"], request.cancel),
            (Parameter("question", "string", "A question about the code."),),
            is_slow=True,
        ),
        View(
            "conversations",
            lambda request: talks.conversations(request.workspace, request.given["text"]),
            (Parameter("text", "string", "Words that they contain.", ""),),
        ),
        View(
            "conversation",
            lambda request: talks.conversation(request.workspace, request.given["id"]),
            (Parameter("id", "string", "The conversation."),),
        ),
        View(
            "memory",
            lambda request: talks.memory_of(
                request.workspace,
                request.folders,
                request.given["path"],
                request.given["conversation"],
                request.given["question"],
                request.cancel,
            ),
            (
                Parameter("path", "string", "A document.", ""),
                Parameter("conversation", "string", "A conversation instead.", ""),
                Parameter("question", "string", "What clues, notes and the walk are for.", ""),
            ),
            is_slow=True,
        ),
        View("search", _search, (Parameter("query", "string", "A name or words."),)),
        View("stats", _stats, (Parameter("days", "integer", "How many days.", N_DAYS, 1, 365),)),
    )
}
"""Every view by its name."""
