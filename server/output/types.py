"""Types of all results: every field that is sent to an editor or printed by `--json`, with its description.

`python -m weft.server.lsp.describe` generates `docs/protocol.md` and the types of the VS Code extension from them, and
a test checks real answers against them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict


class Position(TypedDict):
    """As in the Language Server Protocol."""

    line: Annotated[int, "0-based."]
    character: Annotated[int, "In the client's position encoding."]


class Range(TypedDict):
    """As in the Language Server Protocol."""

    start: Annotated[Position, "The first position."]
    end: Annotated[Position, "The position after the last character."]


class TextDocumentIdentifier(TypedDict):
    """As in the Language Server Protocol."""

    uri: Annotated[str, "URI of a document."]


class VersionedTextDocumentIdentifier(TypedDict):
    """As in the Language Server Protocol."""

    uri: Annotated[str, "URI of a document."]
    version: Annotated[int, "The version of the document that the client has."]


class _Text(TypedDict):
    text: Annotated[str, "The line."]


class PageLine(_Text, total=False):
    """One line of text for a person, shown unchanged; with `uri` it is a link."""

    uri: Annotated[str, "The target of the link."]
    range: Annotated[Range, "The linked lines."]


# Status


class StatusAction(TypedDict):
    """An action that a status offers; each editor has its own command for it."""

    title: Annotated[str, "Label of a button."]
    action: Annotated[
        Literal["doctor", "log", "settings", "resume", "pause", "restart", "models", "index"],
        "`doctor`: check the installation. `log`: show the log. `settings`, `models`: open all settings, or those of "
        "the models. `pause`, `resume`: `weft/pause`. `restart`: restart the server. `index`: `weft/indexFolders`.",
    ]


class ModelStatus(TypedDict):
    """One configured model."""

    name: Annotated[str, "Its name, URL or path."]
    backend: Annotated[str, "As in the settings."]
    state: Annotated[
        Literal["opening", "ready", "down", "aside"],
        "`down`: does not answer and is retried. `aside`: disabled, because its self-test failed.",
    ]
    note: Annotated[str, "What is wrong with it, and what to do."]
    readsTokensPerSecond: Annotated[float, "Measured prefill speed; 0 if unknown."]
    writesTokensPerSecond: Annotated[float, "Measured decoding speed; 0 if unknown."]


class StatusResult(TypedDict):
    """The state of the server, for a status bar and for diagnosis."""

    kind: Annotated[
        Literal["starting", "indexing", "ready", "paused", "off", "slow", "degraded", "error"],
        "`off`: `completion.enabled` is false. `slow`: a model misses its target latency. `degraded`: a configured "
        "model is down and another one answers. `error`: no model answers, or the workspace can't be read.",
    ]
    text: Annotated[str, "The cause, in one sentence."]
    percent: Annotated[int | None, "Progress of indexing, 0 to 100; null if no indexing runs."]
    actions: Annotated[list[StatusAction], "Actions that may help, best first."]
    page: Annotated[list[PageLine] | None, "The whole status for a person; null in `weft/didChangeStatus`."]
    state: Annotated[
        Literal["starting", "indexing", "ready", "error"], "The state of the index; `kind` is the state of everything."
    ]
    folders: Annotated[list[str], "Paths of the workspace folders."]
    files: Annotated[int, "Indexed files."]
    lines: Annotated[int, "Lines in them."]
    fragments: Annotated[int, "Fragments in the index."]
    model: Annotated[str, "The model that answers now."]
    modelReason: Annotated[
        str, "Why this model answers: the first in the configuration, or the states of the models before it."
    ]
    models: Annotated[list[ModelStatus], "The configured models in their order."]
    notes: Annotated[list[str], "What is wrong and what to do, such as files that can't be analysed, with the reason."]
    reconciling: Annotated[
        bool,
        "Whether the index is being compared with the disk, for example after many changes. Requests are answered "
        "meanwhile.",
    ]
    memoryMb: Annotated[float, "Resident memory of the server, in megabytes."]


# Doctor


class Finding(TypedDict):
    """The result of one check."""

    what: Annotated[str, "The checked item."]
    found: Annotated[str, "The result."]
    nextStep: Annotated[str, "What to do; empty if nothing is wrong."]


class Findings(TypedDict):
    """What `weft doctor --json` prints."""

    version: Annotated[str, "The version of Weft."]
    ok: Annotated[bool, "Whether all checks passed."]
    findings: Annotated[list[Finding], "In the order of the checks."]


class DoctorResult(Findings):
    """The checks of the installation and the configuration."""

    page: Annotated[list[PageLine], "The same as text."]


# Fragments and completions


class Part(TypedDict):
    """One part of a score."""

    name: Annotated[str, "The signal."]
    value: Annotated[float, "Its contribution to the score."]
    detail: Annotated[str, "The words or relations that matched."]


class Place(TypedDict):
    """Lines of a file."""

    path: Annotated[str, "Relative to the document's folder, with forward slashes; of another folder, `folder/path`."]
    startLine: Annotated[int, "0-based."]
    endLine: Annotated[int, "The line after the last one, 0-based."]


class LinkedPlace(Place):
    """Lines of a file that an editor can open."""

    uri: Annotated[str | None, "URI of the file; null outside of all folders."]


class _Fragment(TypedDict):
    score: Annotated[float, "Higher is better."]
    parts: Annotated[list[Part], "The parts that add up to the score."]
    way: Annotated[list[str], "The strongest path of relations from the cursor to the fragment."]
    text: Annotated[str, "The lines."]
    isOutline: Annotated[bool, "Whether it has the signatures of several definitions, one at each location."]


class Fragment(_Fragment):
    """A retrieved fragment of the repository."""

    places: Annotated[list[Place], "All locations of this text, best first; those of the signatures of an outline."]


class ExplainedFragment(_Fragment):
    """A retrieved fragment, with links to its locations."""

    places: Annotated[
        list[LinkedPlace], "All locations of this text, best first; those of the signatures of an outline."
    ]


class OmittedFragment(TypedDict):
    """A fragment that scored well and was left out."""

    place: Annotated[str, "`path:first-last`, 1-based and inclusive."]
    reason: Annotated[str, "Why it was left out."]
    uri: Annotated[str | None, "URI of the file; null outside of all folders."]
    startLine: Annotated[int, "0-based."]
    endLine: Annotated[int, "The line after the last one, 0-based."]


class Renaming(TypedDict):
    """A name that a completion changes."""

    there: Annotated[str, "The name in the source."]
    here: Annotated[str, "The name in the completion."]


class SourceLines(LinkedPlace):
    """Lines that a completion was copied from, or adapted from by changing names."""

    text: Annotated[str, "The lines."]
    renamed: Annotated[list[Renaming], "The changed names; empty for a copy."]


class ExplainedText(TypedDict):
    """The text of a completion, why it is shown or hidden, and where it comes from."""

    text: Annotated[
        str,
        "The completion while typing. If that is empty, the completion of an invoked request, as far as it is known "
        "without a call of a neural model.",
    ]
    writer: Annotated[str, "The model that wrote `text`."]
    confidence: Annotated[
        float | None, "Calibrated probability that `text` is right; null if the model reports no probabilities."
    ]
    minConfidence: Annotated[float, "`completion.min_confidence`: less is not shown while typing."]
    whyHidden: Annotated[str, "Why `text` is not shown while typing; empty if it is."]
    sources: Annotated[
        list[SourceLines], "Where a text of the workspace model comes from, at most 3 places, the nearest first."
    ]
    reasons: Annotated[list[str], "What a text of the workspace model is based on, in sentences."]


class ExplainResult(ExplainedText):
    """The completion at a position, where it comes from, and why it is shown or hidden."""

    path: Annotated[str, "The path of the document in the index."]
    shownFromLine: Annotated[int, "First line of the document that the prompt contains anyway, 0-based."]
    model: Annotated[str, "The model that would answer."]
    notes: Annotated[list[str], "Notes, such as an unreachable model or a file without completions."]
    fragments: Annotated[
        list[ExplainedFragment], "The fragments for the prompt of a model, best first. The workspace model has none."
    ]
    leftOut: Annotated[list[OmittedFragment], "Best first."]
    timingsMs: Annotated[dict[str, float], "Milliseconds by step."]
    page: Annotated[list[PageLine], "The same as text, with links to the sources or the fragments."]


# Next edits


class Command(TypedDict):
    """As in the Language Server Protocol."""

    title: Annotated[str, "A title; empty for a command that is not shown."]
    command: Annotated[str, "The command of the server."]
    arguments: Annotated[list[dict[str, str]], "Its arguments: one object with the field `id`."]


class EditedTextDocument(TypedDict):
    """A document and the version for which an edit is; null for a file that is not open."""

    uri: Annotated[str, "URI of the document."]
    version: Annotated[int | None, "Its version, null if it is not open."]


class InlineEdit(TypedDict):
    """An edit in the requested document, in the form of Copilot's language server."""

    text: Annotated[str, "The new text of the range."]
    range: Annotated[Range, "What is replaced; it may be anywhere in the document."]
    textDocument: Annotated[EditedTextDocument, "The document that it is in."]
    command: Annotated[Command, "To be executed when the edit is taken."]


