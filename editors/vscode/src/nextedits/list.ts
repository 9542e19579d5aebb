// The view "Follow-Up Edits": all edits of all files, with checkboxes.
//
// Owns the view. Knows no server; `NextEdits` does what its buttons ask for.

import * as vscode from "vscode";
import type { NextEditItem } from "../protocol";
import { summaryOf } from "./changes";
import { explanationOf, markdownOf } from "./explanation";
import { countHint } from "./hints";
import { Checks, editsOf, type Node, treeOf } from "./tree";

export class FollowUpList implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private items: readonly NextEditItem[] = [];
  private readonly checks = new Checks();
  private readonly changeEmitter = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changeEmitter.event;
  private readonly view = vscode.window.createTreeView<Node>("weft.followUps", {
    treeDataProvider: this,
    manageCheckboxStateManually: true,
  });
  private readonly listener = this.view.onDidChangeCheckboxState(({ items }) => {
    for (const [node, state] of items) this.checks.set(node, state === vscode.TreeItemCheckboxState.Checked);
    this.changeEmitter.fire();
  });

  /** The edits that are checked. */
  get checked(): NextEditItem[] {
    return this.checks.checked(this.items);
  }

  update(items: readonly NextEditItem[]): void {
    this.items = items;
    this.checks.keep(items);
    // A view that is hidden while it is empty.
    void vscode.commands.executeCommand("setContext", "weft.hasFollowUps", items.length > 0);
    this.view.badge = items.length > 0 ? { value: items.length, tooltip: countHint(items.length) } : undefined;
    this.changeEmitter.fire();
  }

  getChildren(node?: Node): readonly Node[] & Node[] {
    return [...(node === undefined ? treeOf(this.items) : node.kind === "edit" ? [] : node.children)];
  }

  getTreeItem(node: Node): vscode.TreeItem {
    const item = new vscode.TreeItem(labelOf(node), stateOf(node));
    item.id = node.id;
    item.contextValue = node.kind;
    const { Checked, Unchecked } = vscode.TreeItemCheckboxState;
    item.checkboxState = this.checks.isChecked(node) ? Checked : Unchecked;
    if (node.kind === "cause") {
      item.tooltip = node.label;
      item.iconPath = new vscode.ThemeIcon("git-commit");
    } else if (node.kind === "file") {
      item.resourceUri = vscode.Uri.parse(node.uri);
      item.iconPath = vscode.ThemeIcon.File;
      item.description = directoryOf(node.path);
    } else {
      item.description = `line ${node.item.range.start.line + 1}${node.item.isMarked ? ", uncertain" : ""}`;
      item.tooltip = new vscode.MarkdownString(markdownOf(explanationOf(node.item)));
      item.command = { title: "Show", command: "weft.previewFollowUp", arguments: [node] };
    }
    return item;
  }

  dispose(): void {
    this.listener.dispose();
    this.view.dispose();
    this.changeEmitter.dispose();
  }
}

export { editsOf, type Node };

function labelOf(node: Node): string {
  if (node.kind === "cause") return node.label;
  return node.kind === "file" ? node.path.slice(node.path.lastIndexOf("/") + 1) : summaryOf(node.item);
}

function stateOf(node: Node): vscode.TreeItemCollapsibleState {
  const { Expanded, None } = vscode.TreeItemCollapsibleState;
  return node.kind === "edit" ? None : Expanded;
}

function directoryOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
