// How long to wait before a server that ended is started again, and when to give up.
//
// Owns that rule. Knows no server and no clock: who asks says what time it is.

const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;

/** A server that ran for so long was healthy: what happens next is a new story. */
const HEALTHY_AFTER_MS = 60_000;

/** With the delays above these are about two minutes. */
const MOST_RESTARTS = 8;

export class Backoff {
  private nFailures = 0;
  private startedAt: number | undefined;

  started(nowMs: number): void {
    this.startedAt = nowMs;
  }

  /** Milliseconds until the next try; undefined when it is time to give up. */
  failed(nowMs: number): number | undefined {
    if (this.startedAt !== undefined && nowMs - this.startedAt >= HEALTHY_AFTER_MS) this.nFailures = 0;
    this.startedAt = undefined;
    if (this.nFailures >= MOST_RESTARTS) return undefined;
    return Math.min(FIRST_DELAY_MS * 2 ** this.nFailures++, LONGEST_DELAY_MS);
  }

  /** A person asked for a start: everything is forgiven. */
  reset(): void {
    this.nFailures = 0;
    this.startedAt = undefined;
  }
}
