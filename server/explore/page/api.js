// Requests to the server: the JSON of one view by POST.

/** The server does not answer, or answers with another token: the page can only try again. */
export class Unreachable extends Error {}

/** The server cannot show what is asked for; the message says why. */
export class Refused extends Error {}

const ENDED = "Weft does not answer. If you ended it, start `weft explore` again and open the address that it prints.";
const OTHER_TOKEN = "Weft was started again with another address. Open the address that it printed.";

/** The JSON of a view. Throws Refused with the server's sentence, Unreachable, or the AbortError of the signal. */
export async function view(name, args = {}, signal = undefined) {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`api/${name}`, { method: "POST", headers, body: JSON.stringify(args), signal })
    .catch((error) => { throw error.name === "AbortError" ? error : new Unreachable(ENDED); });
  if (answer.status === 401) throw new Unreachable(OTHER_TOKEN);
  const found = await answer.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return { error: `Weft answered with status ${answer.status} and no JSON. Its terminal says why.` };
  });
  if (found.error) throw new Refused(found.error);
  return found;
}

/** For `catch`: a refusal as a value, for views that show it beside their form. All other errors are thrown. */
export function refusal(error) {
  if (error instanceof Refused) return error;
  throw error;
}
