"""What a user may set, where it may be set, and what is said when a setting is wrong.

One frozen tree of options with a default, a meaning and a limit for each. Later layers win: defaults, the
user's file, the workspace's file (`weft.toml`, or `[tool.weft]` in `pyproject.toml`), the editor's settings.
A mistake never stops anything: it becomes a `ConfigProblem`, and the setting keeps the value of the layer below.

A workspace is somebody else's text until its owner says otherwise, so its file may not set what reaches out of
it: no model, no place on disk. Those come from the user's file or the editor. An editor's settings come over a
connection, and in some editors from the workspace: they name no environment variable to send and no folder to write
to. Those come from the user's file alone.

Owns the options and their reference table. Knows no editor, no model and no index.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import platformdirs

from ...llm.backends import BACKENDS, FIM_WORDS
from ...llm.disk import open_regular
from ...memory.embedding import KINDS as EMBEDDER_KINDS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WORKSPACE_FILE = "weft.toml"
PROJECT_FILE = "pyproject.toml"
MAX_CONFIG_BYTES = 1_000_000

_KINDS = {bool: "true or false", int: "whole number", float: "number", str: "text", list: "list"}

_JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}

_RENAMED = {
    "model.accepts_suffix": 'is now fim = "suffix"',
    "completion.single_line": 'is now multi_line = "never", "auto" or "always"',
}

_T = TypeVar("_T")


class Origin(IntEnum):
    """Where a setting comes from; the greater, the more may be set there."""

    WORKSPACE = 0
    EDITOR = 1
    USER = 2


def _setting(
    default: _T,
    meaning: str,
    *,
    choices: tuple[str, ...] = (),
    low: float | None = None,
    high: float | None = None,
    outside: bool = False,
    user_only: bool = False,
) -> _T:
    """A field with its reference text. `outside`: it reaches out of the workspace, which may therefore not set it.
    `user_only`: nor may an editor."""
    origin = Origin.USER if user_only else Origin.EDITOR if outside else Origin.WORKSPACE
    metadata = {"meaning": meaning, "choices": choices, "low": low, "high": high, "origin": origin}
    value: _T = field(default=default, metadata=metadata)
    return value


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """What is indexed."""

    max_file_bytes: int = _setting(1_000_000, "Larger files are not indexed.", low=1, high=100_000_000)
    max_data_bytes: int = _setting(
        64_000, "Larger files of data or markup (JSON, YAML, XML, HTML) are not indexed.", low=1
    )
    exclude: tuple[str, ...] = _setting(
        (), "Not indexed: patterns as in `.gitignore`. `.weftignore` has the last word."
    )
    include: tuple[str, ...] = _setting((), "Indexed although git ignores it: patterns as in `.gitignore`.")
    skip_generated: bool = _setting(True, "Leave out generated and minified files.")
    keep_on_disk: bool = _setting(True, "Keep the index in the cache folder between starts.")


@dataclass(frozen=True, slots=True)
class CompletionOptions:
    """When and how long to complete."""

    enabled: bool = _setting(True, "Offer completions.")
    languages: tuple[str, ...] = _setting(("*",), 'Languages to complete in, by name; `"*"` is every language.')
    exclude: tuple[str, ...] = _setting((), "Files without completions: patterns as in `.gitignore`.")
    max_new_tokens: int = _setting(64, "Longest completion, in the model's tokens.", low=1, high=4096)
    multi_line: str = _setting(
        "auto",
        "Whether a completion may have several lines: `auto` where a block is due (behind a header, in an empty body, "
        "below a comment or a decorator), and one line elsewhere; `never`; `always`.",
        choices=("auto", "never", "always"),
    )
    # On, because what is written there is often a name that stands elsewhere in the repository: a parameter, a key.
    in_comments: bool = _setting(True, "Complete in comments unasked; on request always.")
    in_strings: bool = _setting(True, "Complete in strings unasked, docstrings too; on request always.")
    min_confidence: float = _setting(
        0.3, "What is less probable to be right is not shown unasked; models without probabilities are.", low=0, high=1
    )
    debounce_ms: int = _setting(
        150,
        "Longest wait for the next key before a model is asked, counted from the last key. The wait follows from how "
        "fast you type and how fast the model answers; the workspace model is asked at once. 0 never waits.",
        low=0,
        high=10_000,
    )
    target_ms: int = _setting(
        1500,
        "Prompts and completions are kept so short that one is there within this time, by the measured speed of the "
        "model: two thirds for an unknown prompt, the rest for writing. Who invokes one gets it whole.",
        low=50,
        high=600_000,
    )
    speculate: bool = _setting(
        False, "While a completion is shown and nobody types, have the next one written, for whoever takes it."
    )
    recent_edits: bool = _setting(
        True, "Show models the places that were edited last, in other files too, saved or not."
    )
    deadline_ms: int = _setting(
        2000, "A model that wrote nothing for longer is given up; the workspace model answers.", low=10, high=600_000
    )
    max_seconds: float = _setting(
        30.0,
        "Longest time for a completion in all, whoever asked for it: what is written by then is shown, and the model "
        "is told to stop.",
        low=0.1,
        high=3600,
    )
    warm_up: str = _setting(
        "local",
        "Models that read ahead while nobody types: those on this machine, all, or none.",
        choices=("local", "all", "off"),
    )


@dataclass(frozen=True, slots=True)
class RelationOptions:
    """How strongly each kind of edge relates two places; the strength of a path is the product of its edges."""

    syntax: float = _setting(0.5, "Syntax node to its parent.", low=0, high=1)
    directory: float = _setting(0.3, "File or folder to its folder.", low=0, high=1)
    file_root: float = _setting(1.0, "File to the root of its syntax tree.", low=0, high=1)
    call: float = _setting(0.8, "Call to the definition that it calls.", low=0, high=1)
    cut_off: float = _setting(1e-3, "Weaker relations along calls count as none; 0 is exact, and slow.", low=0, high=1)


@dataclass(frozen=True, slots=True)
class RankingOptions:
    """Which fragments of the repository a prompt gets."""

    strategy: str = _setting(
        "weft", "How fragments are ranked.", choices=("weft", "fragrel", "bm25", "jaccard", "none")
    )
    k: int = _setting(10, "Fragments for one completion.", low=0, high=100)
    alpha: float = _setting(0.5, "Share of the relations in the score of `fragrel` (Eq. 10).", low=0, high=1)
    include_self: bool = _setting(False, "A fragment counts among its own neighbours (Eq. 9).")
    query_lines: int = _setting(20, "Lines before the cursor that make the query.", low=1, high=1000)
    relations: RelationOptions = field(default_factory=RelationOptions)


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """One model. Several are tried in the order in which they stand."""

    backend: str = _setting("workspace", "What writes the completion.", choices=BACKENDS)
    path: str = _setting(
        "",
        "Directory of the model, for `transformers` and `onnx`; for `transformers` also its name in the hub's cache; "
        "for `llama.cpp` a GGUF file, read in this process.",
    )
    url: str = _setting(
        "", "Where a server answers, for `llama.cpp`, `ollama` and `openai`; `ollama` is looked for at its usual place."
    )
    name: str = _setting("", "Name of the model at `ollama` and `openai`; empty takes the only one that is there.")
    api_key_variable: str = _setting("", "Environment variable that holds the server's key.", user_only=True)
    context_tokens: int = _setting(4096, "Longest prompt with its answer.", low=256, high=10_000_000)
    prompt_ms: int = _setting(
        0,
        "Prompts are kept so short that an unknown one is read within this time; "
        "0 is two thirds of `completion.target_ms`.",
        low=0,
        high=600_000,
    )
    fim: str = _setting(
        "",
        "How the middle is filled: empty asks the model; a name is a format of tokens; `custom` takes the tokens "
        "below; `suffix` leaves it to the server's own parameter; `chat` asks in words; `none` shows no suffix.",
        choices=("", *FIM_WORDS),
    )
    fim_prefix: str = _setting("", "With `custom`: the token before the code before the cursor.")
    fim_suffix: str = _setting("", "With `custom`: the token before the code after the cursor.")
    fim_middle: str = _setting("", "With `custom`: the token after both; empty where the model has none.")
    fim_suffix_first: bool = _setting(
        False, "With `custom`: the code after the cursor comes first, as it does without `fim_middle`."
    )
    device: str = _setting(
        "auto", "Where `transformers` computes; `auto` is the fastest there is.", choices=("auto", "cpu", "cuda", "mps")
    )
    quantise: str = _setting(
        "auto", "Weights of `transformers`: `auto` as they are stored.", choices=("auto", "none", "int8")
    )
    threads: int = _setting(
        0, "Threads of a model in this process; 0 is the fastest in a short measurement.", low=0, high=1024
    )
    cache_mb: int = _setting(
        512, "What a model in this process has read and keeps, to read it only once.", low=0, high=1_000_000
    )
    speculate: bool = _setting(
        True, "A model in this process checks guesses, several tokens at once; its text stays the same."
    )
    download: bool = _setting(False, "`transformers` may fetch a model that is not on this machine.")
    connect_timeout_ms: int = _setting(
        2_000, "A server that takes no connection for longer is unreachable.", low=1, high=600_000
    )
    timeout_ms: int = _setting(30_000, "A server that is silent for longer is unreachable.", low=1, high=3_600_000)


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """What is remembered of conversations and documents. It stays on this machine, in `data_dir`."""

    documents: bool = _setting(
        True, "Read documents of the workspace for questions: prose, notebooks, docstrings, PDF files."
    )
    max_document_bytes: int = _setting(
        20_000_000, "Larger notebooks and PDF files are not read.", low=1, high=1_000_000_000
    )
    keep_conversations: bool = _setting(
        True, "Keep what was asked and answered on disk; else until Weft ends.", outside=True
    )
    kept_mb: int = _setting(
        500,
        "Room for what models and embedders made of texts; the least recently used goes first.",
        low=1,
        outside=True,
    )
    embeddings: str = _setting(
        "auto",
        "What finds texts by their meaning: `bundled`, a small English model that the extra `embeddings` brings; "
        "`local`, a directory; `api`, a server, which is sent the texts; `hashing`, letters alone. `auto` is `bundled` "
        "where it is installed, else `hashing`.",
        choices=EMBEDDER_KINDS,
        outside=True,
    )
    embeddings_path: str = _setting(
        "", "With `local`: directory of a model for sentence-transformers or transformers.", outside=True
    )
    embeddings_url: str = _setting(
        "", "With `api`: where a server answers that speaks OpenAI's protocol or Ollama's.", outside=True
    )
    embeddings_model: str = _setting("", "With `api`: name of the model there.", outside=True)
    embeddings_key_variable: str = _setting(
        "", "With `api`: environment variable that holds the server's key.", user_only=True
    )
    embeddings_query_prefix: str = _setting(
        "",
        "What the model wants before a question, as `query: ` (e5). What the model brings along needs no setting.",
        outside=True,
    )
    embeddings_passage_prefix: str = _setting(
        "", "The same before every other text, as `passage: ` (e5).", outside=True
    )
    embeddings_lower_case: bool = _setting(
        False,
        "With `local`: texts in lower case with plain quotes and dashes, as mContriever was trained.",
        outside=True,
    )
    beacon_model: str = _setting(
        "",
        "Directory of a Llama, Mistral or Qwen model that chats, or its name in the hub's cache: it reads long texts "
        "for `memorag` and keeps them by its beacon weights. Empty: the model that answers reads them.",
        outside=True,
    )
    beacon_weights: str = _setting(
        "",
        "Folder of beacon weights for `beacon_model`, as `weft.memory.memorag.beacon.training` writes it; empty where "
        "the directory of the model holds both, as published checkpoints do.",
        outside=True,
    )
    beacon_ratio: str = _setting(
        "adapt-1024",
        "Tokens that are read for one that is kept: a number such as `4`; window by window, as `sequence:2,4,8`; or "
        "`adapt-1024`, the smallest that holds the text and so many tokens of question and answer.",
        outside=True,
    )
    beacon_device: str = _setting(
        "auto", "Where `beacon_model` computes.", choices=("auto", "cpu", "cuda", "mps"), outside=True
    )


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """How questions about the repository are answered."""

    enabled: bool = _setting(True, "Answer questions about the repository.")
    evidence_tokens: int = _setting(
        3000, "Longest evidence for one question; a model with a small context gets less.", low=200, high=1_000_000
    )
    answer_tokens: int = _setting(700, "Longest answer, in the model's tokens.", low=16, high=100_000)
    max_seconds: float = _setting(
        300.0,
        "Longest time for an answer in all: what is written by then is kept, and the model is told to stop. With a "
        "strategy it is the longest time for one call of the model.",
        low=0.1,
        high=86_400,
    )
    strategy_max_seconds: float = _setting(
        3600.0,
        "Longest time for an answer by a memory strategy, which asks the model many times.",
        low=0.1,
        high=86_400,
    )
    found_above: float = _setting(
        0.4, "Evidence that is less sure to answer the question counts as not found.", low=0, high=1
    )


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that can be set."""

    index: IndexOptions = field(default_factory=IndexOptions)
    completion: CompletionOptions = field(default_factory=CompletionOptions)
    retrieval: RankingOptions = field(default_factory=RankingOptions)
    chat: ChatOptions = field(default_factory=ChatOptions)
    memory: MemoryOptions = field(default_factory=MemoryOptions)
    model: tuple[ModelOptions, ...] = _setting(
        (ModelOptions(),), "Models in order of preference, each a `[[model]]` table.", outside=True
    )
    redact: str = _setting(
        "auto",
        "Secrets in text that goes to models and embedders are replaced by `[redacted]`: `auto`, when they are behind "
        "an address, this machine's included; `always`, for models in this process too; `never`.",
        choices=("auto", "always", "never"),
        outside=True,
    )
    cache_dir: str = _setting("", "Folder of the kept indexes; empty is the user's cache folder.", user_only=True)
    cache_limit_mb: int = _setting(
        2000, "Room for kept indexes; the least recently used go first.", low=0, outside=True
    )
    data_dir: str = _setting(
        "", "Folder of conversations and what is known of documents; empty is the user's data folder.", user_only=True
    )
    log_level: str = _setting("info", "What is logged.", choices=("debug", "info", "warning", "error"))


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One mistake: which source, which key ("" for the whole file), what is wrong and what to do."""

    source: str
    key: str
    message: str
    line: int | None = None  # 1-based, where the text itself could not be read

    def __str__(self) -> str:
        where = self.source if self.line is None else f"{self.source}:{self.line}"
        return f"{where}: {self.key}: {self.message}" if self.key else f"{where}: {self.message}"


def load_config(
    folder: Path | None = None, editor: Mapping[str, object] | None = None, *, user_file: Path | None = None
) -> tuple[Config, tuple[ConfigProblem, ...]]:
    """The settings for one workspace folder, with every mistake found on the way. Never raises for a user's mistake.

    `editor` is the editor's settings below `weft`, nested as in the files; a null there means "not set".
    `user_file` defaults to `user_config_file()`.
    """
    problems: list[ConfigProblem] = []
    config = Config()
    user_file = user_file or user_config_file()
    layers: list[tuple[str, object, Origin]] = [(str(user_file), _read_toml(user_file, problems), Origin.USER)]
    if folder is not None:
        layers.append((*_workspace_table(folder, problems), Origin.WORKSPACE))
    layers.append(("editor settings", editor or {}, Origin.EDITOR))
    for source, table, origin in layers:
        before = config.memory
        reader = _Reader(source, origin, user_file, problems)
        config = reader.overlay(config, table)
        if before.embeddings_key_variable and config.memory.embeddings_url != before.embeddings_url:
            reader.note("memory.embeddings_url", f"a key is not sent there; set the address in {user_file} as well")
            config = replace(config, memory=replace(config.memory, embeddings_key_variable=""))
    return config, tuple(problems)


def user_config_file() -> Path:
    """Where the user's own settings stand: `weft.toml` in the configuration folder of the platform."""
    return Path(platformdirs.user_config_dir("weft", appauthor=False)) / WORKSPACE_FILE


