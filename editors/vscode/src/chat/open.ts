// Opens cited lines, and reads the selection and the cursor of the editor.

import * as vscode from "vscode";
import { toLspRange } from "../ranges";
import type { Attachment } from "./state";

interface Lines {
  uri: string;
  startLine: number;
  endLine: number;
}

/** Selects and reveals the lines. Warns when the file cannot be opened. */
export async function openLines({ uri, startLine, endLine }: Lines): Promise<void> {
  const file = vscode.Uri.parse(uri);
  try {
    const document = await vscode.workspace.openTextDocument(file);
    await vscode.window.showTextDocument(document, { selection: linesOf(document, startLine, endLine) });
  } catch {
    const path = vscode.workspace.asRelativePath(file);
    void vscode.window.showWarningMessage(`Weft: ${path} could not be opened. It may have been moved or deleted; ask again.`);
  }
}

/** From the first to the end of the last line, limited to the lines of the document. */
function linesOf(document: vscode.TextDocument, startLine: number, endLine: number): vscode.Range {
  const last = Math.max(0, Math.min(endLine, document.lineCount) - 1);
  return new vscode.Range(new vscode.Position(Math.min(startLine, last), 0), document.lineAt(last).range.end);
}

/** The selection of the active editor; undefined when it is empty. */
export function selectedLines(): Attachment | undefined {
  const editor = vscode.window.activeTextEditor;
  if (!editor || editor.selection.isEmpty || editor.document.uri.scheme !== "file") return undefined;
  const { start, end } = editor.selection;
  const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
  const path = vscode.workspace.asRelativePath(editor.document.uri);
  return {
    label: `${path}:${start.line + 1}-${last + 1}`,
    uri: editor.document.uri.toString(),
    range: toLspRange(editor.selection),
  };
}

/** The position of the cursor, for `/explain` without a selection. */
export function cursor(): { textDocument?: { uri: string }; position?: { line: number; character: number } } {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.uri.scheme !== "file") return {};
  const { line, character } = editor.selection.active;
  return { textDocument: { uri: editor.document.uri.toString() }, position: { line, character } };
}
