// Lifecycle of the Weft server process and its client: one for all folders of the window.
//
// Owns discovery, start, restart and the last status. A server that exits is restarted with exponential backoff, up to a
// limit. Knows no completions, chat or pages: they use `request`.

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
import { Client, spawnProcess } from "./client";
import { type Found, type Located, locate } from "./locate";
import type { SlashCommand, StatusResult } from "./protocol";
import { explicitSettings, serverKeys } from "./settings";
import { readHost } from "./host";

/** The server answers `initialize` before it reads any file. */
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 3_000;
/** Before its exit the server saves the index and the statistics. */
const EXIT_TIMEOUT_MS = 30_000;
const STDERR_TIMEOUT_MS = 1_000;

export class Server implements vscode.Disposable {
  /** Set before the first start. */
  middleware: Middleware = {};
  /** Undefined while no server runs. */
  client: LanguageClient | undefined;
  status: StatusResult = localStatus("starting", "The Weft server has not started yet.");

  private readonly statusEmitter = new vscode.EventEmitter<StatusResult>();
  readonly onStatus = this.statusEmitter.event;
  private readonly foundEmitter = new vscode.EventEmitter<Found>();
  /** A server was found and is starting. */
  readonly onFound = this.foundEmitter.event;
  private readonly notFoundEmitter = new vscode.EventEmitter<Located>();
  /** No server was found; the event has the rejected candidates. */
  readonly onNotFound = this.notFoundEmitter.event;
  private readonly gaveUpEmitter = new vscode.EventEmitter<string>();
  /** The server exited too often and is not restarted; the event has the reason. */
  readonly onGaveUp = this.gaveUpEmitter.event;

