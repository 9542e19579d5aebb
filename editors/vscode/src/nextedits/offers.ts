// Which next edit is shown, what Tab does with it, and which edits remain valid after one was taken.
//
// Owns the order of the offers in the editor. Positions are those of the protocol. Knows no server and no VS Code API.

import type { NextEditItem, Position, Range } from "../protocol";

export interface Cursor extends Position {
  readonly uri: string;
}

export type TabAction = "jump" | "take" | "indent";

/** Identifies an edit across answers of the server, in which it has different ids. */
export function keyOf({ textDocument, range, oldText, text }: NextEditItem): string {
  const { line, character } = range.start;
  return JSON.stringify([textDocument.uri, line, character, oldText, text]);
}

/**
 * The edit to show at a cursor in the document `uri`: edits of the document first, and of these the ones of `group`.
 * Marked edits are only in the list of all edits.
 */
export function pick(items: readonly NextEditItem[], uri: string, group?: string): NextEditItem | undefined {
  const sure = items.filter(({ isMarked }) => !isMarked);
  const here = sure.filter(({ textDocument }) => textDocument.uri === uri);
  const related = (item: NextEditItem) => item.group === group;
  return here.find(related) ?? here[0] ?? sure.find(related) ?? sure[0];
}

/** The edit after `current` in the order of `pick`; `current` itself if it is the only one. */
export function pickAfter(items: readonly NextEditItem[], current: NextEditItem): NextEditItem | undefined {
  const sure = items.filter(({ isMarked }) => !isMarked);
  const at = sure.findIndex((item) => keyOf(item) === keyOf(current));
  return sure[(at + 1) % sure.length];
}

/** Whether the cursor is on one of the lines of the edit. */
export function isAt({ textDocument, range }: NextEditItem, cursor: Cursor): boolean {
  return textDocument.uri === cursor.uri && range.start.line <= cursor.line && cursor.line <= lastLine(range);
}

/**
 * Tab goes to an edit, then takes it. Before the first character of a line it indents, unless the edit starts at the cursor
 * or an earlier Tab has put the cursor there (`isPlaced`).
 */
export function tabAction(item: NextEditItem, cursor: Cursor, beforeCursor: string, isPlaced: boolean): TabAction {
  if (beforeCursor.trim() === "" && !isPlaced && !startsAt(item, cursor)) return "indent";
  return isAt(item, cursor) ? "take" : "jump";
}

/** The edits that are still valid after some of them were applied together, with their new ranges. */
export function afterApplying(items: readonly NextEditItem[], applied: readonly NextEditItem[]): NextEditItem[] {
  const ids = new Set(applied.map(({ id }) => id));
  // From the end of a document, so that each range is still where it was.
  const fromEnd = [...applied].sort((left, right) => (isBefore(left.range.start, right.range.start) ? 1 : -1));
  return items.flatMap((item) => {
    if (ids.has(item.id)) return [];
    let range: Range | undefined = item.range;
    for (const { textDocument, range: replaced, text } of fromEnd) {
      if (textDocument.uri === item.textDocument.uri) range = range && shifted(range, replaced, text);
    }
    return range === undefined ? [] : [{ ...item, range }];
  });
}

/** The range after `changed` was replaced by `text`; undefined if the two touch, so that it may be another text. */
export function shifted({ start, end }: Range, changed: Range, text: string): Range | undefined {
  if (isBefore(end, changed.start)) return { start, end };
  if (!isBefore(changed.end, start)) return undefined;
  const newEnd = endOf(changed.start, text);
  const move = ({ line, character }: Position): Position =>
    line === changed.end.line
      ? { line: newEnd.line, character: newEnd.character + character - changed.end.character }
      : { line: newEnd.line + line - changed.end.line, character };
  return { start: move(start), end: move(end) };
}

/** Where a text ends that starts at a position. */
export function endOf(start: Position, text: string): Position {
  const lines = text.split(/\r?\n/);
  const last = lines.at(-1) ?? "";
  return lines.length === 1
    ? { line: start.line, character: start.character + last.length }
    : { line: start.line + lines.length - 1, character: last.length };
}

/** Edits without those that overlap an earlier one in the same document. */
export function withoutOverlaps(items: readonly NextEditItem[]): NextEditItem[] {
  const kept: NextEditItem[] = [];
  for (const item of items) {
    const overlaps = (other: NextEditItem) =>
      other.textDocument.uri === item.textDocument.uri &&
      isBefore(item.range.start, other.range.end) &&
      isBefore(other.range.start, item.range.end);
    if (!kept.some(overlaps)) kept.push(item);
  }
  return kept;
}

/** The last line of a range; a range that ends before the first character of a line does not contain this line. */
export function lastLine({ start, end }: Range): number {
  return end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
}

function startsAt({ textDocument, range: { start } }: NextEditItem, { uri, line, character }: Cursor): boolean {
  return textDocument.uri === uri && start.line === line && start.character === character;
}

function isBefore(left: Position, right: Position): boolean {
  return left.line < right.line || (left.line === right.line && left.character < right.character);
}
