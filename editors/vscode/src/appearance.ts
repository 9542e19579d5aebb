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

export function appearance(status: Shown, isBusy: boolean): Appearance {
  const { kind, percent, model } = status;
  const sign = isBusy && kind === "ready" ? "$(loading~spin)" : (SIGNS[kind] ?? SIGNS.ready);
  const word = kind === "indexing" && percent !== null ? `indexing ${Math.round(percent)}%` : kind === "ready" ? "" : kind;
  const lines = [status.text, model === "" ? "" : `Model: ${model}`, isBusy ? "A completion is being written." : "", "Click for actions."];
  return {
    text: `${sign} Weft ${word}`.trim(),
    tooltip: lines.filter((line) => line !== "").join("\n"),
    severity: kind === "error" ? "error" : kind === "degraded" || kind === "slow" ? "warning" : "none",
  };
}
