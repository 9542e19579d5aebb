// Answers as HTML: what models write, what Weft itself writes, and what is still being written.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Cited } from "../../src/chat/citations";
import { ListingFences } from "../../src/chat/listing";
import { AnswerRenderer, breakableParts, sentenceHtml } from "../../src/chat/markdown";

const render = (answer: string, citations: readonly Cited[] = []) => new AnswerRenderer().render(answer, citations, true);
/** The HTML without what is the same for all blocks of code, without line breaks between elements and without the places
 * where long words may be broken. */
const html = (answer: string, citations: readonly Cited[] = []): string =>
  render(answer, citations)
    .map((block) => block.html)
    .join("")
    .replaceAll(' tabindex="0" role="group" aria-label="Code"', "")
    .replaceAll('<button type="button" class="copy" aria-label="Copy code">Copy</button>', "")
    .replaceAll("<wbr>", "")
    .replace(/<span class="whole">(.*?)<\/span>/g, "$1")
    .replace(/(?<=>)(?<!<code>)\n/g, "");
const plain = (answer: string): string =>
  render(answer)
    .map((block) => block.text)
    .join("\n");
const code = (content: string): string => `<div class="block"><pre><code>${content}</code></pre></div>`;
const listing = (...lines: [number: string, text: string][]): string => {
  const content = lines.map(([number, text]) => `<span class="number">${number}</span><code>${text}\n</code>`);
  return `<div class="block"><pre class="listing">${content.join("")}</pre></div>`;
};
const cited = (place: string, folder = "", uri: string | null = "file:///x"): Cited => ({ place, folder, uri });
const link = (place: string, citation: number): string =>
  `<a href="#" class="place" data-citation="${citation}" title="Open ${place}">${place}</a>`;

test("paragraphs, bold, code and line breaks", () => {
  assert.equal(html("**Both** call `pay`.\nTwice.\n\nEnd"), "<p><strong>Both</strong> call <code>pay</code>.<br>Twice.</p><p>End</p>");
  assert.equal(html("`` a ` b `` and `half"), "<p><code>a ` b</code> and `half</p>");
  assert.equal(sentenceHtml("`a` <b> [x](y)"), "<code>a</code> &lt;b&gt; [x](y)");
});

test("names with underscores and stars that multiply are plain text", () => {
  assert.equal(html("__init__ of _x_ is 2 * 3 ** 4"), "<p>__init__ of _x_ is 2 * 3 ** 4</p>");
});

test("headings are below the question, and a rule below a paragraph makes no heading", () => {
  assert.equal(html("## Why\n---\n###### So\na\n---"), "<h4>Why</h4><hr><h6>So</h6><p>a</p><hr>");
});

test("a table, with its alignment as classes: styles are not allowed", () => {
  assert.equal(
    html("| a | b |\n|---|--:|\n| `1` | <b> |"),
    '<div class="table" tabindex="0" role="group" aria-label="Table"><table><thead><tr><th>a</th><th class="right">b</th></tr></thead>' +
      '<tbody><tr><td><code>1</code></td><td class="right">&lt;b&gt;</td></tr></tbody></table></div>',
  );
});

test("a quote, with a list in it", () => {
  assert.equal(html("> It says\n> - so\n\nYes"), "<blockquote><p>It says</p><ul><li>so</li></ul></blockquote><p>Yes</p>");
});

test("lists nest, are numbered from where they begin, and end", () => {
  assert.equal(
    html("3. first\n   more\n4. second\n   - inner\n\nAfter"),
    '<ol start="3"><li>first<br>more</li><li>second\n<ul><li>inner</li></ul></li></ol><p>After</p>',
  );
});

test("code is highlighted in the language that its fence names, and is text in any other", () => {
  const keyword = (word: string): string => `<span class="hljs-keyword">${word}</span>`;
  assert.equal(html("```py\nif x:\n\n    pass\n```"), code(`${keyword("if")} x:\n\n    ${keyword("pass")}`));
  assert.match(html("```tsx\nconst a: A = b;\n```"), /hljs-keyword/);
  for (const info of ["", "nonsense", "<b>", "constructor"]) assert.equal(html(`~~~${info}\nif <b>:\n~~~`), code("if &lt;b&gt;:"));
  assert.equal(html("- so:\n  ```\n  x = 1\n    y\n  ```\n- next"), `<ul><li>so:${code("x = 1\n  y")}</li><li>next</li></ul>`);
  assert.equal(html("a\n\n    x = 1\n      y"), `<p>a</p>${code("x = 1\n  y")}`);
  for (const long of ["if x: pass\n".repeat(3000), `if ${"x".repeat(500)}: pass\n`]) assert.doesNotMatch(html("```py\n" + long), /hljs/);
});

