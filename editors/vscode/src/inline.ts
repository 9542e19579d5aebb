// Inline completions between the editor and the server: who is asked, what is still shown, what was taken of it.
//
// The language client speaks the protocol; this is what stands between it and the editor. Owns the settings' say
// for completions unasked, further candidates, and the news about a completion's fate. Knows no server process.

import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { isEnabled } from "./enabled";
import { Offer } from "./offer";
import type { CompleteResult } from "./protocol";
import type { Server } from "./server";

const N_CANDIDATES = 3;

/** The argument of an item's command, which names the completion. */
interface About {
  readonly id: string;
}

interface Place {
  readonly uri: string;
  readonly version: number;
  readonly position: vscode.Position;
}

interface Given extends Place {
  /** From where the text is inserted. */
  readonly start: vscode.Position;
  readonly offer: Offer;
}

export class Inline implements vscode.Disposable {
  private given: Given | undefined;
  private wanted: Place | undefined;
  private nRunning = 0;
  private readonly busyEmitter = new vscode.EventEmitter<boolean>();
  /** True while a completion is being written. */
  readonly onBusy = this.busyEmitter.event;
  private readonly listener = vscode.workspace.onDidChangeTextDocument((event) => this.follow(event));

  constructor(private readonly server: Server) {}

  readonly middleware: Middleware = {
    provideInlineCompletionItems: async (document, position, context, token, next) => {
      const isAsked = context.triggerKind === vscode.InlineCompletionTriggerKind.Invoke;
      if (!isAsked && !isEnabled(document)) return undefined;
      const place = placeOf(document, position);
      // Who asks again where there is a completion wants to see others.
      const wantsMore = isAsked && (isSame(this.wanted, place) || isSame(this.given, place));
      this.wanted = undefined;
      const items = await this.whileBusy(() =>
        wantsMore ? this.candidates(document, position, token) : this.first(next(document, position, context, token)),
      );
      if (token.isCancellationRequested || document.isClosed || document.version !== place.version) return undefined;
      return this.give(document, place, items);
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

  /** Several completions where the cursor stands, to go through with the editor's own keys. */
  async showMore(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) return;
    if (this.server.client === undefined) {
      void vscode.window.showWarningMessage(`Weft: ${this.server.status.text}`);
      return;
    }
    this.wanted = placeOf(editor.document, editor.selection.active);
    // The editor keeps what it got for a place until that is put away.
    await vscode.commands.executeCommand("editor.action.inlineSuggest.hide");
    await vscode.commands.executeCommand("editor.action.inlineSuggest.trigger");
  }

  dispose(): void {
    this.listener.dispose();
    this.busyEmitter.dispose();
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
    return found.map(({ id, text, range: { start, end } }) => {
      const replaced = new vscode.Range(start.line, start.character, end.line, end.character);
      return new vscode.InlineCompletionItem(text, replaced, {
        title: "",
        command: "weft.didAccept",
        arguments: [{ id }],
      });
    });
  }

  /** Remember what is given, and tell the server that it is seen, where it is. */
  private give(
    document: vscode.TextDocument,
    place: Place,
    items: vscode.InlineCompletionItem[],
  ): vscode.InlineCompletionItem[] {
    const [first, ...others] = items;
    const known = this.given?.uri === place.uri ? this.given : undefined;
    const rest = first && known?.offer.restOf(textOf(first));
    if (known !== undefined && others.length === 0 && (rest !== undefined || known.offer.staysShown)) {
      // The rest of what is shown already is the same completion: it was seen once and is taken once.
      const about = first?.command?.arguments?.[0] as About | undefined;
      if (first?.command !== undefined && rest !== undefined) first.command.arguments = [{ ...about, id: rest.id }];
      this.given = { ...known, ...place };
      return items;
    }
    if (first === undefined) {
      this.given = undefined;
      return items;
    }
    const offered = items.map((item) => ({ id: idOf(item), text: textOf(item) }));
    this.given = { ...place, start: first.range?.start ?? place.position, offer: new Offer(offered) };
    const editor = vscode.window.activeTextEditor;
    if (editor?.document === document && editor.selection.active.isEqual(place.position)) {
      void this.server.notify("weft/didShow", { id: idOf(first) });
    }
    return items;
  }

  private follow({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const given = this.given;
    if (given === undefined || contentChanges.length === 0 || document.uri.toString() !== given.uri) return;
    const [change] = contentChanges;
    if (change === undefined || contentChanges.length > 1 || change.range.start.isBefore(given.start)) {
      this.given = undefined;
      return;
    }
    const end = document.positionAt(change.rangeOffset + change.text.length);
    const taken = given.offer.changed(document.getText(new vscode.Range(given.start, end)), change.text);
    if (taken !== undefined) void this.server.notify("weft/didPartiallyAccept", taken);
    if (!given.offer.isOpen) this.given = undefined;
  }

  private async whileBusy<T>(work: () => Promise<T[]>): Promise<T[]> {
    if (this.nRunning++ === 0) this.busyEmitter.fire(true);
    try {
      return await work();
    } catch (error) {
      // A server that ended, or a request that was overtaken: there is nothing to show, and the status says why.
      this.server.log.debug(`No completion: ${error}`);
      return [];
    } finally {
      if (--this.nRunning === 0) this.busyEmitter.fire(false);
    }
  }
}

function placeOf(document: vscode.TextDocument, position: vscode.Position): Place {
  return { uri: document.uri.toString(), version: document.version, position };
}

function isSame(left: Place | undefined, right: Place): boolean {
  return left?.uri === right.uri && left.version === right.version && left.position.isEqual(right.position);
}

function textOf(item: vscode.InlineCompletionItem): string {
  return typeof item.insertText === "string" ? item.insertText : item.insertText.value;
}

function idOf(item: vscode.InlineCompletionItem): string {
  return (item.command?.arguments?.[0] as About | undefined)?.id ?? "";
}

/** How the person's editor indents, so that a completion does too. */
function formatting(): object {
  const options = vscode.window.activeTextEditor?.options;
  return options === undefined
    ? {}
    : { formattingOptions: { tabSize: options.tabSize, insertSpaces: options.insertSpaces } };
}