def describe() -> str:
    """The reference table of every setting, in Markdown."""
    lines: list[str] = []
    for title, kind in _tables(Config):
        lines += ["", f"### {title}", "", "| key | type | default | meaning |", "|---|---|---|---|"]
        hints = get_type_hints(kind)
        for item in fields(kind):
            if not item.metadata:
                continue
            meaning = item.metadata["meaning"] + _limits(item)
            lines.append(f"| `{item.name}` | {_kind_name(hints[item.name])} | {_toml(item.default)} | {meaning} |")
    return "\n".join(lines).strip() + "\n"


def schema() -> dict[str, dict[str, Any]]:
    """Every setting by its dotted name, as a property of JSON Schema.

    Those that only the user's own file may set are left out. `scope` is that of VS Code: `machine` for what a workspace
    may not set, else `resource`.
    """
    return dict(_properties(Config))


class _Reader:
    """Lays one table over a config and notes what does not fit, or may not come from where it comes from."""

    def __init__(self, source: str, origin: Origin, user_file: Path, problems: list[ConfigProblem]) -> None:
        self.source = source
        self.origin = origin
        self.user_file = user_file
        self.problems = problems

    def overlay(self, base: Any, table: object, prefix: str = "") -> Any:
        if not isinstance(table, Mapping):
            self.note(prefix, f"expected a table, found {_found(table)}")
            return base
        known = {item.name: item for item in fields(base)}
        hints = get_type_hints(type(base))
        changes: dict[str, object] = {}
        for name, value in table.items():
            key = f"{prefix}.{name}" if prefix else str(name)
            if value is None:
                continue
            if name not in known:
                renamed = _RENAMED.get(re.sub(r"\[\d+\]", "", key))
                self.note(key, renamed or f"no such setting{_nearest(str(name), prefix)}")
            elif is_dataclass(hints[name]):
                changes[name] = self.overlay(getattr(base, name), value, key)
            elif known[name].metadata["origin"] > self.origin:
                self.note(key, self._not_from_here(known[name].metadata["origin"]))
            elif hints[name] == tuple[ModelOptions, ...]:
                changes[name] = self.models(value, key) or getattr(base, name)
            elif (problem := _misfit(value, hints[name], known[name])) is not None:
                self.note(key, problem)
            else:
                changes[name] = _convert(value, hints[name])
        return replace(base, **changes)

    def models(self, value: object, key: str) -> tuple[ModelOptions, ...]:
        tables = value if isinstance(value, list | tuple) else [value]
        read = []
        for number, table in enumerate(tables, 1):
            before = len(self.problems)
            model = self.overlay(ModelOptions(), table, key if len(tables) == 1 else f"{key}[{number}]")
            # A model with a mistake is not guessed at: the default backend would silently stand in for it.
            if len(self.problems) == before:
                read.append(model)
        return tuple(read)

    def _not_from_here(self, origin: Origin) -> str:
        who = "a workspace file" if self.origin is Origin.WORKSPACE else "an editor"
        where = f"{self.user_file} or in the editor" if origin is Origin.EDITOR else str(self.user_file)
        return f"{who} may not set this; set it in {where}"

    def note(self, key: str, message: str) -> None:
        self.problems.append(ConfigProblem(self.source, key, message))


