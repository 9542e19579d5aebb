// The state of the server in the header: what is indexed, and whether it still answers.

import { Unreachable, view } from "./api.js";
import { counted, h, soft } from "./dom.js";

const LOOK_S = 5; // between two looks at an idle server
const WAIT_S = 0.5; // between two looks while files are indexed
const RETRY_S = 2; // between two tries to reach a server that does not answer

const line = document.getElementById("status");
const offline = document.getElementById("offline");
let settings = null;
let isTrying = false;

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

const isIndexing = ({ state }) => state === "starting" || state === "indexing";

/** The answer of the view `start`: folders, settings of retrieval, and the status. Read once; throws as `view`. */
export async function start() {
  settings ??= await look();
  return settings;
}

/** Resolves when the files are indexed; until then `wait` gets the nodes to show, again and again. */
export async function indexed(signal, wait) {
  for (let { status } = await start(); isIndexing(status); { status } = await look()) {
    const progress = h("progress", { max: 100, value: status.percent, "aria-label": "Indexing" });
    wait([h("h1", {}, "Indexing"), soft(status.text), progress, soft("The page is shown when all files are read.")]);
    await pause(WAIT_S);
    signal.throwIfAborted();
  }
}

/** Look at the server for as long as the page is open; `again` shows the view anew after it was unreachable. */
export async function watchStatus(again) {
  for (;;) {
    await pause(LOOK_S);
    if (document.hidden || isTrying) continue;
    try {
      await look();
    } catch (error) {
      if (error instanceof Unreachable) reconnect(again, error);
    }
  }
}

/** Say that the server does not answer, and try until it does. */
export async function reconnect(again, error = null) {
  if (isTrying) return;
  isTrying = true;
  const tell = (words) => { offline.textContent = `${words}The page tries again every ${RETRY_S} seconds.`; };
  tell(error ? `${error.message} ` : "");
  offline.hidden = false;
  while (isTrying) {
    await pause(RETRY_S);
    await look().then(() => { isTrying = false; }, (latest) => tell(`${latest.message} `));
  }
  offline.hidden = true;
  again();
}

async function look() {
  const found = settings = await view("start");
  const { kind, text, files, lines } = found.status;
  const shown = kind === "ready" ? `${counted(files, "file")}, ${counted(lines, "line")}` : text;
  if (line.textContent !== shown) line.textContent = shown;
  line.title = text;
  line.dataset.kind = kind;
  const names = found.folders.map((each) => each.path.split("/").pop()).join(", ");
  document.getElementById("folder").textContent = names;
  return found;
}
