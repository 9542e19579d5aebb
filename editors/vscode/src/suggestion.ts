// Tracks a shown suggestion through typing and partial acceptance.
//
// VS Code has no event for accepting a word or a line. It is inferred from document changes: an insertion of several
// characters that the rest of the suggestion starts with. Lengths are UTF-16 units. Knows no editor.

export interface Candidate {
  readonly id: string;
  readonly text: string;
}

/** Accepted part of the candidate with this id: units since its start. */
export interface PartialAcceptance {
  readonly id: string;
  readonly acceptedLength: number;
}

/** Pairs that the editor closes: one typed key inserts two characters. */
const PAIRS = new Set(["()", "[]", "{}", "<>", '""', "''", "``"]);

export class ShownSuggestion {
  private length = 0;
  private isPartlyAccepted = false;
  private current: readonly Candidate[];

  /** `nSelected`: units at the start of each text that an item of the completion list inserts. */
  constructor(
    items: readonly Candidate[],
    private readonly nSelected = 0,
  ) {
    this.current = items.map(({ id, text }) => ({ id, text: withLineFeeds(text) }));
  }

  /** False when the suggestion is fully accepted or no longer matches the text. */
  get isActive(): boolean {
    return this.current.length > 0;
  }

  /**
   * Updates for a document change. `sinceStart` is the text from the start of the suggestion to the end of the insertion.
   */
  changed(sinceStart: string, inserted: string): PartialAcceptance | undefined {
    const written = withLineFeeds(sinceStart);
    this.isPartlyAccepted =
      isAcceptance(withLineFeeds(inserted)) && written.length > Math.max(this.length, this.nSelected);
    this.current = this.current.filter(({ text }) => text.length > written.length && text.startsWith(written));
    this.length = written.length;
    const first = this.current[0];
    return this.isPartlyAccepted && first !== undefined ? { id: first.id, acceptedLength: written.length } : undefined;
  }

  /** After a partial acceptance the rest stays shown, whatever the server answers meanwhile. */
  get staysShown(): boolean {
    return this.isActive && this.isPartlyAccepted;
  }

  /** The candidate whose rest is `text`, or whose whole text it is. */
  restOf(text: string, isWhole = false): Candidate | undefined {
    return this.current.find((item) => item.text.slice(isWhole ? 0 : this.length) === withLineFeeds(text));
  }
}

// One key may insert a line break with indentation, or a pair.
function isAcceptance(inserted: string): boolean {
  return inserted.length > 1 && inserted.trim() !== "" && !PAIRS.has(inserted);
}

function withLineFeeds(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
