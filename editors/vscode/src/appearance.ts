// How the state of Weft looks in one line of the status bar.
//
// Owns the choice of sign and words for each state. Knows no editor; the words for people come from the server.

import type { StatusResult } from "./protocol";

export interface Appearance {
  readonly text: string;
  readonly tooltip: string;
  /** Something is wrong, and how badly. */
  readonly severity: "none" | "warning" | "error";
}

type Shown = Pick<StatusResult, "kind" | "text" | "percent" | "model">;

const SIGNS: Record<StatusResult["kind"], string> = {
  starting: "$(loading~spin)",
  indexing: "$(sync~spin)",
  ready: "$(sparkle)",
  paused: "$(debug-pause)",
  off: "$(circle-slash)",
  slow: "$(watch)",
  degraded: "$(warning)",
  error: "$(error)",
};

/** `isOffHere`: a person turned completions off in the file that is in front. */
export function appearance(status: Shown, { isBusy = false, isOffHere = false } = {}): Appearance {
  const { kind, percent, model } = status;
  const isQuiet = kind === "ready";
  const sign = isQuiet && isBusy ? "$(loading~spin)" : isQuiet && isOffHere ? SIGNS.off : (SIGNS[kind] ?? SIGNS.ready);
  const state = isQuiet ? (isOffHere ? "off here" : "") : kind;
  const word = kind === "indexing" && percent !== null ? `indexing ${Math.round(percent)}%` : state;
  const lines = [
    status.text,
    model === "" ? "" : `Model: ${model}`,
    isOffHere ? "Completions while you type are turned off in this file." : "",
    isBusy ? "A completion is being written." : "",
    "Click for actions.",
  ];
  return {
    text: `${sign} Weft ${word}`.trim(),
    tooltip: lines.filter((line) => line !== "").join("\n"),
    severity: kind === "error" ? "error" : kind === "degraded" || kind === "slow" ? "warning" : "none",
  };
}
