// Weft's own messages. Generated from the server's types by `python -m weft.server.lsp.describe`: change them there.
// docs/protocol.md describes each message.

/** An action that a status offers; each editor has its own command for it. */
export interface StatusAction {
  /** Label of a button. */
  title: string;
  /** `doctor`: check the installation. `log`: show the log. `settings`, `models`: open all settings, or those of the models. `pause`, `resume`: `weft/pause`. `restart`: restart the server. `index`: `weft/indexFolders`. */
  action: "doctor" | "log" | "settings" | "resume" | "pause" | "restart" | "models" | "index";
}

/** As in the Language Server Protocol. */
export interface Position {
  /** 0-based. */
  line: number;
  /** In the client's position encoding. */
  character: number;
}

/** As in the Language Server Protocol. */
export interface Range {
  /** The first position. */
  start: Position;
  /** The position after the last character. */
  end: Position;
}

/** One line of text for a person, shown unchanged; with `uri` it is a link. */
export interface PageLine {
  /** The line. */
  text: string;
  /** The target of the link. */
  uri?: string;
  /** The linked lines. */
  range?: Range;
}

/** One configured model. */
export interface ModelStatus {
  /** Its name, URL or path. */
  name: string;
  /** As in the settings. */
  backend: string;
  /** `down`: does not answer and is retried. `aside`: disabled, because its self-test failed. */
  state: "opening" | "ready" | "down" | "aside";
  /** What is wrong with it, and what to do. */
  note: string;
  /** Measured prefill speed; 0 if unknown. */
  readsTokensPerSecond: number;
  /** Measured decoding speed; 0 if unknown. */
  writesTokensPerSecond: number;
}

/** The state of the server, for a status bar and for diagnosis. */
export interface StatusResult {
  /** `off`: `completion.enabled` is false. `slow`: a model misses its target latency. `degraded`: a configured model is down and another one answers. `error`: no model answers, or the workspace can't be read. */
  kind: "starting" | "indexing" | "ready" | "paused" | "off" | "slow" | "degraded" | "error";
  /** The cause, in one sentence. */
  text: string;
  /** Progress of indexing, 0 to 100; null if no indexing runs. */
  percent: number | null;
  /** Actions that may help, best first. */
  actions: StatusAction[];
  /** The whole status for a person; null in `weft/didChangeStatus`. */
  page: PageLine[] | null;
  /** The state of the index; `kind` is the state of everything. */
  state: "starting" | "indexing" | "ready" | "error";
  /** Paths of the workspace folders. */
  folders: string[];
  /** Indexed files. */
  files: number;
  /** Lines in them. */
  lines: number;
  /** Fragments in the index. */
  fragments: number;
  /** The model that answers now. */
  model: string;
  /** Why this model answers: the first in the configuration, or the states of the models before it. */
  modelReason: string;
  /** The configured models in their order. */
  models: ModelStatus[];
  /** What is wrong and what to do, such as files that can't be analysed, with the reason. */
  notes: string[];
  /** Whether the index is being compared with the disk, for example after many changes. Requests are answered meanwhile. */
  reconciling: boolean;
  /** Resident memory of the server, in megabytes. */
  memoryMb: number;
}

/** Whether to pause or resume Weft. */
export interface PauseParams {
  /** True pauses, false resumes. */
  paused: boolean;
}

/** The result of one check. */
export interface Finding {
  /** The checked item. */
  what: string;
  /** The result. */
  found: string;
  /** What to do; empty if nothing is wrong. */
  nextStep: string;
}

/** The checks of the installation and the configuration. */
export interface DoctorResult {
  /** The version of Weft. */
  version: string;
  /** Whether all checks passed. */
  ok: boolean;
  /** In the order of the checks. */
  findings: Finding[];
  /** The same as text. */
  page: PageLine[];
}

/** As in the Language Server Protocol. */
export interface TextDocumentIdentifier {
  /** URI of a document. */
  uri: string;
}

