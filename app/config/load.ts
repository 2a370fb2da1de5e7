import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { type Node, type ParseError, parseTree, printParseErrorCode, stripComments } from 'jsonc-parser';
import type { z } from 'zod';
import { listed } from '../text/words.ts';
import { codeOf } from '../util/errors.ts';
import {
  type Config,
  customKindSchema,
  DEFAULTS,
  hostSettingsSchema,
  isHostName,
  KNOWN_KEYS,
  LEAVES,
  LOCAL_HOST,
  programOptionsSchema,
  sessionEndHookSchema,
} from './schema.ts';
import { type Distrust, distrusted } from './trust.ts';

/** Something wrong with the configuration file. The rest of the file counts. */
export interface Problem {
  /** An error lost a setting; a warning lost nothing that would have counted. */
  readonly level: 'error' | 'warning';
  /** From 1; null where the file as a whole is meant. */
  readonly line: number | null;
  readonly column: number | null;
  /** One sentence: file, line, what is wrong, and what counts instead. */
  readonly message: string;
}

export interface Loaded {
  readonly config: Config;
  readonly problems: readonly Problem[];
}

/** Longest file that is read, in bytes. */
const FILE_MAX = 1_000_000;

/** By the name that the parser prints for its code. */
const SYNTAX: Readonly<Record<string, string>> = {
  InvalidSymbol: 'a word stands here that JSON does not know',
  InvalidNumberFormat: 'this is not a number',
  PropertyNameExpected: 'a name in double quotes is missing here',
  ValueExpected: 'a value is missing here',
  ColonExpected: 'a colon is missing here',
  CommaExpected: 'a comma is missing here',
  CloseBraceExpected: 'a closing brace is missing here',
  CloseBracketExpected: 'a closing bracket is missing here',
  EndOfFileExpected: 'the file goes on after its end',
  UnexpectedEndOfComment: 'a comment is not closed',
  UnexpectedEndOfString: 'a text is not closed',
};

/** Collects problems of one text, with their places. */
class Report {
  readonly problems: Problem[] = [];
  readonly #name: string;
  readonly #text: string;
  constructor(name: string, text: string) {
    this.#name = name;
    this.#text = text;
  }
  #place(offset: number): { line: number; column: number } {
    const before = this.#text.slice(0, offset);
    const start = before.lastIndexOf('\n') + 1;
    return { line: before.split('\n').length, column: offset - start + 1 };
  }
  add(level: Problem['level'], offset: number, what: string): void {
    const { line, column } = this.#place(offset);
    this.problems.push({ level, line, column, message: `${this.#name}, line ${line}: ${what}.` });
  }
  syntax(error: ParseError): void {
    const { line, column } = this.#place(error.offset);
    const what = SYNTAX[printParseErrorCode(error.error)] ?? 'this is not JSON';
    const message = `${this.#name}, line ${line}, column ${column}: ${what}; what could be read counts.`;
    this.problems.push({ level: 'error', line, column, message });
  }
}

/** Members of an object by name, the last of equal ones. Empty for anything else. */
function members(node: Node | undefined): Map<string, { key: Node; value: Node }> {
  const found = new Map<string, { key: Node; value: Node }>();
  if (node?.type !== 'object') return found;
  for (const property of node.children ?? []) {
    const [key, value] = property.children ?? [];
    if (key !== undefined && value !== undefined) found.set(String(key.value), { key, value });
  }
  return found;
}

/** Plain value of a tree; with `__proto__` and the like as ordinary members, never as prototypes. */
function plainValue(node: Node): unknown {
  if (node.type === 'array') return (node.children ?? []).map(plainValue);
  if (node.type !== 'object') return node.value;
  return Object.fromEntries([...members(node)].map(([name, { value }]) => [name, plainValue(value)]));
}

/** The node a zod path leads to, or the nearest one above it that exists. */
function nodeAt(node: Node, path: readonly PropertyKey[]): Node {
  let at = node;
  for (const step of path) {
    const next = typeof step === 'number' ? at.children?.[step] : members(at).get(String(step))?.value;
    if (next === undefined) return at;
    at = next;
  }
  return at;
}

function warnUnknown(report: Report, node: Node | undefined, known: readonly string[], where: string): void {
  for (const [name, { key }] of members(node)) {
    if (!known.includes(name)) report.add('warning', key.offset, `${where}${name} is no setting; it is ignored`);
  }
}

