// Why an edit is offered, in lines for a page, a hover and a tooltip.
//
// The sentences come from the server. Owns their order, the confidence in words, and the changed lines. Knows no VS Code
// API.

import type { NextEditItem, PageLine } from "../protocol";
import { blockOf } from "./changes";

/** Longer changes are cut. */
const MAX_LINES = 8;

/** A sentence, a place as a link, or lines of a difference, which begin with "-" or "+". */
export type Part =
  | { readonly kind: "sentence"; readonly text: string }
  | { readonly kind: "place"; readonly text: string; readonly uri: string; readonly line: number }
  | { readonly kind: "difference"; readonly lines: readonly string[] };

/** `lineAt` gives a line of the document of the edit; undefined if the document is not open. */
export function explanationOf(item: NextEditItem, lineAt?: (line: number) => string): Part[] {
  const { reason, evidence, origin, isMarked, textDocument, path, range } = item;
  const parts: Part[] = [
    { kind: "place", text: placeOf(path, range.start.line), uri: textDocument.uri, line: range.start.line },
    { kind: "difference", lines: differenceOf(item, lineAt) },
    { kind: "sentence", text: reason },
  ];
  const say = (text: string) => parts.push({ kind: "sentence", text });
  if (evidence !== "") say(evidence);
  say(`The estimated probability that you want it is ${Math.round(item.confidence * 100)} percent.`);
  if (isMarked) say("It is in a string, a comment or a document, or the name alone matches: check it before you apply it.");
  if (origin === null) return parts;
  parts.push(
    { kind: "place", text: `It follows from ${placeOf(origin.path, origin.line)}`, uri: origin.uri, line: origin.line },
    { kind: "difference", lines: difference(linesOf(origin.before), linesOf(origin.after)) },
  );
  return parts;
}

/** The parts as lines of a page, whose links open the places. */
export function pageOf(parts: readonly Part[]): PageLine[] {
  return parts.flatMap((part, i): PageLine[] => {
    if (part.kind === "difference") return part.lines.map((text) => ({ text: `    ${text}` })).concat({ text: "" });
    if (part.kind === "sentence") return [{ text: part.text }];
    const at = { line: part.line, character: 0 };
    const place = { text: part.text, uri: part.uri, range: { start: at, end: at } };
    return i === 0 ? [place] : [{ text: "" }, place];
  });
}

/** The parts as Markdown in which no text of the workspace is a link, an image or HTML. */
export function markdownOf(parts: readonly Part[]): string {
  return parts
    .map((part) => {
      if (part.kind === "sentence") return sentence(part.text);
      if (part.kind === "difference") return codeBlock(part.lines);
      return `[${escaped(part.text)}](${linkOf(part.uri, part.line)})`;
    })
    .join("\n\n");
}

function differenceOf(item: NextEditItem, lineAt?: (line: number) => string): string[] {
  if (lineAt === undefined) return difference(linesOf(item.oldText), linesOf(item.text));
  const { removed, added } = blockOf(item, lineAt);
  return difference(removed, added);
}

function difference(removed: readonly string[], added: readonly string[]): string[] {
  return [...cut(removed).map((line) => `- ${line}`), ...cut(added).map((line) => `+ ${line}`)];
}

function cut(lines: readonly string[]): readonly string[] {
  return lines.length <= MAX_LINES ? lines : [...lines.slice(0, MAX_LINES - 1), "…"];
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
}

export function placeOf(path: string, line: number): string {
  return `${path}, line ${line + 1}`;
}

/** Text in backticks stays code. */
function sentence(text: string): string {
  const pieces = text.split("`");
  // Without a closing backtick, all is text.
  if (pieces.length % 2 === 0) return escaped(text);
  return pieces.map((piece, i) => (i % 2 === 0 ? escaped(piece) : `\`${piece.replaceAll("\n", " ")}\``)).join("");
}

function escaped(text: string): string {
  return text.replace(/[\\`*_{}[\]()#+\-.!<>|~&]/g, "\\$&").replaceAll("\n", " ");
}

/** A fence that is longer than each run of backticks in the lines. */
function codeBlock(lines: readonly string[]): string {
  const longest = Math.max(2, ...lines.flatMap((line) => [...line.matchAll(/`+/g)].map(([run]) => run.length)));
  const fence = "`".repeat(longest + 1);
  return `${fence}diff\n${lines.join("\n")}\n${fence}`;
}

function linkOf(uri: string, line: number): string {
  const percent = (character: string) => `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
  return `${uri.replace(/[()<>\s]/g, percent)}#L${line + 1}`;
}
