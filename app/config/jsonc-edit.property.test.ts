/** Whatever a configuration file looks like, one member is edited, and every other setting and comment stays. */
import fc from 'fast-check';
import { type ParseError, parse, visit } from 'jsonc-parser';
import { expect, test } from 'vitest';
import { edited, renamed } from './jsonc-edit.ts';

const TARGET = 'box';

/** What stands between two tokens; each comment is numbered when it is written. */
const gap = fc.array(fc.constantFrom(' ', '\n', '  ', '\t', '//', '/*', '\r\n'), { maxLength: 3 });
const gaps = fc.array(gap, { minLength: 60, maxLength: 60 });
const name = fc.constantFrom('a', 'b', 'leak', 'connect', 'alias', 'é "q"', '//', '/*');
const leaf = fc.oneof(
  fc.constantFrom<unknown>('// no comment', 'x, y', '{', 1.5, -3, true, null),
  fc.constant<unknown>([]),
  fc.constant<unknown>([1, { k: ',' }]),
);
const host = fc.oneof(fc.dictionary(name, leaf, { maxKeys: 3 }), leaf);
const file = fc.record({
  others: fc.dictionary(name, leaf, { maxKeys: 3 }),
  hosts: fc.option(fc.dictionary(fc.oneof(name, fc.constant(TARGET)), host, { maxKeys: 4 })),
  hostsFirst: fc.boolean(),
  trailing: fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }),
  gaps,
});

interface Written {
  readonly text: string;
  readonly value: Readonly<Record<string, unknown>>;
  /** Comments outside the target's own member. */
  readonly outside: readonly string[];
  readonly all: readonly string[];
}

function written({
  others,
  hosts,
  hostsFirst,
  trailing,
  gaps: between,
}: typeof file extends fc.Arbitrary<infer T> ? T : never): Written {
  const rest = Object.entries(others);
  const own: [string, unknown][] = hosts === null ? [] : [['hosts', hosts]];
  const value = Object.fromEntries(hostsFirst ? [...own, ...rest] : [...rest, ...own]);
  const all: string[] = [];
  const inside = new Set<string>();
  let objects = 0;
  let gapsSoFar = 0;
  let inTarget = false;
  const trivia = (): string => {
    gapsSoFar += 1;
    const parts = between[gapsSoFar % between.length] ?? [];
    return parts
      .map((part) => {
        if (part !== '//' && part !== '/*') return part;
        const comment = part === '//' ? `// c${all.length} "x": {,` : `/* c${all.length} }, */`;
        all.push(comment);
        if (inTarget) inside.add(comment);
        return part === '//' ? `${comment}\n` : comment;
      })
      .join('');
  };
  const write = (node: unknown, path: string): string => {
    if (typeof node !== 'object' || node === null || Array.isArray(node)) return JSON.stringify(node);
    objects += 1;
    const comma = trailing[objects % trailing.length] === true;
    let text = `{${trivia()}`;
    const members = Object.entries(node);
    for (const [index, [key, member]] of members.entries()) {
      const at = `${path}.${key}`;
      const isTarget = at === `.hosts.${TARGET}`;
      if (isTarget) inTarget = true;
      text += `${JSON.stringify(key)}${trivia()}:${trivia()}${write(member, at)}`;
      if (isTarget) inTarget = false;
      const last = index === members.length - 1;
      text += `${trivia()}${!last || comma ? ',' : ''}${trivia()}`;
    }
    return `${text}}`;
  };
  const text = `${trivia()}${write(value, '')}${trivia()}`;
  return { text, value, all, outside: all.filter((comment) => !inside.has(comment)) };
}

function commentsOf(text: string): string[] {
  const found: string[] = [];
  visit(text, { onComment: (offset, length) => void found.push(text.slice(offset, offset + length)) });
  return found;
}

function readBack(text: string): unknown {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  expect(errors).toEqual([]);
  return value;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

test('taking a member away takes nothing else, whatever commas and comments stand around it', () => {
  fc.assert(
    fc.property(file.map(written), ({ text, value, outside, all }) => {
      const after = edited(text, ['hosts', TARGET], undefined);
      const had = isObject(value['hosts']) && Object.hasOwn(value['hosts'], TARGET);
      if (!had) {
        expect(after).toBe(text);
        return;
      }
      const { [TARGET]: _gone, ...left } = value['hosts'] as Record<string, unknown>;
      expect(readBack(after)).toEqual({ ...value, hosts: left });
      expect(commentsOf(text)).toEqual(all);
      expect(commentsOf(after)).toEqual(outside);
    }),
    { numRuns: 1000 },
  );
});

test('setting a value and renaming a member keep every other setting and every comment', () => {
  fc.assert(
    fc.property(file.map(written), ({ text, value, all }) => {
      const hosts = value['hosts'] as Record<string, unknown> | undefined;
      const target = hosts !== undefined && Object.hasOwn(hosts, TARGET) ? hosts[TARGET] : {};
      fc.pre(isObject(target));
      const after = edited(text, ['hosts', TARGET, 'connect'], 'at-start');
      expect(readBack(after)).toEqual({ ...value, hosts: { ...hosts, [TARGET]: { ...target, connect: 'at-start' } } });
      expect(commentsOf(after)).toEqual(all);
      const moved = renamed(after, ['hosts', TARGET], 'moved "1"');
      expect(readBack(moved)).toEqual({
        ...value,
        hosts: { ...hosts, [TARGET]: undefined, 'moved "1"': { ...target, connect: 'at-start' } },
      });
      expect(commentsOf(moved)).toEqual(all);
    }),
    { numRuns: 1000 },
  );
});