/** Reads one entry by its schema; null, with the first problem told, when it does not fit. */
function readEntry<T>(report: Report, node: Node, schema: z.ZodType<T>, where: string, lost: string): T | null {
  const parsed = schema.safeParse(plainValue(node));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = issue?.path ?? [];
  const name = [where, ...path.map(String)].join('.');
  const last = path.at(-1);
  const missing = typeof last === 'string' && !members(nodeAt(node, path.slice(0, -1))).has(last);
  const custom = issue !== undefined && /^(?:not )?(?:be|begin|have|hold) /u.test(issue.message);
  const what = missing ? 'is missing' : `must ${custom ? issue.message : 'be an object'}`;
  report.add('error', nodeAt(node, path).offset, `${name} ${what}; ${lost}`);
  return null;
}

function readLeaves(report: Report, top: ReadonlyMap<string, { key: Node; value: Node }>): Config {
  const sections: Record<string, Record<string, unknown>> = {};
  for (const { path, schema, mustBe } of LEAVES) {
    const [section, key] = path;
    const standard = Object.entries(DEFAULTS[section]).find(([name]) => name === key)?.[1];
    const into: Record<string, unknown> = sections[section] ?? {};
    sections[section] = into;
    into[key] = standard;
    const outer = top.get(section)?.value;
    const node = members(outer).get(key)?.value;
    if (node === undefined) continue;
    const parsed = schema.safeParse(plainValue(node));
    if (parsed.success) into[key] = parsed.data;
    else {
      report.add(
        'error',
        node.offset,
        `${section}.${key} must be ${mustBe}; the default, ${String(standard)}, is used`,
      );
    }
  }
  for (const section of new Set(LEAVES.map(({ path }) => path[0]))) {
    const entry = top.get(section);
    if (entry === undefined) continue;
    if (entry.value.type !== 'object') {
      report.add('error', entry.value.offset, `${section} must be an object; its defaults are used`);
    }
    const known = LEAVES.filter(({ path }) => path[0] === section).map(({ path }) => path[1]);
    warnUnknown(report, entry.value, known, `${section}.`);
  }
  // Each leaf holds its default or what its schema has passed.
  return { ...DEFAULTS, ...sections };
}

function readKinds(report: Report, node: Node | undefined): Config['kinds'] {
  if (node === undefined) return [];
  if (node.type !== 'array') {
    report.add('error', node.offset, 'kinds must be a list; there are no custom kinds now');
    return [];
  }
  const kinds = new Map<string, Config['kinds'][number]>();
  for (const [index, entry] of (node.children ?? []).entries()) {
    const where = `kinds[${index}]`;
    warnUnknown(report, entry, KNOWN_KEYS.kind, `${where}.`);
    warnUnknown(report, members(entry).get('health')?.value, KNOWN_KEYS.health, `${where}.health.`);
    const kind = readEntry(report, entry, customKindSchema, where, 'this kind is left out');
    if (kind === null) continue;
    if (kinds.has(kind.name)) {
      report.add('error', entry.offset, `${where} is named ${kind.name} like an earlier one; this kind is left out`);
    } else {
      kinds.set(kind.name, kind);
    }
  }
  return [...kinds.values()];
}

function readHooks(report: Report, node: Node | undefined): Config['hooks'] {
  if (node === undefined) return DEFAULTS.hooks;
  if (node.type !== 'object') {
    report.add('error', node.offset, 'hooks must be an object; there are no hooks now');
    return DEFAULTS.hooks;
  }
  warnUnknown(report, node, KNOWN_KEYS.hooks, 'hooks.');
  const list = members(node).get('sessionEnd')?.value;
  if (list === undefined) return DEFAULTS.hooks;
  if (list.type !== 'array') {
    report.add('error', list.offset, 'hooks.sessionEnd must be a list; there are no session-end hooks now');
    return DEFAULTS.hooks;
  }
  const sessionEnd = (list.children ?? []).flatMap((entry, index) => {
    const where = `hooks.sessionEnd[${index}]`;
    warnUnknown(report, entry, KNOWN_KEYS.hook, `${where}.`);
    return readEntry(report, entry, sessionEndHookSchema, where, 'this hook is left out') ?? [];
  });
  return { sessionEnd };
}

function readStart(report: Report, node: Node | undefined, where = 'start'): Config['start'] {
  if (node === undefined) return {};
  if (node.type !== 'object') {
    report.add('error', node.offset, `${where} must be an object; every kind starts as usual`);
    return {};
  }
  const programs: [string, Config['start'][string]][] = [];
  for (const [name, { value }] of members(node)) {
    warnUnknown(report, value, KNOWN_KEYS.program, `${where}.${name}.`);
    const options = readEntry(report, value, programOptionsSchema, `${where}.${name}`, `${name} starts as usual`);
    if (options !== null) programs.push([name, options]);
  }
  return Object.fromEntries(programs);
}

