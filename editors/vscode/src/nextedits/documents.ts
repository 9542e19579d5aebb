// Next edits in documents of the workspace: whether they still fit, applying them, and a preview as a diff.
//
// Owns the documents of previews. Knows no server.

import * as vscode from "vscode";
import type { NextEditItem } from "../protocol";
import { toEditorRange } from "../ranges";
import { placeOf } from "./explanation";

const PREVIEW_SCHEME = "weft-next-edit";

/** Files of the workspace's folders only. */
export function isInWorkspace({ textDocument }: NextEditItem): boolean {
  const uri = vscode.Uri.parse(textDocument.uri);
  return uri.scheme === "file" && vscode.workspace.getWorkspaceFolder(uri) !== undefined;
}

/** Whether the text that the edit replaces is still there. */
export function fits({ range, oldText }: NextEditItem, document: vscode.TextDocument): boolean {
  const replaced = toEditorRange(range);
  return (
    document.validateRange(replaced).isEqual(replaced) &&
    document.getText(replaced).replaceAll("\r\n", "\n") === oldText.replaceAll("\r\n", "\n")
  );
}

/**
 * Applies the edits that still fit as one edit of the workspace, and returns them; an empty list if none was applied.
 * VS Code asks for a confirmation if one of them is marked.
 */
export async function applyEdits(items: readonly NextEditItem[], isRefactoring = false): Promise<NextEditItem[]> {
  const edit = new vscode.WorkspaceEdit();
  const applied: NextEditItem[] = [];
  for (const item of items) {
    const document = await opened(item);
    if (document === undefined || !fits(item, document)) continue;
    const uncertain = { needsConfirmation: true, label: "In a text, or by the name alone", description: item.reason };
    edit.replace(document.uri, toEditorRange(item.range), item.text, item.isMarked ? uncertain : undefined);
    applied.push(item);
  }
  if (applied.length === 0) return [];
  return (await vscode.workspace.applyEdit(edit, { isRefactoring })) ? applied : [];
}

/** Opens diffs between a file and the file with an edit. */
export class Previews implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly registrations = [
    vscode.workspace.registerTextDocumentContentProvider(PREVIEW_SCHEME, this),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => this.texts.delete(uri.toString())),
  ];

  /** False if the edit does not fit any more. */
  async open(item: NextEditItem): Promise<boolean> {
    const document = await opened(item);
    if (document === undefined || !fits(item, document)) return false;
    const { line } = item.range.start;
    const preview = document.uri.with({ scheme: PREVIEW_SCHEME, query: `${item.id}-${document.version}` });
    this.texts.set(preview.toString(), withEdit(document, item));
    await vscode.commands.executeCommand("vscode.diff", document.uri, preview, `${placeOf(item.path, line)} (follow-up edit)`, {
      preview: true,
      preserveFocus: true,
      selection: new vscode.Range(line, 0, line, 0),
    });
    return true;
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "";
  }

  dispose(): void {
    for (const registration of this.registrations) registration.dispose();
  }
}

async function opened({ textDocument }: NextEditItem): Promise<vscode.TextDocument | undefined> {
  try {
    return await vscode.workspace.openTextDocument(vscode.Uri.parse(textDocument.uri));
  } catch {
    return undefined; // deleted, or not text
  }
}

function withEdit(document: vscode.TextDocument, { range, text }: NextEditItem): string {
  const all = document.getText();
  const { start, end } = toEditorRange(range);
  return all.slice(0, document.offsetAt(start)) + text + all.slice(document.offsetAt(end));
}
