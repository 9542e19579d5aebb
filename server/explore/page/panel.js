// A part of the page whose content comes from the server: busy while it waits, and never with a stale answer.

import { problem } from "./dom.js";

/**
 * A function that fills `element` with what `load(signal)` resolves to, a list of nodes. It resolves to whether that is
 * shown: a newer call, or `outer`, aborts the request of an older one, whose answer is dropped.
 */
export function panel(element, outer = undefined) {
  let running = new AbortController();
  return async (load, onError = (error) => element.replaceChildren(problem(error))) => {
    running.abort();
    running = new AbortController();
    const signal = outer ? AbortSignal.any([outer, running.signal]) : running.signal;
    element.setAttribute("aria-busy", "true");
    try {
      const content = await load(signal);
      if (signal.aborted) return false;
      element.replaceChildren(...content);
    } catch (error) {
      if (signal.aborted) return false;
      onError(error);
    }
    element.setAttribute("aria-busy", "false");
    return true;
  };
}
