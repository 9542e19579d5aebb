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
