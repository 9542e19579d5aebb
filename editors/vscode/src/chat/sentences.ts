// Splits a streaming answer into whole sentences for the live region that screen readers announce.
//
// Owns what was announced already. Knows no document.

const END = /[.!?:](?=\s)|\n/g;

export class Sentences {
  private announced = "";

  /**
   * The new whole sentences of `text`; with `isWhole`, all the rest. Markup that becomes complete changes text that was
   * announced: then it continues at the last sentence that is the same.
   */
  next(text: string, isWhole: boolean): string {
    if (!text.startsWith(this.announced)) {
      let same = 0;
      while (text[same] === this.announced[same]) same += 1;
      this.announced = text.slice(0, lastEnd(text.slice(0, same)));
    }
    const start = this.announced.length;
    const end = isWhole ? text.length : start + lastEnd(text.slice(start));
    this.announced = text.slice(0, end);
    return text.slice(start, end).trim();
  }
}

/** The end of the last whole sentence; 0 when there is none. */
function lastEnd(text: string): number {
  let end = 0;
  for (const found of text.matchAll(END)) end = found.index + 1;
  return end;
}
