// Next edits: asks the server after an edit, shows the first offer, and takes or refuses it.
//
// Owns when the server is asked, the offers of its last answer, which of them is shown, and the context keys of the
// keybindings. An answer for an older text is dropped. Errors of requests in the background go to the log.

import * as vscode from "vscode";
import { isCancelled } from "../errors";
import type { Inline } from "../inline";
import type { NextEditItem, NextEditParams, NextEditResult } from "../protocol";
import { toEditorRange } from "../ranges";
import type { Server } from "../server";
import { applyEdits, fits, isInWorkspace, Previews } from "./documents";
import { explanationOf, pageOf } from "./explanation";
import { countHint, farHint, isInSight, keyHint, placeHint, type View } from "./hints";
import { editsOf, FollowUpList, type Node } from "./list";
import { afterApplying, type Cursor, endOf, keyOf, pick, pickAfter, tabAction, type TabAction, withoutOverlaps } from "./offers";
import { Painter } from "./painter";

/** After the last key or movement of the cursor. */
const SETTLE_MS = 300;
const LIMIT = 200;

type Mode = "eager" | "quiet" | "off";

/** Shows the page that explains an edit. */
type ShowPage = (title: string, lines: ReturnType<typeof pageOf>) => Promise<void>;

export class NextEdits implements vscode.Disposable {
  private items: readonly NextEditItem[] = [];
  private shown: NextEditItem | undefined;
  /** Whether `shown` is drawn: not after a refusal, and in quiet mode only after `Weft: Next Edit`. */
  private isRevealed = false;
  /** The edits that follow from one edit are shown one after the other. */
  private group: string | undefined;
  /** Where a key of this file has put the cursor. */
  private placedAt: Cursor | undefined;
  private lastLine = -1;
  private hasEdits = false;
  /** Between the text with an edit and the display of what follows; the context keys stay as they are. */
  private isApplying = false;
  /** A key waits for what the key before it does. */
  private tabs: Promise<void> = Promise.resolve();
  private reported = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private running: vscode.CancellationTokenSource | undefined;
  private readonly contexts = new Map<string, boolean>();

  private readonly painter = new Painter();
  private readonly list = new FollowUpList();
  private readonly previews = new Previews();
  private readonly statusItem = vscode.window.createStatusBarItem("weft.nextEdits", vscode.StatusBarAlignment.Right, 99);
  private readonly registrations: vscode.Disposable[];