class InlineEditResult(TypedDict):
    """The next edit in a document: one or none, because it may make others wrong."""

    edits: Annotated[list[InlineEdit], "At most one."]


class EditOrigin(TypedDict):
    """The recent edit that a next edit follows from."""

    uri: Annotated[str, "URI of its document."]
    path: Annotated[str, "The path of the file in its folder, with forward slashes."]
    line: Annotated[int, "The line that tells most, as it is now, 0-based."]
    before: Annotated[str, "The lines that were edited, before."]
    after: Annotated[str, "The same lines now; empty if they were deleted."]


class NextEditItem(InlineEdit):
    """A next edit in any file of the workspace."""

    id: Annotated[str, "Identifies it in feedback messages."]
    oldText: Annotated[str, "The text of the range now."]
    path: Annotated[str, "The path of the file in its folder, with forward slashes."]
    kind: Annotated[
        Literal["rename", "signature", "repeated", "list", "import", "consequence", "rewrite"],
        "What it follows from: a renamed name, changed parameters, alike edits, a new member of a list, a name and its "
        "import, another consequence, or a model's rewrite.",
    ]
    reason: Annotated[str, "What it follows from, as a sentence."]
    evidence: Annotated[str, "How this place was found, as a sentence; empty if the reason says it."]
    origin: Annotated[EditOrigin | None, "The edit that it follows from; null if there is no single one."]
    group: Annotated[str, "Equal for edits that follow from one edit."]
    confidence: Annotated[float, "Estimated probability that it is wanted."]
    isMarked: Annotated[bool, "It is in a string or a comment, or the name alone matches: a list has it unchecked."]


