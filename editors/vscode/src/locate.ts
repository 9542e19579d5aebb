// Server discovery: finds the command that runs the Weft server.
//
// Runs `--version` of each candidate in order and takes the first that is Weft. Nothing inside an untrusted workspace is
// run, whether named by a path, a link or an environment. Owns the order, the checks and the reasons for rejection.
// Knows no editor: `Host` is its only interface.

import * as path from "node:path";

export const OLDEST_SERVER = "0.1.0";

/** On the Python Package Index, `weft` is an unrelated project. */
export const DISTRIBUTION = "weft-lsp";

/** The source of a server in the environment that `Weft: Install Server` creates. */
export const OWN_ENVIRONMENT = "the environment of the extension";

/** An installed program answers at once; uvx and pipx may have to download it first. */
const ANSWER_TIMEOUT_MS = 15_000;
const DOWNLOAD_TIMEOUT_MS = 120_000;

export interface Answer {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Host {
  /** The setting `weft.server.command`. */
  readonly command: readonly string[];
  /** The setting `weft.server.package`. */
  readonly package: string;
  /** The interpreter that the Python extension has selected. */
  readonly interpreter: string | undefined;
  /** The virtual environment of `Weft: Install Server`. */
  readonly ownEnvironment: string;
  readonly searchPath: string;
  readonly home: string;
  readonly isWindows: boolean;
  readonly isTrusted: boolean;
  readonly folders: readonly string[];
  isProgram(file: string): boolean;
  /** Resolves symbolic links; the same path on failure. */
  realPath(file: string): string;
  run(command: readonly string[], withinMs: number): Promise<Answer>;
}

export interface Found {
  readonly command: readonly string[];
  readonly version: string;
  /** Where it was found, for messages. */
  readonly source: string;
}

export interface Rejected {
  readonly source: string;
  readonly reason: string;
}

export interface Located {
  readonly found: Found | undefined;
  readonly rejected: readonly Rejected[];
}

interface Candidate {
  readonly source: string;
  readonly command: readonly string[];
  readonly withinMs: number;
}

/** The server to start, and the rejected candidates with reasons. */
export async function locate(host: Host): Promise<Located> {
  const rejected: Rejected[] = [];
  if (isOtherProject(host.package))
    rejected.push({ source: "the setting weft.server.package", reason: otherProjectMessage(host.package) });
  for (const { source, command, withinMs } of candidates(host)) {
    const program = resolveProgram(host, command[0] ?? "");
    if (program === undefined) {
      rejected.push({ source, reason: `The program ${command[0]} does not exist.` });
      continue;
    }
    const whole = [program, ...command.slice(1)];
    if (!host.isTrusted && whole.some((part) => isInsideWorkspace(host, part))) {
      rejected.push({ source, reason: "It is inside this workspace, which is not trusted." });
      continue;
    }
    const answer = await host.run([...whole, "--version"], withinMs);
    const version = /^weft (\d+\.\d+\.\d+\S*)\s*$/m.exec(answer.stdout)?.[1];
    if (answer.code !== 0 || version === undefined) {
      rejected.push({ source, reason: rejectionReason(answer) });
    } else if (isOlder(version, OLDEST_SERVER)) {
      rejected.push({ source, reason: `It is Weft ${version}; ${OLDEST_SERVER} or newer is required.` });
    } else {
      return { found: { command: whole, version, source }, rejected };
    }
  }
  return { found: undefined, rejected };
}

/** True for a requirement that asks a package index for the project `weft`. */
export function isOtherProject(requirement: string): boolean {
  return /^weft\s*($|[[<>=!~;])/i.test(requirement.trim());
}

export function otherProjectMessage(requirement: string): string {
  return `On the Python Package Index, ${requirement.trim()} is another project. Use ${DISTRIBUTION}.`;
}

/** What `Weft: Install Server` installs: the setting `weft.server.package`, else the server of the extension's version. */
export function packageToInstall(setting: string, extensionVersion: string): string {
  return setting.trim() || `${DISTRIBUTION}==${extensionVersion}`;
}

/** Whether the extension installed this server, and has been updated since. */
export function isOutdated(found: Found, setting: string, extensionVersion: string): boolean {
  return setting.trim() === "" && found.source === OWN_ENVIRONMENT && isOlder(found.version, extensionVersion);
}

/** Full path of a program on the search path; never one inside an untrusted workspace. */
export function findProgram(host: Host, ...names: string[]): string | undefined {
  return names
    .map((name) => resolveProgram(host, name))
    .find((program) => program !== undefined && (host.isTrusted || !isInsideWorkspace(host, program)));
}

function candidates(host: Host): Candidate[] {
  // Falling back to another server would hide a mistake in the setting.
  if (host.command.length > 0) {
    return [{ source: "the setting weft.server.command", command: host.command, withinMs: DOWNLOAD_TIMEOUT_MS }];
  }
  const local = (source: string, ...command: string[]): Candidate => ({ source, command, withinMs: ANSWER_TIMEOUT_MS });
  const installed = (directory: string) => path.join(directory, host.isWindows ? "weft.exe" : "weft");
  const found: Candidate[] = [];
  if (host.interpreter !== undefined)
    found.push(local("the active Python environment", host.interpreter, "-m", "weft"));
  const places = [...searchFolders(host), path.join(host.home, ".local", "bin")];
  for (const place of new Set(places)) {
    if (host.isProgram(installed(place))) found.push(local(installed(place), installed(place)));
  }
  const own = installed(path.join(host.ownEnvironment, host.isWindows ? "Scripts" : "bin"));
  if (host.isProgram(own)) found.push(local(OWN_ENVIRONMENT, own));
  if (host.package !== "" && !isOtherProject(host.package)) {
    const addRunner = (name: string, option: string, ...before: string[]) => {
      const program = resolveProgram(host, name);
      if (program === undefined) return;
      const command = [program, ...before, option, host.package, "weft"];
      found.push({ source: `${name} ${option} ${host.package}`, command, withinMs: DOWNLOAD_TIMEOUT_MS });
    };
    addRunner("uvx", "--from");
    addRunner("pipx", "--spec", "run");
  }
  return found;
}

/** Looks up a name on the search path. Relative paths are rejected: they may point into a workspace. */
function resolveProgram(host: Host, name: string): string | undefined {
  if (name.startsWith("~/")) name = path.join(host.home, name.slice(2));
  if (path.isAbsolute(name)) return host.isProgram(name) ? name : undefined;
  if (name === "" || name.includes("/") || name.includes("\\")) return undefined;
  const file = host.isWindows && path.extname(name) === "" ? `${name}.exe` : name;
  return searchFolders(host)
    .map((folder) => path.join(folder, file))
    .find((program) => host.isProgram(program));
}

function searchFolders(host: Host): string[] {
  return host.searchPath.split(host.isWindows ? ";" : ":").filter((folder) => path.isAbsolute(folder));
}

function isInsideWorkspace(host: Host, file: string): boolean {
  if (!path.isAbsolute(file)) return false;
  const names = [path.resolve(file), host.realPath(file)];
  const folders = host.folders.flatMap((folder) => [path.resolve(folder), host.realPath(folder)]);
  return names.some((name) => folders.some((folder) => isBelow(folder, name)));
}

function isBelow(folder: string, file: string): boolean {
  const relative = path.relative(folder, file);
  return relative === "" || (relative.split(path.sep)[0] !== ".." && !path.isAbsolute(relative));
}

function rejectionReason({ code, stdout, stderr }: Answer): string {
  if (code === null) return "It timed out.";
  const lastLine = (stderr.trim() || stdout.trim()).split("\n").at(-1)?.trim() ?? "";
  return lastLine === ""
    ? `It is not Weft (exit status ${code}).`
    : `Its output is not that of Weft: ${lastLine.slice(0, 200)}`;
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
