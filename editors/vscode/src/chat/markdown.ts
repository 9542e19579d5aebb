// The Markdown of answers as a tree: paragraphs, headings, lists, code, and nothing that could do something.
//
// Owns which marks are read. Any text gives a tree, half-written ones too, for an answer is parsed again with every
// piece of it. Links, images and HTML stay the text that they are: answers are written by others. Knows no document to
// render into and no citation.

import { withoutEscapes } from "./listing";

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong"; children: Inline[] }
  | { kind: "break" }
  | { kind: "place"; text: string; citation: number };

export type Block =
  | { kind: "paragraph"; children: Inline[] }
  | { kind: "heading"; level: number; children: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "listing"; lines: ListingLine[] }
  | { kind: "list"; start: number | null; items: Block[][] }
  | { kind: "rule" };

/** A line of a file as Weft quotes it. `number` is empty where lines are left out. */
export interface ListingLine {
  number: string;
  text: string;
}

const DEEPEST_LIST = 6;

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`\s]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*$/;
const RULE = /^ {0,3}(?:-{3,}|\*{3,}|_{3,})[ \t]*$/;
const ITEM = /^( *)(?:[-*+]|(\d{1,9})[.)])( +)(?=\S)/;
/** What `server/chat/extractive.py` writes: four blanks, a right-aligned line number, two blanks, the line. */
const LISTING = /^ {4} *(?:(\d+)(?: {2}(.*))?|(\.\.\.))$/;
const INDENTED = /^ {4}/;

export function parse(markdown: string): Block[] {
  return blocksOf(markdown.replace(/\r\n?/g, "\n").split("\n"), 0);
}

/** The text without marks, for who listens instead of reading. */
export function plainText(blocks: readonly Block[]): string {
  return blocks.map(plainBlock).filter(Boolean).join("\n");
}

function plainBlock(block: Block): string {
  switch (block.kind) {
    case "paragraph":
    case "heading":
      return plainInline(block.children);
    case "list":
      return block.items.map(plainText).join("\n");
    case "code":
      return block.text;
    case "listing":
      return block.lines.map((line) => line.text).join("\n");
    case "rule":
      return "";
  }
}

function plainInline(children: readonly Inline[]): string {
  return children
    .map((each) => (each.kind === "break" ? "\n" : each.kind === "strong" ? plainInline(each.children) : each.text))
    .join("");
}

function blocksOf(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = [];
  let paragraph: string[] = [];
  const endParagraph = (): void => {
    if (paragraph.length) blocks.push({ kind: "paragraph", children: parseInline(paragraph.join("\n")) });
    paragraph = [];
  };
  let at = 0;
  while (at < lines.length) {
    const line = lines[at]!;
    const block = line.trim() ? blockAt(lines, at, depth) : null;
    if (block) {
      endParagraph();
      blocks.push(block.block);
      at = block.end;
    } else {
      if (line.trim()) paragraph.push(line.trim());
      else endParagraph();
      at += 1;
    }
  }
  endParagraph();
  return blocks;
}

/** The block that begins at a line, and the line after it; null for a line of a paragraph. */
function blockAt(lines: readonly string[], at: number, depth: number): { block: Block; end: number } | null {
  const line = lines[at]!;
  const fence = FENCE.exec(line);
  if (fence) return fenced(lines, at, fence[1]!, fence[2]!);
  const heading = HEADING.exec(line);
  if (heading) {
    return { block: { kind: "heading", level: heading[1]!.length, children: parseInline(heading[2]!) }, end: at + 1 };
  }
  if (RULE.test(line)) return { block: { kind: "rule" }, end: at + 1 };
  if (LISTING.test(line)) {
    const end = endOf(lines, at, (each) => LISTING.test(each));
    return { block: { kind: "listing", lines: lines.slice(at, end).map(listingLine) }, end };
  }
  if (depth < DEEPEST_LIST && ITEM.test(line)) return list(lines, at, depth);
  if (!lines[at - 1]?.trim() && INDENTED.test(line)) {
    const end = endOf(lines, at, (each) => INDENTED.test(each) && !LISTING.test(each));
    const text = lines.slice(at, end).map((each) => each.slice(4));
    return { block: { kind: "code", language: "", text: text.join("\n") }, end };
  }
  return null;
}

function fenced(lines: readonly string[], at: number, mark: string, language: string): { block: Block; end: number } {
  const closes = (line: string): boolean => {
    const found = line.trim();
    return found.length >= mark.length && found === mark[0]!.repeat(found.length);
  };
  const indent = leadingBlanks(lines[at]!);
  const end = endOf(lines, at + 1, (line) => !closes(line));
  const text = lines.slice(at + 1, end).map((line) => line.slice(Math.min(indent, leadingBlanks(line))));
  return { block: { kind: "code", language, text: text.join("\n") }, end: Math.min(end + 1, lines.length) };
}

function listingLine(line: string): ListingLine {
  const found = LISTING.exec(line)!;
  return { number: found[1] ?? "", text: found[3] ?? withoutEscapes(found[2] ?? "") };
}

function list(lines: readonly string[], at: number, depth: number): { block: Block; end: number } {
  const first = ITEM.exec(lines[at]!)!;
  const indent = first[1]!.length;
  const isNumbered = first[2] !== undefined;
  const items: Block[][] = [];
  let end = at;
  while (end < lines.length) {
    const item = ITEM.exec(lines[end]!);
    if (!item || item[1]!.length > indent + 3 || item[1]!.length < indent || (item[2] !== undefined) !== isNumbered) break;
    const content = itemContent(lines, end, item[0].length);
    items.push(blocksOf(content.lines, depth + 1));
    end = content.end;
  }
  return { block: { kind: "list", start: isNumbered ? Number(first[2]) : null, items }, end };
}

/** The lines of one item without their indentation, and the line after it. A line of quoted code keeps its own. */
function itemContent(lines: readonly string[], at: number, indent: number): { lines: string[]; end: number } {
  const content = [lines[at]!.slice(indent)];
  let end = at + 1;
  for (; end < lines.length; end += 1) {
    const line = lines[end]!;
    if (LISTING.test(line)) {
      content.push(line);
    } else if (line.trim() === "") {
      const next = endOf(lines, end, (each) => each.trim() === "");
      if (next === lines.length || leadingBlanks(lines[next]!) < Math.min(indent, 2)) break;
      content.push("");
    } else if (leadingBlanks(line) >= Math.min(indent, 2)) {
      content.push(line.slice(Math.min(indent, leadingBlanks(line))));
    } else if (ITEM.test(line) || FENCE.test(line) || HEADING.test(line) || lines[end - 1]!.trim() === "") {
      break;
    } else {
      content.push(line);
    }
  }
  // A blank line between two items belongs to neither.
  while (end < lines.length && lines[end]!.trim() === "" && ITEM.test(lines[end + 1] ?? "")) end += 1;
  return { lines: content, end };
}

function endOf(lines: readonly string[], at: number, goesOn: (line: string) => boolean): number {
  let end = at;
  while (end < lines.length && goesOn(lines[end]!)) end += 1;
  return end;
}

function leadingBlanks(line: string): number {
  return line.length - line.trimStart().length;
}

/** Code in backticks, bold, line breaks, and signs behind a backslash. A mark that is not closed is text. */
export function parseInline(text: string): Inline[] {
  const children: Inline[] = [];
  let plain = "";
  const push = (child: Inline): void => {
    if (plain) children.push({ kind: "text", text: plain });
    plain = "";
    children.push(child);
  };
  let at = 0;
  while (at < text.length) {
    if (text[at] === "\\" && /[\\`<![\]():]/.test(text[at + 1] ?? "")) {
      plain += text[at + 1];
      at += 2;
      continue;
    }
    const ticks = /^`+/.exec(text.slice(at, at + 8))?.[0] ?? "";
    const closing = ticks ? closingTicks(text, at + ticks.length, ticks.length) : -1;
    if (closing >= 0) {
      const code = text.slice(at + ticks.length, closing).replace(/\n/g, " ");
      push({ kind: "code", text: /^ .*[^ ].* $/.test(code) ? code.slice(1, -1) : code });
      at = closing + ticks.length;
      continue;
    }
    const bold = !ticks && text.startsWith("**", at) && /\S/.test(text[at + 2] ?? " ") ? text.indexOf("**", at + 3) : -1;
    if (bold > 0 && /\S/.test(text[bold - 1]!)) {
      push({ kind: "strong", children: parseInline(text.slice(at + 2, bold)) });
      at = bold + 2;
      continue;
    }
    if (text[at] === "\n") {
      push({ kind: "break" });
      at += 1;
      continue;
    }
    const length = Math.max(ticks.length, 1);
    plain += text.slice(at, at + length);
    at += length;
  }
  if (plain) children.push({ kind: "text", text: plain });
  return children;
}

/** Where as many backticks stand as opened the code; -1 when nowhere. */
function closingTicks(text: string, from: number, n: number): number {
  for (let at = text.indexOf("`", from); at >= 0; ) {
    let end = at;
    while (text[end] === "`") end += 1;
    if (end - at === n) return at;
    at = text.indexOf("`", end);
  }
  return -1;
}
