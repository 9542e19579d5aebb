// A streamed answer as common Markdown: the lines of files that Weft quotes by number become fenced code.
//
// Owns the fence that is open. For hosts that render Markdown by themselves (VS Code's chat), where quoted lines would
// flow together. Text goes on as soon as it cannot be such a line.

const LISTING = /^ {4} *(?:\d+(?: {2}.*)?|\.\.\.)$/;
const FENCE = /^(?:(`{3,})[^`]*|(~{3,}).*)$/;

/** Signs that the server put a backslash before, so that nothing acts in Markdown: in code they stand alone. */
export function withoutEscapes(code: string): string {
  return code.replace(/\\(?=<[A-Za-z/!?]|!\[|`)|(?<=\])\\(?=[(:])/g, "");
}

export class ListingFences {
  private line = "";
  private nShown = 0;
  private isOpen = false;
  /** The marks of a fence of the answer itself, in which everything stays as it is. */
  private fence = "";

  feed(text: string): string {
    let out = "";
    const lines = (this.line + text).split("\n");
    this.line = lines.pop() ?? "";
    for (const line of lines) {
      out += this.whole(line) + "\n";
      this.nShown = 0;
    }
    if (this.fence || (!this.isOpen && !this.line.startsWith(" "))) {
      out += this.line.slice(this.nShown);
      this.nShown = this.line.length;
    }
    return out;
  }

  end(): string {
    const out = this.line ? this.whole(this.line) : "";
    return this.isOpen ? `${out}\n\`\`\`\n` : out;
  }

  private whole(line: string): string {
    const isListing = !this.fence && LISTING.test(line);
    if (this.fence) {
      const marks = line.trim();
      if (marks.length >= this.fence.length && marks === this.fence[0]!.repeat(marks.length)) this.fence = "";
    } else {
      const opened = FENCE.exec(line);
      this.fence = opened?.[1] ?? opened?.[2] ?? "";
    }
    const fence = isListing === this.isOpen ? "" : isListing ? "\n```\n" : "```\n\n";
    this.isOpen = isListing;
    return fence + (isListing ? withoutEscapes(line.slice(4)) : line.slice(this.nShown));
  }
}
