import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, findProgram, isOtherProject, isOutdated, locate, packageToInstall, type Host } from "../src/locate";

const WEFT: Answer = { code: 0, stdout: "weft 1.2.3\n", stderr: "" };

/** A host with these programs and their output; `asked` has the commands that were run. */
function machine(programs: Record<string, Answer>, more: Partial<Host> = {}) {
  const asked: string[] = [];
  const here: Host = {
    command: [],
    package: "",
    interpreter: undefined,
    ownEnvironment: "/storage/server",
    searchPath: "/usr/bin:/bin",
    home: "/home/me",
    isWindows: false,
    isTrusted: true,
    folders: ["/work/shop"],
    isProgram: (file) => file in programs,
    realPath: (file) => file,
    run: async (command) => {
      asked.push(command.join(" "));
      return programs[command[0] ?? ""] ?? { code: 127, stdout: "", stderr: "no such program" };
    },
    ...more,
  };
  return { here, asked };
}

const commandOf = async (here: Host) => (await locate(here)).found?.command.join(" ");

test("the setting has priority, without a fallback", async () => {
  const programs = { "/opt/weft": WEFT, "/usr/bin/weft": WEFT };
  assert.equal(await commandOf(machine(programs, { command: ["/opt/weft"] }).here), "/opt/weft");
  const { found, rejected } = await locate(machine(programs, { command: ["/opt/wfet"] }).here);
  assert.equal(found, undefined);
  assert.deepEqual(rejected, [{ source: "the setting weft.server.command", reason: "The program /opt/wfet does not exist." }]);
});

test("the order: active environment, search path, ~/.local/bin, environment of the extension", async () => {
  const order: [string, string][] = [
    ["/venv/bin/python", "/venv/bin/python -m weft"],
    ["/usr/bin/weft", "/usr/bin/weft"],
    ["/home/me/.local/bin/weft", "/home/me/.local/bin/weft"],
    ["/storage/server/bin/weft", "/storage/server/bin/weft"],
  ];
  for (let n = 0; n < order.length; n++) {
    const programs = Object.fromEntries(order.slice(n).map(([program]) => [program, WEFT]));
    const interpreter = n === 0 ? "/venv/bin/python" : undefined;
    assert.equal(await commandOf(machine(programs, { interpreter }).here), order[n]?.[1]);
  }
});

test("an environment without Weft is rejected with the reason", async () => {
  const none: Answer = { code: 1, stdout: "", stderr: "No module named weft" };
  const { here } = machine({ "/venv/bin/python": none, "/usr/bin/weft": WEFT }, { interpreter: "/venv/bin/python" });
  const { found, rejected } = await locate(here);
  assert.equal(found?.source, "/usr/bin/weft");
  assert.match(rejected[0]?.reason ?? "", /No module named weft/);
});

test("uvx and pipx are used only when the package is set", async () => {
  const programs = { "/usr/bin/uvx": WEFT, "/usr/bin/pipx": WEFT };
  const { here, asked } = machine(programs);
  assert.equal(await commandOf(here), undefined);
  assert.deepEqual(asked, []);
  const wheel = "/home/me/weft.whl";
  assert.equal(await commandOf({ ...here, package: wheel }), `/usr/bin/uvx --from ${wheel} weft`);
  assert.equal(
    await commandOf(machine({ "/usr/bin/pipx": WEFT }, { package: wheel }).here),
    `/usr/bin/pipx run --spec ${wheel} weft`,
  );
});

test("the other project called weft is never fetched from a package index", async () => {
  for (const requirement of ["weft", "weft[local]", "weft==1.0", " Weft >= 2"]) {
    const { here, asked } = machine({ "/usr/bin/uvx": WEFT, "/usr/bin/pipx": WEFT }, { package: requirement });
    const { found, rejected } = await locate(here);
    assert.equal(found, undefined);
    assert.deepEqual(asked, []);
    assert.match(rejected[0]?.reason ?? "", /another project. Use weft-lsp/);
  }
  const ours = machine({ "/usr/bin/uvx": WEFT }, { package: "weft-lsp[onnx]" });
  assert.equal(await commandOf(ours.here), "/usr/bin/uvx --from weft-lsp[onnx] weft");
});

test("another program, an old version and a timeout are rejected with the reason", async () => {
  const reasonFor = async (answer: Answer) =>
    (await locate(machine({ "/usr/bin/weft": answer }).here)).rejected[0]?.reason;
  assert.match(
    (await reasonFor({ code: 0, stdout: "Weft Loom 3.1\n", stderr: "" })) ?? "",
    /output is not that of Weft: Weft Loom/,
  );
  assert.match((await reasonFor({ code: 0, stdout: "weft 0.0.9\n", stderr: "" })) ?? "", /Weft 0\.0\.9; .* or newer/);
  assert.equal(await reasonFor({ code: null, stdout: "", stderr: "" }), "It timed out.");
});

test("nothing inside an untrusted workspace is run", async () => {
  const inside = "/work/shop/.venv/bin";
  const everything = {
    interpreter: `${inside}/python`,
    searchPath: `${inside}:.:node_modules/.bin`,
    realPath: (file: string) => (file === "/home/me/.local/bin/weft" ? `${inside}/weft` : file),
  };
  const programs = Object.fromEntries(
    [`${inside}/python`, `${inside}/weft`, `${inside}/uv`, "/home/me/.local/bin/weft", "weft"].map((name) => [
      name,
      WEFT,
    ]),
  );
  const { here, asked } = machine(programs, { ...everything, isTrusted: false });
  assert.equal(await commandOf(here), undefined);
  assert.equal(await commandOf({ ...here, command: ["/usr/bin/env", `${inside}/weft`] }), undefined);
  assert.equal(findProgram(here, "uv"), undefined);
  assert.deepEqual(asked, []);
  assert.equal(await commandOf({ ...here, isTrusted: true }), `${inside}/python -m weft`);
});

test("a folder whose name starts with that of the workspace is outside", async () => {
  const { here } = machine({ "/work/shop2/bin/weft": WEFT }, { searchPath: "/work/shop2/bin", isTrusted: false });
  assert.equal(await commandOf(here), "/work/shop2/bin/weft");
});

test("programs on Windows end in .exe", async () => {
  const { here } = machine({ "/tools/weft.exe": WEFT }, { isWindows: true, searchPath: "/nowhere;/tools" });
  assert.equal(await commandOf(here), "/tools/weft.exe");
});

test("without a setting, the server of the extension's version is installed", () => {
  assert.equal(packageToInstall("", "1.2.3"), "weft-lsp==1.2.3");
  assert.equal(packageToInstall("  ", "1.2.3"), "weft-lsp==1.2.3");
  assert.equal(packageToInstall(" /home/me/weft.whl ", "1.2.3"), "/home/me/weft.whl");
  assert.equal(isOtherProject(packageToInstall("", "1.2.3")), false);
});

test("an update is proposed only for a server that the extension installed by itself", async () => {
  const own = { "/storage/server/bin/weft": WEFT };
  const { found } = await locate(machine(own).here);
  assert.ok(found);
  assert.equal(isOutdated(found, "", "1.2.4"), true);
  assert.equal(isOutdated(found, "", "1.2.3"), false);
  assert.equal(isOutdated(found, "", "1.2.2"), false);
  assert.equal(isOutdated(found, "weft-lsp==1.2.3", "1.2.4"), false);
  const { found: other } = await locate(machine({ "/usr/bin/weft": WEFT }).here);
  assert.ok(other);
  assert.equal(isOutdated(other, "", "1.2.4"), false);
});
