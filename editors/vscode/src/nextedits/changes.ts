// The difference that an edit makes: within a line by whole words, else by whole lines.
//
// Knows no VS Code API.

import type { NextEditItem, Position, Range } from "../protocol";

/** A change within one line. Characters are those of the line. */
export interface LineChange {
  readonly start: number;
  readonly end: number;
  readonly removed: string;
  readonly added: string;
}

/** Lines that are replaced by others, from the line `first` on. One of the two may be empty. */
export interface BlockChange {
  readonly first: number;
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

const WORD = /[\p{L}\p{N}_$]/u;

/** The lines that an edit removes and adds, without equal lines at both ends. `lineAt` gives a line of the document. */
export function blockOf({ range, text }: Pick<NextEditItem, "range" | "text">, lineAt: (line: number) => string): BlockChange {
  const { start, end } = range;
  const removed = Array.from({ length: end.line - start.line + 1 }, (_, i) => lineAt(start.line + i));
  const before = lineAt(start.line).slice(0, start.character);
  const added = (before + text + lineAt(end.line).slice(end.character)).split(/\r?\n/);
  const head = commonLength(removed, added, (lines, i) => lines[i]);
  const rest = Math.min(removed.length, added.length) - head;
  const tail = Math.min(rest, commonLength(removed, added, (lines, i) => lines[lines.length - 1 - i]));
  return {
    first: start.line + head,
    removed: removed.slice(head, removed.length - tail),
    added: added.slice(head, added.length - tail),
  };
}

/** The change between two lines, without equal text at both ends; words are not divided. */
export function changeOf(old: string, now: string): LineChange {
  let start = commonLength(old, now, (text, i) => text[i]);
  while (start > 0 && (dividesWord(old, start) || dividesWord(now, start))) start--;
  const longest = Math.min(old.length, now.length) - start;
  let tail = Math.min(longest, commonLength(old, now, (text, i) => text[text.length - 1 - i]));
  while (tail > 0 && (dividesWord(old, old.length - tail) || dividesWord(now, now.length - tail))) tail--;
  const end = old.length - tail;
  return { start, end, removed: old.slice(start, end), added: now.slice(start, now.length - tail) };
}

/** An edit on one line, such as "total → amount", "+ import os" or "- tax". */
export function summaryOf({ oldText, text }: Pick<NextEditItem, "oldText" | "text">, maxLength = 60): string {
  const [old, now] = [oldText.replaceAll("\r\n", "\n"), text.replaceAll("\r\n", "\n")];
  const { removed, added } = old.includes("\n") || now.includes("\n") ? { removed: old, added: now } : changeOf(old, now);
  const [gone, come] = [oneLine(removed, maxLength), oneLine(added, maxLength)];
  if (gone === "") return `+ ${come}`;
  return come === "" ? `- ${gone}` : `${gone} → ${come}`;
}

/** The first line with code; an ellipsis stands for the rest. */
function oneLine(text: string, maxLength: number): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const first = (lines[0] ?? "").trim();
  const isCut = lines.length > 1 || first.length > maxLength;
  return isCut ? `${[...first].slice(0, maxLength).join("")} …` : first;
}

/** Whether a position is inside a word, or inside a character of two UTF-16 units. */
function dividesWord(text: string, at: number): boolean {
  const [before, after] = [text[at - 1] ?? "", text[at] ?? ""];
  return (WORD.test(before) && WORD.test(after)) || /[\udc00-\udfff]/.test(after);
}

function commonLength<T extends { length: number }>(left: T, right: T, at: (of: T, index: number) => unknown): number {
  const longest = Math.min(left.length, right.length);
  let length = 0;
  while (length < longest && at(left, length) === at(right, length)) length++;
  return length;
}

export function rangeOnLine(line: number, start: number, end: number): Range {
  const at = (character: number): Position => ({ line, character });
  return { start: at(start), end: at(end) };
}