def _workspace_table(folder: Path, problems: list[ConfigProblem]) -> tuple[str, object]:
    own, project = folder / WORKSPACE_FILE, folder / PROJECT_FILE
    # A pyproject.toml is edited for many reasons; only one that speaks of Weft is ours to complain about.
    speaks_of_weft = "tool.weft" in _text(project, [])
    if own.exists() and not own.is_dir():
        if speaks_of_weft:
            message = f"not read, because {WORKSPACE_FILE} stands beside it"
            problems.append(ConfigProblem(str(project), "tool.weft", message))
        return str(own), _read_toml(own, problems)
    if not speaks_of_weft:
        return str(project), {}
    tool = _read_toml(project, problems).get("tool", {})
    return str(project), tool.get("weft", {}) if isinstance(tool, dict) else {}


def _read_toml(path: Path, problems: list[ConfigProblem]) -> dict[str, object]:
    try:
        return tomllib.loads(_text(path, problems))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        line = int(found[1]) if found else None
        problems.append(ConfigProblem(str(path), "", f"not valid TOML, so nothing of it is used: {error}", line))
    except RecursionError:
        problems.append(ConfigProblem(str(path), "", "nested too deeply, so nothing of it is used"))
    return {}


def _text(path: Path, problems: list[ConfigProblem]) -> str:
    """The file's text; empty when there is none, and, with a problem, when it cannot be read."""
    try:
        with open_regular(path) as file:
            data = file.read(MAX_CONFIG_BYTES + 1)
        if len(data) > MAX_CONFIG_BYTES:
            problems.append(ConfigProblem(str(path), "", f"larger than {MAX_CONFIG_BYTES} bytes, so not read"))
            return ""
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.append(ConfigProblem(str(path), "", "not UTF-8, so nothing of it is used", line))
    except OSError as error:
        if path.exists() and not path.is_dir():
            problems.append(ConfigProblem(str(path), "", f"cannot be read: {error.strerror}"))
    return ""


