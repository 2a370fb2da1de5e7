// Fails on an import that import-rules.mjs does not allow, and on files that import each other in a circle. Types count.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseSync } from 'oxc-parser';
import * as rules from './import-rules.mjs';

const nodeModules = new Set(builtinModules.filter((name) => !name.startsWith('_')));

const inside = (file, folder) => file === folder || file.startsWith(`${folder}/`);
/** Tests, their fixtures, and the houses that hold nothing else. */
const isTest = (file) =>
  /\.(test|testing)\.tsx?$|\/testing\//.test(file) || ['e2e', 'bench', 'chaos'].some((house) => inside(file, house));

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
 * @returns {{specifier: string, line: number}[]}
 * @throws {SyntaxError} when it cannot be parsed
 */
export function importsOf(file, text) {
  const { errors, module } = parseSync(file, text);
  if (errors.length > 0) throw new SyntaxError(`${file}: ${errors[0].message}`);
  const lineAt = (offset) => text.slice(0, offset).split('\n').length;
  const found = module.staticImports.map((item) => ({
    specifier: item.moduleRequest.value,
    line: lineAt(item.start),
  }));
  for (const item of module.staticExports) {
    const entries = item.entries.filter((entry) => entry.moduleRequest);
    const [request] = entries.flatMap((entry) => entry.moduleRequest ?? []);
    if (!request) continue;
    found.push({
      specifier: request.value,
      line: lineAt(item.start),
    });
  }
  for (const item of module.dynamicImports) {
    const words = text.slice(item.moduleRequest.start, item.moduleRequest.end);
    const literal = /^(['"`])([^'"`$]*)\1$/.exec(words);
    if (literal) found.push({ specifier: literal[2], line: lineAt(item.start) });
  }
  return found;
}

const longest = (file, folders) =>
  folders.filter((folder) => inside(file, folder)).sort((a, b) => b.length - a.length)[0] ?? null;

/** Why a source may not import a package or a module of Node, or null when it may. */
function packageObjection(file, specifier) {
  const house = file.split('/')[0];
  const name = packageOf(specifier.replace(/^node:/, ''));
  if (specifier.startsWith('node:') || nodeModules.has(name)) {
    const room = longest(file, rules.withoutNode);
    // A test runs in Node whatever it tests.
    return room === null || isTest(file) ? null : `${room} runs without Node`;
  }
  return rules.houses[house].never.includes(name) ? `${house} never imports ${name}` : null;
}

/** Why a source may not import another file, or null when it may. */
function objection(file, target) {
  const house = file.split('/')[0];
  // The version is told there, once.
  if (target === 'package.json' && longest(file, rules.withoutNode) === null) return null;
  if (isTest(file)) {
    return rules.houses[house].tests.some((folder) => inside(target, folder))
      ? null
      : `${house} may not import ${target}`;
  }
  const room = longest(file, Object.keys(rules.rooms));
  if (room === null) return `no room of import-rules.mjs holds this file, which imports ${target}`;
  const other = longest(target, Object.keys(rules.rooms));
  if (other === null || isTest(target)) return `${room} may not import ${target}`;
  if (other !== room && !rules.rooms[room].includes(other)) return `${room} may not import ${target}`;
  return null;
}

/** Circles among files, each once. */
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
 * @param {readonly string[]} exceptions `file → file`, each allowed and needed
 * @returns {{files: number, problems: string[]}} `problems` as `file:line: sentence`
 */
export function checkImports(root, exceptions = rules.exceptions) {
  const problems = [];
  const graph = new Map();
  const unused = new Set(exceptions);
  const files = Object.keys(rules.houses).flatMap((house) => sourcesUnder(root, house));
  for (const file of files) {
    const targets = new Set();
    for (const { specifier, line } of importsOf(file, readFileSync(path.join(root, file), 'utf8'))) {
      const target = specifier.startsWith('.')
        ? path.posix.normalize(path.posix.join(path.posix.dirname(file), specifier))
        : null;
      if (target !== null) targets.add(target);
      const why = target === null ? packageObjection(file, specifier) : objection(file, target);
      const excepted = why !== null && exceptions.includes(`${file} → ${target}`);
      if (excepted) unused.delete(`${file} → ${target}`);
      else if (why !== null) problems.push(`${file}:${line}: ${why} (${specifier})`);
    }
    graph.set(file, targets);
  }
  for (const circle of circles(graph))
    problems.push(`${circle[0]}:1: imports itself in a circle: ${circle.join(' → ')}`);
  for (const entry of unused)
    problems.push(`build/import-rules.mjs:1: this exception is not needed any more: ${entry}`);
  return { files: files.length, problems };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { files, problems } = checkImports(path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..'));
  for (const problem of problems) console.error(problem);
  console.log(`imports: ${files} files, ${problems.length} against the directions`);
  if (problems.length > 0) process.exitCode = 1;
}
