// What the server writes for people, as read-only documents: why a completion, the status, the doctor's findings.
//
// The words and the links are the server's. Owns the documents and where a link leads. Being plain text they can be
// read, searched and heard as any file can.

import * as vscode from "vscode";
import type { DoctorResult, ExplainResult, PageLine, StatusResult } from "./protocol";
import type { Server } from "./server";

const SCHEME = "weft";

/** A language of its own, so that pages wrap their lines whatever else the user likes (`configurationDefaults`). */
const LANGUAGE = "weft-page";

type Ask = () => Promise<readonly PageLine[]>;

interface Page {
  readonly ask: Ask;
  lines: readonly PageLine[];
}

export class Pages implements vscode.TextDocumentContentProvider, vscode.DocumentLinkProvider, vscode.Disposable {
  private readonly pages = new Map<string, Page>();
  private readonly changeEmitter = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changeEmitter.event;
  private readonly registrations = [
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
    vscode.languages.registerDocumentLinkProvider({ scheme: SCHEME }, this),
    vscode.commands.registerCommand("weft.openPlace", openPlace),
  ];

  constructor(private readonly server: Server) {}

  /** Which fragments a completion at the cursor is given, and why. */
  async why(): Promise<void> {
    const isCode = (editor: vscode.TextEditor | undefined) => editor?.document.uri.scheme === "file";
    const editor = [vscode.window.activeTextEditor, ...vscode.window.visibleTextEditors].find(isCode);
    if (editor === undefined) {
      void vscode.window.showInformationMessage("Weft: put the cursor where the completion is, then ask why.");
      return;
    }
    const params = { textDocument: { uri: editor.document.uri.toString() }, position: editor.selection.active };
    await this.open("Why this completion", async () => {
      const answer = await this.server.request<ExplainResult | null>("weft/explain", params);
      return (
        answer?.page ?? [
          { text: "Weft does not know this document. It knows files on disk that are open in the editor." },
        ]
      );
    });
  }

  async status(): Promise<void> {
    await this.open("Weft status", async () => {
      const { page, text } = await this.server.request<StatusResult>("weft/status");
      return page ?? [{ text }];
    });
  }

  async doctor(): Promise<void> {
    await this.open("Weft doctor", async () => (await this.server.request<DoctorResult>("weft/doctor")).page);
  }

  /** Ask again for the page that is in front. */
  async refresh(): Promise<void> {
    const uri = vscode.window.activeTextEditor?.document.uri;
    const page = uri && this.pages.get(uri.toString());
    if (uri === undefined || page === undefined) return;
    page.lines = await linesOf(page.ask);
    this.changeEmitter.fire(uri);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const lines = this.pages.get(uri.toString())?.lines ?? [
      { text: "This page is from an earlier session. Ask for it again." },
    ];
    return lines.map(({ text }) => text).join("\n");
  }

  provideDocumentLinks(document: vscode.TextDocument): vscode.DocumentLink[] {
    const lines = this.pages.get(document.uri.toString())?.lines ?? [];
    return lines.flatMap(({ text, uri, range }, number) => {
      if (!uri) return [];
      const where = document
        .lineAt(number)
        .range.with(new vscode.Position(number, text.length - text.trimStart().length));
      const args = encodeURIComponent(JSON.stringify([uri, range ?? null]));
      const link = new vscode.DocumentLink(where, vscode.Uri.parse(`command:weft.openPlace?${args}`));
      link.tooltip = "Open these lines";
      return [link];
    });
  }

  dispose(): void {
    for (const registration of this.registrations) registration.dispose();
    this.changeEmitter.dispose();
  }

  private async open(title: string, ask: Ask): Promise<void> {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${title}` });
    const lines = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: `Weft: ${title}` },
      () => linesOf(ask),
    );
    this.pages.set(uri.toString(), { ask, lines });
    const isShown = vscode.workspace.textDocuments.some((document) => document.uri.toString() === uri.toString());
    if (isShown) this.changeEmitter.fire(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.languages.setTextDocumentLanguage(document, LANGUAGE);
    await vscode.window.showTextDocument(document, { viewColumn: columnOfPages(), preview: true });
  }
}

/** Pages share one place beside the code. */
function columnOfPages(): vscode.ViewColumn {
  const page = vscode.window.visibleTextEditors.find(({ document }) => document.uri.scheme === SCHEME);
  return page?.viewColumn ?? vscode.ViewColumn.Beside;
}

/** What went wrong is said where the page would stand. */
async function linesOf(ask: Ask): Promise<readonly PageLine[]> {
  try {
    return await ask();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return [{ text: message }, { text: "`Weft: Show Menu` has what helps." }];
  }
}

/** The lines that a link of a page leads to, beside the page. */
async function openPlace(uri: string, range: PageLine["range"] | null): Promise<void> {
  const file = vscode.Uri.parse(uri);
  if (file.scheme !== "file") return;
  const page = vscode.window.activeTextEditor?.viewColumn;
  const other = vscode.window.visibleTextEditors.find(
    ({ viewColumn, document }) => viewColumn !== page && document.uri.scheme !== SCHEME,
  );
  const selection =
    range && new vscode.Range(range.start.line, range.start.character, range.end.line, range.end.character);
  const options = { viewColumn: other?.viewColumn ?? vscode.ViewColumn.Beside, ...(selection && { selection }) };
  try {
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(file), options);
  } catch {
    void vscode.window.showWarningMessage(
      `Weft: ${file.fsPath} can't be opened. It may be gone since; refresh the page.`,
    );
  }
}
