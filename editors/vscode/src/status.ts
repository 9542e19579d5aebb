// The status item: what Weft does and what is the matter, and a menu of what to do about it.
//
// Owns the item and the menu. Knows no server process; its words come with the status.

import * as vscode from "vscode";
import { appearance } from "./appearance";
import type { Inline } from "./inline";
import type { StatusAction } from "./protocol";
import type { Server } from "./server";

/** A completion that is there sooner shows no sign of work: it would only flicker. */
const BUSY_AFTER_MS = 250;

const BACKGROUNDS = {
  none: undefined,
  warning: new vscode.ThemeColor("statusBarItem.warningBackground"),
  error: new vscode.ThemeColor("statusBarItem.errorBackground"),
};

interface Entry extends vscode.QuickPickItem {
  readonly run?: { readonly command: string; readonly args?: readonly unknown[] };
}

const RUNS: Record<StatusAction["action"], NonNullable<Entry["run"]>> = {
  doctor: { command: "weft.doctor" },
  log: { command: "weft.log" },
  settings: { command: "weft.openSettings" },
  pause: { command: "weft.pause" },
  resume: { command: "weft.pause" },
  restart: { command: "weft.restart" },
  models: { command: "weft.openSettings", args: ["weft.model"] },
};

export class StatusItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("weft.status", vscode.StatusBarAlignment.Right, 100);
  private readonly listeners: vscode.Disposable[];
  private isBusy = false;
  private becomesBusy: NodeJS.Timeout | undefined;

  constructor(
    private readonly server: Server,
    inline: Inline,
  ) {
    this.item.name = "Weft";
    this.item.command = "weft.menu";
    this.listeners = [server.onStatus(() => this.show()), inline.onBusy((isBusy) => this.busy(isBusy))];
    this.show();
    this.item.show();
  }

  /** What helps now first, then everything else. */
  async menu(): Promise<void> {
    const { text, actions, kind } = this.server.status;
    const isMissing = this.server.client === undefined && kind === "error";
    const entry = (label: string, command: string, ...args: unknown[]): Entry => ({ label, run: { command, args } });
    const entries: Entry[] = [
      ...actions.map(({ title, action }) => ({ label: title, description: "helps now", run: RUNS[action] })),
      ...(isMissing ? [entry("Install the server", "weft.install"), entry("Choose the server", "weft.choose")] : []),
      { label: "", kind: vscode.QuickPickItemKind.Separator },
      entry("Turn completions on or off", "weft.toggle"),
      entry(kind === "paused" ? "Resume" : "Pause", "weft.pause"),
      entry("Why this completion", "weft.why"),
      entry("More completions here", "weft.moreCompletions"),
      entry("Ask about the repository", "weft.chat"),
      { label: "", kind: vscode.QuickPickItemKind.Separator },
      entry("Status", "weft.status"),
      entry("Doctor", "weft.doctor"),
      entry("Show log", "weft.log"),
      entry("Restart server", "weft.restart"),
      entry("Settings", "weft.openSettings"),
    ];
    const picked = await vscode.window.showQuickPick(entries, { title: "Weft", placeHolder: text });
    if (picked?.run) await vscode.commands.executeCommand(picked.run.command, ...(picked.run.args ?? []));
  }

  dispose(): void {
    clearTimeout(this.becomesBusy);
    for (const listener of this.listeners) listener.dispose();
    this.item.dispose();
  }

  private busy(isBusy: boolean): void {
    clearTimeout(this.becomesBusy);
    if (isBusy) {
      this.becomesBusy = setTimeout(() => this.show((this.isBusy = true)), BUSY_AFTER_MS);
    } else if (this.isBusy) {
      this.show((this.isBusy = false));
    }
  }

  private show(isBusy = this.isBusy): void {
    const { text, tooltip, severity } = appearance(this.server.status, isBusy);
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.backgroundColor = BACKGROUNDS[severity];
    this.item.accessibilityInformation = { label: `Weft: ${tooltip}` };
  }
}
