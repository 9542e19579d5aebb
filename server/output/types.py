"""What Weft answers, as types: every field that goes to an editor or into `--json`, with what it means.

Owns the names and the meanings; `docs/protocol.md` and the types of the VS Code extension are generated from them
(`python -m weft.server.lsp.describe`), and a test holds real answers against them. Knows not how a value comes about.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict


class Position(TypedDict):
    """As in the language server protocol."""

    line: Annotated[int, "0-based."]
    character: Annotated[int, "In the client's position encoding."]


class Range(TypedDict):
    """As in the language server protocol."""

    start: Annotated[Position, "Where it begins."]
    end: Annotated[Position, "The position after the last character."]


class TextDocumentIdentifier(TypedDict):
    """As in the language server protocol."""

    uri: Annotated[str, "Of a document."]


class _Text(TypedDict):
    text: Annotated[str, "The line."]


class PageLine(_Text, total=False):
    """One line for a person. An editor shows it as it is; with `uri` it leads there."""

    uri: Annotated[str, "What the line leads to, if it leads anywhere."]
    range: Annotated[Range, "The lines there that are meant."]


# Status


class StatusAction(TypedDict):
    """What a person may do about a status; each editor has its own command for it."""

    title: Annotated[str, "In words, for a button."]
    action: Annotated[
        Literal["doctor", "log", "settings", "resume", "pause", "restart", "models"],
        "`doctor`: look for what is wrong. `log`: show Weft's log. `settings`, `models`: open the settings, those of "
        "the models. `pause`, `resume`: `weft/pause`. `restart`: start the server again.",
    ]


class ModelStatus(TypedDict):
    """One configured model."""

    name: Annotated[str, "Its name, or where it is."]
    backend: Annotated[str, "As in the settings."]
    state: Annotated[
        Literal["opening", "ready", "down", "aside"],
        "`down` does not answer and is tried again; `aside` failed its self-test.",
    ]
    note: Annotated[str, "What is wrong with it, and what to do."]
    readsTokensPerSecond: Annotated[float, "As measured; 0 when unknown."]
    writesTokensPerSecond: Annotated[float, "As measured; 0 when unknown."]


class StatusResult(TypedDict):
    """How Weft is, for a status bar and for whoever wonders why nothing happens."""

    kind: Annotated[
        Literal["starting", "indexing", "ready", "paused", "off", "slow", "degraded", "error"],
        "`off`: `completion.enabled` is false. `slow`: a model is too slow on this machine. `degraded`: a configured "
        "model is down and another answers. `error`: nobody answers, or the workspace could not be read.",
    ]
    text: Annotated[str, "The cause in a sentence."]
    percent: Annotated[int | None, "How much is indexed, 0 to 100; null while nothing is being indexed."]
    actions: Annotated[list[StatusAction], "What helps, the likeliest first."]
    page: Annotated[list[PageLine] | None, "The whole status for a person; null in `weft/didChangeStatus`."]
    state: Annotated[
        Literal["starting", "indexing", "ready", "error"], "The state of the index. `kind` says it for a person."
    ]
    folders: Annotated[list[str], "Paths of the workspace folders."]
    files: Annotated[int, "Indexed files."]
    lines: Annotated[int, "Lines in them."]
    fragments: Annotated[int, "Fragments that they are searched by."]
    model: Annotated[str, "The model that answers now."]
    modelReason: Annotated[
        str, "Why it is that one: the first in the configuration, or what is the matter with those before it."
    ]
    models: Annotated[list[ModelStatus], "The configured models in their order."]
    notes: Annotated[
        list[str], "What is wrong and what to do; files that could not be analysed are named with the reason."
    ]
    reconciling: Annotated[
        bool,
        "Whether the index is being compared with the disk, as after many changes. Requests are answered meanwhile.",
    ]
    memoryMb: Annotated[float, "Resident memory of the server in megabytes."]


# Doctor


class Finding(TypedDict):
    """One thing that the doctor looked at."""

    what: Annotated[str, "What was looked at."]
    found: Annotated[str, "What is there."]
    nextStep: Annotated[str, "What to do; empty when nothing is wrong."]


class Findings(TypedDict):
    """What `weft doctor --json` prints."""

    version: Annotated[str, "Weft's."]
    ok: Annotated[bool, "Whether nothing is to be done."]
    findings: Annotated[list[Finding], "In the order in which they were looked at."]


class DoctorResult(Findings):
    """What is installed and configured, and whether it can work."""

    page: Annotated[list[PageLine], "The same for a person."]


# Fragments and completions


class Part(TypedDict):
    """One part of a score."""

    name: Annotated[str, "Where it comes from."]
    value: Annotated[float, "What it adds to the score."]
    detail: Annotated[str, "What it was found by."]


class Place(TypedDict):
    """Lines of a file."""

    path: Annotated[str, "Relative to its folder, with forward slashes."]
    startLine: Annotated[int, "0-based."]
    endLine: Annotated[int, "The line after the last one."]


class LinkedPlace(Place):
    """Lines of a file that an editor can open."""

    uri: Annotated[str | None, "Of the file; null outside of all folders."]


class _Fragment(TypedDict):
    score: Annotated[float, "The higher the better."]
    parts: Annotated[list[Part], "They add up to the score."]
    way: Annotated[list[str], "The strongest relations from the cursor to it, step by step."]
    text: Annotated[str, "Its lines."]


class Fragment(_Fragment):
    """A piece of the repository that was retrieved."""

    places: Annotated[list[Place], "All places where this text stands, the best first."]


class ExplainedFragment(_Fragment):
    """A fragment, with links to its places."""

    places: Annotated[list[LinkedPlace], "All places where this text stands, the best first."]


class LeftOut(TypedDict):
    """A window that scored well and is not used."""

    place: Annotated[str, "`path:first-last`, as a person reads it: 1-based, the last line included."]
    reason: Annotated[str, "Why not."]
    uri: Annotated[str | None, "Of the file; null outside of all folders."]
    startLine: Annotated[int, "0-based."]
    endLine: Annotated[int, "The line after the last one."]


class ExplainResult(TypedDict):
    """Which fragments a completion at a position is given, and why."""

    path: Annotated[str, "The document as the index names it."]
    shownFromLine: Annotated[int, "First line of the document that the prompt shows anyway (0-based)."]
    model: Annotated[str, "The model that would be asked."]
    notes: Annotated[
        list[str], "What a person should know: a model that can't be reached, a file that is not completed."
    ]
    fragments: Annotated[list[ExplainedFragment], "Best first."]
    leftOut: Annotated[list[LeftOut], "Best first."]
    timingsMs: Annotated[dict[str, float], "Milliseconds by step."]
    page: Annotated[list[PageLine], "All of it for a person, with links to the fragments."]


class CompletionAnswer(TypedDict):
    """A completion, as `weft complete --json` prints it."""

    text: Annotated[str, "What to insert; empty when there is nothing to show."]
    start: Annotated[list[int], "Where the replaced text begins: line and column in Python characters."]
    end: Annotated[list[int], "Where it ends, likewise."]
    confidence: Annotated[float | None, "How probable it is to be right; null when the model gives no probabilities."]
    model: Annotated[str, "Who wrote it."]
    id: Annotated[str, "Names it in the messages about what became of it."]
    source: Annotated[
        Literal["model", "cache", "typed-through", "joined", "prefetched"],
        "Generated for this request; from the cache; the remainder of a cached one that is being typed; from a running "
        "request that this one joined; prefetched.",
    ]
    repairs: Annotated[list[str], "The rules that changed the model's text."]
    whyEmpty: Annotated[str, "The reason when `text` is empty."]
    note: Annotated[str, "Why the text is not whole: it was cut by a time limit."]
    fragments: Annotated[list[Fragment], "What the model was shown, best first."]
    timingsMs: Annotated[dict[str, float], "Milliseconds by step."]


class CompleteItem(CompletionAnswer):
    """A completion in an open document."""

    range: Annotated[Range, "What `text` replaces: on one line."]


class CompleteResult(TypedDict):
    """Completions that somebody asked for."""

    items: Annotated[list[CompleteItem], "Different texts, the best first; one that is empty when there is none."]


class AcceptArgument(TypedDict):
    """The argument of the command `weft.didAccept` of an inline completion item."""

    id: Annotated[str, "Names the completion in the messages about what became of it."]
    source: Annotated[
        Literal["model", "cache", "typed-through", "joined", "prefetched"], "Where the text comes from, as above."
    ]
    model: Annotated[str, "Who wrote it."]
    confidence: Annotated[float | None, "How probable it is to be right; null when the model gives no probabilities."]
    timingsMs: Annotated[dict[str, float], "Milliseconds by step."]


class Latency(TypedDict):
    """How long answers took."""

    p50: Annotated[float, "Milliseconds, the median."]
    p95: Annotated[float, "Milliseconds; 95 of 100 were faster."]
    n: Annotated[int, "How many there were."]


class StatsResult(TypedDict):
    """What was counted. It stays on this machine."""

    asked: Annotated[dict[str, int], "Requests by trigger."]
    offered: Annotated[dict[str, int], "Answers with a text, by source."]
    empty: Annotated[dict[str, int], "Answers without, by reason."]
    shown: Annotated[dict[str, int], "Seen by a person, by language."]
    accepted: Annotated[dict[str, int], "Taken whole, by language."]
    partlyAccepted: Annotated[dict[str, int], "Taken in part and not whole, by language."]
    rejected: Annotated[dict[str, int], "Refused, by language."]
    charactersTaken: Annotated[dict[str, int], "By model."]
    acceptedShare: Annotated[float | None, "Of what was shown; null when nothing was."]
    latencyMs: Annotated[dict[str, Latency], "By source."]


# Questions


class CitedLines(TypedDict):
    """Lines that an answer stands on, looked up: they exist and hold what is said of them."""

    place: Annotated[str, "`path:first-last`, as it stands in the text."]
    path: Annotated[str, "Relative to its folder, with forward slashes."]
    folder: Annotated[str, "The path of the workspace folder; may be empty where there is only one."]
    startLine: Annotated[int, "0-based."]
    endLine: Annotated[int, "The line after the last one."]
    text: Annotated[str, "The lines."]


class Citation(CitedLines):
    """Lines that an answer stands on, looked up, for an editor to open."""

    uri: Annotated[str | None, "Of the file; null where its folder is gone."]
    range: Annotated[Range, "The lines, up to the end of the last one."]


class ShownLines(TypedDict):
    """Lines that speak to a question."""

    kind: Annotated[Literal["code", "definition", "document", "turn"], "What it is; a `turn` is of this conversation."]
    place: Annotated[str, "`path:first-last`, as a person reads it."]
    path: Annotated[str, "Relative to its folder, with forward slashes."]
    folder: Annotated[str, "The path of the workspace folder; may be empty where there is only one."]
    startLine: Annotated[int, "0-based."]
    endLine: Annotated[int, "The line after the last one."]
    symbol: Annotated[str, "The qualified name of what is defined there."]
    why: Annotated[str, "Why it was chosen."]
    score: Annotated[float, "The higher the better."]
    parts: Annotated[list[Part], "They add up to the score, where there are any."]
    way: Annotated[list[str], "The calls that lead there, step by step."]
    text: Annotated[str, "The lines."]


class Exhibit(ShownLines):
    """Lines that speak to a question, for an editor to open."""

    uri: Annotated[str | None, "Of the file; null for a past turn."]


class Cost(TypedDict):
    """What an answer cost."""

    calls: Annotated[int, "Of models."]
    tokensIn: Annotated[int, "Read."]
    tokensOut: Annotated[int, "Written."]
    seconds: Annotated[float, "In which models worked."]


class _Answer(TypedDict):
    text: Annotated[str, "The answer, as it was streamed."]
    found: Annotated[bool, "False says that the repository does not answer this."]
    nDropped: Annotated[int, "Citations that did not hold and are not shown."]
    model: Annotated[str, "Who wrote it; empty when it is the evidence itself."]
    conversationId: Annotated[str, "Where it can go on; empty when nothing is remembered."]
    question: Annotated[str, "As it was taken, with what it leans on put in."]
    confidence: Annotated[float, "How sure it is that the evidence answers the question, 0 to 1."]
    names: Annotated[list[str], "Symbols of the repository that the question speaks of."]
    notes: Annotated[list[str], "What a person should know."]
    cost: Annotated[Cost, "What it cost."]
    timingsMs: Annotated[dict[str, float], "Milliseconds by step."]


class Answer(_Answer):
    """The answer to a question, as `weft ask --json` prints it."""

    citations: Annotated[list[CitedLines], "In the order of the text."]
    exhibits: Annotated[list[ShownLines], "The evidence, best first."]


class AskResult(_Answer):
    """The answer to a question."""

    citations: Annotated[list[Citation], "In the order of the text."]
    exhibits: Annotated[list[Exhibit], "The evidence, best first."]


class AskProgress(TypedDict, total=False):
    """A piece of an answer, by `$/progress` with the request's `partialResultToken`."""

    conversationId: Annotated[str, "Where the conversation goes on; once, first of all."]
    text: Annotated[str, "More of the answer."]
    citation: Annotated[Citation, "Lines that are cited in the text to come."]
    restart: Annotated[Literal[True], "The text and the citations so far are void: another model begins anew."]


