import assert from "node:assert/strict";
import { test } from "node:test";
import { Backoff } from "../src/backoff";

test("waits longer after each failure, at most thirty seconds, and gives up", () => {
  const backoff = new Backoff();
  const delays = Array.from({ length: 9 }, () => {
    backoff.started(0);
    return backoff.failed(10);
  });
  assert.deepEqual(delays, [1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000, undefined]);
});

test("after a minute of uptime the next failure counts as the first", () => {
  const backoff = new Backoff();
  for (let i = 0; i < 9; i++) backoff.failed(0);
  backoff.started(0);
  assert.equal(backoff.failed(59_999), undefined);
  backoff.started(0);
  assert.equal(backoff.failed(60_000), 1000);
});

test("reset allows a start after the limit", () => {
  const backoff = new Backoff();
  for (let i = 0; i < 9; i++) backoff.failed(0);
  backoff.reset();
  assert.equal(backoff.failed(0), 1000);
});