/** `TextDocumentPositionParams`. */
export interface ExplainParams {
  /** An open document. */
  textDocument: TextDocumentIdentifier;
  /** The cursor. */
  position: Position;
}

/** A name that a completion changes. */
export interface Renaming {
  /** The name in the source. */
  there: string;
  /** The name in the completion. */
  here: string;
}

/** Lines that a completion was copied from, or adapted from by changing names. */
export interface SourceLines {
  /** Relative to the document's folder, with forward slashes; of another folder, `folder/path`. */
  path: string;
  /** 0-based. */
  startLine: number;
  /** The line after the last one, 0-based. */
  endLine: number;
  /** URI of the file; null outside of all folders. */
  uri: string | null;
  /** The lines. */
  text: string;
  /** The changed names; empty for a copy. */
  renamed: Renaming[];
}

/** One part of a score. */
export interface Part {
  /** The signal. */
  name: string;
  /** Its contribution to the score. */
  value: number;
  /** The words or relations that matched. */
  detail: string;
}

/** Lines of a file that an editor can open. */
export interface LinkedPlace {
  /** Relative to the document's folder, with forward slashes; of another folder, `folder/path`. */
  path: string;
  /** 0-based. */
  startLine: number;
  /** The line after the last one, 0-based. */
  endLine: number;
  /** URI of the file; null outside of all folders. */
  uri: string | null;
}

/** A retrieved fragment, with links to its locations. */
export interface ExplainedFragment {
  /** Higher is better. */
  score: number;
  /** The parts that add up to the score. */
  parts: Part[];
  /** The strongest path of relations from the cursor to the fragment. */
  way: string[];
  /** The lines. */
  text: string;
  /** Whether it has the signatures of several definitions, one at each location. */
  isOutline: boolean;
  /** All locations of this text, best first; those of the signatures of an outline. */
  places: LinkedPlace[];
}

/** A fragment that scored well and was left out. */
export interface OmittedFragment {
  /** `path:first-last`, 1-based and inclusive. */
  place: string;
  /** Why it was left out. */
  reason: string;
  /** URI of the file; null outside of all folders. */
  uri: string | null;
  /** 0-based. */
  startLine: number;
  /** The line after the last one, 0-based. */
  endLine: number;
}

/** The completion at a position, where it comes from, and why it is shown or hidden. */
export interface ExplainResult {
  /** The completion while typing. If that is empty, the completion of an invoked request, as far as it is known without a call of a neural model. */
  text: string;
  /** The model that wrote `text`. */
  writer: string;
  /** Calibrated probability that `text` is right; null if the model reports no probabilities. */
  confidence: number | null;
  /** `completion.min_confidence`: less is not shown while typing. */
  minConfidence: number;
  /** Why `text` is not shown while typing; empty if it is. */
  whyHidden: string;
  /** Where a text of the workspace model comes from, at most 3 places, the nearest first. */
  sources: SourceLines[];
  /** What a text of the workspace model is based on, in sentences. */
  reasons: string[];
  /** The path of the document in the index. */
  path: string;
  /** First line of the document that the prompt contains anyway, 0-based. */
  shownFromLine: number;
  /** The model that would answer. */
  model: string;
  /** Notes, such as an unreachable model or a file without completions. */
  notes: string[];
  /** The fragments for the prompt of a model, best first. The workspace model has none. */
  fragments: ExplainedFragment[];
  /** Best first. */
  leftOut: OmittedFragment[];
  /** Milliseconds by step. */
  timingsMs: Record<string, number>;
  /** The same as text, with links to the sources or the fragments. */
  page: PageLine[];
}

/** An invoked completion with all options. */
export interface CompleteParams {
  /** An open document. */
  textDocument: TextDocumentIdentifier;
  /** The cursor. */
  position: Position;
  /** Whether the text may have several lines; null uses the settings. */
  multiLine?: boolean | null;
  /** Number of different texts, up to 10. */
  candidates?: number;
  /** Rounds of RepoCoder's loop, up to 4: slower, better. */
  iterations?: number;
}

