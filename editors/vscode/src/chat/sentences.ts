// An answer in whole sentences, for screen readers: they would stammer if they read each piece as it comes.
//
// Owns how much was said already. Knows no document.

const END = /[.!?:](?=\s)|\n/g;

export class Sentences {
  private nSaid = 0;

  /** What can be said now of a text that only grew since the last call; with `isWhole`, all the rest. */
  next(text: string, isWhole: boolean): string {
    if (text.length < this.nSaid) this.nSaid = 0;
    let end = isWhole ? text.length : this.nSaid;
    if (!isWhole) for (const found of text.slice(this.nSaid).matchAll(END)) end = this.nSaid + found.index + 1;
    const said = text.slice(this.nSaid, end).trim();
    this.nSaid = end;
    return said;
  }
}
