// A streamed answer as common Markdown: the lines of files that Weft quotes by number become fenced code.
//
// Owns the fence that is open. For hosts that render Markdown by themselves (VS Code's chat), where quoted lines would
// flow together. Text goes on as soon as it cannot be such a line.

const LISTING = /^ {4} *(?:\d+(?: {2}.*)?|\.\.\.)$/;
const FENCE = /^ {0,3}(?:```|~~~)/;

export class ListingFences {
  private line = "";
  private nShown = 0;
  private isOpen = false;
  /** Inside a fence of the answer itself, where everything stays as it is. */
  private isInside = false;

  feed(text: string): string {
    let out = "";
    const lines = (this.line + text).split("\n");
    this.line = lines.pop() ?? "";
    for (const line of lines) {
      out += this.whole(line) + "\n";
      this.nShown = 0;
    }
    if (this.isInside || (!this.isOpen && !this.line.startsWith(" "))) {
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
    if (FENCE.test(line) && !this.isOpen) this.isInside = !this.isInside;
    const isListing = !this.isInside && LISTING.test(line);
    const fence = isListing === this.isOpen ? "" : isListing ? "\n```\n" : "```\n\n";
    this.isOpen = isListing;
    return fence + (isListing ? line.slice(4) : line.slice(this.nShown));
  }
}
