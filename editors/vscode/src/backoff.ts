// Exponential backoff between restarts of the server.
//
// Owns the delays and the limit. Knows no server and no clock: callers pass the time.

const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 30_000;

/** After this uptime the next failure counts as the first. */
const HEALTHY_AFTER_MS = 60_000;

/** With the delays above, about two minutes of attempts. */
const MAX_RESTARTS = 8;

export class Backoff {
  private nFailures = 0;
  private startedAt: number | undefined;

  started(nowMs: number): void {
    this.startedAt = nowMs;
  }

  /** Milliseconds until the next start; undefined when the limit is reached. */
  failed(nowMs: number): number | undefined {
    if (this.startedAt !== undefined && nowMs - this.startedAt >= HEALTHY_AFTER_MS) this.nFailures = 0;
    this.startedAt = undefined;
    if (this.nFailures >= MAX_RESTARTS) return undefined;
    return Math.min(FIRST_DELAY_MS * 2 ** this.nFailures++, MAX_DELAY_MS);
  }

  /** Forgets all failures, for a start that the user requests. */
  reset(): void {
    this.nFailures = 0;
    this.startedAt = undefined;
  }
}