class NextEditResult(TypedDict):
    """What the recent edits of a session make necessary, for one version of a document."""

    version: Annotated[int, "The version of the document that the answer is for."]
    edits: Annotated[list[NextEditItem], "Best first."]


class CompletionAnswer(TypedDict):
    """A completion, as `weft complete --json` prints it."""

    text: Annotated[str, "The text to insert; empty if there is none."]
    start: Annotated[list[int], "Start of the replaced text: 0-based line and column, in Unicode code points."]
    end: Annotated[list[int], "End of the replaced text, likewise."]
    confidence: Annotated[
        float | None, "Calibrated probability that it is right; null if the model reports no probabilities."
    ]
    model: Annotated[str, "The model that wrote it."]
    id: Annotated[str, "Identifies the completion in feedback messages."]
    source: Annotated[
        Literal["model", "cache", "typed-through", "joined", "prefetched"],
        "`model`: generated for this request. `cache`: from an earlier request at this position. `typed-through`: the "
        "rest of a completion that the user types. `joined`: from a request that was still running. `prefetched`: "
        "generated before an editor asked.",
    ]
    repairs: Annotated[list[str], "The repair rules that changed the text of the model."]
    whyEmpty: Annotated[str, "The reason if `text` is empty."]
    minConfidence: Annotated[float, "The least confidence that this request shows; 0 for an invoked one."]
    heldBack: Annotated[str, "The text with less confidence, if the model finished it."]
    note: Annotated[str, "Why the text is incomplete: a time limit cut it."]
    fragments: Annotated[list[Fragment], "The retrieved fragments in the prompt, best first."]
    timingsMs: Annotated[dict[str, float], "Milliseconds by step."]


