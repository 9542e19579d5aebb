// Markdown of answers to HTML, by markdown-it, block by block while an answer streams.
//
// Owns which Markdown is allowed: no HTML but the folds of long lists, no images, links to http and https only, and
// citations as links that the page handles. Reads the numbered lines in which Weft quotes files. Knows no document to show
// the HTML in.

import MarkdownIt, { type StateBlock, type StateCore, type Token } from "markdown-it";
import { type Cited, split } from "./citations";
import { highlight } from "./highlight";
import { FOLD_END, FOLD_START, withoutEscapes } from "./listing";

/** A top-level block of an answer: its HTML, and its text without markup for screen readers. */
export interface Block {
  html: string;
  text: string;
}

interface ListingLine {
  /** Empty where lines are left out. */
  number: string;
  text: string;
}

/** Headings of an answer are below the question, which is a heading of level 2. */
const QUESTION_LEVEL = 2;
const MAX_HEADING = 6;

/** A quoted line of a file: four spaces, a right-aligned line number, two spaces, the line. */
const LISTING = /^ {4} *(?:(\d+)(?: {2}(.*))?|(\.\.\.))$/;

/** The marks of a fence, at the beginning of a line. */
const FENCE = /^(`{3,}|~{3,})/;

/** A word that may be wider than a line of a narrow side bar; a shorter one goes to the next line in whole. */
const LONG_WORD = /[^\s]{20,}/g;

const markdown = new MarkdownIt({ html: false, linkify: false, breaks: true });
const { escapeHtml } = markdown.utils;
const { block, inline, core, renderer } = markdown;

markdown.validateLink = (url) => /^https?:\/\//i.test(url);
// A line of dashes would make a heading of the paragraph above: also the first dash of a list that is being written.
// Definitions of links would let a later block change an earlier one.
markdown.disable(["lheading", "reference"]);

const [paragraph, indentedCode] = [blockRule("paragraph"), blockRule("code")];
block.ruler.before("table", "fold", fold, { alt: ["paragraph", "blockquote", "list"] });
block.ruler.before("table", "listing", listing, { alt: ["paragraph", "blockquote", "list"] });
block.ruler.at("paragraph", (state, start, end, silent) => {
  let next = start + 1;
  while (next < end && !state.isEmpty(next) && !listingLine(state, next)) next += 1;
  return paragraph(state, start, next, silent);
});
// Directly below other text, indented text is a paragraph: the line that explains a quotation.
block.ruler.at("code", (state, start, end, silent) =>
  (start === 0 || state.isEmpty(start - 1)) && indentedCode(state, start, end, silent));
// Underscores belong to names, such as `__init__`.
inline.ruler.before("emphasis", "underscores", (state, silent) => {
  const start = state.pos;
  while (state.pos < state.posMax && state.src[state.pos] === "_") state.pos += 1;
  if (!silent) state.pending += state.src.slice(start, state.pos);
  return state.pos > start;
});
core.ruler.push("headings", ({ tokens }) => {
  for (const token of tokens.filter(({ type }) => type.startsWith("heading_"))) {
    token.tag = `h${Math.min(Number(token.tag.slice(1)) + QUESTION_LEVEL, MAX_HEADING)}`;
  }
});
core.ruler.push("citations", linkCitations);

renderer.rules["fence"] = (tokens, n, _options, env) => {
  const { content, info } = tokens[n]!;
  const code = content.replace(/\n$/, "");
  return codeBlock(`<code>${(env?.["isSettled"] && highlight(code, info)) || escapeHtml(code)}</code>`);
};
renderer.rules["code_block"] = renderer.rules["fence"];
renderer.rules["listing"] = (tokens, n) => {
  const lines = (tokens[n]!.meta!["lines"] as ListingLine[]).map(
    ({ number, text }) => `<span class="number">${number || "…"}</span><code>${number && escapeHtml(text)}\n</code>`,
  );
  return codeBlock(lines.join(""), "listing");
};
renderer.rules["citation"] = (tokens, n) => {
  const { content, meta } = tokens[n]!;
  return `<a href="#" class="place" data-citation="${meta!["citation"]}" title="Open ${escapeHtml(content)}">${breakable(content)}</a>`;
};
renderer.rules["text"] = (tokens, n) => breakable(tokens[n]!.content);
renderer.rules["code_inline"] = (tokens, n) => `<code>${breakable(tokens[n]!.content)}</code>`;
renderer.rules["fold_open"] = (tokens, n) =>
  `<details class="fold"><summary>${escapeHtml(tokens[n]!.content)}</summary>\n`;
renderer.rules["fold_close"] = () => "</details>\n";
renderer.rules["image"] = (tokens, n) => escapeHtml(`![${tokens[n]!.content}](${tokens[n]!.attrGet("src")})`);
renderer.rules["link_open"] = (tokens, n, options) => {
  const token = tokens[n]!;
  token.attrSet("title", token.attrGet("href") ?? ""); // the text of a link may name another address
  return renderer.renderToken(tokens, n, options);
};
// Wider than the view, a table scrolls, by keys as well.
renderer.rules["table_open"] = () => '<div class="table" tabindex="0" role="group" aria-label="Table"><table>';
renderer.rules["table_close"] = () => "</table></div>";
renderer.rules["th_open"] = renderer.rules["td_open"] = (tokens, n) => {
  const { tag, attrs } = tokens[n]!;
  const alignment = /\w+$/.exec(String(attrs?.[0]?.[1] ?? ""))?.[0]; // of `text-align:right`; the page allows no styles
  return alignment ? `<${tag} class="${alignment}">` : `<${tag}>`;
};

/** Renders an answer that grows. What later text cannot change is parsed and highlighted once. */
export class AnswerRenderer {
  private settled = "";
  private settledBlocks: Block[] = [];
  private nCitations = 0;

  /** The blocks of the answer so far; `isWhole` when no more text follows. */
  render(answer: string, citations: readonly Cited[], isWhole: boolean): Block[] {
    const text = answer.replace(/\r\n?/g, "\n");
    if (isWhole || citations.length !== this.nCitations || !text.startsWith(this.settled)) {
      this.settled = "";
      this.settledBlocks = [];
      this.nCitations = citations.length;
    }
    const rest = text.slice(this.settled.length);
    const lines = rest.split("\n");
    const blocks = topLevelBlocks(markdown.parse(rest, { citations }));
    // A block ends for good at an empty line with a block below it. The second line of that one makes a table or none.
    const nSettled = isWhole
      ? blocks.length
      : Math.max(0, blocks.findLastIndex(({ start }) => start > 0 && start + 2 < lines.length && !lines[start - 1]!.trim()));
    const rendered = blocks.map(({ tokens }, n) => ({
      html: renderer.render(tokens, markdown.options, { isSettled: n < nSettled }).trimEnd(),
      text: plainText(tokens),
    }));
    if (!isWhole && nSettled) {
      this.settled += lines.slice(0, blocks[nSettled]!.start).join("\n") + "\n";
      this.settledBlocks.push(...rendered.splice(0, nSettled));
    }
    return [...this.settledBlocks, ...rendered];
  }
}

/** HTML of a sentence of the server, with its code as code. */
export function sentenceHtml(text: string): string {
  return markdown.renderInline(text);
}

/** The parts of a text after each of which a long word may be broken: behind `/`, `.` and `_` within it. */
export function breakableParts(text: string): string[] {
  return text.replace(LONG_WORD, (word) => word.replace(/(?=[^\s/._])(?<=[^\s/._][/._]+)/g, "\0")).split("\0");
}

/** A part of a path with its lines, `py:4-6`, which stay together: a browser breaks behind a hyphen. */
export const WITH_LINES = /:\d+-\d+/;

function breakable(text: string): string {
  const html = (part: string): string =>
    WITH_LINES.test(part) && !/\s/.test(part) ? `<span class="whole">${escapeHtml(part)}</span>` : escapeHtml(part);
  return breakableParts(text).map(html).join("<wbr>");
}

function topLevelBlocks(tokens: readonly Token[]): { start: number; tokens: Token[] }[] {
  const blocks: { start: number; tokens: Token[] }[] = [];
  let depth = 0;
  for (const token of tokens) {
    if (!depth) blocks.push({ start: token.map?.[0] ?? 0, tokens: [] });
    blocks.at(-1)!.tokens.push(token);
    depth += token.nesting;
  }
  return blocks;
}

function plainText(tokens: readonly Token[]): string {
  const texts = tokens.map(({ children, content }) =>
    children ? children.map(({ type, content }) => (type.endsWith("break") ? "\n" : content)).join("") : content.trimEnd(),
  );
  return texts.filter(Boolean).join("\n");
}

function codeBlock(content: string, kind = ""): string {
  // Wider than the view, code scrolls, by keys as well.
  const code = `<pre tabindex="0" role="group" aria-label="Code"${kind && ` class="${kind}"`}>${content}</pre>`;
  return `<div class="block">${code}<button type="button" class="copy" aria-label="Copy code">Copy</button></div>`;
}

function blockRule(name: string): (state: StateBlock, start: number, end: number, silent: boolean) => boolean {
  return block.ruler.__rules__.find((rule) => rule.name === name)!.fn;
}

/** A folded part of an answer, up to its last tag or to the end of what came so far. */
function fold(state: StateBlock, start: number, end: number, silent: boolean): boolean {
  const summary = state.blkIndent ? null : FOLD_START.exec(lineOf(state, start));
  if (!summary) return false;
  if (silent) return true;
  let [last, depth, fence] = [start + 1, 1, ""];
  for (; last < end; last += 1) {
    const line = lineOf(state, last);
    const marks = FENCE.exec(line)?.[1] ?? "";
    if (fence || marks) {
      if (!fence) fence = marks;
      else if (marks.startsWith(fence)) fence = "";
    } else if (FOLD_START.test(line)) {
      depth += 1;
    } else if (FOLD_END.test(line) && --depth === 0) {
      break;
    }
  }
  const opening = state.push("fold_open", "details", 1);
  opening.content = summary[1]!;
  opening.map = [start, Math.min(last + 1, end)];
  const { lineMax } = state;
  state.lineMax = last;
  block.tokenize(state, start + 1, last);
  state.lineMax = lineMax;
  state.push("fold_close", "details", -1);
  state.line = Math.min(last + 1, end);
  return true;
}

function lineOf(state: StateBlock, n: number): string {
  return state.src.slice(state.bMarks[n], state.eMarks[n]);
}

function listing(state: StateBlock, start: number, end: number, silent: boolean): boolean {
  const lines: ListingLine[] = [];
  for (let n = start; n < end; n += 1) {
    const line = listingLine(state, n);
    if (!line) break;
    lines.push(line);
    if (silent) return true;
  }
  if (!lines.length) return false;
  state.line = start + lines.length;
  const token = state.push("listing", "", 0);
  token.map = [start, state.line];
  token.meta = { lines };
  token.content = lines.map(({ text }) => text).join("\n");
  return true;
}

function listingLine(state: StateBlock, n: number): ListingLine | null {
  const found = LISTING.exec(lineOf(state, n));
  return found && { number: found[1] ?? "", text: found[3] ?? withoutEscapes(found[2] ?? "") };
}

/** Makes links of the lines that citations name, in text and in code spans, but not inside other links. */
function linkCitations({ tokens, env, Token }: StateCore): void {
  const citations = (env["citations"] ?? []) as readonly Cited[];
  if (!citations.length) return;
  for (const token of tokens) {
    let linkDepth = 0;
    token.children = token.children?.flatMap((child) => {
      if (child.type === "link_open" || child.type === "link_close") linkDepth += child.nesting;
      if (linkDepth || (child.type !== "text" && child.type !== "code_inline")) return [child];
      return split(child.content, citations).map((piece) => {
        if (typeof piece === "string") return Object.assign(new Token(child.type, child.tag, 0), { content: piece });
        const { text, citation } = piece;
        return Object.assign(new Token("citation", "a", 0), { content: text, meta: { citation } });
      });
    }) ?? null;
  }
}
