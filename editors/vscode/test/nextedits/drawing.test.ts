import assert from "node:assert/strict";
import { test } from "node:test";
import { changeOf, summaryOf } from "../../src/nextedits/changes";
import { drawingOf } from "../../src/nextedits/drawing";
import { edit, span } from "./items";

function draw(text: string, from: string, to: string, replacement: string, tabSize = 4) {
  const all = text.split("\n");
  const item = edit(span(from, to), replacement);
  return drawingOf(item, { count: all.length, tabSize, at: (line) => all[line] ?? "" });
}

test("a renamed use is struck, with the new name behind it", () => {
  const { removed, added, below } = draw("pay(total)\n", "0:4", "0:9", "totals");
  assert.deepEqual(removed, [span("0:4", "0:9")], "words are not divided");
  assert.deepEqual(added, [{ line: 0, character: 9, text: "totals", padding: 0 }]);
  assert.equal(below, undefined);
});

test("a new argument is only added", () => {
  const { removed, added, hover } = draw("    pay(total)\n", "0:8", "0:13", "total, date");
  assert.deepEqual(removed, []);
  assert.deepEqual(added, [{ line: 0, character: 13, text: ", date", padding: 0 }]);
  assert.deepEqual(hover, span("0:4", "0:14"));
});

test("a new line is a box beside the line that it comes below", () => {
  const { removed, added, below } = draw("import json\n\nx = 1", "1:0", "1:0", "import os\n");
  assert.deepEqual(removed, []);
  assert.deepEqual(added, [{ line: 0, character: 11, text: "import os", padding: 4 }]);
  assert.equal(below, 0);
  assert.equal(draw("x = 1", "0:0", "0:0", "import os\n").below, -1);
});

test("replaced lines are struck, and the new ones are a box with even edges, less indented", () => {
  const text = "def f():\n\tif a:\n\t\tg()\n\treturn";
  const { removed, added } = draw(text, "1:1", "2:5", "for a in b:\n\t\tg(a)\n\t\th(a)");
  assert.deepEqual(removed, [span("1:1", "1:6"), span("2:2", "2:5")]);
  assert.deepEqual(
    added.map(({ line, text, padding }) => [line, text, padding]),
    [
      [1, "for a in b:", 6],
      [2, "    g(a)   ", 4],
      [3, "    h(a)   ", 5],
    ],
  );
});

test("equal lines at both ends of an edit are not drawn", () => {
  const { removed, added } = draw("a = 1\nb = 2\nc = 3", "0:0", "2:5", "a = 1\nb = 4\nc = 3");
  assert.deepEqual(removed, [span("1:4", "1:5")]);
  assert.equal(added[0]?.text, "4");
});

test("a box moves up at the end of a document, and is cut if the document is too short", () => {
  const long = Array.from({ length: 6 }, (_, i) => `line_${i}`).join("\n");
  assert.deepEqual(draw("a\nb\nc\nd", "3:1", "3:1", "\nx\ny").added.map(({ line }) => line), [2, 3]);
  assert.deepEqual(draw("a\nb\n", "1:1", "1:1", `\n${long}`).added.map(({ text }) => text.trim()), [
    "line_0",
    "line_1",
    "… 4 more lines",
  ]);
});

test("removed lines have no box; wide characters and emoji take two columns", () => {
  assert.deepEqual(draw("a\nb\nc", "1:0", "2:0", "").added, []);
  const { added } = draw("日本\nx\ny", "1:0", "1:0", "🧺 = 1\nz\n");
  assert.deepEqual(added.map(({ text, padding }) => [text, padding]), [
    ["🧺 = 1", 4],
    ["z     ", 7],
  ]);
});

test("a change between two lines keeps words and emoji whole", () => {
  assert.deepEqual(changeOf("price_of(x)", "price_for(x)"), { start: 0, end: 8, removed: "price_of", added: "price_for" });
  assert.deepEqual(changeOf("a = 🧺", "a = 🧵"), { start: 4, end: 6, removed: "🧺", added: "🧵" });
  assert.deepEqual(changeOf("f(a, a)", "f(a, a, a)"), { start: 6, end: 6, removed: "", added: ", a" });
});

test("an edit on one line of a list", () => {
  const summary = (oldText: string, text: string, length?: number) => summaryOf({ oldText, text }, length);
  assert.equal(summary("total", "amount"), "total → amount");
  assert.equal(summary("pay(a)", "pay(a, b)"), "+ , b");
  assert.equal(summary("", "import os\r\n"), "+ import os");
  assert.equal(summary("import os\n", ""), "- import os");
  assert.equal(summary("", "\n\ndef f():\n    pass\n"), "+ def f(): …");
  assert.equal(summary("a", "b".repeat(99), 5), "a → bbbbb …");
});
