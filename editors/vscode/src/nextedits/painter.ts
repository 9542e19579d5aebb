// Draws a next edit in an editor with decorations, in the colours of the theme's diff editor.
//
// Owns the decoration types. Knows no server.

import * as vscode from "vscode";
import type { NextEditItem } from "../protocol";
import { toEditorRange } from "../ranges";
import { type AddedText, type Drawing, drawingOf, type Lines } from "./drawing";
import { explanationOf, markdownOf } from "./explanation";

/** What is drawn in an editor. */
export interface Picture {
  readonly item: NextEditItem;
  /** For the end of the edit's line; empty for none. */
  readonly keyHint: string;
}

export class Painter implements vscode.Disposable {
  private types = decorationTypes();
  private painted: vscode.TextEditor | undefined;
  private readonly listener = vscode.window.onDidChangeActiveColorTheme(() => {
    this.disposeTypes();
    this.types = decorationTypes();
    this.themeEmitter.fire();
  });
  private readonly themeEmitter = new vscode.EventEmitter<void>();
  /** Everything must be drawn again. */
  readonly onDidChangeTheme = this.themeEmitter.event;

  draw(editor: vscode.TextEditor, { item, keyHint }: Picture): void {
    this.clearOthers(editor);
    const { document } = editor;
    const drawing = drawingOf(item, linesOf(editor));
    const hoverMessage = hoverOf(item, document);
    const { removed, text, below, hover } = this.types;
    editor.setDecorations(removed, drawing.removed.map(toEditorRange));
    editor.setDecorations(text, textsOf(document, drawing, keyHint));
    editor.setDecorations(hover, [{ range: toEditorRange(drawing.hover), hoverMessage }]);
    const line = drawing.below;
    const between = line === undefined ? [] : [document.lineAt(Math.max(0, line)).range];
    editor.setDecorations(below, line === -1 ? [] : between);
    editor.setDecorations(this.types.above, line === -1 ? between : []);
    editor.setDecorations(this.types.far, []);
  }

  /** Draws a hint at the end of a line, for an edit that is out of sight. */
  drawHint(editor: vscode.TextEditor, line: number, contentText: string): void {
    this.clear();
    this.painted = editor;
    const { end } = editor.document.lineAt(line).range;
    const after = { ...QUIET, contentText, margin: "0 0 0 3ch" };
    editor.setDecorations(this.types.far, [{ range: new vscode.Range(end, end), renderOptions: { after } }]);
  }

  clear(): void {
    if (this.painted === undefined) return;
    for (const type of Object.values(this.types)) this.painted.setDecorations(type, []);
    this.painted = undefined;
  }

  dispose(): void {
    this.listener.dispose();
    this.themeEmitter.dispose();
    this.disposeTypes();
  }

  private clearOthers(editor: vscode.TextEditor): void {
    if (this.painted !== editor) this.clear();
    this.painted = editor;
  }

  private disposeTypes(): void {
    for (const type of Object.values(this.types)) type.dispose();
  }
}

const QUIET: vscode.ThemableDecorationAttachmentRenderOptions = {
  // Defined in all themes, unlike the colour of ghost text.
  color: new vscode.ThemeColor("editorCodeLens.foreground"),
  fontStyle: "italic",
};

/**
 * Styles in `textDecoration`, because a background of the public interface reaches under the text that is drawn at the end of
 * its range, as the highlight of a word's occurrences does. So removed text has its background in the line, and added text
 * has that of the editor below its own.
 */
const REMOVED = "line-through; background-color: var(--vscode-diffEditor-removedTextBackground)";
const REMOVED_IN_HIGH_CONTRAST = "line-through 2px var(--vscode-diffEditor-removedTextBorder)";
const ADDED = `none; background-image: ${["diffEditor-insertedTextBackground", "editor-background"]
  .map((name) => `linear-gradient(var(--vscode-${name}) 0 0)`)
  .join(", ")}`;

function isHighContrast(): boolean {
  const { HighContrast, HighContrastLight } = vscode.ColorThemeKind;
  return [HighContrast, HighContrastLight].includes(vscode.window.activeColorTheme.kind);
}

function decorationTypes() {
  const { ClosedClosed } = vscode.DecorationRangeBehavior;
  const marker = { isWholeLine: true, borderStyle: "solid", borderColor: new vscode.ThemeColor("editorGutter.addedBackground") };
  const ruler = {
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.modifiedForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  };
  return {
    removed: vscode.window.createTextEditorDecorationType({
      textDecoration: isHighContrast() ? REMOVED_IN_HIGH_CONTRAST : REMOVED,
      rangeBehavior: ClosedClosed,
    }),
    text: vscode.window.createTextEditorDecorationType({ rangeBehavior: ClosedClosed }),
    hover: vscode.window.createTextEditorDecorationType({ rangeBehavior: ClosedClosed, ...ruler }),
    below: vscode.window.createTextEditorDecorationType({ ...marker, borderWidth: "0 0 1px 0" }),
    above: vscode.window.createTextEditorDecorationType({ ...marker, borderWidth: "1px 0 0 0" }),
    far: vscode.window.createTextEditorDecorationType({ rangeBehavior: ClosedClosed }),
  };
}

function textsOf(document: vscode.TextDocument, { added, hover }: Drawing, keyHint: string): vscode.DecorationOptions[] {
  const texts: vscode.DecorationOptions[] = added.map((each) => at(each.line, each.character, { before: addedText(each) }));
  if (keyHint === "") return texts;
  const hint = { ...QUIET, contentText: keyHint, margin: "0 0 0 3ch" };
  const line = added[0]?.line ?? hover.start.line;
  const { end } = document.lineAt(line).range;
  // Two decorations at one position have no order; `before` and `after` of one have.
  const atEnd = texts.find(({ range }) => range.start.isEqual(end));
  if (atEnd === undefined) texts.push(at(line, end.character, { after: hint }));
  else atEnd.renderOptions = { ...atEnd.renderOptions, after: hint };
  return texts;
}

function at(
  line: number,
  character: number,
  renderOptions: vscode.DecorationInstanceRenderOptions,
): vscode.DecorationOptions {
  return { range: new vscode.Range(line, character, line, character), renderOptions };
}

function addedText({ text, padding }: AddedText): vscode.ThemableDecorationAttachmentRenderOptions {
  return {
    // Spaces at its ends would be collapsed.
    contentText: text.replaceAll(" ", "\u00a0"),
    color: new vscode.ThemeColor("editor.foreground"),
    backgroundColor: new vscode.ThemeColor("diffEditor.insertedTextBackground"),
    textDecoration: ADDED,
    ...(padding > 0 && { margin: `0 0 0 ${padding}ch` }),
    // Themes without high contrast do not define it.
    ...(isHighContrast() && { border: "1px solid", borderColor: new vscode.ThemeColor("diffEditor.insertedTextBorder") }),
  };
}

function hoverOf(item: NextEditItem, document: vscode.TextDocument): vscode.MarkdownString {
  // Without the place, which is here.
  const parts = explanationOf(item, (line) => document.lineAt(line).text).slice(1);
  return new vscode.MarkdownString(`${markdownOf(parts)}\n\nTab goes to the edit, then takes it. Esc refuses it.`);
}

function linesOf({ document, options }: vscode.TextEditor): Lines {
  return {
    count: document.lineCount,
    tabSize: typeof options.tabSize === "number" ? options.tabSize : 4,
    at: (line) => (line < document.lineCount ? document.lineAt(line).text : ""),
  };
}
