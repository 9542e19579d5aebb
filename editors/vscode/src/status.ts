// The status item: what Weft does and what is the matter, and a menu of what to do about it.
//
// Owns the item and the menu. Knows no server process; its words come with the status.

import * as vscode from "vscode";
import { appearance } from "./appearance";
import { isEnabled } from "./enabled";
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

const SEPARATOR: Entry = { label: "", kind: vscode.QuickPickItemKind.Separator };

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
    this.listeners = [
      server.onStatus(() => this.show()),
      inline.onBusy((isBusy) => this.busy(isBusy)),
      vscode.window.onDidChangeActiveTextEditor(() => this.show()),
      vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("weft.enabled") && this.show()),
    ];
    this.show();
    this.item.show();
  }

  /** What helps now first, then everything else. */
  async menu(): Promise<void> {
    const { text, actions, kind } = this.server.status;
    const isMissing = this.server.client === undefined && kind === "error";
    const helps: Entry[] = [
      ...(isMissing ? [entry("Install the server", "weft.install"), entry("Choose the server", "weft.choose")] : []),
      ...actions.map(({ title, action }) => ({ label: title, run: RUNS[action] })),
    ];
    const known = new Set(helps.map(({ run }) => run?.command));
    const others = [
      entry("Turn completions on or off", "weft.toggle"),
      entry(kind === "paused" ? "Resume" : "Pause", "weft.pause"),
      entry("Why this completion", "weft.why"),
      entry("More completions here", "weft.moreCompletions"),
      entry("Ask about the repository", "weft.chat"),
      SEPARATOR,
      entry("Status", "weft.status"),
      entry("Doctor", "weft.doctor"),
      entry("Show the log", "weft.log"),
      entry("Restart the server", "weft.restart"),
      entry("Open the settings", "weft.openSettings"),
    ].filter(({ run }) => run === undefined || !known.has(run.command));
    const entries = helps.length > 0 ? [...helps, SEPARATOR, ...others] : others;
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
      this.becomesBusy = setTimeout(() => {
        this.isBusy = true;
        this.show();
      }, BUSY_AFTER_MS);
    } else if (this.isBusy) {
      this.isBusy = false;
      this.show();
    }
  }

  private show(): void {
    const document = vscode.window.activeTextEditor?.document;
    const isOffHere = document?.uri.scheme === "file" && !isEnabled(document);
    const { text, tooltip, severity } = appearance(this.server.status, { isBusy: this.isBusy, isOffHere });
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.backgroundColor = BACKGROUNDS[severity];
    this.item.accessibilityInformation = { label: `Weft: ${tooltip}` };
  }
}

function entry(label: string, command: string): Entry {
  return { label, run: { command } };
}
