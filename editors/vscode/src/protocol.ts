// Weft's own messages. Stands in until it is generated from the server's types.
export interface Position { line: number; character: number }
export interface Range { start: Position; end: Position }
export interface PageLine { text: string; uri?: string | null; range?: Range | null }
export interface StatusAction { title: string; action: "doctor" | "log" | "settings" | "resume" | "pause" | "restart" | "models" }
export interface StatusResult {
  state: string;
  kind: "starting" | "indexing" | "ready" | "paused" | "off" | "slow" | "degraded" | "error";
  text: string; percent: number | null; actions: StatusAction[]; page: PageLine[] | null;
  folders: string[]; files: number; lines: number; fragments: number; model: string; modelReason: string;
  models: unknown[]; notes: string[]; memoryMb: number;
}
export interface DoctorResult { version: string; ok: boolean; findings: { what: string; found: string; nextStep: string }[]; page: PageLine[] }
export interface ExplainResult { page: PageLine[] }
export interface CompleteItem { id: string; text: string; range: Range; whyEmpty: string }
export interface CompleteResult { items: CompleteItem[] }
export interface SlashCommand { name: string; argument: string; meaning: string }
export interface Citation { place: string; path: string; folder: string; startLine: number; endLine: number; text: string; uri: string | null; range: Range }
export interface Exhibit { kind: "code" | "definition" | "document" | "turn"; place: string; path: string; folder: string; startLine: number; endLine: number; symbol: string; why: string; score: number; way: string[]; text: string; uri: string | null }
export interface AskParams { question: string; conversationId?: string; textDocument?: { uri: string }; selection?: Range; position?: Position; strategy?: string; remember?: boolean; partialResultToken?: string; workDoneToken?: string }
export interface AskResult { text: string; found: boolean; citations: Citation[]; exhibits: Exhibit[]; notes: string[]; model: string; conversationId: string }
export interface AskProgress { text?: string; restart?: true; conversationId?: string; citation?: Citation }
export interface Conversation { id: string; title: string; createdAt: number; changedAt: number; turns: number }
export interface Turn { conversationId: string; number: number; question: string; askedAt: number; answer: string | null; answeredAt: number | null; model: string; citations: Citation[]; evidence: Pick<Exhibit, "kind" | "folder" | "place" | "symbol" | "why">[] }
export interface ConversationsParams { action?: string; id?: string; text?: string; file?: string; all?: boolean; limit?: number }
export interface ConversationsResult { conversations?: Conversation[]; turns?: Turn[]; deleted?: number; exported?: number }
