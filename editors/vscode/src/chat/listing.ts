// Converts the numbered lines in which Weft quotes files to fenced code, while an answer streams; folds become headings.
//
// For VS Code's own chat, whose Markdown would join these lines to a paragraph and has no folds. Owns the state of the open
// fence. Text is passed on as soon as it cannot be a quoted line or the tag of a fold.

const LISTING = /^ {4} *(?:\d+(?: {2}.*)?|\.\.\.)$/;
const FENCE = /^(?:(`{3,})[^`]*|(~{3,}).*)$/;

/** The tags of a folded part of an answer, each on a line of its own. The server lets no other HTML through. */
export const FOLD_START = /^<details><summary>([^<>&\\`]+)<\/summary>[ \t]*$/;
export const FOLD_END = /^<\/details>[ \t]*$/;

/** Removes the backslashes with which the server escapes Markdown; code has none. */
export function withoutEscapes(code: string): string {
  return code.replace(/\\(?=<[A-Za-z/!?]|!\[|`)|(?<=\])\\(?=[(:])/g, "");
}

export class ListingFences {
  private line = "";
  private nShown = 0;
  private isOpen = false;
  /** The marks of an open fence of the answer itself, whose content is unchanged. */
  private fence = "";

  feed(text: string): string {
    let out = "";
    const lines = (this.line + text).split("\n");
    this.line = lines.pop() ?? "";
    for (const line of lines) {
      out += this.convert(line) + "\n";
      this.nShown = 0;
    }
    if (this.fence || (!this.isOpen && !/^[ <]/.test(this.line))) {
      out += this.line.slice(this.nShown);
      this.nShown = this.line.length;
    }
    return out;
  }

  end(): string {
    const out = this.line ? this.convert(this.line) : "";
    return this.isOpen ? `${out}\n\`\`\`\n` : out;
  }

  private convert(line: string): string {
    const isListing = !this.fence && LISTING.test(line);
    if (this.fence) {
      const marks = line.trim();
      if (marks.length >= this.fence.length && marks === this.fence[0]!.repeat(marks.length)) this.fence = "";
    } else {
      const opened = FENCE.exec(line);
      this.fence = opened?.[1] ?? opened?.[2] ?? "";
    }
    const summary = this.fence ? null : FOLD_START.exec(line);
    if (summary || (!this.fence && FOLD_END.test(line))) line = summary ? `**${summary[1]}**` : "";
    const fence = isListing === this.isOpen ? "" : isListing ? "\n```\n" : "```\n\n";
    this.isOpen = isListing;
    return fence + (isListing ? withoutEscapes(line.slice(4)) : line.slice(this.nShown));
  }
}
