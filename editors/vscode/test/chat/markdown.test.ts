// Answers as trees: what models write, what Weft itself writes, and what is still being written.

import assert from "node:assert/strict";
import { test } from "node:test";
import { withPlaces } from "../../src/chat/citations";
import { ListingFences } from "../../src/chat/listing";
import { type Block, parse, plainText } from "../../src/chat/markdown";

const text = (text: string) => ({ kind: "text", text });
const code = (text: string) => ({ kind: "code", text });
const paragraph = (...children: object[]) => ({ kind: "paragraph", children });

test("paragraphs, bold, code and line breaks", () => {
  assert.deepEqual(parse("**Both** call `pay`.\nTwice.\n\nEnd"), [
    paragraph({ kind: "strong", children: [text("Both")] }, text(" call "), code("pay"), text("."), { kind: "break" }, text("Twice.")),
    paragraph(text("End")),
  ]);
});

test("names with underscores and stars that multiply are plain text", () => {
  assert.deepEqual(parse("__init__ is 2 * 3 ** 4"), [paragraph(text("__init__ is 2 * 3 ** 4"))]);
});

test("code in code: as many backticks close as opened", () => {
  assert.deepEqual(parse("`` a ` b `` and `half"), [paragraph(code("a ` b"), text(" and `half"))]);
});

test("a heading, a rule and a fence with its language", () => {
  assert.deepEqual(parse("## Why\n---\n```py\nx = 1\n\n# no heading\n```\nafter"), [
    { kind: "heading", level: 2, children: [text("Why")] },
    { kind: "rule" },
    { kind: "code", language: "py", text: "x = 1\n\n# no heading" },
    paragraph(text("after")),
  ]);
});

test("a fence that is still open holds what came so far", () => {
  assert.deepEqual(parse("So:\n```\nx ="), [paragraph(text("So:")), { kind: "code", language: "", text: "x =" }]);
});

test("lists nest, are numbered from where they begin, and end", () => {
  const tree = parse("3. first\n   more\n4. second\n   - inner\n\nAfter");
  assert.deepEqual(tree, [
    {
      kind: "list",
      start: 3,
      items: [
        [paragraph(text("first"), { kind: "break" }, text("more"))],
        [paragraph(text("second")), { kind: "list", start: null, items: [[paragraph(text("inner"))]] }],
      ],
    },
    paragraph(text("After")),
  ]);
});

test("a fence inside a list item stays in it", () => {
  const [list] = parse("- so:\n  ```\n  x = 1\n    y\n  ```\n- next") as [Block & { kind: "list" }];
  assert.deepEqual(list.items, [
    [paragraph(text("so:")), { kind: "code", language: "", text: "x = 1\n  y" }],
    [paragraph(text("next"))],
  ]);
});

test("lines that Weft quotes are a listing, below a place and inside a list", () => {
  const quoted = "    4  def total(a):\n       ...\n   10      return a\n    reached by b.py:5";
  assert.deepEqual(parse(`shop/price.py:4-10 \`total\`\n${quoted.replace("\n   10", "\n    10")}`), [
    paragraph(text("shop/price.py:4-10 "), code("total")),
    {
      kind: "listing",
      lines: [
        { number: "4", text: "def total(a):" },
        { number: "", text: "..." },
        { number: "10", text: "    return a" },
      ],
    },
    paragraph(text("reached by b.py:5")),
  ]);
  assert.deepEqual(parse("One place.\n- a.py:5-5: calls it\n    5  return 1\n\nNext."), [
    paragraph(text("One place.")),
    { kind: "list", start: null, items: [[paragraph(text("a.py:5-5: calls it")), { kind: "listing", lines: [{ number: "5", text: "return 1" }] }]] },
    paragraph(text("Next.")),
  ]);
});

test("links, images and HTML stay text", () => {
  const hostile = "[x](command:evil) ![p](http://h/p.png) <img src=x onerror=alert(1)> <https://h>";
  assert.deepEqual(parse(hostile), [paragraph(text(hostile))]);
});

test("places become links, the longest first, in code as well, never in part", () => {
  const cited = (place: string, folder = "", uri: string | null = "file:///x") => ({ place, folder, uri });
  const link = (text: string, citation: number) => ({ kind: "place", text, citation });
  const citations = [cited("b.py:1-2"), cited("a/b.py:1-2"), cited("gone.py:1-1", "", null)];
  assert.deepEqual(withPlaces(parse("See a/b.py:1-2, `b.py:1-2` (b.py:1-23, c/b.py:1-2, gone.py:1-1)."), citations), [
    paragraph(text("See "), link("a/b.py:1-2", 1), text(", "), link("b.py:1-2", 0), text(" (b.py:1-23, c/b.py:1-2, gone.py:1-1).")),
  ]);
  const folders = [cited("b.py:1-2", "/shop/one"), cited("b.py:1-2", "/shop/two")];
  for (const name of ["two: ", "/shop/two: "]) {
    assert.deepEqual(withPlaces(parse(`${name}b.py:1-2`), folders), [paragraph(text(name), link("b.py:1-2", 1))]);
  }
  assert.deepEqual(withPlaces(parse("- **b.py:1-2**"), citations), [
    { kind: "list", start: null, items: [[paragraph({ kind: "strong", children: [link("b.py:1-2", 0)] })]] },
  ]);
  assert.deepEqual(withPlaces(parse("```\nb.py:1-2\n```"), citations), [{ kind: "code", language: "", text: "b.py:1-2" }]);
});

test("plain text is what a person would read out", () => {
  assert.equal(plainText(parse("# A **b**\n- `c`\n- d\n\n```\ne\n```\n    1  f")), "A b\nc\nd\ne\nf");
});

test("any beginning of a text is a tree, and hostile texts take no time", () => {
  const answer = "## A\n- **b** `c`\n    4  x\n```py\ny\n```\n1. d\n   - e\n";
  for (let end = 0; end <= answer.length; end += 1) assert.ok(Array.isArray(parse(answer.slice(0, end))));
  for (const piece of ["- ", "`", "**a", "> ", "#", "1. ", " ", "```\n"]) parse(piece.repeat(3000));
});

test("signs behind a backslash are the signs, and nothing of a link or of HTML is one", () => {
  const written = "see \\![a]\\(command:b) and \\<b>, `\\<c>`";
  assert.deepEqual(parse(written), [paragraph(text("see ![a](command:b) and <b>, "), code("\\<c>"))]);
});

test("quoted lines of files are shown as they are in the file", () => {
  assert.deepEqual(parse("    12  vector\\<int> a = f[0]\\(x) // \\\\n"), [
    { kind: "listing", lines: [{ number: "12", text: "vector<int> a = f[0](x) // \\\\n" }] },
  ]);
});

test("in VS Code's chat quoted lines are fenced, and no fence of the answer is closed by that", () => {
  const fences = new ListingFences();
  const out = fences.feed("```\n~~~\n    1  a\n```\n    2  vector\\<int>\n") + fences.end();
  assert.equal(out, "```\n~~~\n    1  a\n```\n\n```\n2  vector<int>\n\n```\n");
});
