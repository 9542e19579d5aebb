// Messages for failed requests, with the next step.
//
// Owns which errors mean that the server exited. Knows no request.

const REQUEST_CANCELLED = -32800;
const INVALID_PARAMS = -32602;
/** Of vscode-jsonrpc: the connection closed before the response, or was not open. */
const CONNECTION_CLOSED = new Set([-32099, -32098, -32097, -32096]);

/** For a request that the server answers with null: it is shutting down. */
export const STOPPED = "The server stopped before it answered. Ask again.";

export function isCancelled(error: unknown): boolean {
  return codeOf(error) === REQUEST_CANCELLED;
}

/** The conversation was deleted, perhaps in another window: the next question starts a new one. */
export function isConversationGone(error: unknown): boolean {
  return codeOf(error) === INVALID_PARAMS;
}

export function describe(error: unknown): string {
  const code = codeOf(error);
  if (code !== undefined && CONNECTION_CLOSED.has(code)) {
    return "The server exited before it answered. It restarts automatically; try again.";
  }
  return error instanceof Error ? error.message : String(error);
}

function codeOf(error: unknown): number | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "number" ? code : undefined;
}
