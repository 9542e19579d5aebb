import assert from "node:assert/strict";
import { test } from "node:test";
import { explicitSettings, type Inspected, serverKeys } from "../src/settings";

test("settings of the extension are not sent to the server", () => {
  const declared = [
    "weft.enabled",
    "weft.server.command",
    "weft.trace.server",
    "weft.next_edits.show",
    "weft.agents.tools",
    "weft.agents.unsaved_buffers",
    "weft.log_level",
    "weft.completion.enabled",
    "other.key",
  ];
  assert.deepEqual(serverKeys(declared), ["agents.unsaved_buffers", "log_level", "completion.enabled"]);
});

test("only values that the user set are sent, nested; the innermost scope wins", () => {
  const inspected: Record<string, Inspected> = {
    log_level: {},
    "completion.target_ms": { globalValue: 900, workspaceValue: 700, workspaceFolderValue: 500 },
    "completion.enabled": { globalValue: true, workspaceValue: false },
    "index.exclude": { globalValue: ["old/"] },
  };
  const keys = [...Object.keys(inspected), "unknown.to.the.editor"];
  assert.deepEqual(
    explicitSettings(keys, (key) => inspected[key]),
    { completion: { target_ms: 500, enabled: false }, index: { exclude: ["old/"] } },
  );
});
