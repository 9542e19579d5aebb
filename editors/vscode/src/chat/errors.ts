// What went wrong with a request, in words and with the next step.
//
// Owns which errors mean that the server is gone. Knows no request.

const REQUEST_CANCELLED = -32800;
const INVALID_PARAMS = -32602;
/** Of vscode-jsonrpc: the connection ended while an answer was waited for, or was not there. */
const CONNECTION_ENDED = new Set([-32099, -32098, -32097, -32096]);

export function isCancelled(error: unknown): boolean {
  return codeOf(error) === REQUEST_CANCELLED;
}

/** The conversation was deleted, in another window perhaps: the next question begins a new one. */
export function isConversationGone(error: unknown): boolean {
  return codeOf(error) === INVALID_PARAMS;
}

export function describe(error: unknown): string {
  const code = codeOf(error);
  if (code !== undefined && CONNECTION_ENDED.has(code)) {
    return "The server ended before it answered. It is started again by itself; then ask again.";
  }
  return error instanceof Error ? error.message : String(error);
}

function codeOf(error: unknown): number | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "number" ? code : undefined;
}
