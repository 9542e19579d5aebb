// The settings that are sent to the server: those that the user set, without defaults.
//
// A default would override the `weft.toml` of the workspace. Knows no server and no VS Code API.

/** Settings of the extension that the server does not have. */
const OWN_KEYS = /^(enabled|server\..*|trace\..*|next_edits\.show|agents\.tools)$/;

/** The values of a setting by scope, as `WorkspaceConfiguration.inspect` returns them. */
export interface Inspected {
  readonly globalValue?: unknown;
  readonly workspaceValue?: unknown;
  readonly workspaceFolderValue?: unknown;
}

/** The names of the server's settings, without `weft.`, among those that package.json declares. */
export function serverKeys(declared: Iterable<string>): string[] {
  return [...declared]
    .filter((name) => name.startsWith("weft."))
    .map((name) => name.slice("weft.".length))
    .filter((name) => !OWN_KEYS.test(name));
}

/** The settings that the user set, nested as in `weft.toml`. The innermost scope wins. */
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
