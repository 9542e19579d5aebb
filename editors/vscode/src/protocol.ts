// Weft's own messages. Generated from the server's types by `python -m weft.server.lsp.describe`: change them there.
// docs/protocol.md describes each message.

/** What a person may do about a status; each editor has its own command for it. */
export interface StatusAction {
  /** In words, for a button. */
  title: string;
  /** `doctor`: look for what is wrong. `log`: show Weft's log. `settings`, `models`: open the settings, those of the models. `pause`, `resume`: `weft/pause`. `restart`: start the server again. */
  action: "doctor" | "log" | "settings" | "resume" | "pause" | "restart" | "models";
}

/** As in the language server protocol. */
export interface Position {
  /** 0-based. */
  line: number;
  /** In the client's position encoding. */
  character: number;
}

/** As in the language server protocol. */
export interface Range {
  /** Where it begins. */
  start: Position;
  /** The position after the last character. */
  end: Position;
}

/** One line for a person. An editor shows it as it is; with `uri` it leads there. */
export interface PageLine {
  /** The line. */
  text: string;
  /** What the line leads to, if it leads anywhere. */
  uri?: string;
  /** The lines there that are meant. */
  range?: Range;
}

/** One configured model. */
export interface ModelStatus {
  /** Its name, or where it is. */
  name: string;
  /** As in the settings. */
  backend: string;
  /** `down` does not answer and is tried again; `aside` failed its self-test. */
  state: "opening" | "ready" | "down" | "aside";
  /** What is wrong with it, and what to do. */
  note: string;
  /** As measured; 0 when unknown. */
  readsTokensPerSecond: number;
  /** As measured; 0 when unknown. */
  writesTokensPerSecond: number;
}

/** How Weft is, for a status bar and for whoever wonders why nothing happens. */
export interface StatusResult {
  /** `off`: `completion.enabled` is false. `slow`: a model is too slow on this machine. `degraded`: a configured model is down and another answers. `error`: nobody answers, or the workspace could not be read. */
  kind: "starting" | "indexing" | "ready" | "paused" | "off" | "slow" | "degraded" | "error";
  /** The cause in a sentence. */
  text: string;
  /** How much is indexed, 0 to 100; null while nothing is being indexed. */
  percent: number | null;
  /** What helps, the likeliest first. */
  actions: StatusAction[];
  /** The whole status for a person; null in `weft/didChangeStatus`. */
  page: PageLine[] | null;
  /** The state of the index. `kind` says it for a person. */
  state: "starting" | "indexing" | "ready" | "error";
  /** Paths of the workspace folders. */
  folders: string[];
  /** Indexed files. */
  files: number;
  /** Lines in them. */
  lines: number;
  /** Fragments that they are searched by. */
  fragments: number;
  /** The model that answers now. */
  model: string;
  /** Why it is that one: the first in the configuration, or what is the matter with those before it. */
  modelReason: string;
  /** The configured models in their order. */
  models: ModelStatus[];
  /** What is wrong and what to do; files that could not be analysed are named with the reason. */
  notes: string[];
  /** Whether the index is being compared with the disk, as after many changes. Requests are answered meanwhile. */
  reconciling: boolean;
  /** Resident memory of the server in megabytes. */
  memoryMb: number;
}

/** Whether to pause or resume Weft. */
export interface PauseParams {
  /** True pauses, false resumes. */
  paused: boolean;
}

/** One thing that the doctor looked at. */
export interface Finding {
  /** What was looked at. */
  what: string;
  /** What is there. */
  found: string;
  /** What to do; empty when nothing is wrong. */
  nextStep: string;
}

/** What is installed and configured, and whether it can work. */
export interface DoctorResult {
  /** Weft's. */
  version: string;
  /** Whether nothing is to be done. */
  ok: boolean;
  /** In the order in which they were looked at. */
  findings: Finding[];
  /** The same for a person. */
  page: PageLine[];
}

/** As in the language server protocol. */
export interface TextDocumentIdentifier {
  /** Of a document. */
  uri: string;
}

/** `TextDocumentPositionParams`. */
export interface ExplainParams {
  /** An open document. */
  textDocument: TextDocumentIdentifier;
  /** The cursor. */
  position: Position;
}

/** One part of a score. */
export interface Part {
  /** Where it comes from. */
  name: string;
  /** What it adds to the score. */
  value: number;
  /** What it was found by. */
  detail: string;
}

/** Lines of a file that an editor can open. */
export interface LinkedPlace {
  /** Relative to its folder, with forward slashes. */
  path: string;
  /** 0-based. */
  startLine: number;
  /** The line after the last one. */
  endLine: number;
  /** Of the file; null outside of all folders. */
  uri: string | null;
}

/** A fragment, with links to its places. */
export interface ExplainedFragment {
  /** The higher the better. */
  score: number;
  /** They add up to the score. */
  parts: Part[];
  /** The strongest relations from the cursor to it, step by step. */
  way: string[];
  /** Its lines. */
  text: string;
  /** All places where this text stands, the best first. */
  places: LinkedPlace[];
}