test("lines that Weft quotes are a listing, below a location and inside a list", () => {
  assert.equal(
    html("shop/price.py:4-10 `total`\n     4  def total(a):\n        ...\n    10      return a\n    reached by b.py:5"),
    `<p>shop/price.py:4-10 <code>total</code></p>${listing(["4", "def total(a):"], ["…", ""], ["10", "    return a"])}<p>reached by b.py:5</p>`,
  );
  assert.equal(
    html("One place.\n- a.py:5-5: calls it\n    5  return 1\n- b.py:6-6\n    6  b\n\nNext."),
    `<p>One place.</p><ul><li>a.py:5-5: calls it${listing(["5", "return 1"])}</li><li>b.py:6-6${listing(["6", "b"])}</li></ul><p>Next.</p>`,
  );
  assert.equal(html("    12  vector\\<int> a = f[0]\\(x) // \\\\n"), listing(["12", "vector&lt;int&gt; a = f[0](x) // \\\\n"]));
});

test("HTML, images and links to anything but http and https are text", () => {
  const hostile = [
    "[x](command:evil) [x](javascript:alert(1)) [x](JaVaScRiPt:alert(1)) [x](data:text/html,x) [x](file:///x) [x](/x)",
    "![p](http://h/p.png) [![p](http://h/p.png)](command:x)",
    "<img src=x onerror=alert(1)> <a href=\"http://x\">x</a> <javascript:alert(1)> <vscode:x>",
    "[x]: http://h/x",
  ];
  const escaped = (text: string): string => text.replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
  for (const text of hostile) assert.equal(html(text), `<p>${escaped(text)}</p>`);
  assert.equal(html("<script>\nalert(1)\n</script>"), "<p>&lt;script&gt;<br>alert(1)<br>&lt;/script&gt;</p>");
  assert.equal(html("```\n</code><script>\n```"), code("&lt;/code&gt;&lt;script&gt;"));
  // A link shows its address, whatever its text says.
  const address = '<a href="https://a.b/?c&amp;%22" title="https://a.b/?c&amp;%22">';
  assert.equal(html('[http://other](https://a.b/?c&" "t")'.replace('"', "%22")), `<p>${address}http://other</a></p>`);
  assert.equal(html("see \\![a]\\(command:b) and \\<b>, `\\<c>`"), "<p>see ![a](command:b) and &lt;b&gt;, <code>\\&lt;c&gt;</code></p>");
});

test("cited locations become links, the longest first, in code as well, never in part", () => {
  const citations = [cited("b.py:1-2"), cited("a/b.py:1-2"), cited("gone.py:1-1", "", null)];
  assert.equal(
    html("See a/b.py:1-2, `b.py:1-2` (b.py:1-23, c/b.py:1-2, gone.py:1-1).", citations),
    `<p>See ${link("a/b.py:1-2", 1)}, ${link("b.py:1-2", 0)} (b.py:1-23, c/b.py:1-2, gone.py:1-1).</p>`,
  );
  const folders = [cited("b.py:1-2", "/shop/one"), cited("b.py:1-2", "/shop/two")];
  for (const name of ["two: ", "/shop/two: "]) assert.equal(html(`${name}b.py:1-2`, folders), `<p>${name}${link("b.py:1-2", 1)}</p>`);
  assert.equal(html("- **b.py:1-2**", citations), `<ul><li><strong>${link("b.py:1-2", 0)}</strong></li></ul>`);
  assert.match(html("| a |\n|---|\n| b.py:1-2 |", citations), new RegExp(`<td>${link("b.py:1-2", 0)}</td>`));
  assert.equal(html("```\nb.py:1-2\n```", citations), code("b.py:1-2"));
  assert.doesNotMatch(html("[b.py:1-2](https://a.b)", citations), /data-citation/);
  assert.equal(html('_".py:1-2', [cited('_".py:1-2')]), `<p>${link("_&quot;.py:1-2", 0)}</p>`);
});

test("a long path may be broken behind its separators, in links, code and text", () => {
  const long = "packages/shop/__init__/total_price.py:4-6";
  const parts = "packages/<wbr>shop/<wbr>__init__/<wbr>total_<wbr>price.<wbr><span class=\"whole\">py:4-6</span>".replace("/<wbr>__init__", "/__<wbr>init__");
  assert.equal(render(long)[0]!.html, `<p>${parts}</p>`);
  assert.equal(render(`\`${long}\``)[0]!.html, `<p><code>${parts}</code></p>`);
  assert.equal(render(long, [cited(long)])[0]!.html, `<p>${link(long, 0).replace(`>${long}<`, () => `>${parts}<`)}</p>`);
  assert.equal(render("See a.py and 3.14.")[0]!.html, "<p>See a.py and 3.14.</p>");
  assert.deepEqual(breakableParts("a/<b>.py and `even_more_words_here`"), ["a/<b>.py and `even_", "more_", "words_", "here`"]);
});

