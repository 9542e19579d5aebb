// Entry point of the extension: activation, commands and wiring.
//
// Each part has a file of its own.

import * as vscode from "vscode";
import { registerChat } from "./chat/index";
import { toggle } from "./enabled";
import { describe } from "./errors";
import { type ExplorePlace, Explorer } from "./explore";
import { Inline } from "./inline";
import { choose, install, showNotFound, showOutdated } from "./install";
import { isOutdated } from "./locate";
import { registerMcpServers } from "./mcp";
import { NextEdits } from "./nextedits/index";
import { Pages } from "./pages";
import type { StatusResult } from "./protocol";
import { searchWorkspace } from "./search";
import { Server } from "./server";
import { setUpModel } from "./setup";
import { StatusItem } from "./status";
import { registerTools } from "./tools";

let running: Server | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("Weft", { log: true });
  const server = new Server(context, log);
  const inline = new Inline(server);
  server.middleware = inline.middleware;
  const status = new StatusItem(server, inline);
  const pages = new Pages(server);
  const explorer = new Explorer(context);
  const nextEdits = new NextEdits(server, inline, (title, lines) => pages.showLines(title, lines));
  running = server;
  registerChat(context, server);
  registerTools(context, server);
  registerMcpServers(context);
  context.subscriptions.push(log, server, inline, status, pages, explorer, nextEdits);
  context.subscriptions.push(...commands(context, { server, inline, status, pages, explorer }));
  context.subscriptions.push(
    server.onNotFound((located) => void showNotFound(located)),
    server.onFound((found) => {
      const { version } = context.extension.packageJSON;
      const setting = vscode.workspace.getConfiguration("weft").get<string>("server.package", "");
      if (isOutdated(found, setting, version)) void showOutdated(found, version);
    }),
    server.onGaveUp((reason) => void showGaveUp(server, reason)),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      if (server.client === undefined) void server.restart();
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      const isServerChanged = ["weft.server.command", "weft.server.shared"].some((key) => event.affectsConfiguration(key));
      const isPackageChanged = event.affectsConfiguration("weft.server.package") && server.client === undefined;
      if (isServerChanged || isPackageChanged) void server.restart();
    }),
  );
  const updateContext = () =>
    void vscode.commands.executeCommand("setContext", "weft.running", server.client?.isRunning() ?? false);
  context.subscriptions.push(server.onStatus(updateContext));
  void server.start();
}

export async function deactivate(): Promise<void> {
  await running?.stop();
}

interface Parts {
  readonly server: Server;
  readonly inline: Inline;
  readonly status: StatusItem;
  readonly pages: Pages;
  readonly explorer: Explorer;
}

function commands(context: vscode.ExtensionContext, { server, inline, status, pages, explorer }: Parts): vscode.Disposable[] {
  const all: Record<string, (...args: never[]) => unknown> = {
    "weft.menu": () => status.menu(),
    "weft.toggle": toggle,
    "weft.moreCompletions": () => inline.showMore(),
    "weft.why": () => pages.why(),
    "weft.search": (query?: string) => searchWorkspace(server, query),
    "weft.status": () => pages.status(),
    "weft.doctor": () => pages.doctor(),
    "weft.refreshPage": () => pages.refresh(),
    "weft.pause": () => pause(server),
    "weft.indexFolders": () => indexFolders(server),
    "weft.log": () => server.log.show(),
    "weft.restart": () => server.restart(),
    "weft.install": (requirement?: string) => install(context, server, requirement),
    "weft.choose": choose,
    "weft.setUpModel": () => setUpModel(context),
    "weft.explore": (place?: ExplorePlace) => explorer.open(place),
    "weft.guide": () =>
      vscode.commands.executeCommand("workbench.action.openWalkthrough", `${context.extension.id}#start`),
    // In a title bar, VS Code may pass an argument of its own.
    "weft.openSettings": (query?: unknown) =>
      vscode.commands.executeCommand(
        "workbench.action.openSettings",
        typeof query === "string" ? query : `@ext:${context.extension.id}`,
      ),
  };
  return Object.entries(all).map(([id, run]) => vscode.commands.registerCommand(id, run));
}

async function indexFolders(server: Server): Promise<void> {
  try {
    const { text } = await server.request<StatusResult>("weft/indexFolders");
    vscode.window.setStatusBarMessage(`Weft: ${text}`, 5_000);
  } catch (error) {
    void vscode.window.showWarningMessage(`Weft: ${describe(error)}`);
  }
}

async function pause(server: Server): Promise<void> {
  const paused = server.status.kind !== "paused";
  try {
    const { text } = await server.request<StatusResult>("weft/pause", { paused });
    vscode.window.setStatusBarMessage(`Weft: ${text}`, 5_000);
  } catch (error) {
    void vscode.window.showWarningMessage(`Weft: ${describe(error)}`);
  }
}

async function showGaveUp(server: Server, reason: string): Promise<void> {
  const picked = await vscode.window.showErrorMessage(
    `Weft: ${reason} It failed repeatedly, so automatic restarts have stopped. Show the log for the cause, then restart.`,
    "Restart Server",
    "Show Log",
  );
  if (picked === "Restart Server") await server.restart();
  if (picked === "Show Log") server.log.show();
}
