// `Weft: Explore`: the page to look inside, at the line of the cursor.
//
// Runs `weft explore` in a terminal, once for each folder; while it runs, the command opens its page at another line. Owns
// the running pages. The program writes the address of a page to a file of the extension.

import { randomUUID } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import * as path from "node:path";
import * as vscode from "vscode";
import { runInTerminal } from "./setup";

/** A line of a file; it counts from 0. */
export interface ExplorePlace {
  readonly uri: string;
  readonly line: number;
}

interface Running {
  readonly execution: vscode.TaskExecution;
  readonly addressFile: string;
}

export class Explorer implements vscode.Disposable {
  /** By the path of the folder. */
  private readonly running = new Map<string, Running>();
  private readonly starting = new Set<string>();
  private readonly listener = vscode.tasks.onDidEndTask(({ execution }) => this.forget(execution));

  constructor(private readonly context: vscode.ExtensionContext) {}

  /** Opens the page at a place, at the cursor, or else at the map. Rejects if the task cannot start. */
  async open(place: ExplorePlace | undefined = placeOfCursor()): Promise<void> {
    const uri = place && vscode.Uri.parse(place.uri);
    const own = uri && vscode.workspace.getWorkspaceFolder(uri);
    const folder = own ?? vscode.workspace.workspaceFolders?.[0];
    if (folder === undefined) {
      void vscode.window.showWarningMessage("Weft: No folder is open, so there is nothing to explore. Open a folder.");
      return;
    }
    const at = own && uri && place ? { file: uri.fsPath, line: place.line + 1 } : undefined;
    const running = this.running.get(folder.uri.fsPath);
    if (running === undefined && !this.starting.has(folder.uri.fsPath)) {
      this.starting.add(folder.uri.fsPath);
      await this.start(folder, at && `${at.file}:${at.line}`).finally(() => this.starting.delete(folder.uri.fsPath));
      return;
    }
    const address = running === undefined ? "" : await readFile(running.addressFile, "utf8").catch(() => "");
    if (address === "") {
      void vscode.window.showInformationMessage("Weft: The page is starting; its terminal shows the progress.");
      return;
    }
    const page = address + (at ? fragment(path.relative(folder.uri.fsPath, at.file), at.line) : "");
    // As text: a `Uri` would encode the fragment again.
    await vscode.env.openExternal(page as unknown as vscode.Uri);
  }

  dispose(): void {
    this.listener.dispose();
  }

  private async start(folder: vscode.WorkspaceFolder, at: string | undefined): Promise<void> {
    const isShared = vscode.workspace.getConfiguration("weft").get<boolean>("server.shared", false);
    const addressFile = path.join(this.context.globalStorageUri.fsPath, `explore-${randomUUID()}.address`);
    const isOnly = vscode.workspace.workspaceFolders?.length === 1;
    const words = [
      "explore",
      folder.uri.fsPath,
      ...(at === undefined ? [] : ["--at", at]),
      ...["--address-file", addressFile],
      ...(isShared ? ["--unsaved"] : []),
    ];
    const execution = await runInTerminal(this.context, isOnly ? "Explore" : `Explore ${folder.name}`, words);
    if (execution !== undefined) this.running.set(folder.uri.fsPath, { execution, addressFile });
  }

  private forget(ended: vscode.TaskExecution): void {
    for (const [folder, { execution, addressFile }] of this.running) {
      if (execution !== ended) continue;
      this.running.delete(folder);
      void rm(addressFile, { force: true }); // of a program that was killed
    }
  }
}

/** The line of the cursor in the active file, or in one beside a page of the extension. */
function placeOfCursor(): ExplorePlace | undefined {
  const isFile = (editor: vscode.TextEditor | undefined) => editor?.document.uri.scheme === "file";
  const editor = [vscode.window.activeTextEditor, ...vscode.window.visibleTextEditors].find(isFile);
  return editor && { uri: editor.document.uri.toString(), line: editor.selection.active.line };
}

/** What follows the address of the page to show a line, as `weft explore --at` prints it. */
function fragment(file: string, line: number): string {
  const query = new URLSearchParams({ path: file.split(path.sep).join("/"), line: String(line) });
  return `#/file?${query}`;
}