/** Lines of a file. */
export interface Place {
  /** Relative to the document's folder, with forward slashes; of another folder, `folder/path`. */
  path: string;
  /** 0-based. */
  startLine: number;
  /** The line after the last one, 0-based. */
  endLine: number;
}

/** A retrieved fragment of the repository. */
export interface Fragment {
  /** Higher is better. */
  score: number;
  /** The parts that add up to the score. */
  parts: Part[];
  /** The strongest path of relations from the cursor to the fragment. */
  way: string[];
  /** The lines. */
  text: string;
  /** Whether it has the signatures of several definitions, one at each location. */
  isOutline: boolean;
  /** All locations of this text, best first; those of the signatures of an outline. */
  places: Place[];
}

/** A completion in an open document. */
export interface CompleteItem {
  /** The text to insert; empty if there is none. */
  text: string;
  /** Start of the replaced text: 0-based line and column, in Unicode code points. */
  start: number[];
  /** End of the replaced text, likewise. */
  end: number[];
  /** Calibrated probability that it is right; null if the model reports no probabilities. */
  confidence: number | null;
  /** The model that wrote it. */
  model: string;
  /** Identifies the completion in feedback messages. */
  id: string;
  /** `model`: generated for this request. `cache`: from an earlier request at this position. `typed-through`: the rest of a completion that the user types. `joined`: from a request that was still running. `prefetched`: generated before an editor asked. */
  source: "model" | "cache" | "typed-through" | "joined" | "prefetched";
  /** The repair rules that changed the text of the model. */
  repairs: string[];
  /** The reason if `text` is empty. */
  whyEmpty: string;
  /** The least confidence that this request shows; 0 for an invoked one. */
  minConfidence: number;
  /** The text with less confidence, if the model finished it. */
  heldBack: string;
  /** Why the text is incomplete: a time limit cut it. */
  note: string;
  /** The retrieved fragments in the prompt, best first. */
  fragments: Fragment[];
  /** Milliseconds by step. */
  timingsMs: Record<string, number>;
  /** The range that `text` replaces, on one line. */
  range: Range;
}

/** Invoked completions. */
export interface CompleteResult {
  /** Different completions, best first; a single empty one if there is none. */
  items: CompleteItem[];
}

/** A question or a slash command, with its conversation and selection. */
export interface AskParams {
  /** The text, at most 100,000 characters. */
  question: string;
  /** The conversation to continue; empty starts a new one. */
  conversationId?: string;
  /** An open document that the question is about. */
  textDocument?: TextDocumentIdentifier | null;
  /** The selected range in the document: the subject of the question. */
  selection?: Range | null;
  /** The cursor in the document, for `/explain` without a selection. */
  position?: Position | null;
  /** The memory strategy that answers from the documents. */
  strategy?: string;
  /** URIs of files that the question is about; those that are no documents are ignored. */
  documents?: string[];
  /** False stores neither question nor answer. */
  remember?: boolean;
  /** True answers without inserting names of earlier turns, and without corrected spelling. */
  asWritten?: boolean;
  /** Token of the streamed answer: `AskProgress` in `$/progress`. */
  partialResultToken?: number | string | null;
  /** Token of begin, end and reports: that the answer waits for the index, and the estimated cost of an expensive answer. */
  workDoneToken?: number | string | null;
}

/** Cost of an answer. */
export interface Cost {
  /** Calls of models. */
  calls: number;
  /** Prompt tokens. */
  tokensIn: number;
  /** Output tokens. */
  tokensOut: number;
  /** Time in models. */
  seconds: number;
}

/** Cited lines, with a link. */
export interface Citation {
  /** `path:first-last`, as in the text. */
  place: string;
  /** Relative to its folder, with forward slashes. */
  path: string;
  /** Path of the workspace folder; may be empty if there is only one. */
  folder: string;
  /** 0-based. */
  startLine: number;
  /** The line after the last one, 0-based. */
  endLine: number;
  /** The lines. */
  text: string;
  /** URI of the file; null if its folder was removed. */
  uri: string | null;
  /** The lines, up to the end of the last one. */
  range: Range;
}