  constructor(
    private readonly server: Server,
    private readonly inline: Inline,
    private readonly showPage: ShowPage,
  ) {
    this.statusItem.name = "Weft: Follow-Up Edits";
    this.statusItem.command = "weft.nextEdit";
    this.registrations = [
      vscode.workspace.onDidChangeTextDocument((event) => this.changed(event)),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.moved(textEditor)),
      vscode.window.onDidChangeTextEditorVisibleRanges(() => this.draw()),
      vscode.window.onDidChangeActiveTextEditor(() => this.switched()),
      vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("weft.next_edits") && this.reset()),
      server.onStatus(() => server.client === undefined && this.reset()),
      inline.onShown(() => this.draw()),
      this.painter.onDidChangeTheme(() => this.draw()),
      ...Object.entries(this.commands()).map(([id, run]) => vscode.commands.registerCommand(id, run)),
    ];
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.running?.dispose();
    for (const each of [...this.registrations, this.painter, this.list, this.previews, this.statusItem]) each.dispose();
  }

  private commands(): Record<string, (...args: never[]) => unknown> {
    return {
      "weft.nextEdit": () => this.next(),
      "weft.takeNextEdit": () => this.afterEarlierTabs(),
      "weft.refuseNextEdit": () => this.refuse(this.shown === undefined ? [] : [this.shown]),
      "weft.whyNextEdit": () => this.explain(this.shown),
      "weft.applyFollowUps": () => this.applyAll(this.list.checked),
      "weft.previewFollowUp": (node: Node) => this.preview(node),
      "weft.refuseFollowUp": (node: Node) => this.refuse(editsOf(node)),
      "weft.whyFollowUp": (node: Node) => this.explain(editsOf(node)[0]),
    };
  }

  // What happens in the editor

  private changed({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    if (contentChanges.length === 0 || document.uri.scheme !== "file" || this.isApplying) return;
    this.hasEdits = true;
    this.placedAt = undefined;
    // An offer for the text before would be wrong while a name is half-typed.
    this.show(undefined);
    this.isRevealed = modeIn(document) === "eager";
    this.schedule();
  }

  private moved(editor: vscode.TextEditor): void {
    if (editor !== codeEditor()) return;
    const { line } = editor.selection.active;
    if (line !== this.lastLine && this.hasEdits) this.schedule();
    this.lastLine = line;
    this.draw();
  }

  private switched(): void {
    this.lastLine = -1;
    if (this.hasEdits) this.schedule();
    this.draw();
  }

  /** Forgets all offers; asks again for those that remain. */
  private reset(): void {
    this.running?.cancel();
    this.isRevealed = false;
    this.setItems([]);
    this.show(undefined);
    const editor = codeEditor();
    if (editor === undefined || this.server.client === undefined || !this.hasEdits) return;
    this.isRevealed = modeIn(editor.document) === "eager";
    this.schedule();
  }

  // Requests

  private schedule(afterMs = SETTLE_MS): void {
    clearTimeout(this.timer);
    this.running?.cancel();
    this.timer = setTimeout(() => void this.ask(), afterMs);
  }

  /** Asks for the next edits at the cursor. False if there is no answer for the current text. */
  private async ask(isRequested = false): Promise<boolean> {
    clearTimeout(this.timer);
    const editor = codeEditor();
    if (editor === undefined || this.server.client === undefined) return false;
    const { document, selection } = editor;
    const isAllowed = isRequested || (modeIn(document) !== "off" && this.server.status.kind !== "paused");
    if (!isAllowed || vscode.workspace.getWorkspaceFolder(document.uri) === undefined) {
      this.setItems([]);
      this.show(undefined);
      return false;
    }
    const { version } = document;
    const textDocument = { uri: document.uri.toString(), version };
    const { line, character } = selection.active;
    const params: NextEditParams = { textDocument, position: { line, character }, limit: LIMIT };
    this.running?.cancel();
    const own = new vscode.CancellationTokenSource();
    this.running = own;
    try {
      const answer = await this.server.request<NextEditResult | null>("weft/nextEdit", params, own.token);
      if (own.token.isCancellationRequested || document.version !== version || answer?.version !== version) return false;
      this.accept(answer.edits, textDocument.uri);
      return true;
    } catch (error) {
      if (!isCancelled(error)) this.server.log.debug(`No next edits: ${error}`);
      return false;
    } finally {
      if (this.running === own) this.running = undefined;
      own.dispose();
    }
  }

  private accept(edits: readonly NextEditItem[], uri: string): void {
    this.setItems(edits.map(withEditorUri).filter((item) => isInWorkspace(item) && fitsIfOpen(item)));
    const key = this.shown?.textDocument.uri === uri ? keyOf(this.shown) : undefined;
    // The shown edit stays when the cursor moves.
    const same = this.items.find((item) => keyOf(item) === key);
    this.show(same ?? pick(this.items, uri, this.group));
  }

  private setItems(items: readonly NextEditItem[]): void {
    this.items = items;
    this.list.update(items);
    if (items.length === 0) this.reported.clear();
  }

  // What is shown

  private show(item: NextEditItem | undefined): void {
    this.shown = item;
    this.draw();
  }

  private draw(): void {
    if (this.isApplying) return;
    const editor = codeEditor();
    const item = editor !== undefined && this.isRevealed ? this.shown : undefined;
    const isShown = editor !== undefined && item !== undefined && this.drawIn(editor, item);
    if (!isShown) this.painter.clear();
    this.setContext("weft.nextEdit.isVisible", isShown);
    this.setContext("weft.nextEdit.takesTab", isShown && actionIn(editor, item, this.placedAt) !== "indent");
    this.updateStatus(editor);
  }

  /** False if the edit does not fit the text any more. */
  private drawIn(editor: vscode.TextEditor, item: NextEditItem): boolean {
    const isHere = item.textDocument.uri === editor.document.uri.toString();
    if (isHere && !fits(item, editor.document)) return false;
    const action = actionIn(editor, item, this.placedAt);
    const view = viewOf(editor);
    const cursor = editor.selection.active;
    // Tab takes the ghost text first, which may be where the hint would be.
    const hasGhost = this.inline.isShownAt(editor.document, cursor);
    if (isInSight(item, view)) {
      this.painter.draw(editor, { item, keyHint: hasGhost ? "" : keyHint(action) });
      this.reportShown(item);
    } else if (hasGhost) this.painter.clear();
    else this.painter.drawHint(editor, cursor.line, farHint(item, view, action));
    return true;
  }

  private reportShown(item: NextEditItem): void {
    const key = keyOf(item);
    if (this.reported.has(key)) return;
    this.reported.add(key);
    void this.server.notify("weft/didShowNextEdit", { id: item.id });
  }

  private updateStatus(editor: vscode.TextEditor | undefined): void {
    if (this.items.length === 0) {
      this.statusItem.hide();
      return;
    }
    const place = editor !== undefined && this.shown !== undefined ? placeHint(this.shown, viewOf(editor)) : "";
    const count = countHint(this.items.length);
    this.statusItem.text = place === "" ? `$(git-compare) ${this.items.length}` : `$(git-compare) ${this.items.length} ${place}`;
    this.statusItem.tooltip = `Weft: ${count}. Click to go to the next one; the Weft view lists all.`;
    this.statusItem.accessibilityInformation = { label: `Weft: ${count}. ${place}` };
    this.statusItem.show();
  }

  private setContext(key: string, value: boolean): void {
    if (this.contexts.get(key) === value) return;
    this.contexts.set(key, value);
    void vscode.commands.executeCommand("setContext", key, value);
  }

  // What the user asks for

  /** Asks now and goes to the edit; if the cursor is there, to the one after it. */
  private async next(): Promise<void> {
    const before = this.shown;
    await this.ask(true);
    const editor = codeEditor();
    const isThere = before !== undefined && editor !== undefined && actionIn(editor, before, this.placedAt) === "take";
    const item = isThere && this.isRevealed ? pickAfter(this.items, before) : this.shown;
    if (item === undefined) {
      const why = this.server.client === undefined ? this.server.status.text : "No follow-up edit is known.";
      vscode.window.setStatusBarMessage(`Weft: ${why}`, 5_000);
      return;
    }
    this.isRevealed = true;
    this.shown = item;
    await this.goTo(item);
  }

  private afterEarlierTabs(): Promise<void> {
    this.tabs = this.tabs.then(() => this.pressTab()).catch((error) => this.server.log.warn(`The next edit failed: ${error}`));
    return this.tabs;
  }

  private async pressTab(): Promise<void> {
    const editor = codeEditor();
    const item = this.isRevealed ? this.shown : undefined;
    const action = editor === undefined || item === undefined ? "indent" : actionIn(editor, item, this.placedAt);
    // The context keys may be older than the state.
    if (item === undefined || action === "indent") await vscode.commands.executeCommand("tab");
    else if (action === "jump") await this.goTo(item);
    else await this.take(item);
  }

  private async goTo(item: NextEditItem): Promise<void> {
    const uri = vscode.Uri.parse(item.textDocument.uri);
    const open = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === uri.toString());
    try {
      const active = codeEditor();
      const isHere = active?.document.uri.toString() === uri.toString();
      const editor = isHere ? active : await vscode.window.showTextDocument(uri, { viewColumn: open?.viewColumn });
      this.place(editor, toEditorRange(item.range).start);
    } catch {
      vscode.window.setStatusBarMessage(`Weft: ${item.path} could not be opened.`, 5_000);
      return;
    }
    this.draw();
  }

  /** Moves the cursor. */
  private place(editor: vscode.TextEditor, position: vscode.Position): void {
    const { line, character } = editor.document.validatePosition(position);
    this.placedAt = { uri: editor.document.uri.toString(), line, character };
    const at = new vscode.Position(line, character);
    editor.selection = new vscode.Selection(at, at);
    editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  private async take(item: NextEditItem): Promise<void> {
    this.group = item.group;
    await this.apply([item], { isRefactoring: false });
  }

  private async applyAll(items: readonly NextEditItem[]): Promise<void> {
    const applied = await this.apply(withoutOverlaps(items), { isRefactoring: true });
    if (applied.length > 0) vscode.window.setStatusBarMessage(`Weft: Applied ${countHint(applied.length)}.`, 5_000);
  }

  /** Applies edits, tells the server, shows the next one, and asks for what follows. Returns what was applied. */
  private async apply(items: readonly NextEditItem[], options: { isRefactoring: boolean }): Promise<readonly NextEditItem[]> {
    this.running?.cancel();
    // While VS Code waits for a confirmation, the user may type.
    this.isApplying = !items.some(({ isMarked }) => isMarked);
    let applied: readonly NextEditItem[] = [];
    try {
      applied = await applyEdits(items, options.isRefactoring);
      this.applied(applied);
    } finally {
      this.isApplying = false;
    }
    const editor = codeEditor();
    this.show(editor && pick(this.items, editor.document.uri.toString(), this.group));
    this.schedule(0);
    return applied;
  }

  private applied(items: readonly NextEditItem[]): void {
    this.hasEdits = true;
    for (const { id } of items) void this.server.notify("weft/didTakeNextEdit", { id });
    this.setItems(afterApplying(this.items, items));
    const [only] = items;
    const editor = codeEditor();
    if (items.length !== 1 || only === undefined || editor?.document.uri.toString() !== only.textDocument.uri) return;
    // Before a line break at the end of new lines.
    const { line, character } = endOf(only.range.start, only.text.replace(/\r?\n$/, ""));
    this.place(editor, new vscode.Position(line, character));
  }

  /** Refused edits do not come back in this session; the others stay in the list. */
  private refuse(items: readonly NextEditItem[]): void {
    for (const { id } of items) void this.server.notify("weft/didRefuseNextEdit", { id });
    const refused = new Set(items.map(keyOf));
    this.setItems(this.items.filter((item) => !refused.has(keyOf(item))));
    if (this.shown === undefined || !refused.has(keyOf(this.shown))) return;
    this.isRevealed = false;
    const editor = codeEditor();
    this.show(editor && pick(this.items, editor.document.uri.toString(), this.group));
  }

  private async explain(item: NextEditItem | undefined): Promise<void> {
    if (item === undefined) {
      vscode.window.setStatusBarMessage("Weft: No next edit is shown.", 5_000);
      return;
    }
    const open = openDocument(item);
    const lineAt = open && fits(item, open) ? (line: number) => open.lineAt(line).text : undefined;
    await this.showPage("Edit explanation", pageOf(explanationOf(item, lineAt)));
  }

  private async preview(node: Node): Promise<void> {
    const [item] = editsOf(node);
    if (item !== undefined && !(await this.previews.open(item))) this.schedule(0);
  }
}

