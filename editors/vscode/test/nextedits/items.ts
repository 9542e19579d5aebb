// Next edits for the tests, as the server sends them.

import type { NextEditItem, Range } from "../../src/protocol";

/** A range from "line:character" to "line:character". */
export function span(from: string, to = from): Range {
  const at = (text: string) => {
    const [line = 0, character = 0] = text.split(":").map(Number);
    return { line, character };
  };
  return { start: at(from), end: at(to) };
}

let count = 0;

export function edit(range: Range, text: string, more: Partial<NextEditItem> = {}, uri = "file:///shop/a.py"): NextEditItem {
  const id = `next-${count++}`;
  return {
    text,
    range,
    textDocument: { uri, version: 1 },
    command: { title: "", command: "weft.didTakeNextEdit", arguments: [{ id }] },
    id,
    oldText: "",
    path: uri.slice("file:///shop/".length),
    kind: "rename",
    reason: "`total` is `amount` now (line 1 of a.py).",
    evidence: "",
    origin: null,
    group: "rename a.py total 0",
    confidence: 0.9,
    isMarked: false,
    ...more,
  };
}