class Conversation(TypedDict):
    """What is kept of a conversation."""

    id: Annotated[str, "Its name in requests."]
    title: Annotated[str, "Its first question."]
    createdAt: Annotated[float, "Seconds since the epoch."]
    changedAt: Annotated[float, "Seconds since the epoch."]
    turns: Annotated[int, "How many there are."]


class KeptExhibit(TypedDict):
    """What is kept of the evidence of an answer."""

    kind: Annotated[Literal["code", "definition", "document", "turn"], "What it is; a `turn` is of this conversation."]
    folder: Annotated[str, "The path of the workspace folder; may be empty where there is only one."]
    place: Annotated[str, "`path:first-last`, as a person reads it."]
    symbol: Annotated[str, "The qualified name of what is defined there."]
    why: Annotated[str, "Why it was chosen."]


class _Turn(TypedDict):
    conversationId: Annotated[str, "The conversation it belongs to."]
    number: Annotated[int, "Its place there, from 0."]
    question: Annotated[str, "As it was asked."]
    askedAt: Annotated[float, "Seconds since the epoch."]
    answer: Annotated[str | None, "Null where none came."]
    answeredAt: Annotated[float | None, "Seconds since the epoch; null where no answer came."]
    model: Annotated[str, "Who wrote it; empty when it is the evidence itself."]
    evidence: Annotated[list[KeptExhibit], "What the answer was written from, best first."]