  private readonly backoff = new Backoff();
  private process: ChildProcess | undefined;
  private processEnd: Promise<unknown> = Promise.resolve();
  private lastStderrLine = "";
  private isInitialized = false;
  private pendingRestart: NodeJS.Timeout | undefined;
  // Increases with each start and stop, so that an older start that is still running has no effect.
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
    const isOutdated = () => attempt !== this.attempt;
    clearTimeout(this.pendingRestart);
    this.setStatus(localStatus("starting", "Searching for the Weft server."));
    const located = await locate(await readHost(this.context));
    if (isOutdated()) return;
    for (const { source, reason } of located.rejected) this.log.info(`Rejected ${source}: ${reason}`);
    const { found } = located;
    if (found === undefined) {
      this.setStatus(localStatus("error", "No Weft server was found. Install a server, or choose an installed one."));
      this.notFoundEmitter.fire(located);
      return;
    }
    this.log.info(`Starting Weft ${found.version} from ${found.source}: ${found.command.join(" ")}`);
    this.setStatus(localStatus("starting", "The Weft server is starting."));
    this.foundEmitter.fire(found);
    const client = this.connect(found.command);
    this.client = client;
    this.backoff.started(Date.now());
    const timeout = setTimeout(() => this.client === client && this.process?.kill("SIGKILL"), START_TIMEOUT_MS);
    try {
      await client.start();
      this.isInitialized = true;
    } catch (error) {
      this.log.error(`The server did not start: ${error}`);
      void this.handleExit(client);
    } finally {
      clearTimeout(timeout);
    }
  }

  async stop(): Promise<void> {
    this.attempt++;
    clearTimeout(this.pendingRestart);
    const { client, process } = this;
    this.client = undefined;
    if (client === undefined) return;
    this.setStatus(localStatus("starting", "The Weft server was stopped."));
    setTimeout(() => process?.kill("SIGKILL"), EXIT_TIMEOUT_MS).unref();
    try {
      await client.dispose(STOP_TIMEOUT_MS);
    } catch (error) {
      this.log.warn(`The server did not answer \`shutdown\` in time: ${error}`);
      process?.stdin?.destroy(); // a server that only is slow exits at the end of its input
    }
  }

  /** Restarts at once, whatever the backoff. */
  async restart(): Promise<void> {
    this.backoff.reset();
    await this.stop();
    await this.start();
  }

  /** Waits while a server is searched, started or restarted: a minute at most, or until `token` is cancelled. */
  async whenStarted(token: CancellationToken): Promise<void> {
    const isPending = () => this.client === undefined && this.status.kind === "starting" && !token.isCancellationRequested;
    if (!isPending()) return;
    await new Promise<void>((resolve) => {
      const check = () => {
        if (isPending()) return;
        done();
      };
      const done = () => {
        clearTimeout(limit);
        for (const listener of listeners) listener.dispose();
        resolve();
      };
      const limit = setTimeout(done, START_TIMEOUT_MS);
      const listeners = [this.onStatus(check), token.onCancellationRequested(check)];
    });
  }

  /** Rejects with the status text when no server runs. */
  async request<R>(method: string, params?: object, token?: CancellationToken): Promise<R> {
    const client = this.client;
    if (client === undefined) throw new Error(this.status.text);
    return client.sendRequest<R>(method, params, token);
  }

  /** Does nothing when no server runs. */
  async notify(method: string, params: object): Promise<void> {
    if (this.client?.isRunning()) await this.client.sendNotification(method, params);
  }

  /** Listens to `$/progress` with this token. */
  onProgress(token: string | number, handler: (value: unknown) => void): vscode.Disposable {
    return this.client?.onProgress(new ProgressType<unknown>(), token, handler) ?? new vscode.Disposable(() => {});
  }

  dispose(): void {
    void this.stop();
    for (const emitter of [this.statusEmitter, this.notFoundEmitter, this.gaveUpEmitter]) emitter.dispose();
  }

  private setStatus(status: StatusResult): void {
    this.status = status;
    this.statusEmitter.fire(status);
  }

  private connect([command = "", ...args]: readonly string[]): LanguageClient {
    const isShared = vscode.workspace.getConfiguration("weft").get<boolean>("server.shared", false);
    const settings = () => this.settings();
    const options: LanguageClientOptions = {
      // Not the schemes of read-only documents, such as `git`.
      documentSelector: ["file", "untitled", "vscode-notebook-cell"].map((scheme) => ({ scheme })),
      outputChannel: this.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: settings,
      // `handleExit` reports both.
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          void this.handleExit(client);
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
    // Outside the workspace: Python would import modules from its working directory.
    const cwd = this.context.globalStorageUri.fsPath;
    // Detached, so that the library does not kill the process two seconds after `shutdown`; `stop` limits its exit.
    const client = new Client(async () => ({ process: await this.run(command, serve, cwd), detached: true }), options);
    client.onNotification("weft/didChangeStatus", (status: StatusResult) => {
      if (this.client === client) this.setStatus(status);
    });
    return client;
  }

  private async run(command: string, args: readonly string[], cwd: string): Promise<ChildProcess> {
    [this.isInitialized, this.lastStderrLine, this.process] = [false, "", undefined];
    const child = await spawnProcess(command, args, cwd);
    child.stderr?.on("data", (more: Buffer) => (this.lastStderrLine = more.toString().trim().split("\n").at(-1) ?? ""));
    this.processEnd = new Promise((resolve) => child.once("close", resolve));
    this.process = child;
    return child;
  }

  private settings(): Record<string, unknown> {
    const sections: { properties?: object }[] = [this.context.extension.packageJSON.contributes.configuration].flat();
    const keys = serverKeys(sections.flatMap((section) => Object.keys(section.properties ?? {})));
    // As with `weft.toml`, the settings of the first folder apply to all.
    const configuration = vscode.workspace.getConfiguration(
      "weft",
      vscode.workspace.workspaceFolders?.[0]?.uri ?? null,
    );
    return explicitSettings(keys, (key) => configuration.inspect(key));
  }

  private async handleExit(client: LanguageClient): Promise<void> {
    if (this.client !== client) return; // Already handled, or stopped on purpose.
    this.client = undefined;
    const { attempt, isInitialized } = this;
    this.setStatus(localStatus("starting", "The Weft server exited."));
    // Its last output may still arrive.
    await Promise.race([this.processEnd, new Promise((resolve) => setTimeout(resolve, STDERR_TIMEOUT_MS))]);
    if (attempt !== this.attempt) return; // Restarted meanwhile.
    const reason = isInitialized
      ? "The Weft server exited."
      : `The Weft server failed to start: ${this.lastStderrLine || "no error output"}.`;
    const delayMs = this.backoff.failed(Date.now());
    if (delayMs === undefined) {
      this.log.error(`${reason} The restart limit is reached.`);
      this.setStatus(localStatus("error", `${reason} Automatic restarts have stopped.`));
      this.gaveUpEmitter.fire(reason);
      return;
    }
    this.log.warn(`${reason} Restarting in ${delayMs / 1000} s.`);
    this.setStatus(localStatus("starting", `${reason} Restarting in ${delayMs / 1000} s.`));
    this.pendingRestart = setTimeout(() => void this.start(), delayMs);
  }
}

/** The status while no server runs. */
function localStatus(kind: "starting" | "error", text: string): StatusResult {
  const actions =
    kind === "error"
      ? [
          { title: "Restart Server", action: "restart" as const },
          { title: "Show Log", action: "log" as const },
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
