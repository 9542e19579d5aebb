// The status bar item and the menu that it opens.
//
// Owns the item and the menu. Knows no server process; the sentences come with the status.

import * as vscode from "vscode";
import { appearance } from "./appearance";
import { isEnabled } from "./enabled";
import type { Inline } from "./inline";
import type { StatusAction } from "./protocol";
import type { Server } from "./server";

/** The busy icon appears after this delay, so that it does not flicker for fast completions. */
const BUSY_DELAY_MS = 250;

const BACKGROUNDS = {
  none: undefined,
  warning: new vscode.ThemeColor("statusBarItem.warningBackground"),
  error: new vscode.ThemeColor("statusBarItem.errorBackground"),
};

interface Entry extends vscode.QuickPickItem {
  readonly run?: { readonly command: string; readonly args?: readonly unknown[] };
}

const SEPARATOR: Entry = { label: "", kind: vscode.QuickPickItemKind.Separator };

const COMMANDS: Record<StatusAction["action"], NonNullable<Entry["run"]>> = {
  doctor: { command: "weft.doctor" },
  log: { command: "weft.log" },
  settings: { command: "weft.openSettings" },
  pause: { command: "weft.pause" },
  resume: { command: "weft.pause" },
  restart: { command: "weft.restart" },
  index: { command: "weft.indexFolders" },
  models: { command: "weft.openSettings", args: ["weft.model"] },
};

export class StatusItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("weft.status", vscode.StatusBarAlignment.Right, 100);
  private readonly listeners: vscode.Disposable[];
  private isBusy = false;
  private busyTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly server: Server,
    inline: Inline,
  ) {
    this.item.name = "Weft";
    this.item.command = "weft.menu";
    this.listeners = [
      server.onStatus(() => this.show()),
      inline.onBusy((isBusy) => this.setBusy(isBusy)),
      vscode.window.onDidChangeActiveTextEditor(() => this.show()),
      vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("weft.enabled") && this.show()),
    ];
    this.show();
    this.item.show();
  }

  /** Shows the actions for the current status first, then all others. */
  async menu(): Promise<void> {
    const { text, actions, kind } = this.server.status;
    const isNotFound = this.server.client === undefined && kind === "error";
    const suggested: Entry[] = [
      ...(isNotFound ? [entry("Install Server", "weft.install"), entry("Choose Server", "weft.choose")] : []),
      ...actions.map(({ title, action }) => ({ label: title, run: COMMANDS[action] })),
    ];
    const known = new Set(suggested.map(({ run }) => run?.command));
    const others = [
      entry("Toggle Automatic Completions", "weft.toggle"),
      entry(kind === "paused" ? "Resume" : "Pause", "weft.pause"),
      entry("Explain Completion", "weft.why"),
      entry("Show More Completions", "weft.moreCompletions"),
      entry("Next Edit", "weft.nextEdit"),
      entry("Ask About This Repository", "weft.chat"),
      entry("Explore", "weft.explore"),
      SEPARATOR,
      entry("Status", "weft.status"),
      entry("Doctor", "weft.doctor"),
      entry("Show Log", "weft.log"),
      entry("Restart Server", "weft.restart"),
      entry("Open Settings", "weft.openSettings"),
    ].filter(({ run }) => run === undefined || !known.has(run.command));
    const entries = suggested.length > 0 ? [...suggested, SEPARATOR, ...others] : others;
    const picked = await vscode.window.showQuickPick(entries, { title: "Weft", placeHolder: text });
    if (picked?.run) await vscode.commands.executeCommand(picked.run.command, ...(picked.run.args ?? []));
  }

  dispose(): void {
    clearTimeout(this.busyTimer);
    for (const listener of this.listeners) listener.dispose();
    this.item.dispose();
  }

  private setBusy(isBusy: boolean): void {
    clearTimeout(this.busyTimer);
    if (isBusy) {
      this.busyTimer = setTimeout(() => {
        this.isBusy = true;
        this.show();
      }, BUSY_DELAY_MS);
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
