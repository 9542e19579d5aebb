// Short programs: run one, wait for its end within a limit, hand back what it said.
//
// Each runs in a folder of the extension: Python and its tools look at the folder they are started in, and a
// workspace may hold anything. Owns that care. Knows no program by name.

import { spawn } from "node:child_process";
import type { Answer } from "./locate";

const MOST_OUTPUT_CHARACTERS = 100_000;

export interface RunOptions {
  readonly cwd: string;
  readonly withinMs: number;
  readonly signal?: AbortSignal;
  readonly onLine?: (line: string) => void;
}

/** `code` is null for a program that did not start, took too long or was stopped. */
export function run(command: readonly string[], { cwd, withinMs, signal, onLine }: RunOptions): Promise<Answer> {
  const [program = "", ...args] = command;
  return new Promise((resolve) => {
    let [stdout, stderr] = ["", ""];
    const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"], signal, windowsHide: true });
    const limit = setTimeout(() => child.kill("SIGKILL"), withinMs);
    const done = (code: number | null) => {
      clearTimeout(limit);
      resolve({ code, stdout, stderr });
    };
    const keep = (kept: string, more: Buffer) => {
      const text = more.toString();
      for (const line of text.split(/\r?\n/)) if (line.trim() !== "") onLine?.(line);
      return (kept + text).slice(-MOST_OUTPUT_CHARACTERS);
    };
    child.stdout.on("data", (more: Buffer) => (stdout = keep(stdout, more)));
    child.stderr.on("data", (more: Buffer) => (stderr = keep(stderr, more)));
    child.on("error", (error) => {
      stderr += error.message;
      done(null);
    });
    child.on("close", done);
  });
}
