// One suggestion while a person types along, or takes it piece by piece.
//
// VS Code tells no extension that a word or a line of a suggestion was taken. It shows in the document: more than one
// character arrives at once, and it is how the rest of the suggestion begins. Owns that reading, and that the rest of
// a suggestion is still the same one. Lengths are UTF-16 units. Knows no editor.

export interface OfferedItem {
  readonly id: string;
  readonly text: string;
}

/** Taken by now of the item with this id: so many units in all. */
export interface Taken {
  readonly id: string;
  readonly acceptedLength: number;
}

/** What an editor inserts together with a typed key: the other half of a pair. */
const PAIRS = new Set(["()", "[]", "{}", "<>", '""', "''", "``"]);

export class Offer {
  private length = 0;
  private isPartlyTaken = false;
  private current: readonly OfferedItem[];

  constructor(items: readonly OfferedItem[]) {
    this.current = items.map(({ id, text }) => ({ id, text: withLineFeeds(text) }));
  }

  /** False when nothing of it is left to take, or something else was written. */
  get isOpen(): boolean {
    return this.current.length > 0;
  }

  /**
   * After a change of the document. `sinceStart` is what stands there from where the offer began to the end of what
   * was inserted.
   */
  changed(sinceStart: string, inserted: string): Taken | undefined {
    const written = withLineFeeds(sinceStart);
    this.isPartlyTaken = isTakenAtOnce(withLineFeeds(inserted)) && written.length > this.length;
    this.current = this.current.filter(({ text }) => text.length > written.length && text.startsWith(written));
    this.length = written.length;
    const first = this.current[0];
    return this.isPartlyTaken && first !== undefined ? { id: first.id, acceptedLength: written.length } : undefined;
  }

  /** Who takes a piece goes on seeing the rest, whatever else is offered there meanwhile. */
  get staysShown(): boolean {
    return this.isOpen && this.isPartlyTaken;
  }

  /** The item that `text` is the rest of. */
  restOf(text: string): OfferedItem | undefined {
    return this.current.find((item) => item.text.slice(this.length) === withLineFeeds(text));
  }
}

// A new line with its indentation, or a pair, is what an editor makes of one key.
function isTakenAtOnce(inserted: string): boolean {
  return inserted.length > 1 && inserted.trim() !== "" && !PAIRS.has(inserted);
}

function withLineFeeds(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
