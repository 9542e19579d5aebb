// The running Weft server and the connection to it: one for all folders of the window.
//
// Owns finding, starting and restarting it, and what is known of its state. A server that ends is started again after
// a pause that grows; after several times a person is asked. Knows no completion, no chat and no page: they ask
// through `request`.

import type { ChildProcess } from "node:child_process";
import * as vscode from "vscode";
import {
  type CancellationToken,
  CloseAction,
  ErrorAction,
  type LanguageClient,
  type LanguageClientOptions,
  type Middleware,
  ProgressType,
  RevealOutputChannelOn,
} from "vscode-languageclient/node";
import { Backoff } from "./backoff";
import { Client, started } from "./client";
import { type Located, locate } from "./locate";
import type { SlashCommand, StatusResult } from "./protocol";
import { explicitSettings, serverKeys } from "./settings";
import { surroundings } from "./surroundings";

/** How long a server may take to answer its first message; it answers before it reads any file. */
const START_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 3_000;
const LAST_WORDS_WITHIN_MS = 1_000;

export class Server implements vscode.Disposable {
  /** What stands between the editor and the server; set before the first start. */
  middleware: Middleware = {};
  /** Of the running server; undefined while there is none. */
  client: LanguageClient | undefined;
  status: StatusResult = ownStatus("starting", "Weft has not started yet.");

  private readonly statusEmitter = new vscode.EventEmitter<StatusResult>();
  readonly onStatus = this.statusEmitter.event;
  private readonly missingEmitter = new vscode.EventEmitter<Located>();
  /** No server was found; what was tried comes along. */
  readonly onMissing = this.missingEmitter.event;
  private readonly gaveUpEmitter = new vscode.EventEmitter<string>();
  /** The server ended too often and is not started any more. */
  readonly onGaveUp = this.gaveUpEmitter.event;

  private readonly backoff = new Backoff();
  private process: ChildProcess | undefined;
  private processEnd: Promise<unknown> = Promise.resolve();
  private lastWords = "";
  private isUp = false;
  private pendingRestart: NodeJS.Timeout | undefined;
  // Every stop and start by hand makes what an older start still does void.
  private attempt = 0;

  constructor(
    private readonly context: vscode.ExtensionContext,
    readonly log: vscode.LogOutputChannel,
  ) {}

  get slashCommands(): readonly SlashCommand[] {
    return this.client?.initializeResult?.capabilities.experimental?.weft?.slashCommands ?? [];
  }

  async start(): Promise<void> {
    const attempt = ++this.attempt;
    const isOld = () => attempt !== this.attempt;
    clearTimeout(this.pendingRestart);
    this.tell(ownStatus("starting", "Looking for the Weft server."));
    const located = await locate(await surroundings(this.context));
    if (isOld()) return;
    for (const { source, reason } of located.refused) this.log.info(`Not started: ${source}. ${reason}`);
    const { found } = located;
    if (found === undefined) {
      this.tell(ownStatus("error", "No Weft server was found. Install one, or choose one that is there."));
      this.missingEmitter.fire(located);
      return;
    }
    this.log.info(`Starting Weft ${found.version}: ${found.source} (${found.command.join(" ")})`);
    this.tell(ownStatus("starting", "The Weft server is starting."));
    const client = this.connect(found.command);
    this.client = client;
    this.backoff.started(Date.now());
    const tooLate = setTimeout(() => this.client === client && this.process?.kill("SIGKILL"), START_WITHIN_MS);
    try {
      await client.start();
      this.isUp = true;
    } catch (error) {
      this.log.error(`The server did not start: ${error}`);
      void this.ended(client);
    } finally {
      clearTimeout(tooLate);
    }
  }

  async stop(): Promise<void> {
    this.attempt++;
    clearTimeout(this.pendingRestart);
    const { client, process } = this;
    this.client = undefined;
    if (client === undefined) return;
    this.tell(ownStatus("starting", "The Weft server was stopped."));
    try {
      await client.dispose(STOP_WITHIN_MS);
    } catch (error) {
      // It hangs, or has not answered its first message yet.
      this.log.warn(`The server is ended by force: ${error}`);
      process?.stdin?.destroy();
      process?.kill("SIGKILL");
    }
  }

  /** For a person who asks: at once, however often it failed before. */
  async restart(): Promise<void> {
    this.backoff.reset();
    await this.stop();
    await this.start();
  }

  /** Rejects with a sentence for people when no server runs. */
  async request<R>(method: string, params?: object, token?: CancellationToken): Promise<R> {
    const client = this.client;
    if (client === undefined) throw new Error(this.status.text);
    return client.sendRequest<R>(method, params, token);
  }

