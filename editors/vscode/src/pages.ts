// Virtual documents with reports of the server: explanation of a completion, status, doctor.
//
// The text and the links come from the server. Owns the documents and opening their links. Plain text, so that search and
// screen readers work as in any file.

import * as vscode from "vscode";
import { describe } from "./errors";
import type { DoctorResult, ExplainResult, PageLine, StatusResult } from "./protocol";
import { toEditorRange } from "./ranges";
import type { Server } from "./server";

const SCHEME = "weft";

/** A language ID for `configurationDefaults` in package.json: pages wrap their lines. */
const LANGUAGE = "weft-page";

/** A line of the server, or a link of this extension. */
type Line = PageLine & { readonly command?: vscode.Command };

type Query = () => Promise<readonly Line[]>;

interface Place {
  readonly textDocument: { readonly uri: string };
  readonly position: { readonly line: number; readonly character: number };
}

interface Page {
  readonly query: Query;
  lines: readonly Line[];
}

export class Pages implements vscode.TextDocumentContentProvider, vscode.DocumentLinkProvider, vscode.Disposable {
  private readonly pages = new Map<string, Page>();
  private readonly changeEmitter = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changeEmitter.event;
  private readonly registrations = [
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
    vscode.languages.registerDocumentLinkProvider({ scheme: SCHEME }, this),
    vscode.commands.registerCommand("weft.openPlace", openLocation),
    vscode.commands.registerCommand("weft.showHidden", showHidden),
  ];

  constructor(private readonly server: Server) {}

  /** The completion at the cursor, why it is shown or hidden, and where it comes from. */
  async why(): Promise<void> {
    const isCode = (editor: vscode.TextEditor | undefined) => editor?.document.uri.scheme === "file";
    const editor = [vscode.window.activeTextEditor, ...vscode.window.visibleTextEditors].find(isCode);
    if (editor === undefined) {
      void vscode.window.showInformationMessage("Weft: No file is open. Put the cursor where the completion is, then run the command again.");
      return;
    }
    const params = { textDocument: { uri: editor.document.uri.toString() }, position: editor.selection.active };
    await this.open("Completion explanation", async () => {
      const answer = await this.server.request<ExplainResult | null>("weft/explain", params);
      if (answer === null) {
        return [{ text: "Weft does not index this document. It explains completions in files of the workspace." }];
      }
      const show = { title: "Show at the cursor", command: "weft.showHidden", arguments: [params] };
      const place = { uri: params.textDocument.uri, line: params.position.line };
      const explore = { title: "Open the page in the browser", command: "weft.explore", arguments: [place] };
      const isHidden = answer.text !== "" && answer.whyHidden !== "";
      return [
        ...answer.page,
        { text: "" },
        ...(isHidden ? [{ text: "Show it at the cursor", command: show }] : []),
        { text: "Explore what retrieval finds at this line", command: explore },
      ];
    });
  }

  /** A page of this extension. */
  async showLines(title: string, lines: readonly PageLine[]): Promise<void> {
    await this.open(title, async () => lines);
  }

  async status(): Promise<void> {
    await this.open("Weft status", async () => {
      const { page, text } = await this.server.request<StatusResult>("weft/status");
      const explore = { title: "Open the page in the browser", command: "weft.explore" };
      return [...(page ?? [{ text }]), { text: "" }, { text: "Explore the index", command: explore }];
    });
  }

  async doctor(): Promise<void> {
    await this.open("Weft doctor", async () => (await this.server.request<DoctorResult>("weft/doctor")).page);
  }

  /** Reloads the active page. */
  async refresh(): Promise<void> {
    const uri = vscode.window.activeTextEditor?.document.uri;
    const page = uri && this.pages.get(uri.toString());
    if (uri === undefined || page === undefined) return;
    page.lines = await linesOf(page.query);
    this.changeEmitter.fire(uri);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const lines = this.pages.get(uri.toString())?.lines ?? [
      { text: "This page is from an earlier session. Run its command again." },
    ];
    return lines.map(({ text }) => text).join("\n");
  }

  provideDocumentLinks(document: vscode.TextDocument): vscode.DocumentLink[] {
    const lines = this.pages.get(document.uri.toString())?.lines ?? [];
    return lines.flatMap(({ text, uri, range, command }, number) => {
      if (!uri && !command) return [];
      const where = document
        .lineAt(number)
        .range.with(new vscode.Position(number, text.length - text.trimStart().length));
      const args = encodeURIComponent(JSON.stringify(command ? (command.arguments ?? []) : [uri, range ?? null]));
      const target = vscode.Uri.parse(`command:${command?.command ?? "weft.openPlace"}?${args}`);
      const link = new vscode.DocumentLink(where, target);
      link.tooltip = command?.title ?? "Open lines";
      return [link];
    });
  }

  dispose(): void {
    for (const registration of this.registrations) registration.dispose();
    this.changeEmitter.dispose();
  }

  private async open(title: string, query: Query): Promise<void> {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${title}` });
    const lines = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: `Weft: ${title}` },
      () => linesOf(query),
    );
    this.pages.set(uri.toString(), { query, lines });
    const isShown = vscode.workspace.textDocuments.some((document) => document.uri.toString() === uri.toString());
    if (isShown) this.changeEmitter.fire(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.languages.setTextDocumentLanguage(document, LANGUAGE);
    await vscode.window.showTextDocument(document, { viewColumn: columnOfPages(), preview: true });
  }
}

/** All pages open in one editor column beside the code. */
function columnOfPages(): vscode.ViewColumn {
  const page = vscode.window.visibleTextEditors.find(({ document }) => document.uri.scheme === SCHEME);
  return page?.viewColumn ?? vscode.ViewColumn.Beside;
}

/** The lines of the page, or the error in their place. */
async function linesOf(query: Query): Promise<readonly Line[]> {
  try {
    return await query();
  } catch (error) {
    return [{ text: describe(error) }, { text: "Run `Weft: Show Menu` for the available actions." }];
  }
}

/** Requests a completion where one was explained: it is shown with any confidence. */
async function showHidden({ textDocument, position }: Place): Promise<void> {
  const uri = vscode.Uri.parse(textDocument.uri);
  const open = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === uri.toString());
  const document = open?.document ?? (await vscode.workspace.openTextDocument(uri));
  const editor = await vscode.window.showTextDocument(document, { viewColumn: open?.viewColumn });
  const at = new vscode.Position(position.line, position.character);
  editor.selection = new vscode.Selection(at, at);
  await vscode.commands.executeCommand("editor.action.inlineSuggest.trigger");
}

/** Opens the target of a link beside the page. */
async function openLocation(uri: string, range: PageLine["range"] | null): Promise<void> {
  const file = vscode.Uri.parse(uri);
  if (file.scheme !== "file") return;
  const page = vscode.window.activeTextEditor?.viewColumn;
  const other = vscode.window.visibleTextEditors.find(
    ({ viewColumn, document }) => viewColumn !== page && document.uri.scheme !== SCHEME,
  );
  const lines = range && toEditorRange(range);
  // The cursor is on the first of the lines.
  const selection = lines && new vscode.Selection(lines.end, lines.start);
  const viewColumn = other?.viewColumn ?? vscode.ViewColumn.Beside;
  try {
    const document = await vscode.workspace.openTextDocument(file);
    const editor = await vscode.window.showTextDocument(document, { viewColumn, ...(selection && { selection }) });
    if (selection) editor.selection = selection;
  } catch {
    void vscode.window.showWarningMessage(
      `Weft: ${vscode.workspace.asRelativePath(file)} could not be opened. It may have been moved or deleted; refresh the page.`,
    );
  }
}
