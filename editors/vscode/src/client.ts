// The language client: vscode-languageclient with status notifications and without error popups.
//
// Owns the differences from the library. Does not decide when a server starts.

import { type ChildProcess, spawn } from "node:child_process";
import {
  LanguageClient,
  type LanguageClientOptions,
  type ServerOptions,
  type StaticFeature,
} from "vscode-languageclient/node";

export class Client extends LanguageClient {
  constructor(server: ServerOptions, options: LanguageClientOptions) {
    super("weft", "Weft", server, options);
    this.registerFeature(CAPABILITIES);
  }

  /** Errors go to the log and the status bar; a notification for each failed attempt would be too many. */
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** Starts a process; resolves when it runs. */
export function spawnProcess(command: string, args: readonly string[], cwd: string): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, windowsHide: true });
    child.once("spawn", () => resolve(child));
    child.once("error", reject);
  });
}

const CAPABILITIES: StaticFeature = {
  fillClientCapabilities(capabilities) {
    capabilities.experimental = { ...capabilities.experimental, weft: { status: true } };
    // The status bar item already shows the progress of indexing.
    capabilities.window = { ...capabilities.window, workDoneProgress: false };
  },
  initialize() {},
  getState: () => ({ kind: "static" }),
  clear() {},
};