class CompleteItem(CompletionAnswer):
    """A completion in an open document."""

    range: Annotated[Range, "The range that `text` replaces, on one line."]


class CompleteResult(TypedDict):
    """Invoked completions."""

    items: Annotated[list[CompleteItem], "Different completions, best first; a single empty one if there is none."]


class AcceptArgument(TypedDict):
    """The argument of the command `weft.didAccept` of an inline completion item."""

    id: Annotated[str, "Names the completion in the messages about what became of it."]
    source: Annotated[Literal["model", "cache", "typed-through", "joined", "prefetched"], "As in `CompletionAnswer`."]
    model: Annotated[str, "The model that wrote it."]
    confidence: Annotated[
        float | None, "Calibrated probability that it is right; null if the model reports no probabilities."
    ]
    timingsMs: Annotated[dict[str, float], "Milliseconds by step."]


class Latency(TypedDict):
    """Latency of answers."""

    p50: Annotated[float, "Median, in milliseconds."]
    p95: Annotated[float, "95th percentile, in milliseconds."]
    n: Annotated[int, "Number of answers."]


class StatsResult(TypedDict):
    """Counters of completions. They stay on this machine."""

    asked: Annotated[dict[str, int], "Requests by trigger."]
    offered: Annotated[dict[str, int], "Answers with a completion, by source."]
    empty: Annotated[dict[str, int], "Empty answers, by reason."]
    shown: Annotated[dict[str, int], "Shown completions, by language."]
    accepted: Annotated[dict[str, int], "Fully accepted, by language."]
    partlyAccepted: Annotated[dict[str, int], "Partly accepted, by language."]
    rejected: Annotated[dict[str, int], "Rejected, by language."]
    charactersTaken: Annotated[dict[str, int], "Accepted characters, by model."]
    nextEditsShown: Annotated[dict[str, int], "Shown next edits, by kind."]
    nextEditsTaken: Annotated[dict[str, int], "Taken next edits, by kind."]
    nextEditsRefused: Annotated[dict[str, int], "Refused next edits, by kind."]
    acceptedShare: Annotated[float | None, "Share of shown completions that were accepted; null if none was shown."]
    latencyMs: Annotated[dict[str, Latency], "Latency by source."]
    agentCalls: Annotated[dict[str, int], "Calls of tools by agents, by tool. They count in nothing else."]
    agentCallsFailed: Annotated[dict[str, int], "Those that were answered with an error, by tool."]
    agentLatencyMs: Annotated[dict[str, Latency], "Latency of the others, by tool."]


# Agents


class CallToolResult(TypedDict):
    """The answer of a tool for agents. Paths are relative to the folder; lines are 1-based."""

    text: Annotated[str, "The whole answer, or why there is none and what to do."]
    isError: Annotated[bool, "True if the call was wrong or failed; `text` has the reason."]
    places: Annotated[list[str], "The places in the answer, as `path:line` or `path:first-last`."]
    cursor: Annotated[str, "The `cursor` argument of the next page; empty on the last one."]


class ExploreResult(TypedDict):
    """A view of the page of `weft explore`."""

    view: Annotated[dict[str, Any], "What the page shows, as JSON; empty after an error."]
    error: Annotated[str, "Why there is no view and what to do; empty if there is one."]


# Questions


class CitedLines(TypedDict):
    """Cited lines. They exist, and they support the statement."""

    place: Annotated[str, "`path:first-last`, as in the text."]
    path: Annotated[str, "Relative to its folder, with forward slashes."]
    folder: Annotated[str, "Path of the workspace folder; may be empty if there is only one."]
    startLine: Annotated[int, "0-based."]
    endLine: Annotated[int, "The line after the last one, 0-based."]
    text: Annotated[str, "The lines."]