class KeptTurn(_Turn):
    """A question and its answer, as `weft history --json` prints them."""

    citations: Annotated[list[CitedLines], "In the order of the text, as they held then."]


class Turn(_Turn):
    """A question and its answer."""

    citations: Annotated[list[Citation], "In the order of the text, as they held then."]


class ConversationsResult(TypedDict, total=False):
    """Depends on the action."""

    conversations: Annotated[list[Conversation], "`list`: the last that was spoken in first."]
    turns: Annotated[list[Turn], "`get`: in their order. `search`: the newest first."]
    deleted: Annotated[int, "`delete`: how many conversations."]
    exported: Annotated[int, "`export`: how many conversations."]
    file: Annotated[str, "`export`: the path of the file that was written."]


# The handshake


class SlashCommand(TypedDict):
    """What may be asked with a slash."""

    name: Annotated[str, "Without the slash."]
    argument: Annotated[str, "What may follow; empty for nothing."]
    meaning: Annotated[str, "What it answers."]


class ServerOffer(TypedDict):
    """What the server says of itself in `capabilities.experimental.weft`."""

    version: Annotated[str, "Weft's."]
    slashCommands: Annotated[list[SlashCommand], "What `weft/ask` takes with a slash."]


class ClientOffer(TypedDict, total=False):
    """What a client may say of itself in `capabilities.experimental.weft`."""

    status: Annotated[bool, "It wants `weft/didChangeStatus`."]
