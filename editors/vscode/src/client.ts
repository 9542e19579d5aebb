// The language client as Weft wants it: quiet, told of the status, with a program that starts in a safe place.
//
// Owns what differs from the library. Knows nothing of when a server is started.

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

  /** What goes wrong is in the log and in the status; a notice for each try would be a storm of them. */
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** The program, once it runs. */
export function started(command: string, args: readonly string[], cwd: string): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, windowsHide: true });
    child.once("spawn", () => resolve(child));
    child.once("error", reject);
  });
}

const CAPABILITIES: StaticFeature = {
  fillClientCapabilities(capabilities) {
    capabilities.experimental = { ...capabilities.experimental, weft: { status: true } };
    // The status item shows the indexing; a second bar beside it would say the same.
    capabilities.window = { ...capabilities.window, workDoneProgress: false };
  },
  initialize() {},
  getState: () => ({ kind: "static" }),
  clear() {},
};