/** Evidence for a question, with a link. */
export interface EvidenceItem {
  /** Kind of evidence; a `turn` belongs to this conversation. */
  kind: "code" | "definition" | "document" | "turn";
  /** `path:first-last`, 1-based and inclusive. */
  place: string;
  /** Relative to its folder, with forward slashes. */
  path: string;
  /** Path of the workspace folder; may be empty if there is only one. */
  folder: string;
  /** 0-based. */
  startLine: number;
  /** The line after the last one, 0-based. */
  endLine: number;
  /** Qualified name of the definition. */
  symbol: string;
  /** Why it was chosen. */
  why: string;
  /** Higher is better. */
  score: number;
  /** The parts that add up to the score, if known. */
  parts: Part[];
  /** The chain of calls that leads there. */
  way: string[];
  /** The lines. */
  text: string;
  /** URI of the file; null for a turn. */
  uri: string | null;
}

/** The answer to a question. */
export interface AskResult {
  /** The answer, as it was streamed. */
  text: string;
  /** False if the repository does not answer the question. */
  found: boolean;
  /** Number of invalid citations, which are not shown. */
  nDropped: number;
  /** The model that wrote it; empty for an extractive answer. */
  model: string;
  /** The memory strategy that found or wrote it; empty where none did. */
  strategy: string;
  /** The conversation to continue; empty if it is not stored. */
  conversationId: string;
  /** The question after ellipsis resolution. */
  question: string;
  /** The same where it differs from the question as written; else empty. */
  askedAs: string;
  /** Probability that the evidence answers the question, 0 to 1. */
  confidence: number;
  /** How sure the answer is, in one word. */
  level: "sure" | "perhaps" | "not found";
  /** Symbols of the repository in the question. */
  names: string[];
  /** Notes for a person. */
  notes: string[];
  /** Cost of the answer. */
  cost: Cost;
  /** Milliseconds by step. */
  timingsMs: Record<string, number>;
  /** In the order of the text. */
  citations: Citation[];
  /** The evidence, best first. */
  exhibits: EvidenceItem[];
}

/** A query, with filters. Each filter keeps what matches one of its values; an empty one keeps all. */
export interface SearchParams {
  /** A name (`evict`, `Shop.pay`) or words, at most 10,000 characters. */
  query: string;
  /** Maximum number of hits, 1 to 1,000. */
  limit?: number;
  /** Names of languages, such as `python`. */
  languages?: string[];
  /** Globs: `*.py` and `docs` match at any depth, `src/*.py` from the folder's root; `**` is any folders, and `!tests` excludes. */
  paths?: string[];
  /** Kinds of definitions (`function`, `class`), `code`, `document` (or `section`) and `test`. */
  kinds?: string[];
}

/** A hit of a search, with a link. */
export interface SearchHit {
  /** `path:first-last`, 1-based and inclusive. */
  place: string;
  /** Relative to its folder, with forward slashes. */
  path: string;
  /** Path of the workspace folder; empty if there is only one. */
  folder: string;
  /** 0-based. */
  startLine: number;
  /** The line after the last one, 0-based. */
  endLine: number;
  /** Kind of the definition: `function`, `method`, `class`, `struct` and so on; else `section` of a document, or `code`. */
  kind: string;
  /** Qualified name of the definition, or the headings above the section; may be empty. */
  symbol: string;
  /** The best line, 0-based. */
  line: number;
  /** The text of the best line. */
  preview: string;
  /** Higher is better. If the query is a name, its definitions come before better scores of other hits. */
  score: number;
  /** The parts that add up to the score. */
  parts: Part[];
  /** URI of the file; null if its folder was removed. */
  uri: string | null;
  /** The best line. */
  range: Range;
}