class Citation(CitedLines):
    """Cited lines, with a link."""

    uri: Annotated[str | None, "URI of the file; null if its folder was removed."]
    range: Annotated[Range, "The lines, up to the end of the last one."]


class EvidenceLines(TypedDict):
    """Evidence for a question: lines of the repository, or an earlier turn."""

    kind: Annotated[
        Literal["code", "definition", "document", "turn"], "Kind of evidence; a `turn` belongs to this conversation."
    ]
    place: Annotated[str, "`path:first-last`, 1-based and inclusive."]
    path: Annotated[str, "Relative to its folder, with forward slashes."]
    folder: Annotated[str, "Path of the workspace folder; may be empty if there is only one."]
    startLine: Annotated[int, "0-based."]
    endLine: Annotated[int, "The line after the last one, 0-based."]
    symbol: Annotated[str, "Qualified name of the definition."]
    why: Annotated[str, "Why it was chosen."]
    score: Annotated[float, "Higher is better."]
    parts: Annotated[list[Part], "The parts that add up to the score, if known."]
    way: Annotated[list[str], "The chain of calls that leads there."]
    text: Annotated[str, "The lines."]


class EvidenceItem(EvidenceLines):
    """Evidence for a question, with a link."""

    uri: Annotated[str | None, "URI of the file; null for a turn."]


class Cost(TypedDict):
    """Cost of an answer."""

    calls: Annotated[int, "Calls of models."]
    tokensIn: Annotated[int, "Prompt tokens."]
    tokensOut: Annotated[int, "Output tokens."]
    seconds: Annotated[float, "Time in models."]


class _Answer(TypedDict):
    text: Annotated[str, "The answer, as it was streamed."]
    found: Annotated[bool, "False if the repository does not answer the question."]
    nDropped: Annotated[int, "Number of invalid citations, which are not shown."]
    model: Annotated[str, "The model that wrote it; empty for an extractive answer."]
    strategy: Annotated[str, "The memory strategy that found or wrote it; empty where none did."]
    conversationId: Annotated[str, "The conversation to continue; empty if it is not stored."]
    question: Annotated[str, "The question after ellipsis resolution."]
    askedAs: Annotated[str, "The same where it differs from the question as written; else empty."]
    confidence: Annotated[float, "Probability that the evidence answers the question, 0 to 1."]
    level: Annotated[Literal["sure", "perhaps", "not found"], "How sure the answer is, in one word."]
    names: Annotated[list[str], "Symbols of the repository in the question."]
    notes: Annotated[list[str], "Notes for a person."]
    cost: Annotated[Cost, "Cost of the answer."]
    timingsMs: Annotated[dict[str, float], "Milliseconds by step."]


class Answer(_Answer):
    """The answer to a question, as `weft ask --json` prints it."""

    citations: Annotated[list[CitedLines], "In the order of the text."]
    exhibits: Annotated[list[EvidenceLines], "The evidence, best first."]


class AskResult(_Answer):
    """The answer to a question."""

    citations: Annotated[list[Citation], "In the order of the text."]
    exhibits: Annotated[list[EvidenceItem], "The evidence, best first."]


class AskProgress(TypedDict, total=False):
    """A piece of an answer, by `$/progress` with the request's `partialResultToken`."""

    conversationId: Annotated[str, "The conversation; sent once, first."]
    askedAs: Annotated[str, "The question that is answered, if it is not the one as written; before the answer."]
    text: Annotated[str, "The next part of the answer."]
    citation: Annotated[Citation, "A citation in the text that follows."]
    restart: Annotated[Literal[True], "Discard the text and the citations so far: another model starts over."]