function modeIn(document: vscode.TextDocument): Mode {
  return vscode.workspace.getConfiguration("weft", document).get<Mode>("next_edits.show", "eager");
}

/** The active editor, if it has a file and is no side of a diff. */
function codeEditor(): vscode.TextEditor | undefined {
  const editor = vscode.window.activeTextEditor;
  const tab = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  return editor?.document.uri.scheme === "file" && !(tab instanceof vscode.TabInputTextDiff) ? editor : undefined;
}

function actionIn(editor: vscode.TextEditor, item: NextEditItem, placedAt: Cursor | undefined): TabAction {
  if (editor.selections.length > 1 || !editor.selection.isEmpty) return "indent";
  const { line, character } = editor.selection.active;
  const uri = editor.document.uri.toString();
  const isPlaced = placedAt?.uri === uri && placedAt.line === line && placedAt.character === character;
  const before = editor.document.lineAt(line).text.slice(0, character);
  return tabAction(item, { uri, line, character }, before, isPlaced);
}

function viewOf(editor: vscode.TextEditor): View {
  const ranges = editor.visibleRanges;
  return {
    uri: editor.document.uri.toString(),
    firstLine: ranges[0]?.start.line ?? 0,
    lastLine: ranges.at(-1)?.end.line ?? 0,
  };
}

function openDocument({ textDocument }: NextEditItem): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find(({ uri }) => uri.toString() === textDocument.uri);
}

function fitsIfOpen(item: NextEditItem): boolean {
  const open = openDocument(item);
  return open === undefined || fits(item, open);
}

/** The server may write an address differently. */
function withEditorUri(item: NextEditItem): NextEditItem {
  const uri = vscode.Uri.parse(item.textDocument.uri).toString();
  return { ...item, textDocument: { ...item.textDocument, uri } };
}
