// The chat view in the side bar: handles the messages of its webview, and posts the events of the session.
//
// Owns the webview, its content security policy and the session. The webview may be closed and restored at any time; the
// session stays here, and the conversation is stored by the server.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { SlashCommand } from "../protocol";
import type { Server } from "../server";
import { ServerChat } from "./service";
import { describe } from "../errors";
import type { ToExtension, ToView } from "./messages";
import { cursor, openLines, selectedLines } from "./open";
import { Session } from "./session";
import { isBusy } from "./state";

export const VIEW = "weft.chat";

/** Key of the workspace state: the conversation to reopen with the window. */
const LAST_CONVERSATION = "weft.chat.conversation";

export class ChatView implements vscode.WebviewViewProvider, vscode.Disposable {
  private readonly service: ServerChat;
  private readonly session: Session;
  private readonly statusListener: vscode.Disposable;
  private view: vscode.WebviewView | undefined;
  /** The page has loaded. VS Code discards a hidden page, and loads it again. */
  private isReady = false;
  /** What the page is to do once it has loaded. */
  private whenReady: "focus" | "toggleHistory" | undefined;
  /** Whether the title bar of the view shows the action that stops an answer. */
  private showsStop = false;
  /** The conversation to reopen once a server runs. */
  private lastConversation: string;
  private historySearch = "";
  /** As last posted to the page. */
  private commands: readonly SlashCommand[] = [];

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
  ) {
    this.service = new ServerChat(server);
    this.session = new Session(this.service, (event) => {
      this.post({ type: "event", event });
      this.saveConversation();
      this.updateTitleBar();
    });
    this.lastConversation = context.workspaceState.get<string>(LAST_CONVERSATION, "");
    this.statusListener = server.onStatus(() => {
      if (server.slashCommands !== this.commands) this.postCommands();
      void this.reopen();
    });
  }

  dispose(): void {
    this.statusListener.dispose();
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

  focus(): Promise<void> {
    return this.reveal("focus");
  }

  /** Opens the view with the history, or closes the history. */
  toggleHistory(): Promise<void> {
    return this.reveal("toggleHistory");
  }

  stop(): void {
    this.session.stop();
  }

  private async reveal(then: "focus" | "toggleHistory"): Promise<void> {
    this.whenReady = then;
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    this.postWhenReady();
  }

  async newConversation(): Promise<void> {
    this.lastConversation = "";
    this.session.newConversation();
    await this.focus();
  }

  async askSelection(): Promise<void> {
    this.attach();
    await this.focus();
  }

  private attach(): void {
    const selected = selectedLines();
    if (selected) this.session.attach(selected);
    else void vscode.window.showInformationMessage("Weft: No lines are selected. Select lines in an editor, then add them to the question.");
  }

  private async handle(message: ToExtension): Promise<void> {
    switch (message.type) {
      case "ready":
        this.isReady = true;
        this.post({ type: "chat", chat: this.session.chat });
        this.postCommands();
        this.postWhenReady();
        return this.reopen();
      case "ask":
        this.lastConversation = "";
        await this.session.ask(message.question, cursor());
        return;
      case "askAgain":
        return this.session.askAgain(cursor());
      case "askAsWritten":
        return this.session.askAsWritten(message.turn, cursor());
      case "stop":
        return this.session.stop();
      case "attach":
        return this.attach();
      case "detach":
        return this.session.attach(null);
      case "openLocation":
        return this.openLocation(message.turn, message.list, message.index);
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

  private postCommands(): void {
    this.commands = this.server.slashCommands;
    this.post({ type: "commands", commands: this.commands });
  }

  private postWhenReady(): void {
    if (!this.isReady || !this.whenReady) return;
    this.post({ type: this.whenReady });
    this.whenReady = undefined;
  }

  private updateTitleBar(): void {
    const showsStop = isBusy(this.session.chat);
    if (showsStop === this.showsStop) return;
    this.showsStop = showsStop;
    void vscode.commands.executeCommand("setContext", "weft.chat.isBusy", showsStop);
  }

  /** Reopens the last conversation once a server runs. */
  private async reopen(): Promise<void> {
    const id = this.lastConversation;
    if (!id || !this.view || !this.server.client?.isRunning()) return;
    this.lastConversation = "";
    try {
      await this.session.open(id);
    } catch {
      this.saveConversation(); // deleted, or still in the history: no message at startup
    }
  }

  private async openLocation(turn: number, list: "citations" | "evidence", index: number): Promise<void> {
    const location = this.session.chat.turns[turn]?.[list][index];
    if (location?.uri == null || location.startLine === undefined || location.endLine === undefined) return;
    await openLines({ uri: location.uri, startLine: location.startLine, endLine: location.endLine });
  }

  private async openAttachment(): Promise<void> {
    const { attachment } = this.session.chat;
    if (!attachment) return;
    const { start, end } = attachment.range;
    await openLines({ uri: attachment.uri, startLine: start.line, endLine: end.line + (end.character ? 1 : 0) });
  }

  private async showHistory(text: string): Promise<void> {
    this.historySearch = text;
    try {
      const { conversations } = await this.service.conversations({ action: "list", text });
      this.post({ type: "history", conversations: conversations ?? [], text, error: "" });
    } catch (error) {
      this.post({ type: "history", conversations: [], text, error: describe(error) });
    }
  }

  private async openConversation(id: string): Promise<void> {
    try {
      await this.session.open(id);
    } catch (error) {
      void vscode.window.showErrorMessage(`Weft: The conversation could not be opened. ${describe(error)}`);
    }
  }

  private async deleteConversation(id: string, title: string): Promise<void> {
    const question = `Delete the conversation “${title}”? This cannot be undone.`;
    if ((await vscode.window.showWarningMessage(question, { modal: true }, "Delete")) !== "Delete") return;
    try {
      await this.service.conversations({ action: "delete", id });
      if (this.session.chat.conversationId === id) this.session.newConversation();
    } catch (error) {
      void vscode.window.showErrorMessage(`Weft: The conversation could not be deleted. ${describe(error)}`);
    }
    await this.showHistory(this.historySearch);
  }

  private saveConversation(): void {
    const { conversationId } = this.session.chat;
    if (this.context.workspaceState.get(LAST_CONVERSATION, "") === conversationId) return;
    void this.context.workspaceState.update(LAST_CONVERSATION, conversationId || undefined);
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