def _misfit(value: object, kind: Any, item: Field[Any]) -> str | None:
    """What is wrong with `value`, None when it fits."""
    if get_origin(kind) is tuple:
        if not isinstance(value, list | tuple):
            return f"expected a list of texts, found {_found(value)}"
        wrong = next((entry for entry in value if not isinstance(entry, str)), None)
        return None if wrong is None else f"expected a list of texts, found {_found(wrong)} in it"
    fits = {
        bool: isinstance(value, bool),
        int: isinstance(value, int) and not isinstance(value, bool),
        float: isinstance(value, int | float) and not isinstance(value, bool),
        str: isinstance(value, str),
    }[kind]
    if not fits:
        return f"expected {_kind_name(kind)}, found {_found(value)}"
    choices, low, high = (item.metadata[name] for name in ("choices", "low", "high"))
    if choices and value not in choices:
        near = difflib.get_close_matches(str(value), choices, 1, 0.6)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"expected one of {', '.join(map(repr, choices))}, found {value!r}{hint}"
    # Written so that a NaN, which compares false with everything, does not fit either.
    if isinstance(value, int | float) and not (low is None or value >= low):
        return f"expected at least {low:_}, found {value}"
    if isinstance(value, int | float) and not (high is None or value <= high):
        return f"expected at most {high:_}, found {value}"
    return None


