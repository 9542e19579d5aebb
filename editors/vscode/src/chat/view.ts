// The chat in the side bar: what a person does there becomes questions, and what happens is told to the page.
//
// Owns the webview, its safety (no script but ours, nothing from outside) and the conversation that is open. The page
// may be closed and opened at any time; the conversation stays here and, across windows, in the server's history.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { SlashCommand } from "../protocol";
import type { Server } from "../server";
import { ServerAsker } from "./asker";
import { describe } from "./errors";
import type { ToExtension, ToView } from "./messages";
import { cursor, openLines, selectedLines } from "./open";
import { Session } from "./session";

export const VIEW = "weft.chat";

/** Which conversation goes on when the window is opened again. */
const KEPT_CONVERSATION = "weft.chat.conversation";

export class ChatView implements vscode.WebviewViewProvider, vscode.Disposable {
  private readonly asker: ServerAsker;
  private readonly session: Session;
  private readonly listening: vscode.Disposable;
  private view: vscode.WebviewView | undefined;
  /** The page listens; one that is hidden is gone and begins anew. */
  private isReady = false;
  private wantsFocus = false;
  /** From the history, until the server is there to ask for it. */
  private toReopen: string;
  private searched = "";
  /** As the page knows them. */
  private commands: readonly SlashCommand[] = [];

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
  ) {
    this.asker = new ServerAsker(server);
    this.session = new Session(this.asker, (event) => {
      this.post({ type: "event", event });
      this.keep();
    });
    this.toReopen = context.workspaceState.get<string>(KEPT_CONVERSATION, "");
    this.listening = server.onStatus(() => {
      if (server.slashCommands !== this.commands) this.tellCommands();
      void this.reopen();
    });
  }

  dispose(): void {
    this.listening.dispose();
    this.session.stop();
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    const roots = ["dist", "media"].map((folder) => vscode.Uri.joinPath(this.context.extensionUri, folder));
    view.webview.options = { enableScripts: true, localResourceRoots: roots };
    view.webview.onDidReceiveMessage((message: ToExtension) => this.handle(message));
    view.onDidChangeVisibility(() => (this.isReady &&= view.visible));
    view.onDidDispose(() => {
      this.view = undefined;
      this.isReady = false;
    });
    view.webview.html = this.page(view.webview);
  }

  async focus(): Promise<void> {
    this.wantsFocus = true;
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    this.focusPage();
  }

  async beginAnew(): Promise<void> {
    this.toReopen = "";
    this.session.beginAnew();
    await this.focus();
  }

  async askSelection(): Promise<void> {
    this.attach();
    await this.focus();
  }

  private attach(): void {
    const selected = selectedLines();
    if (selected) this.session.attach(selected);
    else void vscode.window.showInformationMessage("Select some lines of a file first, then add them to the question.");
  }

  private async handle(message: ToExtension): Promise<void> {
    switch (message.type) {
      case "ready":
        this.isReady = true;
        this.post({ type: "chat", chat: this.session.chat });
        this.tellCommands();
        this.focusPage();
        return this.reopen();
      case "ask":
        this.toReopen = "";
        await this.session.ask(message.question, cursor());
        return;
      case "askAgain":
        return this.session.askAgain(cursor());
      case "stop":
        return this.session.stop();
      case "attach":
        return this.attach();
      case "detach":
        return this.session.attach(null);
      case "new":
        this.toReopen = "";
        return this.session.beginAnew();
      case "openPlace":
        return this.openPlace(message.turn, message.list, message.index);
      case "openAttachment":
        return this.openAttachment();
      case "copy":
        return vscode.env.clipboard.writeText(message.text);
      case "history":
        return this.showHistory(message.text);
      case "openConversation":
        return this.openConversation(message.id);
      case "deleteConversation":
        return this.deleteConversation(message.id, message.title);
      case "restart":
        return vscode.commands.executeCommand("weft.restart");
      case "log":
        return vscode.commands.executeCommand("weft.log");
    }
  }

  private tellCommands(): void {
    this.commands = this.server.slashCommands;
    this.post({ type: "commands", commands: this.commands });
  }

  private focusPage(): void {
    if (!this.isReady || !this.wantsFocus) return;
    this.wantsFocus = false;
    this.post({ type: "focus" });
  }

  /** Goes on where the window was closed, as soon as a server is there. */
  private async reopen(): Promise<void> {
    const id = this.toReopen;
    if (!id || !this.view || !this.server.client?.isRunning()) return;
    this.toReopen = "";
    try {
      await this.session.open(id);
    } catch {
      this.keep(); // it is in the history, or gone: neither is worth a message at start
    }
  }

  private async openPlace(turn: number, list: "citations" | "evidence", index: number): Promise<void> {
    const place = this.session.chat.turns[turn]?.[list][index];
    if (place?.uri == null || place.startLine === undefined || place.endLine === undefined) return;
    await openLines({ uri: place.uri, startLine: place.startLine, endLine: place.endLine });
  }

  private async openAttachment(): Promise<void> {
    const { attachment } = this.session.chat;
    if (!attachment) return;
    const { start, end } = attachment.range;
    await openLines({ uri: attachment.uri, startLine: start.line, endLine: end.line + (end.character ? 1 : 0) });
  }

  private async showHistory(text: string): Promise<void> {
    this.searched = text;
    try {
      const { conversations } = await this.asker.conversations({ action: "list", text });
      this.post({ type: "history", conversations: conversations ?? [], text, error: "" });
    } catch (error) {
      this.post({ type: "history", conversations: [], text, error: describe(error) });
    }
  }

  private async openConversation(id: string): Promise<void> {
    try {
      await this.session.open(id);
    } catch (error) {
      void vscode.window.showErrorMessage(`The conversation could not be opened. ${describe(error)}`);
    }
  }

  private async deleteConversation(id: string, title: string): Promise<void> {
    const question = `Delete the conversation “${title}”? It cannot be brought back.`;
    if ((await vscode.window.showWarningMessage(question, { modal: true }, "Delete")) !== "Delete") return;
    try {
      await this.asker.conversations({ action: "delete", id });
      if (this.session.chat.conversationId === id) this.session.beginAnew();
    } catch (error) {
      void vscode.window.showErrorMessage(`The conversation could not be deleted. ${describe(error)}`);
    }
    await this.showHistory(this.searched);
  }

  private keep(): void {
    const { conversationId } = this.session.chat;
    if (this.context.workspaceState.get(KEPT_CONVERSATION, "") === conversationId) return;
    void this.context.workspaceState.update(KEPT_CONVERSATION, conversationId || undefined);
  }

  private post(message: ToView): void {
    void this.view?.webview.postMessage(message);
  }

  private page(webview: vscode.Webview): string {
    const nonce = randomBytes(16).toString("base64");
    const of = (...path: string[]): vscode.Uri =>
      webview.asWebviewUri(vscode.Uri.joinPath(this.context.extensionUri, ...path));
    const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'`;
    return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${of("media", "chat.css")}">
<title>Weft Chat</title>
</head>
<body>
<script nonce="${nonce}" src="${of("dist", "chat.js")}"></script>
</body>
</html>`;
  }
}
