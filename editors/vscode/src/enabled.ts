// The setting `weft.enabled`: automatic completions for the user, for one language or for one folder.
//
// Owns reading and changing the setting. Knows no server.

import * as vscode from "vscode";

export function isEnabled(document: vscode.TextDocument): boolean {
  return vscode.workspace.getConfiguration("weft", document).get<boolean>("enabled", true);
}

interface Choice extends vscode.QuickPickItem {
  readonly where: string;
  readonly turnsOn: boolean;
  readonly turn: () => Thenable<void>;
}

/** Asks for the scope, changes the setting and confirms it. */
export async function toggle(): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  const picked = await vscode.window.showQuickPick(choices(document), {
    title: "Weft: Automatic Completions",
    placeHolder: document === undefined ? "" : `Automatic completions are ${isEnabled(document) ? "on" : "off"} in this file.`,
  });
  if (picked === undefined) return;
  await picked.turn();
  const state = (isOn: boolean) => (isOn ? "on" : "off");
  const isOverridden = document !== undefined && isEnabled(document) !== picked.turnsOn;
  const exception = isOverridden ? ` In this file they are still ${state(!picked.turnsOn)}: a more specific setting overrides it.` : "";
  void vscode.window.showInformationMessage(
    `Weft: Automatic completions turned ${state(picked.turnsOn)} ${picked.where}.${exception}`,
  );
}

function choices(document: vscode.TextDocument | undefined): Choice[] {
  const everywhere = vscode.workspace.getConfiguration("weft", null);
  const isOnEverywhere = everywhere.inspect<boolean>("enabled")?.globalValue ?? true;
  const found = [
    choice(isOnEverywhere, "everywhere", "globe", (on) =>
      everywhere.update("enabled", on, vscode.ConfigurationTarget.Global),
    ),
  ];
  if (document === undefined) return found;
  const { languageId } = document;
  const inLanguage = vscode.workspace.getConfiguration("weft", { languageId });
  const isOnInLanguage = inLanguage.inspect<boolean>("enabled")?.globalLanguageValue ?? isOnEverywhere;
  found.push(
    choice(isOnInLanguage, `in ${languageId} files`, "code", (on) =>
      inLanguage.update("enabled", on, vscode.ConfigurationTarget.Global, true),
    ),
  );
  const folder = vscode.workspace.getWorkspaceFolder(document.uri);
  if (folder !== undefined) {
    const inFolder = vscode.workspace.getConfiguration("weft", folder.uri);
    found.push(
      choice(inFolder.get<boolean>("enabled", true), `in folder ${folder.name}`, "folder", (on) =>
        inFolder.update("enabled", on, vscode.ConfigurationTarget.WorkspaceFolder),
      ),
    );
  }
  return found;
}

function choice(isOn: boolean, where: string, icon: string, turn: (on: boolean) => Thenable<void>): Choice {
  return {
    where,
    turnsOn: !isOn,
    label: `Turn ${isOn ? "off" : "on"} ${where}`,
    description: `currently ${isOn ? "on" : "off"}`,
    iconPath: new vscode.ThemeIcon(icon),
    turn: () => turn(!isOn),
  };
}