function readHosts(report: Report, node: Node | undefined): Config['hosts'] {
  if (node === undefined) return {};
  if (node.type !== 'object') {
    report.add('error', node.offset, 'hosts must be an object; there are no saved hosts now');
    return {};
  }
  const hosts: [string, Config['hosts'][string]][] = [];
  for (const [name, { key, value }] of members(node)) {
    const lost = 'this host is left out';
    if (name === LOCAL_HOST || !isHostName(name)) {
      report.add('error', key.offset, `hosts.${name} must be named as an ssh alias is, and not ${LOCAL_HOST}; ${lost}`);
      continue;
    }
    warnUnknown(report, value, KNOWN_KEYS.host, `hosts.${name}.`);
    const settings = readEntry(report, value, hostSettingsSchema, `hosts.${name}`, lost);
    if (settings === null) continue;
    const start = readStart(report, members(value).get('start')?.value, `hosts.${name}.start`);
    hosts.push([name, { ...settings, start }]);
  }
  return Object.fromEntries(hosts);
}

/**
 * Reads a configuration text. Pure. Whatever is wrong costs only itself: every other setting counts.
 *
 * @param name file name for the messages
 */
export function parseConfig(text: string, name: string): Loaded {
  const plain = text.startsWith('\ufeff') ? text.slice(1) : text;
  const report = new Report(name, plain);
  const errors: ParseError[] = [];
  const root = parseTree(plain, errors, { allowTrailingComma: true });
  // What follows the first syntax error is mostly its echo.
  const [first] = errors;
  // A file of nothing but blanks and comments sets nothing, which is no error.
  if (stripComments(plain).trim() === '') {
    return { config: DEFAULTS, problems: [] };
  }
  if (first !== undefined) report.syntax(first);
  if (root !== undefined && root.type !== 'object') {
    report.add('error', root.offset, 'the file must hold one object; the defaults are used');
  }
  const top = members(root);
  warnUnknown(report, root, KNOWN_KEYS.top, '');
  const config = {
    ...readLeaves(report, top),
    hooks: readHooks(report, top.get('hooks')?.value),
    kinds: readKinds(report, top.get('kinds')?.value),
    start: readStart(report, top.get('start')?.value),
    hosts: readHosts(report, top.get('hosts')?.value),
  };
  return { config, problems: report.problems };
}

/** What names programs and hosts does not count where somebody else may have written it. */
function withoutCommands(loaded: Loaded, name: string, { why, remedy }: Distrust): Loaded {
  const { config, problems } = loaded;
  const lost = [
    config.hooks.sessionEnd.length > 0 ? 'hooks' : '',
    config.kinds.length > 0 ? 'kinds' : '',
    Object.keys(config.start).length > 0 ? 'start' : '',
    Object.keys(config.hosts).length > 0 ? 'hosts' : '',
  ];
  const named = listed(lost.filter((part) => part !== ''));
  if (named === '') return loaded;
  const message = `${name}: ${named} cannot count, because ${why}, and they name programs to run and hosts to trust; ${remedy}.`;
  return {
    config: { ...config, hooks: DEFAULTS.hooks, kinds: [], start: {}, hosts: {} },
    problems: [{ level: 'error', line: null, column: null, message }, ...problems],
  };
}

/**
 * Loads the configuration file. A missing file means the defaults. Settings that name programs and hosts (`hooks`,
 * `kinds`, `start`, `hosts`) count only where nobody else can have written them. Never throws.
 */
export function loadConfig(file: string): Loaded {
  const name = basename(file);
  const whole = (what: string): Loaded => ({
    config: DEFAULTS,
    problems: [{ level: 'error', line: null, column: null, message: `${name} ${what}; the defaults are used.` }],
  });
  try {
    const stats = statSync(file);
    if (!stats.isFile()) return whole('is no file');
    if (stats.size > FILE_MAX) return whole('is longer than 1 MB');
    const loaded = parseConfig(readFileSync(file, 'utf8'), name);
    const distrust = distrusted(file);
    return distrust === null ? loaded : withoutCommands(loaded, name, distrust);
  } catch (error) {
    const code = codeOf(error) ?? 'unknown';
    if (code === 'ENOENT') return { config: DEFAULTS, problems: [] };
    return whole(`could not be read (${code})`);
  }
}

/** The problems as one text for the window: the first error, and how many more there are; null when all is well. */
export function problemText(problems: readonly Problem[]): string | null {
  const [first] = [...problems].sort((a, b) => Number(a.level === 'warning') - Number(b.level === 'warning'));
  if (first === undefined) return null;
  return problems.length === 1 ? first.message : `${first.message} (${problems.length - 1} more)`;
}
