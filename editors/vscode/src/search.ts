// Search of the workspace in a quick pick: asks the server while the user types, and opens the chosen hit.
//
// The server ranks and words the notes. Owns the delay, the cancellation of an older search, and how a hit is shown.

import * as vscode from "vscode";
import { describe, isCancelled } from "./errors";
import type { SearchHit, SearchParams, SearchResult } from "./protocol";
import { toEditorRange } from "./ranges";
import type { Server } from "./server";

/** Delay after the last key before a search. */
const DEBOUNCE_MS = 120;
const LIMIT = 50;

/** A hit, or a note of the server. */
interface Item extends vscode.QuickPickItem {
  readonly hit?: SearchHit;
}

/** Opens the quick pick with a query; without one, with the selected text if it is on one line. */
export function searchWorkspace(server: Server, query?: string): void {
  const pick = vscode.window.createQuickPick<Item>();
  pick.placeholder = "Search definitions, code and documents by name or words";
  keepOrder(pick);
  let timer: NodeJS.Timeout | undefined;
  let running: vscode.CancellationTokenSource | undefined;

  const stop = () => {
    clearTimeout(timer);
    running?.cancel();
    running?.dispose();
    running = undefined;
  };
  const search = async (value: string) => {
    const own = new vscode.CancellationTokenSource();
    running = own;
    const items = await itemsOf(server, value, own.token);
    if (running !== own || items === undefined) return;
    stop();
    pick.items = items;
    pick.busy = false;
  };
  const schedule = (value: string) => {
    stop();
    pick.busy = value.trim() !== "";
    if (pick.busy) timer = setTimeout(() => void search(value), DEBOUNCE_MS);
    else pick.items = [];
  };

  pick.onDidChangeValue(schedule);
  pick.onDidAccept(() => {
    const hit = pick.selectedItems[0]?.hit;
    if (hit === undefined) return;
    pick.hide();
    void open(hit);
  });
  pick.onDidHide(() => {
    stop();
    pick.dispose();
  });
  pick.value = query ?? selectedText();
  pick.show();
  schedule(pick.value);
}

/** The items for a query; undefined when the search was cancelled. */
async function itemsOf(server: Server, query: string, token: vscode.CancellationToken): Promise<Item[] | undefined> {
  const params: SearchParams = { query, limit: LIMIT };
  try {
    const result = await server.request<SearchResult | null>("weft/search", params, token);
    return [...(result?.hits ?? []).map(itemOf), ...(result?.notes ?? []).map(noteOf)];
  } catch (error) {
    return token.isCancellationRequested || isCancelled(error) ? undefined : [noteOf(describe(error))];
  }
}

function itemOf(hit: SearchHit): Item {
  const name = hit.path.slice(hit.path.lastIndexOf("/") + 1);
  const path = hit.uri === null ? hit.path : vscode.workspace.asRelativePath(vscode.Uri.parse(hit.uri));
  return {
    label: hit.symbol || name,
    description: `${path}:${hit.line + 1}`,
    detail: hit.preview,
    iconPath: new vscode.ThemeIcon(ICONS[hit.kind] ?? "symbol-misc"),
    alwaysShow: true, // the server has filtered
    hit,
  };
}

function noteOf(note: string): Item {
  return { label: note, iconPath: new vscode.ThemeIcon("info"), alwaysShow: true };
}

const ICONS: Readonly<Record<string, string>> = {
  class: "symbol-class",
  code: "code",
  constructor: "symbol-constructor",
  declaration: "symbol-function",
  enum: "symbol-enum",
  function: "symbol-function",
  interface: "symbol-interface",
  method: "symbol-method",
  module: "symbol-module",
  namespace: "symbol-namespace",
  object: "symbol-object",
  record: "symbol-class",
  section: "book",
  struct: "symbol-struct",
  trait: "symbol-interface",
  type: "symbol-class",
};

/** Keeps the order of the server: by default VS Code sorts items by how their labels match. Not in the public types. */
function keepOrder(pick: vscode.QuickPick<Item>): void {
  (pick as { sortByLabel?: boolean }).sortByLabel = false;
}

function selectedText(): string {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || !editor.selection.isSingleLine) return "";
  return editor.document.getText(editor.selection).trim();
}

/** Opens the file in its editor, also a notebook, with the cursor on the best line. */
async function open({ uri, range }: SearchHit): Promise<void> {
  if (uri === null) return;
  const file = vscode.Uri.parse(uri);
  try {
    await vscode.workspace.fs.stat(file);
    await vscode.commands.executeCommand("vscode.open", file, { selection: toEditorRange(range) });
  } catch {
    const path = vscode.workspace.asRelativePath(file);
    void vscode.window.showWarningMessage(`Weft: ${path} could not be opened. It may have been moved or deleted; search again.`);
  }
}
