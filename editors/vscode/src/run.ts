// Runs short programs with a time limit and returns their output.
//
// Callers pass a working directory outside the workspace: Python and its tools read files of the directory that they
// start in.

import { spawn } from "node:child_process";
import type { Answer } from "./locate";

const MAX_OUTPUT_CHARACTERS = 100_000;

export interface RunOptions {
  readonly cwd: string;
  readonly withinMs: number;
  readonly signal?: AbortSignal;
  readonly onLine?: (line: string) => void;
}

/** `code` is null when the program did not start, timed out or was aborted. */
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
      return (kept + text).slice(-MAX_OUTPUT_CHARACTERS);
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