/** The hits of a search. */
export interface SearchResult {
  /** Best first. */
  hits: SearchHit[];
  /** Why there is no hit and what to try, and what is not searched yet. */
  notes: string[];
}

/** A call of a tool for agents ([agents](agents.md)). */
export interface CallToolParams {
  /** Name of the tool, such as `impact`. */
  name: string;
  /** Its arguments by name. */
  arguments?: Record<string, unknown>;
  /** Name of the agent, stored with its notes; at most 100 characters. */
  agent?: string;
}

/** The answer of a tool for agents. Paths are relative to the folder; lines are 1-based. */
export interface CallToolResult {
  /** The whole answer, or why there is none and what to do. */
  text: string;
  /** True if the call was wrong or failed; `text` has the reason. */
  isError: boolean;
  /** The places in the answer, as `path:line` or `path:first-last`. */
  places: string[];
  /** The `cursor` argument of the next page; empty on the last one. */
  cursor: string;
}

/** A view of the page of `weft explore` ([explore](explore.md)). */
export interface ExploreParams {
  /** Name of the view, such as `map`. */
  name: string;
  /** Its arguments by name. */
  arguments?: Record<string, unknown>;
}

/** A view of the page of `weft explore`. */
export interface ExploreResult {
  /** What the page shows, as JSON; empty after an error. */
  view: Record<string, unknown>;
  /** Why there is no view and what to do; empty if there is one. */
  error: string;
}

/** An action on the stored conversations of this workspace. */
export interface ConversationsParams {
  /** `list`, `get`, `search`, `delete` or `export`. */
  action?: string;
  /** `get`, `delete`: the conversation. */
  id?: string;
  /** `list`, `search`: words that it must contain, at most 10,000 characters. */
  text?: string;
  /** `export`: the name of the file in Weft's folder of exports; not a path. */
  file?: string;
  /** `export`: replace an existing file. */
  overwrite?: boolean;
  /** `delete`: all conversations. */
  all?: boolean;
  /** `list`, `search`: maximum number of results, 1 to 10,000. */
  limit?: number;
}

/** A stored conversation. */
export interface Conversation {
  /** Its identifier in requests. */
  id: string;
  /** Its first question. */
  title: string;
  /** Seconds since the epoch. */
  createdAt: number;
  /** Seconds since the epoch. */
  changedAt: number;
  /** Number of turns. */
  turns: number;
}

/** Stored evidence of an answer. */
export interface StoredEvidence {
  /** Kind of evidence; a `turn` belongs to this conversation. */
  kind: "code" | "definition" | "document" | "turn";
  /** Path of the workspace folder; may be empty if there is only one. */
  folder: string;
  /** `path:first-last`, 1-based and inclusive. */
  place: string;
  /** Qualified name of the definition. */
  symbol: string;
  /** Why it was chosen. */
  why: string;
}

/** A question and its answer. */
export interface Turn {
  /** The conversation of the turn. */
  conversationId: string;
  /** Its number in the conversation, from 0. */
  number: number;
  /** The question as asked. */
  question: string;
  /** The question that was answered, if it was another one; else empty. */
  askedAs: string;
  /** Seconds since the epoch. */
  askedAt: number;
  /** Null if there is none. */
  answer: string | null;
  /** Seconds since the epoch; null without an answer. */
  answeredAt: number | null;
  /** The model that wrote it; empty for an extractive answer. */
  model: string;
  /** The evidence of the answer, best first. */
  evidence: StoredEvidence[];
  /** In the order of the text, valid at that time. */
  citations: Citation[];
}

/** The fields depend on the action. */
export interface ConversationsResult {
  /** `list`: most recent first. */
  conversations?: Conversation[];
  /** `get`: in order. `search`: newest first. */
  turns?: Turn[];
  /** `delete`: number of conversations. */
  deleted?: number;
  /** `export`: number of conversations. */
  exported?: number;
  /** `export`: path of the written file. */
  file?: string;
}

/** Identifies a completion or a next edit. */
export interface ItemParams {
  /** The id in the argument of an item's command, of a `CompleteItem` or of a `NextEditItem`. */
  id: string;
}

