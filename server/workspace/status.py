"""Status summary for a person: one kind, one sentence, and actions that help.

Owns the precedence of causes and their text, the same in every editor. Knows no workspace: `summarize_status` is a
pure function of the facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..models.active import NO_MODEL, WORKSPACE_MODEL
from ..models.chain import ModelState
from .folder import Progress
from .indexing import State

Kind = Literal["starting", "indexing", "ready", "paused", "off", "slow", "degraded", "error"]
Action = Literal["doctor", "log", "settings", "resume", "pause", "restart", "models", "index"]

PAUSED = "Weft is paused"

BUSY = (
    "This server has more requests than it can answer in time, so some get no completion. Use it with fewer people, or "
    "start another server."
)

_TO_INDEX = (
    'To index all of {}, choose "Index the Whole Folder" in VS Code, run `:Weft index` in Neovim, '
    "or set `index.broad_folders` to `index`."
)

MAX_NAMED_FILES = 5
"""Maximum number of files in a note."""

TITLES: dict[Action, str] = {
    "doctor": "Run diagnostics",
    "log": "Show the log",
    "settings": "Open the settings",
    "models": "Open the model settings",
    "pause": "Pause",
    "resume": "Resume",
    "index": "Index the whole folder",
    "restart": "Restart the server",
}


@dataclass(frozen=True, slots=True)
class Status:
    """The facts of one moment."""

    state: State = "starting"
    folders: tuple[str, ...] = ()
    n_files: int = 0
    n_lines: int = 0
    n_fragments: int = 0
    model: str = NO_MODEL  # the active model
    model_reason: str = ""  # why it is the active one
    models: tuple[ModelState, ...] = ()  # the configured models, in order
    notes: tuple[str, ...] = ()
    memory_mb: float = 0.0
    progress: Progress | None = None  # of the current index runs
    problem: str = ""  # why the state is "error"
    is_paused: bool = False
    is_enabled: bool = True  # completion.enabled
    withheld: tuple[str, ...] = ()  # open files that are withheld from models, with the reason
    is_reconciling: bool = False  # a comparison of the index with the disk is running
    failed: tuple[str, ...] = ()  # files that could not be analysed, each with the reason
    limited: tuple[tuple[str, str], ...] = ()  # folders of which only open files and their imports are indexed, and why
    embedding: Progress | None = None  # of definitions and sections, by the embedding model
    not_embedded: str = ""  # why they have no vectors although the settings say so
    is_busy: bool = False  # requests of this session came too late, because others had their turns

    @property
    def all_notes(self) -> tuple[str, ...]:
        """Problems of models and files, with next steps; at most MAX_NAMED_FILES files are named."""
        notes = (
            *self.notes,
            *(f"{reason}: it gets no completions." for reason in self.withheld),
            *(_TO_INDEX.format(folder) for folder, _ in self.limited),
            *((f"Definitions are not embedded. {self.not_embedded}",) if self.not_embedded else ()),
        )
        if not self.failed:
            return notes
        n = len(self.failed)
        more = f"; and {n - MAX_NAMED_FILES} more" if n > MAX_NAMED_FILES else ""
        files = "1 file is" if n == 1 else f"{n:,} files are"
        return (*notes, f"{files} not indexed: {'; '.join(self.failed[:MAX_NAMED_FILES])}{more}.")

    @property
    def percent(self) -> int | None:
        """Progress of indexing; None if no index run is active."""
        if self.state != "indexing" or self.progress is None:
            return None
        return min(100, 100 * self.progress.done // max(self.progress.total, 1))


@dataclass(frozen=True, slots=True)
class StatusSummary:
    """A status as a kind, a sentence and actions."""

    kind: Kind
    text: str
    actions: tuple[Action, ...]


def summarize_status(status: Status) -> StatusSummary:
    """The summary of the first cause that applies: errors, then states that the user chose, then total and partial
    failures."""
    if status.state == "error":
        return StatusSummary("error", status.problem or "Indexing failed.", ("doctor", "log", "restart"))
    if status.is_paused:
        text = f"{PAUSED}: no automatic completions, and files are not indexed."
        return StatusSummary("paused", text, ("resume",))
    if not status.is_enabled:
        return StatusSummary("off", "Completion is disabled (completion.enabled).", ("settings",))
    if status.state == "starting":
        return StatusSummary("starting", "Weft is starting.", ("log",))
    if status.model == NO_MODEL:
        return _no_model(status)
    if status.state == "indexing":
        return StatusSummary("indexing", _indexing(status), ("pause", "log"))
    return _with_a_model(status)


def _no_model(status: Status) -> StatusSummary:
    loading = next((model for model in status.models if model.state == "opening"), None)
    if loading is not None:
        return StatusSummary("starting", loading.note or f"{loading.name} is loading.", ("log",))
    text = " ".join(status.notes) or "No model is configured, so nothing is completed."
    return StatusSummary("error", text, ("doctor", "models", "log"))


def _indexing(status: Status) -> str:
    at = status.progress
    if at is None or not at.total:
        return "Indexing: looking for files"
    return f"Indexing: {at.done:,} of {at.total:,} files"


def _limited(status: Status) -> str:
    folder, reason = status.limited[0]
    return (
        f"Ready. {folder} {reason}, so only open files and the files that they import are indexed "
        f"({status.n_files:,} so far)."
    )


def _with_a_model(status: Status) -> StatusSummary:
    if status.is_busy:
        return StatusSummary("slow", BUSY, ("doctor", "log"))
    slow = next((model.slow for model in status.models if model.slow), "")
    if slow:
        return StatusSummary("slow", slow, ("models", "doctor", "settings"))
    absent = next((model for model in status.models if model.state in ("down", "aside")), None)
    if absent is not None:
        return StatusSummary("degraded", absent.note, ("doctor", "models", "log"))
    loading = next((model.note for model in status.models if model.state == "opening" and model.note), "")
    if loading:
        return StatusSummary("ready", loading, ("pause",))
    if not status.folders:
        known = "only open files and the files that they import are known"
        return StatusSummary("ready", f"Ready. No folder is open, so {known}.", ("pause",))
    if status.limited:
        return StatusSummary("ready", _limited(status), ("index", "settings", "pause"))
    files = "1 file" if status.n_files == 1 else f"{status.n_files:,} files"
    model = WORKSPACE_MODEL if status.model == WORKSPACE_MODEL else f"model {status.model}"
    now = " Comparing them with the disk." if status.is_reconciling else ""
    if status.embedding is not None and status.embedding.total:
        now += f" Embedding definitions: {status.embedding.done:,} of {status.embedding.total:,}."
    return StatusSummary("ready", f"Ready: {files} indexed; the {model} answers.{now}", ("pause",))
