// Finds the locations (`path:first-last`) in a text that the server cites.
//
// Owns the matching of a location with its citation. Knows no document and no editor: a link is the index of a citation.

/** The part of a citation that matching needs; `folder` is empty in a window with one folder. */
export interface Cited {
  place: string;
  folder: string;
  uri?: string | null;
}

export type Piece = string | { text: string; citation: number };

/** Splits the text into locations with a citation that can be opened, and the text between them. */
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

/** Several folders may have the same path; then the name or the path of the folder precedes the location. */
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
