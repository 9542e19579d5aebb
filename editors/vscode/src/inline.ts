// Middleware for inline completions: enablement, alternative candidates and acceptance telemetry for the server.
//
// The language client implements the protocol; this wraps it. Owns which suggestion is shown and what the server is told
// of it. Knows no server process.

import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { isEnabled } from "./enabled";
import { ShownSuggestion } from "./suggestion";
import type { CompleteResult } from "./protocol";
import { toEditorRange } from "./ranges";
import type { Server } from "./server";

const N_CANDIDATES = 3;

/** The argument of an item's command: identifies the completion. */
interface CommandArgument {
  readonly id: string;
}

interface RequestPosition {
  readonly uri: string;
  readonly version: number;
  readonly position: vscode.Position;
}

interface Shown extends RequestPosition {
  /** Start of the replaced range. */
  readonly start: vscode.Position;
  readonly suggestion: ShownSuggestion;
}

export class Inline implements vscode.Disposable {
  private shown: Shown | undefined;
  /** Where the next explicit request asks for several candidates. */
  private candidatesRequestedAt: RequestPosition | undefined;
  private nRunning = 0;
  private readonly busyEmitter = new vscode.EventEmitter<boolean>();
  /** Fires true while the server computes a completion. */
  readonly onBusy = this.busyEmitter.event;
  private readonly shownEmitter = new vscode.EventEmitter<void>();
  /** Fires when the server has answered: there is ghost text, or none. */
  readonly onShown = this.shownEmitter.event;
  private readonly listener = vscode.workspace.onDidChangeTextDocument((event) => this.updateShown(event));

  constructor(private readonly server: Server) {}

  readonly middleware: Middleware = {
    provideInlineCompletionItems: async (document, position, context, token, next) => {
      const isInvoked = context.triggerKind === vscode.InlineCompletionTriggerKind.Invoke;
      if (!isInvoked && !isEnabled(document)) return undefined;
      const at = positionOf(document, position);
      // A second explicit request at the same position asks for alternatives.
      const selected = context.selectedCompletionInfo;
      const wantsCandidates =
        isInvoked && selected === undefined && (isSame(this.candidatesRequestedAt, at) || isSame(this.shown, at));
      this.candidatesRequestedAt = undefined;
      const items = await this.whileBusy(() =>
        wantsCandidates ? this.candidates(document, position, token) : this.first(next(document, position, context, token)),
      );
      if (token.isCancellationRequested || document.isClosed || document.version !== at.version) return undefined;
      const shown = this.show(document, at, items, selected?.text.length);
      this.shownEmitter.fire();
      return shown;
    },
    sendRequest: (type, params, token, next) => {
      const method = typeof type === "string" ? type : type.method;
      return next(
        type,
        method === "textDocument/inlineCompletion" ? ({ ...params, ...formatting() } as typeof params) : params,
        token,
      );
    },
  };

