// Which command runs the Weft server here.
//
// Candidates are asked for their version one after the other, and the first that answers as Weft is taken.
// Nothing inside a workspace that is not trusted is ever run, be it named by a path, a link or an environment.
// Owns the order, the questions and the refusals. Knows no editor: everything around it comes in as `Surroundings`.

import * as path from "node:path";

export const OLDEST_SERVER = "0.1.0";

/** On the Python package index, `weft` is another project. */
export const DISTRIBUTION = "weft-lsp";

/** A program on this machine answers at once; one that a tool has to fetch first takes its time. */
const ANSWER_WITHIN_MS = 15_000;
const FETCHED_WITHIN_MS = 120_000;

export interface Answer {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Surroundings {
  /** The setting `weft.server.command`. */
  readonly command: readonly string[];
  /** The setting `weft.server.package`. */
  readonly package: string;
  /** Python of the active environment, where an extension tells it. */
  readonly interpreter: string | undefined;
  /** Where the extension installs a server by itself. */
  readonly ownEnvironment: string;
  readonly searchPath: string;
  readonly home: string;
  readonly isWindows: boolean;
  readonly isTrusted: boolean;
  readonly folders: readonly string[];
  isProgram(file: string): boolean;
  /** With links followed; the same path when it cannot be told. */
  realPath(file: string): string;
  run(command: readonly string[], withinMs: number): Promise<Answer>;
}

export interface Found {
  readonly command: readonly string[];
  readonly version: string;
  /** Where it was found, for people. */
  readonly source: string;
}

export interface Refused {
  readonly source: string;
  readonly reason: string;
}

export interface Located {
  readonly found: Found | undefined;
  readonly refused: readonly Refused[];
}

interface Candidate {
  readonly source: string;
  readonly command: readonly string[];
  readonly withinMs: number;
}

/** The server to start. Without one, `refused` says what was tried and what was wrong with it. */
export async function locate(here: Surroundings): Promise<Located> {
  const refused: Refused[] = [];
  if (isOtherProject(here.package))
    refused.push({ source: "the setting weft.server.package", reason: otherProject(here.package) });
  for (const { source, command, withinMs } of candidates(here)) {
    const program = resolveProgram(here, command[0] ?? "");
    if (program === undefined) {
      refused.push({ source, reason: `There is no program ${command[0]}.` });
      continue;
    }
    const whole = [program, ...command.slice(1)];
    if (!here.isTrusted && whole.some((part) => isInsideWorkspace(here, part))) {
      refused.push({ source, reason: "It lies in this workspace, which is not trusted." });
      continue;
    }
    const answer = await here.run([...whole, "--version"], withinMs);
    const version = /^weft (\d+\.\d+\.\d+\S*)\s*$/m.exec(answer.stdout)?.[1];
    if (answer.code !== 0 || version === undefined) {
      refused.push({ source, reason: whatWentWrong(answer) });
    } else if (isOlder(version, OLDEST_SERVER)) {
      refused.push({ source, reason: `It is Weft ${version}; ${OLDEST_SERVER} or newer is needed.` });
    } else {
      return { found: { command: whole, version, source }, refused };
    }
  }
  return { found: undefined, refused };
}

/** True for a requirement that asks a package index for the project `weft`. */
export function isOtherProject(requirement: string): boolean {
  return /^weft\s*($|[[<>=!~;])/i.test(requirement.trim());
}

export function otherProject(requirement: string): string {
  return `On the package index ${requirement.trim()} is another project. Write ${DISTRIBUTION}.`;
}

/** Full path of a program of the search path, for who installs. Never one of a workspace that is not trusted. */
export function findProgram(here: Surroundings, ...names: string[]): string | undefined {
  return names
    .map((name) => resolveProgram(here, name))
    .find((program) => program !== undefined && (here.isTrusted || !isInsideWorkspace(here, program)));
}

function candidates(here: Surroundings): Candidate[] {
  // Who names a command wants that one; another in its place would hide the mistake in it.
  if (here.command.length > 0) {
    return [{ source: "the setting weft.server.command", command: here.command, withinMs: FETCHED_WITHIN_MS }];
  }
  const local = (source: string, ...command: string[]): Candidate => ({ source, command, withinMs: ANSWER_WITHIN_MS });
  const installed = (directory: string) => path.join(directory, here.isWindows ? "weft.exe" : "weft");
  const found: Candidate[] = [];
  if (here.interpreter !== undefined)
    found.push(local("the active Python environment", here.interpreter, "-m", "weft"));
  const places = [...searchFolders(here), path.join(here.home, ".local", "bin")];
  for (const place of new Set(places)) {
    if (here.isProgram(installed(place))) found.push(local(installed(place), installed(place)));
  }
  const own = installed(path.join(here.ownEnvironment, here.isWindows ? "Scripts" : "bin"));
  if (here.isProgram(own)) found.push(local("what the extension installed", own));
  if (here.package !== "" && !isOtherProject(here.package)) {
    const fetched = (name: string, option: string, ...before: string[]) => {
      const program = resolveProgram(here, name);
      if (program === undefined) return;
      const command = [program, ...before, option, here.package, "weft"];
      found.push({ source: `${name} ${option} ${here.package}`, command, withinMs: FETCHED_WITHIN_MS });
    };
    fetched("uvx", "--from");
    fetched("pipx", "--spec", "run");
  }
  return found;
}

/** A name is looked for on the search path; relative paths are no answer, since they may lead into a workspace. */
function resolveProgram(here: Surroundings, name: string): string | undefined {
  if (name.startsWith("~/")) name = path.join(here.home, name.slice(2));
  if (path.isAbsolute(name)) return here.isProgram(name) ? name : undefined;
  if (name === "" || name.includes("/") || name.includes("\\")) return undefined;
  const file = here.isWindows && path.extname(name) === "" ? `${name}.exe` : name;
  return searchFolders(here)
    .map((folder) => path.join(folder, file))
    .find((program) => here.isProgram(program));
}

function searchFolders(here: Surroundings): string[] {
  return here.searchPath.split(here.isWindows ? ";" : ":").filter((folder) => path.isAbsolute(folder));
}

function isInsideWorkspace(here: Surroundings, file: string): boolean {
  if (!path.isAbsolute(file)) return false;
  const names = [path.resolve(file), here.realPath(file)];
  const folders = here.folders.flatMap((folder) => [path.resolve(folder), here.realPath(folder)]);
  return names.some((name) => folders.some((folder) => isBelow(folder, name)));
}

function isBelow(folder: string, file: string): boolean {
  const way = path.relative(folder, file);
  return way === "" || (way.split(path.sep)[0] !== ".." && !path.isAbsolute(way));
}

function whatWentWrong({ code, stdout, stderr }: Answer): string {
  if (code === null) return "It did not answer in time.";
  const said = (stderr.trim() || stdout.trim()).split("\n").at(-1)?.trim() ?? "";
  return said === ""
    ? `It is not Weft (exit status ${code}).`
    : `It did not answer as Weft does, but: ${said.slice(0, 200)}`;
}

function isOlder(version: string, than: string): boolean {
  const numbers = (text: string) => text.split(/[.+-]/).map((part) => Number.parseInt(part, 10) || 0);
  const [left, right] = [numbers(version), numbers(than)];
  for (let i = 0; i < 3; i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
