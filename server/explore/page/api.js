// The views of the server. A newer request of a page cancels its older ones.

/** The JSON of a view; throws an Error with the server's message. */
export async function view(name, args = {}, signal = undefined) {
  let answer;
  try {
    answer = await fetch(`api/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(args),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("Weft does not answer. Start `weft explore` again, and open the address that it prints.");
  }
  const found = await answer.json().catch(() => ({ error: `Weft answered with status ${answer.status}. Reload the page.` }));
  if (!answer.ok || found.error) throw new Error(found.error ?? `Weft answered with status ${answer.status}.`);
  return found;
}
