import assert from "node:assert/strict";
import { realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { run } from "../src/run";

const node = (script: string) => [process.execPath, "-e", script];
const here = { cwd: realpathSync(tmpdir()), withinMs: 20_000 };

test("returns the output and the exit status of a program in its working directory", async () => {
  const lines: string[] = [];
  const script = "console.log(process.cwd()); console.error('oh'); process.exitCode = 3";
  const answer = await run(node(script), { ...here, onLine: (line) => lines.push(line) });
  assert.deepEqual(answer, { code: 3, stdout: `${here.cwd}\n`, stderr: "oh\n" });
  assert.deepEqual(lines.sort(), [here.cwd, "oh"].sort());
});

test("a missing program is a result, not an error", async () => {
  const { code, stderr } = await run(["/nowhere/weft"], here);
  assert.equal(code, null);
  assert.match(stderr, /ENOENT/);
});

test("a program that does not exit is killed by the time limit or the abort signal", async () => {
  const forever = node("setInterval(() => {}, 1000)");
  assert.equal((await run(forever, { ...here, withinMs: 50 })).code, null);
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 50);
  assert.equal((await run(forever, { ...here, signal: stop.signal })).code, null);
});
