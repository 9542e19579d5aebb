// Builds the extension: checks the types, bundles, and packs `weft.vsix`.
//
//   node build.mjs            dist/extension.js and dist/chat.js
//   node build.mjs package    the same, and weft.vsix
//   node build.mjs test       the unit tests, each as a file for Node's own runner
//
// Owns what goes into the package. Knows nothing of what the code does.

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const HERE = dirname(fileURLToPath(import.meta.url));
const LARGEST_PACKAGE_BYTES = 500_000;
const COMMON = {
  bundle: true,
  minify: true,
  sourcemap: false,
  metafile: true,
  logLevel: "warning",
  absWorkingDir: HERE,
};

process.chdir(HERE);
const [task = "bundle"] = process.argv.slice(2);
if (task === "test") {
  await bundleTests();
} else {
  checkTypes();
  await bundle();
  if (task === "package") pack();
}

function checkTypes() {
  for (const project of ["tsconfig.json", "tsconfig.webview.json"]) run("typescript/bin/tsc", "--project", project);
}

async function bundle() {
  rmSync("dist", { recursive: true, force: true });
  const extension = await build({
    ...COMMON,
    entryPoints: ["src/extension.ts"],
    outfile: "dist/extension.js",
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vscode"],
  });
  const chat = await build({
    ...COMMON,
    entryPoints: ["src/chat/webview/main.ts"],
    outfile: "dist/chat.js",
    platform: "browser",
    format: "iife",
    target: "es2022",
  });
  const inputs = [extension, chat].flatMap(({ metafile }) => Object.keys(metafile.inputs));
  writeFileSync("dist/THIRD-PARTY-NOTICES.txt", notices(inputs));
  writeFileSync("dist/LICENSE.txt", readFileSync("../../LICENSE"));
}

// The licences of the bundled packages, which require that their texts are distributed with them.
function notices(inputs) {
  const roots = new Set(
    inputs.map((input) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(input)?.[0]).filter(Boolean),
  );
  return [...roots]
    .sort()
    .map((root) => {
      const { name, version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
      const text = readdirSync(root).find((file) => /^licen[cs]e/i.test(file));
      if (!text) throw new Error(`${name} has no licence file. Name its path in build.mjs.`);
      return `${name} ${version} (${license})\n\n${readFileSync(join(root, text), "utf8").trim()}\n`;
    })
    .join("\n---\n\n");
}

function pack() {
  run(
    "@vscode/vsce/vsce",
    "package",
    "--no-dependencies",
    "--skip-license",
    "--out",
    "weft.vsix",
  );
  const bytes = statSync("weft.vsix").size;
  if (bytes > LARGEST_PACKAGE_BYTES) {
    throw new Error(`weft.vsix has ${bytes} bytes, more than ${LARGEST_PACKAGE_BYTES}. Bundle less.`);
  }
}

async function bundleTests() {
  rmSync("out", { recursive: true, force: true });
  await build({
    entryPoints: readdirSync("test", { recursive: true })
      .filter((file) => file.endsWith(".test.ts"))
      .map((file) => join("test", file)),
    outdir: "out",
    bundle: true,
    platform: "node",
    format: "esm",
    outExtension: { ".js": ".mjs" },
    target: "node20",
    logLevel: "warning",
  });
}

function run(tool, ...args) {
  const script = join("node_modules", tool);
  if (!existsSync(script)) throw new Error(`${script} is missing. Run \`npm ci\` first.`);
  execFileSync(process.execPath, [script, ...args], { stdio: "inherit" });
}
