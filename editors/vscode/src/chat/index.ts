// Registers the chat: the view in the side bar, and `@weft` in VS Code's own chat.

import * as vscode from "vscode";
import type { Server } from "../server";
import { registerModel } from "./model";
import { registerParticipant } from "./participant";
import { ChatView, VIEW } from "./view";

export function registerChat(context: vscode.ExtensionContext, server: Server): void {
  const view = new ChatView(context, server);
  context.subscriptions.push(
    view,
    vscode.window.registerWebviewViewProvider(VIEW, view),
    vscode.commands.registerCommand("weft.chat", () => view.focus()),
    vscode.commands.registerCommand("weft.newConversation", () => view.newConversation()),
    vscode.commands.registerCommand("weft.history", () => view.toggleHistory()),
    vscode.commands.registerCommand("weft.stopAnswer", () => view.stop()),
    vscode.commands.registerCommand("weft.askSelection", () => view.askSelection()),
    registerModel(server),
    registerParticipant(context, server),
  );
}
