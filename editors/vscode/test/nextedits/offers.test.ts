import assert from "node:assert/strict";
import { test } from "node:test";
import { afterApplying, isAt, pick, pickAfter, shifted, tabAction, withoutOverlaps } from "../../src/nextedits/offers";
import { edit, span } from "./items";

const A = "file:///shop/a.py";
const B = "file:///shop/b.py";

test("edits of the document come first, of these the ones of the same group; marked ones never", () => {
  const marked = edit(span("1:0", "1:5"), "amount", { isMarked: true });
  const elsewhere = edit(span("2:0", "2:5"), "amount", {}, B);
  const other = edit(span("3:0"), "import os\n", { group: "import" });
  const same = edit(span("9:0", "9:5"), "amount");
  assert.equal(pick([marked, elsewhere, other, same], A), other);
  assert.equal(pick([marked, elsewhere, other, same], A, same.group), same);
  assert.equal(pick([marked, elsewhere], A), elsewhere);
  assert.equal(pick([marked], A), undefined);
});

test("the edit after the last one is the first", () => {
  const [first, second] = [edit(span("1:0", "1:5"), "x"), edit(span("2:0", "2:5"), "x")];
  assert.equal(pickAfter([first, second], first), second);
  assert.equal(pickAfter([first, second], second), first);
  assert.equal(pickAfter([first], first), first);
});

test("Tab goes to an edit on another line, takes it on its line, and indents before the first character", () => {
  const item = edit(span("4:8", "4:13"), "amount");
  const cursor = (line: number, character: number, uri = A) => ({ uri, line, character });
  assert.equal(tabAction(item, cursor(1, 9), "def total", false), "jump");
  assert.equal(tabAction(item, cursor(4, 9, B), "def total", false), "jump");
  assert.equal(tabAction(item, cursor(4, 20), "    x = total", false), "take");
  assert.equal(tabAction(item, cursor(1, 4), "    ", false), "indent");
  assert.equal(tabAction(item, cursor(4, 4), "    ", false), "indent");
  assert.equal(tabAction(item, cursor(4, 8), "        ", false), "take", "the edit starts at the cursor");
  assert.equal(tabAction(item, cursor(1, 0), "", true), "jump", "where an earlier Tab has put the cursor");
  assert.equal(tabAction(item, cursor(4, 0), "", true), "take");
});

test("an edit of whole lines does not contain the line after them", () => {
  const item = edit(span("2:0", "4:0"), "");
  const lines = [1, 2, 3, 4].map((line) => isAt(item, { uri: A, line, character: 0 }));
  assert.deepEqual(lines, [false, true, true, false]);
});

test("an edit moves the ones behind it and drops the ones that it touches", () => {
  assert.deepEqual(shifted(span("1:4", "1:9"), span("1:0", "1:2"), "long"), span("1:6", "1:11"));
  assert.deepEqual(shifted(span("1:4", "1:9"), span("1:0", "1:2"), "two\nlines"), span("2:7", "2:12"));
  assert.deepEqual(shifted(span("5:4", "5:9"), span("1:0", "3:0"), "gone\r\n"), span("4:4", "4:9"));
  assert.deepEqual(shifted(span("1:4", "1:9"), span("2:0", "2:2"), "x"), span("1:4", "1:9"));
  assert.equal(shifted(span("1:4", "1:9"), span("1:8", "1:12"), "x"), undefined);
  assert.equal(shifted(span("1:4"), span("1:4"), "x"), undefined);
});

test("after several edits together the others are where their text is now", () => {
  const items = [
    edit(span("0:0"), "import os\n"),
    edit(span("3:0", "3:5"), "amount"),
    edit(span("3:9", "3:14"), "amount"),
    edit(span("3:9", "3:14"), "amount", {}, B),
  ];
  const [first, second] = items;
  assert.ok(first && second);
  const rest = afterApplying(items, [first, second]);
  assert.deepEqual(rest.map(({ range }) => range), [span("4:10", "4:15"), span("3:9", "3:14")]);
});

test("of two edits that overlap the first is applied", () => {
  const [whole, part] = [edit(span("1:0", "1:9"), "x"), edit(span("1:4", "1:6"), "y")];
  const [left, right] = [edit(span("2:0"), "x"), edit(span("2:0", "2:4"), "y")];
  assert.deepEqual(withoutOverlaps([whole, part, left, right]), [whole, left, right]);
});