class _Hit(TypedDict):
    place: Annotated[str, "`path:first-last`, 1-based and inclusive."]
    path: Annotated[str, "Relative to its folder, with forward slashes."]
    folder: Annotated[str, "Path of the workspace folder; empty if there is only one."]
    startLine: Annotated[int, "0-based."]
    endLine: Annotated[int, "The line after the last one, 0-based."]
    kind: Annotated[
        str,
        "Kind of the definition: `function`, `method`, `class`, `struct` and so on; else `section` of a document, or "
        "`code`.",
    ]
    symbol: Annotated[str, "Qualified name of the definition, or the headings above the section; may be empty."]
    line: Annotated[int, "The best line, 0-based."]
    preview: Annotated[str, "The text of the best line."]
    score: Annotated[
        float,
        "Higher is better. If the query is a name, its definitions come before better scores of other hits.",
    ]
    parts: Annotated[list[Part], "The parts that add up to the score."]


class FoundLines(_Hit):
    """A hit of a search, as `weft search --json` prints it."""


class SearchHit(_Hit):
    """A hit of a search, with a link."""

    uri: Annotated[str | None, "URI of the file; null if its folder was removed."]
    range: Annotated[Range, "The best line."]


class SearchResult(TypedDict):
    """The hits of a search."""

    hits: Annotated[list[SearchHit], "Best first."]
    notes: Annotated[list[str], "Why there is no hit and what to try, and what is not searched yet."]


class Conversation(TypedDict):
    """A stored conversation."""

    id: Annotated[str, "Its identifier in requests."]
    title: Annotated[str, "Its first question."]
    createdAt: Annotated[float, "Seconds since the epoch."]
    changedAt: Annotated[float, "Seconds since the epoch."]
    turns: Annotated[int, "Number of turns."]


class StoredEvidence(TypedDict):
    """Stored evidence of an answer."""

    kind: Annotated[
        Literal["code", "definition", "document", "turn"], "Kind of evidence; a `turn` belongs to this conversation."
    ]
    folder: Annotated[str, "Path of the workspace folder; may be empty if there is only one."]
    place: Annotated[str, "`path:first-last`, 1-based and inclusive."]
    symbol: Annotated[str, "Qualified name of the definition."]
    why: Annotated[str, "Why it was chosen."]


class _Turn(TypedDict):
    conversationId: Annotated[str, "The conversation of the turn."]
    number: Annotated[int, "Its number in the conversation, from 0."]
    question: Annotated[str, "The question as asked."]
    askedAs: Annotated[str, "The question that was answered, if it was another one; else empty."]
    askedAt: Annotated[float, "Seconds since the epoch."]
    answer: Annotated[str | None, "Null if there is none."]
    answeredAt: Annotated[float | None, "Seconds since the epoch; null without an answer."]
    model: Annotated[str, "The model that wrote it; empty for an extractive answer."]
    evidence: Annotated[list[StoredEvidence], "The evidence of the answer, best first."]


class StoredTurn(_Turn):
    """A question and its answer, as `weft history --json` prints them."""

    citations: Annotated[list[CitedLines], "In the order of the text, valid at that time."]


class Turn(_Turn):
    """A question and its answer."""

    citations: Annotated[list[Citation], "In the order of the text, valid at that time."]


class ConversationsResult(TypedDict, total=False):
    """The fields depend on the action."""

    conversations: Annotated[list[Conversation], "`list`: most recent first."]
    turns: Annotated[list[Turn], "`get`: in order. `search`: newest first."]
    deleted: Annotated[int, "`delete`: number of conversations."]
    exported: Annotated[int, "`export`: number of conversations."]
    file: Annotated[str, "`export`: path of the written file."]


# The handshake


class SlashCommand(TypedDict):
    """A slash command of `weft/ask`."""

    name: Annotated[str, "The name without the slash."]
    argument: Annotated[str, "Its argument; empty if it takes none."]
    meaning: Annotated[str, "What the command answers."]


class WeftServerCapabilities(TypedDict):
    """Capabilities of the server in `capabilities.experimental.weft`."""

    version: Annotated[str, "The version of Weft."]
    slashCommands: Annotated[list[SlashCommand], "The slash commands of `weft/ask`."]


class WeftClientCapabilities(TypedDict, total=False):
    """Capabilities of a client in `capabilities.experimental.weft`."""

    status: Annotated[bool, "The client handles `weft/didChangeStatus`."]