/** Identifies a completion, and how much of it was accepted. */
export interface PartlyAcceptedParams {
  /** The id of the completion. */
  id: string;
  /** UTF-16 units accepted so far, counted from its start. */
  acceptedLength: number;
}

/** As in the Language Server Protocol. */
export interface VersionedTextDocumentIdentifier {
  /** URI of a document. */
  uri: string;
  /** The version of the document that the client has. */
  version: number;
}

/** The fields of an LSP `Diagnostic` that are read. */
export interface DiagnosticParams {
  /** Its place in the document. */
  range: Range;
  /** What it says. */
  message: string;
  /** 1: error, 2: warning, 3: information, 4: hint; null: error. */
  severity?: number | null;
}

/** A cursor in a version of an open document. For an older version the answer has no edits. */
export interface NextEditParams {
  /** An open document, with its version. */
  textDocument: VersionedTextDocumentIdentifier;
  /** The cursor. */
  position: Position;
  /** Maximum number of edits, 1 to 1,000. For more than 20, more files are read of a widely used name. */
  limit?: number;
  /** What other servers say of the document, for a model that rewrites its lines. */
  diagnostics?: DiagnosticParams[] | null;
  /** Where a model may be asked, which takes time: where the answer would be empty, also where it would have no edit of this document, or nowhere. */
  rewrite?: "ifEmpty" | "ifNoneHere" | "never";
}

/** A document and the version for which an edit is; null for a file that is not open. */
export interface EditedTextDocument {
  /** URI of the document. */
  uri: string;
  /** Its version, null if it is not open. */
  version: number | null;
}

/** As in the Language Server Protocol. */
export interface Command {
  /** A title; empty for a command that is not shown. */
  title: string;
  /** The command of the server. */
  command: string;
  /** Its arguments: one object with the field `id`. */
  arguments: Record<string, string>[];
}

/** The recent edit that a next edit follows from. */
export interface EditOrigin {
  /** URI of its document. */
  uri: string;
  /** The path of the file in its folder, with forward slashes. */
  path: string;
  /** The line that tells most, as it is now, 0-based. */
  line: number;
  /** The lines that were edited, before. */
  before: string;
  /** The same lines now; empty if they were deleted. */
  after: string;
}

/** A next edit in any file of the workspace. */
export interface NextEditItem {
  /** The new text of the range. */
  text: string;
  /** What is replaced; it may be anywhere in the document. */
  range: Range;
  /** The document that it is in. */
  textDocument: EditedTextDocument;
  /** To be executed when the edit is taken. */
  command: Command;
  /** Identifies it in feedback messages. */
  id: string;
  /** The text of the range now. */
  oldText: string;
  /** The path of the file in its folder, with forward slashes. */
  path: string;
  /** What it follows from: a renamed name, changed parameters, alike edits, a new member of a list, a name and its import, another consequence, or a model's rewrite. */
  kind: "rename" | "signature" | "repeated" | "list" | "import" | "consequence" | "rewrite";
  /** What it follows from, as a sentence. */
  reason: string;
  /** How this place was found, as a sentence; empty if the reason says it. */
  evidence: string;
  /** The edit that it follows from; null if there is no single one. */
  origin: EditOrigin | null;
  /** Equal for edits that follow from one edit. */
  group: string;
  /** Estimated probability that it is wanted. */
  confidence: number;
  /** It is in a string or a comment, or the name alone matches: a list has it unchecked. */
  isMarked: boolean;
}

/** What the recent edits of a session make necessary, for one version of a document. */
export interface NextEditResult {
  /** The version of the document that the answer is for. */
  version: number;
  /** Best first. */
  edits: NextEditItem[];
}

/** A cursor in a version of an open document, as clients of Copilot's language server send it. */
export interface InlineEditParams {
  /** An open document, with its version. */
  textDocument: VersionedTextDocumentIdentifier;
  /** The cursor. */
  position: Position;
}