/** A window that scored well and is not used. */
export interface LeftOut {
  /** `path:first-last`, as a person reads it: 1-based, the last line included. */
  place: string;
  /** Why not. */
  reason: string;
  /** Of the file; null outside of all folders. */
  uri: string | null;
  /** 0-based. */
  startLine: number;
  /** The line after the last one. */
  endLine: number;
}

/** Which fragments a completion at a position is given, and why. */
export interface ExplainResult {
  /** The document as the index names it. */
  path: string;
  /** First line of the document that the prompt shows anyway (0-based). */
  shownFromLine: number;
  /** The model that would be asked. */
  model: string;
  /** What a person should know: a model that can't be reached, a file that is not completed. */
  notes: string[];
  /** Best first. */
  fragments: ExplainedFragment[];
  /** Best first. */
  leftOut: LeftOut[];
  /** Milliseconds by step. */
  timingsMs: Record<string, number>;
  /** All of it for a person, with links to the fragments. */
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
  /** Relative to its folder, with forward slashes. */
  path: string;
  /** 0-based. */
  startLine: number;
  /** The line after the last one. */
  endLine: number;
}

/** A piece of the repository that was retrieved. */
export interface Fragment {
  /** The higher the better. */
  score: number;
  /** They add up to the score. */
  parts: Part[];
  /** The strongest relations from the cursor to it, step by step. */
  way: string[];
  /** Its lines. */
  text: string;
  /** All places where this text stands, the best first. */
  places: Place[];
}

/** A completion in an open document. */
export interface CompleteItem {
  /** What to insert; empty when there is nothing to show. */
  text: string;
  /** Where the replaced text begins: line and column in Python characters. */
  start: number[];
  /** Where it ends, likewise. */
  end: number[];
  /** How probable it is to be right; null when the model gives no probabilities. */
  confidence: number | null;
  /** Who wrote it. */
  model: string;
  /** Names it in the messages about what became of it. */
  id: string;
  /** Written for this request; written before for this place; the rest of one that is typed; written by a request that was running; written before anybody asked. */
  source: "model" | "cache" | "typed-through" | "joined" | "speculated";
  /** The rules that changed the model's text. */
  repairs: string[];
  /** The reason when `text` is empty. */
  whyEmpty: string;
  /** Why the text is not whole: it was cut by a time limit. */
  note: string;
  /** What the model was shown, best first. */
  fragments: Fragment[];
  /** Milliseconds by step. */
  timingsMs: Record<string, number>;
  /** What `text` replaces: on one line. */
  range: Range;
}

/** Completions that somebody asked for. */
export interface CompleteResult {
  /** Different texts, the best first; one that is empty when there is none. */
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
  /** False stores neither question nor answer. */
  remember?: boolean;
  /** Token of the streamed answer: `AskProgress` in `$/progress`. */
  partialResultToken?: number | string | null;
  /** Token of begin, end and reports: the resolved question when it depends on an earlier one, and the estimated cost of an expensive answer. */
  workDoneToken?: number | string | null;
}

/** What an answer cost. */
export interface Cost {
  /** Of models. */
  calls: number;
  /** Read. */
  tokensIn: number;
  /** Written. */
  tokensOut: number;
  /** In which models worked. */
  seconds: number;
}

/** Lines that an answer stands on, looked up, for an editor to open. */
export interface Citation {
  /** `path:first-last`, as it stands in the text. */
  place: string;
  /** Relative to its folder, with forward slashes. */
  path: string;
  /** The path of the workspace folder; may be empty where there is only one. */
  folder: string;
  /** 0-based. */
  startLine: number;
  /** The line after the last one. */
  endLine: number;
  /** The lines. */
  text: string;
  /** Of the file; null where its folder is gone. */
  uri: string | null;
  /** The lines, up to the end of the last one. */
  range: Range;
}

/** Lines that speak to a question, for an editor to open. */
export interface Exhibit {
  /** What it is; a `turn` is of this conversation. */
  kind: "code" | "definition" | "document" | "turn";
  /** `path:first-last`, as a person reads it. */
  place: string;
  /** Relative to its folder, with forward slashes. */
  path: string;
  /** The path of the workspace folder; may be empty where there is only one. */
  folder: string;
  /** 0-based. */
  startLine: number;
  /** The line after the last one. */
  endLine: number;
  /** The qualified name of what is defined there. */
  symbol: string;
  /** Why it was chosen. */
  why: string;
  /** The higher the better. */
  score: number;
  /** They add up to the score, where there are any. */
  parts: Part[];
  /** The calls that lead there, step by step. */
  way: string[];
  /** The lines. */
  text: string;
  /** Of the file; null for a past turn. */
  uri: string | null;
}