  /** Requests several completions at the cursor; the editor's own keys cycle through them. */
  async showMore(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) return;
    if (this.server.client === undefined) {
      void vscode.window.showWarningMessage(`Weft: ${this.server.status.text}`);
      return;
    }
    this.candidatesRequestedAt = positionOf(editor.document, editor.selection.active);
    // The editor caches the items of a position until they are hidden.
    await vscode.commands.executeCommand("editor.action.inlineSuggest.hide");
    await vscode.commands.executeCommand("editor.action.inlineSuggest.trigger");
  }

  /** Whether there is ghost text at the cursor, as far as it is known: VS Code does not tell when it is hidden. */
  isShownAt(document: vscode.TextDocument, position: vscode.Position): boolean {
    return isSame(this.shown, positionOf(document, position));
  }

  dispose(): void {
    this.listener.dispose();
    this.busyEmitter.dispose();
    this.shownEmitter.dispose();
  }

  private async first(
    answer: vscode.ProviderResult<vscode.InlineCompletionItem[] | vscode.InlineCompletionList>,
  ): Promise<vscode.InlineCompletionItem[]> {
    const found = await answer;
    return found == null ? [] : Array.isArray(found) ? found : found.items;
  }

  private async candidates(
    document: vscode.TextDocument,
    position: vscode.Position,
    token: vscode.CancellationToken,
  ): Promise<vscode.InlineCompletionItem[]> {
    const params = { textDocument: { uri: document.uri.toString() }, position, candidates: N_CANDIDATES };
    const answer = await this.server.request<CompleteResult | null>("weft/complete", params, token);
    const found = answer?.items.filter(({ text }) => text !== "") ?? [];
    const why = answer?.items[0]?.whyEmpty;
    if (found.length === 0 && why) vscode.window.setStatusBarMessage(`Weft: ${why}`, 5_000);
    return found.map(({ id, text, range }) => {
      const command = { title: "", command: "weft.didAccept", arguments: [{ id }] };
      return new vscode.InlineCompletionItem(text, toEditorRange(range), command);
    });
  }

  /** Records the items as shown, and notifies the server when they are visible. */
  private show(
    document: vscode.TextDocument,
    at: RequestPosition,
    items: vscode.InlineCompletionItem[],
    nSelected?: number,
  ): vscode.InlineCompletionItem[] {
    const [first, ...others] = items;
    const known = this.shown?.uri === at.uri ? this.shown : undefined;
    // With a selected item of the completion list, the text begins where the item does, whatever is typed of it.
    const isWhole = nSelected !== undefined && known !== undefined && first?.range?.start.isEqual(known.start);
    const rest = first && known?.suggestion.restOf(textOf(first), isWhole);
    if (known !== undefined && others.length === 0 && (rest !== undefined || known.suggestion.staysShown)) {
      // The rest of the shown suggestion is the same completion: it counts as shown once and accepted once.
      const argument = first?.command?.arguments?.[0] as CommandArgument | undefined;
      if (first?.command !== undefined && rest !== undefined) first.command.arguments = [{ ...argument, id: rest.id }];
      this.shown = { ...known, ...at };
      return items;
    }
    if (first === undefined) {
      this.shown = undefined;
      return items;
    }
    const candidates = items.map((item) => ({ id: idOf(item), text: textOf(item) }));
    this.shown = { ...at, start: first.range?.start ?? at.position, suggestion: new ShownSuggestion(candidates, nSelected) };
    const editor = vscode.window.activeTextEditor;
    if (editor?.document === document && editor.selection.active.isEqual(at.position)) {
      void this.server.notify("weft/didShow", { id: idOf(first) });
    }
    return items;
  }

  private updateShown({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const { shown } = this;
    if (shown === undefined || contentChanges.length === 0 || document.uri.toString() !== shown.uri) return;
    const [change] = contentChanges;
    if (change === undefined || contentChanges.length > 1 || change.range.start.isBefore(shown.start)) {
      this.shown = undefined;
      return;
    }
    const end = document.positionAt(change.rangeOffset + change.text.length);
    const accepted = shown.suggestion.changed(document.getText(new vscode.Range(shown.start, end)), change.text);
    if (accepted !== undefined) void this.server.notify("weft/didPartiallyAccept", accepted);
    if (!shown.suggestion.isActive) this.shown = undefined;
  }

  private async whileBusy<T>(work: () => Promise<T[]>): Promise<T[]> {
    if (this.nRunning++ === 0) this.busyEmitter.fire(true);
    try {
      return await work();
    } catch (error) {
      // The server exited or a newer request replaced this one; the status bar shows the cause.
      this.server.log.debug(`No completion: ${error}`);
      return [];
    } finally {
      if (--this.nRunning === 0) this.busyEmitter.fire(false);
    }
  }
}

function positionOf(document: vscode.TextDocument, position: vscode.Position): RequestPosition {
  return { uri: document.uri.toString(), version: document.version, position };
}

function isSame(left: RequestPosition | undefined, right: RequestPosition): boolean {
  return left?.uri === right.uri && left.version === right.version && left.position.isEqual(right.position);
}

function textOf(item: vscode.InlineCompletionItem): string {
  return typeof item.insertText === "string" ? item.insertText : item.insertText.value;
}

function idOf(item: vscode.InlineCompletionItem): string {
  return (item.command?.arguments?.[0] as CommandArgument | undefined)?.id ?? "";
}

/** The indentation of the active editor. */
function formatting(): object {
  const options = vscode.window.activeTextEditor?.options;
  return options === undefined
    ? {}
    : { formattingOptions: { tabSize: options.tabSize, insertSpaces: options.insertSpaces } };
}
