// One completion by the core of Continue, as its extensions ask for it: `node continue.mjs < request.json`.
//
// The request has the folder, the file, its text, the cursor and the model's settings. Prints the completion as JSON.
// The core is the package @continuedev/core; install_continue.sh makes one file of it and this one.
import { CompletionProvider } from "@continuedev/core/dist/autocomplete/CompletionProvider.js";
import Ollama from "@continuedev/core/dist/llm/llms/Ollama.js";
import OpenAI from "@continuedev/core/dist/llm/llms/OpenAI.js";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PROVIDERS = { ollama: Ollama, openai: OpenAI };
const { folder, file, text, line, character, provider, model, recentlyEdited } = JSON.parse(readFileSync(0, "utf8"));

// What the core asks its editor. Other questions get an empty answer.
const known = {
  getWorkspaceDirs: async () => [folder],
  readFile: async (uri) => (uri === file ? text : readFileSync(fileURLToPath(uri), "utf8")),
  fileExists: async (uri) => existsSync(fileURLToPath(uri)),
  getClipboardContent: async () => ({ text: "", copiedAt: "" }),
  getIdeInfo: async () => ({ ideType: "vscode", name: "test", version: "1", remoteName: "", extensionVersion: "1" }),
  getDiff: async () => [],
  getOpenFiles: async () => [file],
  getUniqueId: async () => "test",
};
const ide = new Proxy(known, { get: (target, name) => target[name] ?? (async () => undefined) });

const llm = new PROVIDERS[provider](model);
await new Promise((resolve) => setTimeout(resolve, 500)); // Ollama's class asks /api/show when it is made
const errors = [];
const config = { tabAutocompleteOptions: { debounceDelay: 0, useCache: false } };
const completions = new CompletionProvider(
  { loadConfig: async () => ({ config }) },
  ide,
  async () => llm,
  (error) => errors.push(String(error)),
  async () => [],
);
const outcome = await completions.provideInlineCompletionItems(
  {
    isUntitledFile: false,
    completionId: "1",
    filepath: file,
    pos: { line, character },
    recentlyVisitedRanges: [],
    recentlyEditedRanges: recentlyEdited,
  },
  undefined,
);
process.stdout.write(JSON.stringify({ completion: outcome?.completion ?? "", prompt: outcome?.prompt ?? "", errors }));
process.exit(0);