/** The answer to a question. */
export interface AskResult {
  /** The answer, as it was streamed. */
  text: string;
  /** False says that the repository does not answer this. */
  found: boolean;
  /** Citations that did not hold and are not shown. */
  nDropped: number;
  /** Who wrote it; empty when it is the evidence itself. */
  model: string;
  /** Where it can go on; empty when nothing is remembered. */
  conversationId: string;
  /** As it was taken, with what it leans on put in. */
  question: string;
  /** How sure it is that the evidence answers the question, 0 to 1. */
  confidence: number;
  /** Symbols of the repository that the question speaks of. */
  names: string[];
  /** What a person should know. */
  notes: string[];
  /** What it cost. */
  cost: Cost;
  /** Milliseconds by step. */
  timingsMs: Record<string, number>;
  /** In the order of the text. */
  citations: Citation[];
  /** The evidence, best first. */
  exhibits: Exhibit[];
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

/** What is kept of a conversation. */
export interface Conversation {
  /** Its name in requests. */
  id: string;
  /** Its first question. */
  title: string;
  /** Seconds since the epoch. */
  createdAt: number;
  /** Seconds since the epoch. */
  changedAt: number;
  /** How many there are. */
  turns: number;
}

/** What is kept of the evidence of an answer. */
export interface KeptExhibit {
  /** What it is; a `turn` is of this conversation. */
  kind: "code" | "definition" | "document" | "turn";
  /** The path of the workspace folder; may be empty where there is only one. */
  folder: string;
  /** `path:first-last`, as a person reads it. */
  place: string;
  /** The qualified name of what is defined there. */
  symbol: string;
  /** Why it was chosen. */
  why: string;
}

/** A question and its answer. */
export interface Turn {
  /** The conversation it belongs to. */
  conversationId: string;
  /** Its place there, from 0. */
  number: number;
  /** As it was asked. */
  question: string;
  /** Seconds since the epoch. */
  askedAt: number;
  /** Null where none came. */
  answer: string | null;
  /** Seconds since the epoch; null where no answer came. */
  answeredAt: number | null;
  /** Who wrote it; empty when it is the evidence itself. */
  model: string;
  /** What the answer was written from, best first. */
  evidence: KeptExhibit[];
  /** In the order of the text, as they held then. */
  citations: Citation[];
}

/** Depends on the action. */
export interface ConversationsResult {
  /** `list`: the last that was spoken in first. */
  conversations?: Conversation[];
  /** `get`: in their order. `search`: the newest first. */
  turns?: Turn[];
  /** `delete`: how many conversations. */
  deleted?: number;
  /** `export`: how many conversations. */
  exported?: number;
  /** `export`: the path of the file that was written. */
  file?: string;
}

/** Identifies a completion. */
export interface ItemParams {
  /** The id in the argument of an inline completion item's command, or of a `CompleteItem`. */
  id: string;
}

/** Identifies a completion, and how much of it was accepted. */
export interface PartlyAcceptedParams {
  /** The id of the completion. */
  id: string;
  /** UTF-16 units accepted so far, counted from its start. */
  acceptedLength: number;
}

/** How long answers took. */
export interface Latency {
  /** Milliseconds, the median. */
  p50: number;
  /** Milliseconds; 95 of 100 were faster. */
  p95: number;
  /** How many there were. */
  n: number;
}

/** What was counted. It stays on this machine. */
export interface StatsResult {
  /** Requests by trigger. */
  asked: Record<string, number>;
  /** Answers with a text, by source. */
  offered: Record<string, number>;
  /** Answers without, by reason. */
  empty: Record<string, number>;
  /** Seen by a person, by language. */
  shown: Record<string, number>;
  /** Taken whole, by language. */
  accepted: Record<string, number>;
  /** Taken in part and not whole, by language. */
  partlyAccepted: Record<string, number>;
  /** Refused, by language. */
  rejected: Record<string, number>;
  /** By model. */
  charactersTaken: Record<string, number>;
  /** Of what was shown; null when nothing was. */
  acceptedShare: number | null;
  /** By source. */
  latencyMs: Record<string, Latency>;
}

/** A piece of an answer, by `$/progress` with the request's `partialResultToken`. */
export interface AskProgress {
  /** Where the conversation goes on; once, first of all. */
  conversationId?: string;
  /** More of the answer. */
  text?: string;
  /** Lines that are cited in the text to come. */
  citation?: Citation;
  /** The text and the citations so far are void: another model begins anew. */
  restart?: true;
}

/** The argument of the command `weft.didAccept` of an inline completion item. */
export interface AcceptArgument {
  /** Names the completion in the messages about what became of it. */
  id: string;
  /** Where the text comes from, as above. */
  source: "model" | "cache" | "typed-through" | "joined" | "speculated";
  /** Who wrote it. */
  model: string;
  /** How probable it is to be right; null when the model gives no probabilities. */
  confidence: number | null;
  /** Milliseconds by step. */
  timingsMs: Record<string, number>;
}

/** What may be asked with a slash. */
export interface SlashCommand {
  /** Without the slash. */
  name: string;
  /** What may follow; empty for nothing. */
  argument: string;
  /** What it answers. */
  meaning: string;
}

/** What the server says of itself in `capabilities.experimental.weft`. */
export interface ServerOffer {
  /** Weft's. */
  version: string;
  /** What `weft/ask` takes with a slash. */
  slashCommands: SlashCommand[];
}

/** What a client may say of itself in `capabilities.experimental.weft`. */
export interface ClientOffer {
  /** It wants `weft/didChangeStatus`. */
  status?: boolean;
}
