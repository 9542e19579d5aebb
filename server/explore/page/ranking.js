// The form beside a file: how fragments are ranked, and how many are shown.

import { h } from "./dom.js";

const MAX_K = 50;

/**
 * The form, `values()` as arguments of the view `retrieval`, and `changed()`: those that are not the settings of the
 * workspace, as arguments of an address. `given` are such arguments of the current address.
 */
export function rankingForm(settings, given, onChange) {
  const first = settings.strategies.includes(given.strategy) ? given.strategy : settings.strategy;
  const strategy = h("select", { id: "strategy" }, settings.strategies.map((name) => h("option", {
    value: name, selected: name === first }, name)));
  const alpha = h("input", { id: "alpha", type: "range", min: 0, max: 100, step: 5, value: given.alpha ?? settings.alphaPercent });
  const share = h("output", { for: "alpha" });
  const k = h("input", { id: "k", type: "number", min: 1, max: MAX_K, value: given.k ?? settings.k });
  const weight = h("p", {}, h("label", { for: "alpha" }, "Weight of relations, alpha"), alpha, share);
  const update = () => {
    weight.hidden = strategy.value !== "fragrel"; // the other strategies have no such weight
    share.textContent = (alpha.value / 100).toFixed(2);
  };
  update();
  alpha.addEventListener("input", update);
  for (const each of [strategy, alpha, k]) {
    each.addEventListener("change", () => {
      update();
      onChange();
    });
  }
  const element = h("form", { class: "ranking", "aria-label": "Ranking", onsubmit: (event) => event.preventDefault() },
    h("p", {}, h("label", { for: "strategy" }, "Strategy"), strategy),
    h("p", {}, h("label", { for: "k" }, "Fragments"), k), weight);
  const values = () => ({
    strategy: strategy.value, alphaPercent: Number(alpha.value), k: Math.min(MAX_K, Math.max(1, Math.round(k.value) || settings.k)),
  });
  const changed = () => {
    const { strategy: name, alphaPercent, k: n } = values();
    return {
      ...(name !== settings.strategy && { strategy: name }),
      ...(alphaPercent !== settings.alphaPercent && { alpha: `${alphaPercent}` }),
      ...(n !== settings.k && { k: n }),
    };
  };
  return { element, values, changed };
}