def _convert(value: Any, kind: Any) -> object:
    return tuple(value) if get_origin(kind) is tuple else kind(value)


def _nearest(name: str, table: str) -> str:
    """The nearest right key, as a question: the same name in another table, a like name in this one, then anywhere."""
    keys = list(_keys(Config))
    anywhere = {key.rpartition(".")[2]: key for key in keys}
    here = {key.rpartition(".")[2]: key for key in keys if key.rpartition(".")[0] == table}
    near = anywhere.get(name)
    for names in (here, anywhere):
        if near is None and (like := difflib.get_close_matches(name, names, 1, 0.7)):
            near = names[like[0]]
    return f"; did you mean {near!r}?" if near else ""


def _keys(kind: Any, prefix: str = "") -> Iterator[str]:
    for item, hint in zip(fields(kind), get_type_hints(kind).values(), strict=True):
        yield prefix + item.name
        if is_dataclass(hint):
            yield from _keys(hint, f"{prefix}{item.name}.")
        elif hint == tuple[ModelOptions, ...]:
            yield from _keys(ModelOptions, f"{prefix}{item.name}.")


def _tables(kind: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    yield (f"`[{name}]`" if name else "Top level"), kind
    for item, hint in zip(fields(kind), get_type_hints(kind).values(), strict=True):
        if is_dataclass(hint):
            yield from _tables(hint, f"{name}.{item.name}".strip("."))
        elif hint == tuple[ModelOptions, ...]:
            yield f"`[[{item.name}]]` (user file or editor only)", ModelOptions


def _properties(kind: Any, prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for item, hint in zip(fields(kind), get_type_hints(kind).values(), strict=True):
        if is_dataclass(hint):
            yield from _properties(hint, f"{prefix}{item.name}.")
        elif item.metadata["origin"] is not Origin.USER:
            scope = "machine" if item.metadata["origin"] is Origin.EDITOR else "resource"
            yield prefix + item.name, {**_property(item, hint), "scope": scope}


def _property(item: Field[Any], hint: Any) -> dict[str, Any]:
    metadata = item.metadata
    default: Any = item.default
    made: dict[str, Any] = {"type": _JSON_TYPES.get(hint, "array"), "description": metadata["meaning"]}
    if hint == tuple[ModelOptions, ...]:
        options = zip(fields(ModelOptions), get_type_hints(ModelOptions).values(), strict=True)
        one = {
            option.name: _property(option, kind)
            for option, kind in options
            if option.metadata["origin"] is not Origin.USER
        }
        made["items"] = {"type": "object", "properties": one, "additionalProperties": False}
        default = [{"backend": model.backend} for model in default]
    elif get_origin(hint) is tuple:
        made["items"] = {"type": "string"}
        default = list(default)
    if metadata["choices"]:
        made["enum"] = list(metadata["choices"])
    for limit, name in (("low", "minimum"), ("high", "maximum")):
        if metadata[limit] is not None:
            made[name] = metadata[limit]
    return {**made, "default": default}


def _limits(item: Field[Any]) -> str:
    metadata = item.metadata
    text = ""
    if metadata["choices"]:
        text += f" One of {', '.join(f'`{choice}`' for choice in metadata['choices'])}."
    if metadata["low"] is not None and metadata["high"] is not None:
        text += f" {metadata['low']:_} to {metadata['high']:_}."
    elif metadata["low"] is not None:
        text += f" At least {metadata['low']:_}."
    return text + _WHERE[metadata["origin"]]


_WHERE = {
    Origin.WORKSPACE: "",
    Origin.EDITOR: " *User file or editor only.*",
    Origin.USER: " *User file only.*",
}


def _kind_name(kind: Any) -> str:
    if kind == tuple[ModelOptions, ...]:
        return "tables"
    if get_origin(kind) is tuple and get_args(kind)[0] is str:
        return "list of texts"
    return _KINDS[kind]


def _found(value: object) -> str:
    name = "table" if isinstance(value, Mapping) else _KINDS.get(type(value), type(value).__name__)
    return f"{name} ({str(value).lower()})" if isinstance(value, bool | int | float) else name


def _toml(value: object) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0], ModelOptions):
        return f'backend `"{value[0].backend}"`'
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return "`[" + ", ".join(f'"{entry}"' for entry in value) + "]`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value:_}`" if isinstance(value, int) else f"`{value}`"
