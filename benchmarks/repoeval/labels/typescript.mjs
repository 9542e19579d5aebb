// Call labels of a TypeScript or JavaScript checkout, from the TypeScript compiler's checker.
//
// usage: node typescript.mjs ROOT PATH_OF_TYPESCRIPT < paths
//
// Reads the source paths (relative to ROOT, one a line) from standard input and writes JSON lines:
//   {"kind": "call", path, line, end_line, column, name, how, callee}   callee is null when the checker has none
//   {"kind": "definition", name, path, qualname, spans}
//   {"kind": "standard", names}                                         member names of the standard library
// Lines are 0-based, ends exclusive. One program holds all files. A package of the checkout resolves to its sources,
// because dependencies are not installed and build output does not exist.

import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const [root, typescriptPath] = process.argv.slice(2).map((argument) => path.resolve(argument));
const ts = createRequire(import.meta.url)(typescriptPath);

const HEAD_LINES = 20;
const SOURCE_EXTENSIONS = [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"];
const EXTENSION = /(\.d)?\.[cm]?[jt]sx?$/;
const OUTPUT_FOLDERS = ["dist", "build", "lib", "out", "esm", "cjs", "es"];

const relativePaths = fs.readFileSync(0, "utf8").split("\n").filter(Boolean);
const files = relativePaths.map((relative) => path.join(root, relative));
const known = new Set(files);

// ---------------------------------------------------------------- modules

const packages = new Map(); // name -> {folder, manifest}
const configsOf = new Map(); // folder -> compiler options of its tsconfig files, those with paths only
const manifestOf = new Map(); // folder -> manifest

for (const folder of foldersOf(files)) {
  const manifest = readJson(path.join(folder, "package.json"));
  if (manifest) {
    manifestOf.set(folder, manifest);
    if (manifest.name && !packages.has(manifest.name)) packages.set(manifest.name, { folder, manifest });
  }
  configsOf.set(folder, pathOptions(folder));
}

function foldersOf(names) {
  const folders = new Set();
  for (const name of names) {
    for (let folder = path.dirname(name); !folders.has(folder); folder = path.dirname(folder)) {
      folders.add(folder);
      if (folder === root) break;
    }
  }
  return [...folders].sort();
}

function readJson(file) {
  if (!fs.existsSync(file)) return undefined;
  try {
    const value = JSON.parse(fs.readFileSync(file, "utf8"));
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function pathOptions(folder) {
  const names = fs.readdirSync(folder).filter((name) => /^[jt]sconfig.*\.json$/.test(name));
  names.sort((a, b) => (b === "tsconfig.json") - (a === "tsconfig.json") || (a < b ? -1 : 1));
  const found = [];
  for (const name of names) {
    const file = path.join(folder, name);
    const { config } = ts.readConfigFile(file, ts.sys.readFile);
    if (!config) continue;
    const host = { ...ts.sys, readDirectory: () => [] };
    const { options } = ts.parseJsonConfigFileContent(config, host, folder, undefined, file);
    if (options.paths || options.baseUrl) {
      found.push({ paths: options.paths, baseUrl: options.baseUrl, pathsBasePath: options.pathsBasePath ?? folder });
    }
  }
  return found;
}

const baseOptions = {
  allowJs: true,
  checkJs: false,
  noEmit: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.ESNext,
  moduleDetection: ts.ModuleDetectionKind.Force, // or the scripts of a checkout would share their globals
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ["lib.esnext.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
  jsx: ts.JsxEmit.Preserve,
  types: [],
  strict: true,
  experimentalDecorators: true,
  allowImportingTsExtensions: true,
  resolveJsonModule: false,
  maxNodeModuleJsDepth: 0,
};

const resolved = new Map();

function resolveModule(name, containing) {
  const key = `${path.dirname(containing)}\0${name}`;
  if (!resolved.has(key)) resolved.set(key, findModule(name, containing));
  return resolved.get(key);
}

function findModule(name, containing) {
  if (/^\.{0,2}\//.test(name) || name === "." || name === "..") {
    return asSource(standardResolution(name, containing, {})) ?? sourceAt(path.resolve(path.dirname(containing), name));
  }
  for (const folder of upwards(containing)) {
    for (const options of configsOf.get(folder) ?? []) {
      const found = asSource(standardResolution(name, containing, options));
      if (found) return found;
    }
  }
  if (name.startsWith("#")) {
    const folder = upwards(containing).find((candidate) => manifestOf.get(candidate)?.imports);
    return folder && fromMap(folder, manifestOf.get(folder).imports, name);
  }
  return fromPackage(name);
}

function standardResolution(name, containing, options) {
  return ts.resolveModuleName(name, containing, { ...baseOptions, ...options }, ts.sys).resolvedModule?.resolvedFileName;
}

function* ancestors(file) {
  for (let folder = path.dirname(file); folder.startsWith(root); folder = path.dirname(folder)) yield folder;
}

function upwards(file) {
  return [...ancestors(file)];
}

function asSource(file) {
  return file && known.has(file) ? file : undefined;
}

// The source file of a path without regard to its extension; a folder means its index file.
function sourceAt(file) {
  if (known.has(file)) return file;
  const bare = file.replace(EXTENSION, "");
  for (const stem of new Set([file, bare, path.join(file, "index"), path.join(bare, "index")])) {
    for (const extension of [...SOURCE_EXTENSIONS, ".d.ts"]) {
      if (known.has(stem + extension)) return stem + extension;
    }
  }
  return undefined;
}

function fromPackage(name) {
  const parts = name.split("/");
  const packageName = parts.slice(0, name.startsWith("@") ? 2 : 1).join("/");
  const found = packages.get(packageName);
  if (!found) return undefined;
  const { folder, manifest } = found;
  const subpath = name.slice(packageName.length + 1);
  const exported = manifest.exports && fromMap(folder, normalized(manifest.exports), subpath ? `./${subpath}` : ".");
  if (exported) return exported;
  const targets = subpath ? [subpath] : [manifest.source, manifest.types, manifest.typings, manifest.module, manifest.main];
  for (const target of [...targets, ...(subpath ? [] : ["src/index", "index", "src/main"])]) {
    const source = typeof target === "string" && sourceOfTarget(folder, target);
    if (source) return source;
  }
  return undefined;
}

function normalized(exports) {
  const plain = typeof exports === "string" || !Object.keys(exports).some((key) => key.startsWith("."));
  return plain ? { ".": exports } : exports;
}

// A target of `exports` or `imports`: the exact key first, then keys with a star.
function fromMap(folder, map, wanted) {
  for (const [key, value] of Object.entries(map)) {
    const [before, after] = key.split("*");
    const isPattern = after !== undefined && wanted.startsWith(before) && wanted.endsWith(after);
    if (key !== wanted && !isPattern) continue;
    const star = isPattern ? wanted.slice(before.length, wanted.length - after.length) : "";
    for (const target of strings(value)) {
      const source = sourceOfTarget(folder, target.replaceAll("*", star));
      if (source) return source;
    }
  }
  return undefined;
}

function strings(value) {
  if (typeof value === "string") return [value];
  return value && typeof value === "object" ? Object.values(value).flatMap(strings) : [];
}

// `dist/a.mjs` names build output: its source has the same path under `src` or at the package's root.
function sourceOfTarget(folder, target) {
  const direct = sourceAt(path.join(folder, target));
  if (direct) return direct;
  const parts = path.normalize(target).split("/");
  for (let skipped = 0; skipped <= parts.length - 1; skipped++) {
    if (skipped > 0 && !OUTPUT_FOLDERS.includes(parts[skipped - 1]) && skipped > 2) break;
    const rest = parts.slice(skipped).join("/");
    const source = sourceAt(path.join(folder, "src", rest)) ?? (skipped ? sourceAt(path.join(folder, rest)) : undefined);
    if (source) return source;
  }
  return undefined;
}

// ---------------------------------------------------------------- program

const host = ts.createCompilerHost(baseOptions, true);
host.resolveModuleNameLiterals = (literals, containing) =>
  literals.map((literal) => {
    const file = resolveModule(literal.text, containing);
    return { resolvedModule: file && { resolvedFileName: file, extension: path.extname(file), isExternalLibraryImport: false } };
  });
const program = ts.createProgram({ rootNames: files, options: baseOptions, host });
const checker = program.getTypeChecker();

const lines = [];
const emit = (value) => lines.push(JSON.stringify(value));
emit({ kind: "standard", names: standardNames() });
for (const file of files) {
  const source = program.getSourceFile(file);
  if (!source) continue;
  const pending = [source];
  while (pending.length) {
    const node = pending.pop();
    reportDefinition(source, node);
    reportCall(source, node);
    const children = [];
    ts.forEachChild(node, (child) => void children.push(child));
    pending.push(...children.reverse());
  }
}
fs.writeFileSync(1, lines.join("\n") + "\n");

// ---------------------------------------------------------------- labels

function standardNames() {
  const names = new Set();
  for (const source of program.getSourceFiles()) {
    if (!program.isSourceFileDefaultLibrary(source)) continue;
    const visit = (node) => {
      if (node.name && ts.isIdentifier(node.name)) names.add(node.name.text);
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return [...names].filter((name) => name.length > 5).sort();
}

function reportCall(source, node) {
  const callee = calleeOf(node);
  const name = callee && nameOf(callee);
  if (!name) return;
  const start = source.getLineAndCharacterOfPosition(name.getStart(source));
  const symbol = followed(checker.getSymbolAtLocation(name));
  // A checkout may add overloads to a definition of the standard library.
  if (symbol?.declarations?.some((one) => program.isSourceFileDefaultLibrary(one.getSourceFile()))) return;
  const found = definitionOf(node, symbol);
  if (!found && (symbol?.declarations?.length || comesFromOutside(callee))) return;
  emit({
    kind: "call",
    path: relative(source),
    line: start.line,
    end_line: source.getLineAndCharacterOfPosition(node.end).line + 1,
    column: start.character,
    name: name.text,
    how: found && howFound(node, callee),
    callee: found && described(found.declaration, found.others),
  });
}

function calleeOf(node) {
  if (ts.isCallExpression(node) || ts.isNewExpression(node)) return ts.skipOuterExpressions(node.expression);
  if (ts.isTaggedTemplateExpression(node)) return node.tag;
  if (ts.isJsxOpeningElement(node) || ts.isJsxSelfClosingElement(node)) {
    // A tag in lower case is an element of the page.
    return ts.isIdentifier(node.tagName) && /^[a-z]/.test(node.tagName.text) ? undefined : node.tagName;
  }
  return undefined;
}

function nameOf(callee) {
  if (ts.isIdentifier(callee)) return callee;
  return ts.isPropertyAccessExpression(callee) && ts.isIdentifier(callee.name) ? callee.name : undefined;
}

// The symbol behind aliases and shorthand properties.
function followed(symbol) {
  for (let step = 0; symbol && step < 10; step++) {
    const declaration = symbol.declarations?.[0];
    let next;
    if (symbol.flags & ts.SymbolFlags.Alias) next = checker.getAliasedSymbol(symbol);
    else if (declaration && ts.isShorthandPropertyAssignment(declaration)) {
      next = checker.getShorthandAssignmentValueSymbol(declaration);
    }
    if (!next || next === symbol) break;
    symbol = next;
  }
  return symbol;
}

// Whether the expression begins at an import of a package that is not part of the checkout, or at a variable or
// parameter whose value or type begins there.
function comesFromOutside(expression, steps = 8) {
  let first = expression;
  while (first.expression || first.tag) first = ts.skipOuterExpressions(first.expression ?? first.tag);
  if (ts.isTypeReferenceNode(first)) first = first.typeName;
  while (ts.isQualifiedName(first)) first = first.left;
  if (!ts.isIdentifier(first) || steps === 0) return false;
  const specifier = importOf(first);
  if (specifier !== undefined) return !resolveModule(specifier, expression.getSourceFile().fileName);
  let declaration = checker.getSymbolAtLocation(first)?.valueDeclaration;
  while (declaration && (ts.isBindingElement(declaration) || ts.isBindingPattern(declaration))) declaration = declaration.parent;
  if (!declaration || !(ts.isVariableDeclaration(declaration) || ts.isParameter(declaration))) return false;
  const origin = declaration.type ?? declaration.initializer;
  return origin !== undefined && origin !== expression && comesFromOutside(origin, steps - 1);
}

function definitionOf(node, symbol) {
  const declarations = (symbol?.declarations ?? []).filter((one) => known.has(one.getSourceFile().fileName) && isDefinition(one));
  if (!declarations.length) return null;
  const chosen = ts.isJsxOpeningLikeElement(node) ? undefined : checker.getResolvedSignature(node)?.declaration;
  const declaration =
    declarations.find((one) => one.body && !ts.isModuleDeclaration(one)) ??
    declarations.find(ts.isClassLike) ??
    declarations.find((one) => one === chosen) ??
    declarations.find((one) => one === symbol.valueDeclaration) ??
    declarations[0];
  // The chosen overload is a place of the definition, too.
  const others = declarations.filter((one) => one !== declaration && one === chosen);
  return { declaration, others: others.filter((one) => one.getSourceFile() === declaration.getSourceFile()) };
}

function isDefinition(node) {
  return !(ts.isParameter(node) || ts.isTypeParameterDeclaration(node) || ts.isSourceFile(node) || ts.isImportSpecifier(node))
    || (ts.isParameter(node) && ts.isParameterPropertyDeclaration(node, node.parent));
}

// How a reader reaches the definition, for figures by kind.
function howFound(node, callee) {
  if (ts.isJsxOpeningLikeElement(node)) return "jsx";
  if (ts.isIdentifier(callee)) {
    const specifier = importOf(callee);
    if (!specifier) return "global";
    return specifier.startsWith(".") ? "import" : "package_import";
  }
  const receiver = ts.skipOuterExpressions(callee.expression);
  if (receiver.kind === ts.SyntaxKind.ThisKeyword) return "this";
  if (receiver.kind === ts.SyntaxKind.SuperKeyword) return "super";
  const declaration = ts.isIdentifier(receiver) && checker.getSymbolAtLocation(receiver)?.declarations?.[0];
  return declaration && ts.isNamespaceImport(declaration) ? "namespace" : "method";
}

function importOf(identifier) {
  let node = checker.getSymbolAtLocation(identifier)?.declarations?.[0];
  while (node && (ts.isBindingElement(node) || ts.isBindingPattern(node) || ts.isImportClause(node.parent) || ts.isNamedImports(node.parent))) {
    node = node.parent;
  }
  if (node && ts.isImportClause(node)) return node.parent.moduleSpecifier.text;
  let call = node && ts.isVariableDeclaration(node) ? node.initializer : undefined;
  while (call && (ts.isAwaitExpression(call) || ts.isParenthesizedExpression(call))) call = call.expression;
  const imports = call && ts.isCallExpression(call) && (call.expression.kind === ts.SyntaxKind.ImportKeyword || call.expression.text === "require");
  return imports && call.arguments[0] && ts.isStringLiteralLike(call.arguments[0]) ? call.arguments[0].text : undefined;
}

function reportDefinition(source, node) {
  const isFunctionValue = (value) => value && (ts.isArrowFunction(value) || ts.isFunctionExpression(value) || ts.isClassExpression(value));
  const counts =
    ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node) || ts.isEnumDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) || ts.isMethodDeclaration(node) || ts.isMethodSignature(node) ||
    ((ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node) || ts.isPropertyDeclaration(node)) && isFunctionValue(node.initializer)) ||
    (ts.isPropertySignature(node) && node.type && ts.isFunctionTypeNode(node.type));
  // An overload without a body is the same definition as its implementation.
  const isOverload = (ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node)) && !node.body && !source.isDeclarationFile;
  if (!counts || isOverload || !node.name || !ts.isIdentifier(node.name)) return;
  emit({ kind: "definition", name: node.name.text, ...described(node, []) });
}

function described(declaration, others) {
  const source = declaration.getSourceFile();
  const spans = [declaration, ...others].map((one) => span(source, whole(one)));
  const owner = ts.isClassLike(declaration) ? declaration : ts.isClassLike(declaration.initializer ?? source) ? declaration.initializer : undefined;
  for (const member of owner?.members ?? []) {
    if (ts.isConstructorDeclaration(member) && member.body) spans.push(span(source, member));
  }
  return { path: relative(source), qualname: qualname(declaration), spans };
}

// The statement of a variable that is declared alone, so that its span begins at `export const`.
function whole(node) {
  let top = node;
  while (ts.isBindingElement(top) || ts.isObjectBindingPattern(top) || ts.isArrayBindingPattern(top)) top = top.parent;
  if (!ts.isVariableDeclaration(top)) return top;
  const statement = top.parent?.parent;
  return statement && ts.isVariableStatement(statement) && top.parent.declarations.length === 1 ? statement : top;
}

function span(source, node) {
  const first = source.getLineAndCharacterOfPosition(node.getStart(source)).line;
  const end = source.getLineAndCharacterOfPosition(node.end).line + 1;
  return [first, Math.min(end, first + HEAD_LINES)];
}

function qualname(declaration) {
  const name = declaration.name && (ts.isIdentifier(declaration.name) || ts.isPrivateIdentifier(declaration.name)) ? declaration.name.text : "default";
  const owner = declaration.parent;
  const holder = owner && (ts.isClassLike(owner) || ts.isInterfaceDeclaration(owner)) ? owner.name?.text : undefined;
  return holder ? `${holder}.${name}` : name;
}

function relative(source) {
  return path.relative(root, source.fileName).split(path.sep).join("/");
}
