// The text, tooltip and severity of the status bar item for each server status.
//
// Owns the icon and the short text of each state. Knows no editor; the sentences come from the server.

import type { StatusResult } from "./protocol";

export interface Appearance {
  readonly text: string;
  readonly tooltip: string;
  /** `none` when nothing is wrong. */
  readonly severity: "none" | "warning" | "error";
}

type DisplayedStatus = Pick<StatusResult, "kind" | "text" | "percent" | "model">;

const ICONS: Record<StatusResult["kind"], string> = {
  starting: "$(loading~spin)",
  indexing: "$(sync~spin)",
  ready: "$(sparkle)",
  paused: "$(debug-pause)",
  off: "$(circle-slash)",
  slow: "$(watch)",
  degraded: "$(warning)",
  error: "$(error)",
};

/** `isOffHere`: automatic completions are turned off for the active file. */
export function appearance(status: DisplayedStatus, { isBusy = false, isOffHere = false } = {}): Appearance {
  const { kind, percent, model } = status;
  const isQuiet = kind === "ready";
  const icon = isQuiet && isBusy ? "$(loading~spin)" : isQuiet && isOffHere ? ICONS.off : (ICONS[kind] ?? ICONS.ready);
  const state = isQuiet ? (isOffHere ? "off here" : "") : kind;
  const word = kind === "indexing" && percent !== null ? `indexing ${Math.round(percent)}%` : state;
  const lines = [
    status.text,
    model === "" ? "" : `Model: ${model}`,
    isOffHere ? "Automatic completions are turned off in this file." : "",
    isBusy ? "Generating a completion." : "",
    "Click to show the menu.",
  ];
  return {
    text: `${icon} Weft ${word}`.trim(),
    tooltip: lines.filter((line) => line !== "").join("\n"),
    severity: kind === "error" ? "error" : kind === "degraded" || kind === "slow" ? "warning" : "none",
  };
}
