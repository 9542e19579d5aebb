// What is said about the shown edit beside it, at the cursor and in the status bar.
//
// Knows no VS Code API.

import type { NextEditItem } from "../protocol";
import { summaryOf } from "./changes";
import { lastLine, type TabAction } from "./offers";

const MAX_SUMMARY = 24;

/** What an editor shows. Lines are 0-based. */
export interface View {
  readonly uri: string;
  readonly firstLine: number;
  readonly lastLine: number;
}

/** Whether a line of the edit is visible. */
export function isInSight({ textDocument, range }: NextEditItem, view: View): boolean {
  return textDocument.uri === view.uri && range.start.line <= view.lastLine && lastLine(range) >= view.firstLine;
}

/** For the end of the edit's line. */
export function keyHint(action: TabAction): string {
  if (action === "indent") return "";
  return action === "take" ? "Tab takes it" : "Tab goes there";
}

/** For the end of the cursor's line, when the edit is out of sight: where it is, what it does, and what Tab does. */
export function farHint(item: NextEditItem, view: View, action: TabAction): string {
  const key = action === "indent" ? "" : " (Tab)";
  return `${placeHint(item, view)}: ${summaryOf(item, MAX_SUMMARY)}${key}`;
}

/** Where an edit is, such as "↓ line 12" or "→ shop.py, line 3". */
export function placeHint({ textDocument, path, range }: NextEditItem, view: View): string {
  const line = `line ${range.start.line + 1}`;
  if (textDocument.uri !== view.uri) return `→ ${path.slice(path.lastIndexOf("/") + 1)}, ${line}`;
  return `${range.start.line < view.firstLine ? "↑" : range.start.line > view.lastLine ? "↓" : "→"} ${line}`;
}

export function countHint(count: number): string {
  return count === 1 ? "1 follow-up edit" : `${count} follow-up edits`;
}