/** An edit in the requested document, in the form of Copilot's language server. */
export interface InlineEdit {
  /** The new text of the range. */
  text: string;
  /** What is replaced; it may be anywhere in the document. */
  range: Range;
  /** The document that it is in. */
  textDocument: EditedTextDocument;
  /** To be executed when the edit is taken. */
  command: Command;
}

/** The next edit in a document: one or none, because it may make others wrong. */
export interface InlineEditResult {
  /** At most one. */
  edits: InlineEdit[];
}

/** An edit of `textDocument/copilotInlineEdit` that was shown. */
export interface ShownInlineEditParams {
  /** The edit as it was sent; its command identifies it. */
  item: Record<string, unknown>;
}

/** Latency of answers. */
export interface Latency {
  /** Median, in milliseconds. */
  p50: number;
  /** 95th percentile, in milliseconds. */
  p95: number;
  /** Number of answers. */
  n: number;
}

/** Counters of completions. They stay on this machine. */
export interface StatsResult {
  /** Requests by trigger. */
  asked: Record<string, number>;
  /** Answers with a completion, by source. */
  offered: Record<string, number>;
  /** Empty answers, by reason. */
  empty: Record<string, number>;
  /** Shown completions, by language. */
  shown: Record<string, number>;
  /** Fully accepted, by language. */
  accepted: Record<string, number>;
  /** Partly accepted, by language. */
  partlyAccepted: Record<string, number>;
  /** Rejected, by language. */
  rejected: Record<string, number>;
  /** Accepted characters, by model. */
  charactersTaken: Record<string, number>;
  /** Shown next edits, by kind. */
  nextEditsShown: Record<string, number>;
  /** Taken next edits, by kind. */
  nextEditsTaken: Record<string, number>;
  /** Refused next edits, by kind. */
  nextEditsRefused: Record<string, number>;
  /** Share of shown completions that were accepted; null if none was shown. */
  acceptedShare: number | null;
  /** Latency by source. */
  latencyMs: Record<string, Latency>;
  /** Calls of tools by agents, by tool. They count in nothing else. */
  agentCalls: Record<string, number>;
  /** Those that were answered with an error, by tool. */
  agentCallsFailed: Record<string, number>;
  /** Latency of the others, by tool. */
  agentLatencyMs: Record<string, Latency>;
}

/** A piece of an answer, by `$/progress` with the request's `partialResultToken`. */
export interface AskProgress {
  /** The conversation; sent once, first. */
  conversationId?: string;
  /** The question that is answered, if it is not the one as written; before the answer. */
  askedAs?: string;
  /** The next part of the answer. */
  text?: string;
  /** A citation in the text that follows. */
  citation?: Citation;
  /** Discard the text and the citations so far: another model starts over. */
  restart?: true;
}

/** The argument of the command `weft.didAccept` of an inline completion item. */
export interface AcceptArgument {
  /** Names the completion in the messages about what became of it. */
  id: string;
  /** As in `CompletionAnswer`. */
  source: "model" | "cache" | "typed-through" | "joined" | "prefetched";
  /** The model that wrote it. */
  model: string;
  /** Calibrated probability that it is right; null if the model reports no probabilities. */
  confidence: number | null;
  /** Milliseconds by step. */
  timingsMs: Record<string, number>;
}

/** A slash command of `weft/ask`. */
export interface SlashCommand {
  /** The name without the slash. */
  name: string;
  /** Its argument; empty if it takes none. */
  argument: string;
  /** What the command answers. */
  meaning: string;
}

/** Capabilities of the server in `capabilities.experimental.weft`. */
export interface WeftServerCapabilities {
  /** The version of Weft. */
  version: string;
  /** The slash commands of `weft/ask`. */
  slashCommands: SlashCommand[];
}

/** Capabilities of a client in `capabilities.experimental.weft`. */
export interface WeftClientCapabilities {
  /** The client handles `weft/didChangeStatus`. */
  status?: boolean;
}
