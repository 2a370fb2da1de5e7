// Imports run one way (docs/architecture.md). This check reads every import of every source and fails on one that
// runs against it, and on files that import each other in a circle.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseSync } from 'oxc-parser';

const houses = ['app', 'main', 'renderer', 'e2e', 'bench', 'chaos'];
/** Packages of the desktop, which the core must run without. */
const desktopPackages = ['electron', 'react', 'react-dom', 'zustand', '@tanstack/react-virtual'];
const nodeModules = new Set(builtinModules.filter((name) => !name.startsWith('_')));

/**
 * Who may import whom. `from` is a folder; a file belongs to its longest match. `to` lists the folders of ours it may
 * reach besides itself, `typesOf` those of which it may take types only, `never` packages that stay out.
 */
const rules = [
  { from: 'app/identity', to: [], never: desktopPackages },
  { from: 'app/roll', to: [], typesOf: ['app/identity'], never: desktopPackages, node: false },
  { from: 'app', to: ['app'], never: desktopPackages },
  { from: 'main', to: ['app'], never: ['react', 'react-dom', 'zustand', '@tanstack/react-virtual'] },
  { from: 'renderer', to: ['app/roll'], never: ['electron', 'koffi', 'systeminformation'], node: false },
  // The scenarios and benchmarks drive every part, but nothing depends on them.
  { from: 'e2e', to: ['app', 'main', 'renderer'], never: [] },
  { from: 'bench', to: ['app', 'e2e'], never: [] },
  { from: 'chaos', to: ['app'], never: desktopPackages },
];

const inside = (file, folder) => file === folder || file.startsWith(`${folder}/`);
const isTest = (file) => /\.test\.tsx?$/.test(file);

/** `@scope/name/deep` → `@scope/name`. */
function packageOf(specifier) {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : parts[0];
}

function sourcesUnder(root, folder) {
  const at = path.join(root, folder);
  if (!existsSync(at)) return [];
  return readdirSync(at, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !entry.name.endsWith('.d.ts'))
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
    .filter((file) => !file.split('/').includes('node_modules'))
    .sort();
}

/**
 * The imports of one source.
 *
 * @returns {{specifier: string, typeOnly: boolean, line: number}[]}
 * @throws {SyntaxError} when it cannot be parsed
 */
export function importsOf(file, text) {
  const { errors, module } = parseSync(file, text);
  if (errors.length > 0) throw new SyntaxError(`${file}: ${errors[0].message}`);
  const lineAt = (offset) => text.slice(0, offset).split('\n').length;
  const found = module.staticImports.map((item) => ({
    specifier: item.moduleRequest.value,
    // `import {}` and `import 'x'` run the module; only when every name is a type is nothing run.
    typeOnly: item.entries.length > 0 && item.entries.every((entry) => entry.isType),
    line: lineAt(item.start),
  }));
  for (const item of module.staticExports) {
    const entries = item.entries.filter((entry) => entry.moduleRequest);
    const [request] = entries.flatMap((entry) => entry.moduleRequest ?? []);
    if (!request) continue;
    found.push({
      specifier: request.value,
      typeOnly: entries.every((entry) => entry.isType),
      line: lineAt(item.start),
    });
  }
  for (const item of module.dynamicImports) {
    const words = text.slice(item.moduleRequest.start, item.moduleRequest.end);
    const literal = /^(['"`])([^'"`$]*)\1$/.exec(words);
    if (literal) found.push({ specifier: literal[2], typeOnly: false, line: lineAt(item.start) });
  }
  return found;
}

/** Why a source may not import this, or null when it may. */
function objection(file, { specifier, typeOnly }, target) {
  const rule = rules.filter(({ from }) => inside(file, from)).sort((a, b) => b.from.length - a.from.length)[0];
  if (target === null) {
    const name = packageOf(specifier.replace(/^node:/, ''));
    const isNode = specifier.startsWith('node:') || nodeModules.has(name);
    // A test runs in Node whatever it tests.
    if (isNode) return rule.node === false && !isTest(file) ? `${rule.from} runs without Node` : null;
    return rule.never.includes(name) ? `${rule.from} never imports ${name}` : null;
  }
  // The version is told there, once.
  if (target === 'package.json' && rule.node !== false) return null;
  // Tests share the stand-ins of the scenarios: buses, panels, fake processes.
  if (isTest(file) && inside(target, 'e2e/support')) return null;
  if (inside(target, rule.from) || rule.to.some((folder) => inside(target, folder))) return null;
  if (rule.typesOf?.some((folder) => inside(target, folder))) {
    return typeOnly ? null : `${rule.from} takes types only from ${target}`;
  }
  return `${rule.from} may not import ${target}`;
}

/** Circles among files, each once, by the imports that remain when types are erased. */
function circles(graph) {
  const found = [];
  const state = new Map();
  const trail = [];
  const visit = (file) => {
    state.set(file, 'open');
    trail.push(file);
    for (const next of graph.get(file) ?? []) {
      if (state.get(next) === 'open') found.push([...trail.slice(trail.indexOf(next)), next]);
      else if (!state.has(next) && graph.has(next)) visit(next);
    }
    trail.pop();
    state.set(file, 'done');
  };
  for (const file of graph.keys()) if (!state.has(file)) visit(file);
  return found;
}

/**
 * Checks every source under a checkout.
 *
 * @param {string} root
 * @returns {{files: number, problems: string[]}} `problems` as `file:line: sentence`
 */
export function checkImports(root) {
  const problems = [];
  const graph = new Map();
  const files = houses.flatMap((house) => sourcesUnder(root, house));
  for (const file of files) {
    const runs = new Set();
    for (const item of importsOf(file, readFileSync(path.join(root, file), 'utf8'))) {
      const target = item.specifier.startsWith('.')
        ? path.posix.normalize(path.posix.join(path.posix.dirname(file), item.specifier))
        : null;
      const why = objection(file, item, target);
      if (why) problems.push(`${file}:${item.line}: ${why} (${item.specifier})`);
      if (target !== null && !item.typeOnly) runs.add(target);
    }
    graph.set(file, runs);
  }
  for (const circle of circles(graph))
    problems.push(`${circle[0]}:1: imports itself in a circle: ${circle.join(' → ')}`);
  return { files: files.length, problems };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { files, problems } = checkImports(path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..'));
  for (const problem of problems) console.error(problem);
  console.log(`imports: ${files} files, ${problems.length} against the directions`);
  if (problems.length > 0) process.exitCode = 1;
}
