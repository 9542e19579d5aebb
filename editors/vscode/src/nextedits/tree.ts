// The list of follow-up edits: by what they follow from, then by file.
//
// Owns the order and the checkboxes. Knows no VS Code API.

import type { NextEditItem } from "../protocol";
import { keyOf } from "./offers";

export interface CauseNode {
  readonly kind: "cause";
  readonly id: string;
  /** What the edits follow from. */
  readonly label: string;
  readonly children: readonly FileNode[];
}

export interface FileNode {
  readonly kind: "file";
  readonly id: string;
  readonly uri: string;
  readonly path: string;
  readonly children: readonly EditNode[];
}

export interface EditNode {
  readonly kind: "edit";
  readonly id: string;
  readonly item: NextEditItem;
}

export type Node = CauseNode | FileNode | EditNode;

/** In the order of the edits: best first; edits of a file by line. */
export function treeOf(items: readonly NextEditItem[]): CauseNode[] {
  return [...groupBy(items, ({ group }) => group)].map(([group, edits]) => ({
    kind: "cause",
    id: group,
    label: labelOf(edits),
    children: [...groupBy(edits, ({ textDocument }) => textDocument.uri)].map(([uri, inFile]) => ({
      kind: "file",
      id: JSON.stringify([group, uri]),
      uri,
      path: inFile[0]?.path ?? "",
      children: [...inFile]
        .sort((left, right) => left.range.start.line - right.range.start.line)
        .map((item) => ({ kind: "edit", id: keyOf(item), item })),
    })),
  }));
}

export function editsOf(node: Node): readonly NextEditItem[] {
  return node.kind === "edit" ? [node.item] : node.children.flatMap(editsOf);
}

/** What the user checked and unchecked; other edits are checked unless they are marked. */
export class Checks {
  private readonly changed = new Map<string, boolean>();

  isChecked(node: Node): boolean {
    return editsOf(node).every((item) => this.changed.get(keyOf(item)) ?? !item.isMarked);
  }

  /** Sets an edit, or all edits of a file or a cause. */
  set(node: Node, isChecked: boolean): void {
    for (const item of editsOf(node)) this.changed.set(keyOf(item), isChecked);
  }

  checked(items: readonly NextEditItem[]): NextEditItem[] {
    return items.filter((item) => this.isChecked({ kind: "edit", id: keyOf(item), item }));
  }

  /** Forgets the edits that are not among `items`. */
  keep(items: readonly NextEditItem[]): void {
    const keys = new Set(items.map(keyOf));
    for (const key of this.changed.keys()) if (!keys.has(key)) this.changed.delete(key);
  }
}

/** The reason of the first edit, without its code marks and its full stop. */
function labelOf([first]: readonly NextEditItem[]): string {
  return (first?.reason ?? "").replaceAll("`", "").replace(/\.$/, "");
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
