import assert from "node:assert/strict";
import { test } from "node:test";
import { appearance } from "../src/appearance";

const status = { kind: "ready" as const, text: "Ready.", percent: null, model: "workspace model" };

test("indexing shows the percentage and the sentence of the server", () => {
  const { text, tooltip } = appearance({
    ...status,
    kind: "indexing",
    percent: 35.4,
    text: "Indexing: 120 of 340 files",
  });
  assert.equal(text, "$(sync~spin) Weft indexing 35%");
  assert.match(tooltip, /^Indexing: 120 of 340 files\nModel: workspace model\n/);
});

test("a busy completion shows a spinner, but hides no problem", () => {
  assert.equal(appearance(status, { isBusy: true }).text, "$(loading~spin) Weft");
  assert.equal(appearance({ ...status, kind: "degraded" }, { isBusy: true }).text, "$(warning) Weft degraded");
});

test("problems have a severity", () => {
  const severities = (["ready", "paused", "off", "slow", "degraded", "error"] as const).map(
    (kind) => appearance({ ...status, kind }).severity,
  );
  assert.deepEqual(severities, ["none", "none", "none", "warning", "warning", "error"]);
});

test("an unknown kind of a newer server is shown unchanged", () => {
  assert.match(appearance({ ...status, kind: "dreaming" as "ready" }).text, /Weft dreaming/);
});

test("a file with completions turned off is marked", () => {
  const { text, tooltip } = appearance(status, { isOffHere: true });
  assert.equal(text, "$(circle-slash) Weft off here");
  assert.match(tooltip, /turned off in this file/);
});
