// Which of the settings go to the server: those that the user set, and no default.
//
// A default that is sent would hide what the workspace's own `weft.toml` says. Owns the choice and the shape.
// Knows no server; the editor's configuration comes in as a function.

/** Settings of the extension alone, which the server does not know. */
const OWN_KEYS = /^(enabled|server\..*|trace\..*)$/;

/** Where a setting may stand, as `WorkspaceConfiguration.inspect` tells. */
export interface Inspected {
  readonly globalValue?: unknown;
  readonly workspaceValue?: unknown;
  readonly workspaceFolderValue?: unknown;
}

/** The names of the server's settings, without `weft.`, from what package.json declares. */
export function serverKeys(declared: Iterable<string>): string[] {
  return [...declared]
    .filter((name) => name.startsWith("weft."))
    .map((name) => name.slice("weft.".length))
    .filter((name) => !OWN_KEYS.test(name));
}

/** What the user set, nested as in `weft.toml`. The innermost place wins. */
export function explicitSettings(
  keys: Iterable<string>,
  inspect: (key: string) => Inspected | undefined,
): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  for (const key of keys) {
    const found = inspect(key);
    const value = found?.workspaceFolderValue ?? found?.workspaceValue ?? found?.globalValue;
    if (value !== undefined && value !== null) put(settings, key.split("."), value);
  }
  return settings;
}

function put(table: Record<string, unknown>, [first, ...rest]: string[], value: unknown): void {
  if (first === undefined) return;
  if (rest.length === 0) table[first] = value;
  else put((table[first] ??= {}) as Record<string, unknown>, rest, value);
}
