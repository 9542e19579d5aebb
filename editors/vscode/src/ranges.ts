// Conversion between ranges of VS Code and plain LSP ranges.

import * as vscode from "vscode";
import type { Range } from "./protocol";

export function toEditorRange({ start, end }: Range): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}

export function toLspRange({ start, end }: vscode.Range): Range {
  return {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
  };
}
