import assert from "node:assert/strict";
import { test } from "node:test";
import { explanationOf, markdownOf, pageOf } from "../../src/nextedits/explanation";
import { farHint, isInSight, keyHint, placeHint } from "../../src/nextedits/hints";
import { Checks, editsOf, treeOf } from "../../src/nextedits/tree";
import { edit, span } from "./items";

const VIEW = { uri: "file:///shop/a.py", firstLine: 10, lastLine: 30 };
const B = "file:///shop/lib/b.py";

test("a hint has an arrow to the edit, what it does, and what Tab does", () => {
  const above = edit(span("2:0", "2:5"), "amount", { oldText: "total" });
  assert.equal(farHint(above, VIEW, "jump"), "↑ line 3: total → amount (Tab)");
  assert.equal(farHint(above, VIEW, "indent"), "↑ line 3: total → amount");
  assert.equal(placeHint(edit(span("40:0"), "x"), VIEW), "↓ line 41");
  assert.equal(placeHint(edit(span("4:0"), "x", {}, B), VIEW), "→ b.py, line 5");
  assert.deepEqual(["jump", "take", "indent"].map((action) => keyHint(action as "jump")), ["Tab goes there", "Tab takes it", ""]);
});

test("an edit is in sight if one of its lines is, in the document that is shown", () => {
  assert.equal(isInSight(edit(span("8:0", "10:1"), ""), VIEW), true);
  assert.equal(isInSight(edit(span("8:0", "10:0"), ""), VIEW), false);
  assert.equal(isInSight(edit(span("12:0"), "", {}, B), VIEW), false);
});

test("an explanation has the reason, the evidence, the confidence in words, and the edit that it follows from", () => {
  const origin = { uri: B, path: "lib/b.py", line: 0, before: "def total():", after: "def amount():" };
  const item = edit(span("2:4", "2:9"), "amount", { oldText: "total", evidence: "It imports it.", origin, confidence: 0.854 });
  const lines = pageOf(explanationOf(item, () => "x = total()"));
  assert.deepEqual(
    lines.map(({ text }) => text),
    [
      "a.py, line 3",
      "    - x = total()",
      "    + x = amount()",
      "",
      "`total` is `amount` now (line 1 of a.py).",
      "It imports it.",
      "The estimated probability that you want it is 85 percent.",
      "",
      "It follows from lib/b.py, line 1",
      "    - def total():",
      "    + def amount():",
      "",
    ],
  );
  assert.deepEqual(lines.flatMap(({ uri, range }) => (uri ? [[uri, range?.start.line]] : [])), [
    ["file:///shop/a.py", 2],
    [B, 0],
  ]);
});

test("text of the workspace is no link, image, HTML or end of a code block in a hover", () => {
  const reason = "`a` is used in ![x](https://example.com/x.png) <b> [y](command:z).";
  const item = edit(span("0:0"), "```\n![x](https://example.com)\n", { reason, isMarked: true });
  const text = markdownOf(explanationOf(item));
  assert.ok(text.includes("`a` is used in \\!\\[x\\]\\(https://example\\.com/x\\.png\\) \\<b\\> \\[y\\]\\(command:z\\)\\."));
  assert.ok(text.includes("````diff\n+ ```\n+ ![x](https://example.com)\n````"));
  assert.ok(text.includes("check it before"));
});

test("a place with brackets in its path is one link", () => {
  const item = edit(span("0:0"), "x", { path: "a (1).py", textDocument: { uri: "file:///shop/a (1).py", version: 1 } });
  assert.ok(markdownOf(explanationOf(item)).startsWith("[a \\(1\\)\\.py, line 1](file:///shop/a%20%281%29.py#L1)"));
});

test("the list is by cause and file, with marked edits unchecked until the user checks them", () => {
  const items = [
    edit(span("9:0", "9:5"), "amount"),
    edit(span("2:0", "2:5"), "amount", { isMarked: true }),
    edit(span("2:0", "2:5"), "amount", {}, B),
    edit(span("0:0"), "import os\n", { group: "import", reason: "`os` is used and not imported." }),
  ];
  const [rename, imports] = treeOf(items);
  assert.ok(rename && imports);
  assert.deepEqual([rename.label, imports.label], ["total is amount now (line 1 of a.py)", "os is used and not imported"]);
  assert.deepEqual(rename.children.map(({ path, children }) => [path, children.map(({ item }) => item.range.start.line)]), [
    ["a.py", [2, 9]],
    ["lib/b.py", [2]],
  ]);
  const checks = new Checks();
  assert.equal(checks.checked(items).length, 3);
  assert.deepEqual(rename.children.map((file) => checks.isChecked(file)), [false, true]);
  checks.set(rename, true);
  assert.equal(checks.checked(items).length, 4);
  checks.set(imports, false);
  assert.deepEqual(checks.checked(items), editsOf(rename).toSorted((l, r) => items.indexOf(l) - items.indexOf(r)));
  checks.keep([]);
  assert.equal(checks.checked(items).length, 3, "what was checked is forgotten with the edits");
});
