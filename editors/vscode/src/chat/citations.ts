// Places in a text (`path:first-last`) as links to what the server looked up, and nothing else as a link.
//
// Owns how a place in the text finds its citation. Knows no document and no editor: a link is the citation's number.

/** What of a citation matters here; `folder` is empty where there is one workspace folder. */
export interface Cited {
  place: string;
  folder: string;
  uri?: string | null;
}

export type Piece = string | { text: string; citation: number };

/** The text in pieces: places that have a citation one can open, and what stands between them. */
export function split(text: string, citations: readonly Cited[]): Piece[] {
  const known = citations.filter((each) => each.uri != null).map((each) => each.place);
  if (!known.length) return text ? [text] : [];
  const longestFirst = [...new Set(known)].sort((a, b) => b.length - a.length).map(escaped);
  const places = new RegExp(`(?<![\\w./\\\\-])(?:${longestFirst.join("|")})(?!\\d)`, "g");
  const pieces: Piece[] = [];
  let end = 0;
  for (const found of text.matchAll(places)) {
    if (found.index > end) pieces.push(text.slice(end, found.index));
    pieces.push({ text: found[0], citation: citationOf(found[0], text.slice(0, found.index), citations) });
    end = found.index + found[0].length;
  }
  if (end < text.length) pieces.push(text.slice(end));
  return pieces;
}

/** In several folders the same path may be there twice; then the folder's name stands before it. */
function citationOf(place: string, before: string, citations: readonly Cited[]): number {
  const fits = (each: Cited): boolean => each.place === place && each.uri != null;
  const follows = (name: string | undefined): boolean => Boolean(name) && before.endsWith(`${name}: `);
  const whole = citations.findIndex((each) => fits(each) && follows(each.folder));
  if (whole >= 0) return whole;
  const named = citations.findIndex((each) => fits(each) && follows(each.folder.split(/[\\/]/).pop()));
  return named >= 0 ? named : citations.findIndex(fits);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
