// What a next edit looks like in the text: removed ranges, and added text beside them.
//
// A change within a line is drawn in the line. Added lines are drawn as a box beside the code, because a decoration
// cannot make room between lines. Owns the layout. Columns are those of a monospace font. Knows no VS Code API.

import type { NextEditItem, Range } from "../protocol";
import { blockOf, changeOf, rangeOnLine } from "./changes";

/** More added lines are cut; the hover has all of them. */
const MAX_ROWS = 15;
const MAX_COLUMNS = 160;
/** Columns between the code and the box. */
const GAP = 4;

/** A text that is drawn after a position, which is no part of the document. */
export interface AddedText {
  readonly line: number;
  readonly character: number;
  readonly text: string;
  /** Columns left free before it. */
  readonly padding: number;
}

export interface Drawing {
  readonly removed: readonly Range[];
  readonly added: readonly AddedText[];
  /** New lines come below this line; -1 for above the first line. Undefined if none come in between. */
  readonly below?: number;
  /** Where a hover shows the explanation. */
  readonly hover: Range;
}

/** The text around an edit. */
export interface Lines {
  readonly count: number;
  readonly tabSize: number;
  at(line: number): string;
}

export function drawingOf(item: Pick<NextEditItem, "range" | "text">, lines: Lines): Drawing {
  const { first, removed, added } = blockOf(item, (line) => lines.at(line));
  const [old, now] = [removed[0], added[0]];
  if (removed.length === 1 && added.length === 1 && old !== undefined && now !== undefined) {
    return withinLine(first, old, now, lines.tabSize);
  }
  const struck = removed.map((text, i) => rangeOnLine(first + i, indentation(text), text.length));
  const isBetween = removed.length === 0;
  const anchor = Math.max(0, Math.min(isBetween ? first - 1 : first, lines.count - 1));
  return {
    removed: struck,
    added: box(anchor, added, lines),
    ...(isBetween && { below: first - 1 }),
    hover: struck[0] ?? rangeOnLine(anchor, indentation(lines.at(anchor)), lines.at(anchor).length),
  };
}

function withinLine(line: number, old: string, now: string, tabSize: number): Drawing {
  const { start, end, added } = changeOf(old, now);
  const text = cut(expandTabs(added, tabSize));
  const hover = end > start ? rangeOnLine(line, start, end) : rangeOnLine(line, indentation(old), old.length);
  return {
    removed: end > start ? [rangeOnLine(line, start, end)] : [],
    added: text === "" ? [] : [{ line, character: end, text, padding: 0 }],
    hover,
  };
}

/** Rows of equal width beside the lines from `anchor` on; higher at the end of a document. */
function box(anchor: number, added: readonly string[], lines: Lines): AddedText[] {
  const rows = rowsOf(added, lines);
  const first = Math.max(0, Math.min(anchor, lines.count - rows.length));
  const width = Math.max(...rows.map(widthOf), 0);
  const ends = rows.map((_, i) => widthOf(expandTabs(lines.at(first + i), lines.tabSize)));
  const column = Math.max(...ends, 0) + GAP;
  return rows.map((text, i) => ({
    line: first + i,
    character: lines.at(first + i).length,
    text: text + " ".repeat(width - widthOf(text)),
    padding: column - (ends[i] ?? 0),
  }));
}

/** The lines without their common indentation, as many as fit. */
function rowsOf(added: readonly string[], lines: Lines): string[] {
  const expanded = added.map((line) => expandTabs(line.trimEnd(), lines.tabSize));
  const indented = expanded.filter((line) => line !== "").map(indentation);
  const common = indented.length === 0 ? 0 : Math.min(...indented);
  const rows = expanded.map((line) => cut(line.slice(common)));
  const most = Math.min(MAX_ROWS, lines.count);
  return rows.length <= most ? rows : [...rows.slice(0, most - 1), `… ${rows.length - most + 1} more lines`];
}

function cut(text: string): string {
  const characters = [...text];
  return characters.length <= MAX_COLUMNS ? text : `${characters.slice(0, MAX_COLUMNS).join("")}…`;
}

function indentation(text: string): number {
  return text.length - text.trimStart().length;
}

function expandTabs(text: string, tabSize: number): string {
  let out = "";
  for (const character of text) out += character === "\t" ? " ".repeat(tabSize - (widthOf(out) % tabSize)) : character;
  return out;
}

/** East Asian wide characters and emoji take two columns. */
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;

function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += WIDE.test(character) ? 2 : 1;
  return width;
}