const FOLDED =
  "Called at 3 locations:\n\n- a.py:1-2\n\n<details><summary>2 more</summary>\n\n- b.py:1-2\n     1  </details>\n\n" +
  "```html\n</details>\n```\n\n</details>\n\nEnd.";

test("a folded part is a closed fold, and no other HTML comes through", () => {
  const citations = [cited("b.py:1-2")];
  const inside = `<ul><li>${link("b.py:1-2", 0)}${listing(["1", "&lt;/details&gt;"])}</li></ul>`;
  const fenced = /<div class="block"><pre><code>.*&lt;\/.*details.*&gt;.*<\/code><\/pre><\/div>/s;
  const shown = html(FOLDED, citations);
  const start = `<p>Called at 3 locations:</p><ul><li>a.py:1-2</li></ul><details class="fold"><summary>2 more</summary>${inside}`;
  assert.equal(shown.slice(0, start.length), start);
  assert.match(shown.slice(start.length), fenced);
  assert.ok(shown.endsWith("</div></details><p>End.</p>"));
  assert.equal(html("x\n<details><summary>1 more</summary>\ny"), '<p>x</p><details class="fold"><summary>1 more</summary><p>y</p></details>');
  for (const text of ["<details open><summary>x</summary>", "a <details><summary>x</summary>", "<details><summary><b></summary>"]) {
    assert.doesNotMatch(html(`${text}\ny\n</details>`), /<details|<b>/);
  }
  assert.match(plain(FOLDED), /2 more\nb.py:1-2/);
});

test("plain text is what a screen reader reads out", () => {
  assert.equal(plain("# A **b**\n- `c`\n- d\n\n```\ne\n```\n    1  f\n\n| g |\n|---|\n| h |"), "A b\nc\nd\ne\nf\ng\nh");
});

test("a fence that is still open holds what came so far, and is highlighted once it is whole", () => {
  const renderer = new AnswerRenderer();
  const shown = (answer: string, isWhole = false): string => renderer.render(answer, [], isWhole).map((block) => block.html).join("");
  assert.match(shown("So:\n```py\nif x"), /<p>So:<\/p><div.*<code>if x<\/code>/s);
  assert.doesNotMatch(shown("So:\n```py\nif x\n"), /hljs/);
  assert.match(shown("So:\n```py\nif x\n", true), /hljs-keyword/);
  assert.match(shown("So:\n```py\nif x\n```\n\nThen\nthat\nis"), /hljs-keyword/);
});

test("streamed in any pieces, an answer is shown as it would be in whole", () => {
  const answer =
    "## A\na.py:1-2\n- **b** `c`\n\n  d\n- e\n     4  x\n\ntext\n| a | b |\n|---|---|\n| c | d |\n\n> q\n> r\n\n" +
    "<details><summary>2 more</summary>\n\n- s\n\nt\n\n</details>\n\n```py\nif y\n\n# z\n```\n\n1. d\n   - e\n\n        f\n\na.py:1-2\r\n    4  g\n    reached by\n\n***\n[h](https://i.j)\n\n- k\n*l* m";
  const citations = [cited("a.py:1-2")];
  const content = (blocks: { html: string; text: string }[]): unknown =>
    blocks.map(({ html, text }) => [html.replace(/<\/?span( class="hljs[^>]*)?>/g, ""), text]);
  for (const size of [1, 2, 5]) {
    const renderer = new AnswerRenderer();
    for (let end = 0; end < answer.length + size; end += size) {
      const known = end > 30 ? citations : [];
      const streamed = renderer.render(answer.slice(0, end), known, false);
      assert.deepEqual(content(streamed), content(render(answer.slice(0, end), known)), JSON.stringify(answer.slice(0, end)));
    }
    assert.deepEqual(renderer.render(answer, citations, true), render(answer, citations));
    assert.deepEqual(renderer.render("Anew", [], false).map(({ html }) => html), ["<p>Anew</p>"]);
  }
});

test("a long answer costs no more for each piece than a short one, and hostile texts take no time", () => {
  const renderer = new AnswerRenderer();
  const paragraph = "A paragraph with `code` and more words.\n\n";
  let first = renderer.render(paragraph.repeat(1000), [], false)[0];
  for (let n = 1000; n < 1100; n += 1) {
    const blocks = renderer.render(paragraph.repeat(n) + "x", [], false);
    assert.equal(blocks[0], first); // not rendered again
  }
  for (const piece of ["- ", "`", "**a", "> ", "#", "1. ", " ", "```\n", "[", "![", "_", "|", "| a |\n|---|\n", "<"]) render(piece.repeat(3000));
});

test("in VS Code's chat quoted lines are fenced, and no fence of the answer is closed by that", () => {
  const fences = new ListingFences();
  const out = fences.feed("```\n~~~\n    1  a\n```\n    2  vector\\<int>\n") + fences.end();
  assert.equal(out, "```\n~~~\n    1  a\n```\n\n```\n2  vector<int>\n\n```\n");
});