  /** Without a server nothing is told, and nobody misses it. */
  async notify(method: string, params: object): Promise<void> {
    if (this.client?.isRunning()) await this.client.sendNotification(method, params);
  }

  /** What `$/progress` says with this token, until it is disposed. */
  onProgress(token: string | number, handler: (value: unknown) => void): vscode.Disposable {
    return this.client?.onProgress(new ProgressType<unknown>(), token, handler) ?? new vscode.Disposable(() => {});
  }

  dispose(): void {
    void this.stop();
    for (const emitter of [this.statusEmitter, this.missingEmitter, this.gaveUpEmitter]) emitter.dispose();
  }

  private tell(status: StatusResult): void {
    this.status = status;
    this.statusEmitter.fire(status);
  }

  private connect([command = "", ...args]: readonly string[]): LanguageClient {
    const isShared = vscode.workspace.getConfiguration("weft").get<boolean>("server.shared", false);
    const settings = () => this.settings();
    const options: LanguageClientOptions = {
      // Not what only shows the past or another place, as the schemes of git and of comparisons do.
      documentSelector: ["file", "untitled", "vscode-notebook-cell"].map((scheme) => ({ scheme })),
      outputChannel: this.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: settings,
      // Both are told to a person by `ended`, once.
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          void this.ended(client);
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
      middleware: {
        ...this.middleware,
        workspace: {
          configuration: (params) => params.items.map((item) => (item.section === "weft" ? settings() : null)),
          didChangeConfiguration: () =>
            client.sendNotification("workspace/didChangeConfiguration", { settings: { weft: settings() } }),
        },
      },
    };
    const serve = [...args, "serve", ...(isShared ? ["--shared"] : [])];
    // Not in a workspace: Python would look for its modules there.
    const cwd = this.context.globalStorageUri.fsPath;
    const client = new Client(() => this.run(command, serve, cwd), options);
    client.onNotification("weft/didChangeStatus", (status: StatusResult) => {
      if (this.client === client) this.tell(status);
    });
    return client;
  }

  private async run(command: string, args: readonly string[], cwd: string): Promise<ChildProcess> {
    [this.isUp, this.lastWords, this.process] = [false, "", undefined];
    const child = await started(command, args, cwd);
    child.stderr?.on("data", (more: Buffer) => (this.lastWords = more.toString().trim().split("\n").at(-1) ?? ""));
    this.processEnd = new Promise((resolve) => child.once("close", resolve));
    this.process = child;
    return child;
  }

  private settings(): Record<string, unknown> {
    const sections: { properties?: object }[] = [this.context.extension.packageJSON.contributes.configuration].flat();
    const keys = serverKeys(sections.flatMap((section) => Object.keys(section.properties ?? {})));
    // As with `weft.toml`, the first folder speaks for all.
    const configuration = vscode.workspace.getConfiguration(
      "weft",
      vscode.workspace.workspaceFolders?.[0]?.uri ?? null,
    );
    return explicitSettings(keys, (key) => configuration.inspect(key));
  }

  private async ended(client: LanguageClient): Promise<void> {
    if (this.client !== client) return; // It was told already, or the end was wanted.
    this.client = undefined;
    const { attempt, isUp } = this;
    this.tell(ownStatus("starting", "The Weft server ended."));
    // What it said last may still be on its way.
    await Promise.race([this.processEnd, new Promise((resolve) => setTimeout(resolve, LAST_WORDS_WITHIN_MS))]);
    if (attempt !== this.attempt) return; // A person asked for a start meanwhile.
    const why = isUp
      ? "The Weft server ended."
      : `The Weft server did not start: ${this.lastWords || "it said nothing"}.`;
    const delayMs = this.backoff.failed(Date.now());
    if (delayMs === undefined) {
      this.log.error(`${why} It ended too often and is not started again.`);
      this.tell(ownStatus("error", `${why} It is not started again by itself.`));
      this.gaveUpEmitter.fire(why);
      return;
    }
    this.log.warn(`${why} It is started again in ${delayMs / 1000} s.`);
    this.tell(ownStatus("starting", `${why} It is started again in ${delayMs / 1000} s.`));
    this.pendingRestart = setTimeout(() => void this.start(), delayMs);
  }
}

/** The status while there is no server to ask. */
function ownStatus(kind: "starting" | "error", text: string): StatusResult {
  const actions =
    kind === "error"
      ? [
          { title: "Restart the server", action: "restart" as const },
          { title: "Show the log", action: "log" as const },
        ]
      : [];
  return {
    state: kind,
    kind,
    text,
    percent: null,
    actions,
    page: null,
    folders: [],
    files: 0,
    lines: 0,
    fragments: 0,
    model: "",
    modelReason: "",
    models: [],
    notes: [],
    reconciling: false,
    memoryMb: 0,
  };
}
