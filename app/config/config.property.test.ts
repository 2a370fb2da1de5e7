/** Whatever a person saves, there is a configuration that counts, and each thing wrong with it has a sentence. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseConfig } from './load.ts';
import { DEFAULTS } from './schema.ts';

/** A value where each known setting is, and where something else is expected. */
const like = fc.oneof(
  fc.record(
    {
      leak: fc.oneof(fc.record({ graceSeconds: fc.jsonValue({ maxDepth: 1 }) }, { requiredKeys: [] }), fc.jsonValue()),
      look: fc.oneof(
        fc.record({ intervalSeconds: fc.jsonValue({ maxDepth: 1 }) }, { requiredKeys: [] }),
        fc.jsonValue(),
      ),
      start: fc.oneof(
        fc.dictionary(fc.constantFrom('opencode', 't3', '__proto__', 'x'), fc.jsonValue()),
        fc.jsonValue(),
      ),
      kinds: fc.oneof(
        fc.array(
          fc.record(
            {
              name: fc.jsonValue({ maxDepth: 0 }),
              program: fc.string(),
              args: fc.array(fc.string()),
              start: fc.jsonValue(),
            },
            { requiredKeys: [] },
          ),
        ),
        fc.jsonValue(),
      ),
    },
    { requiredKeys: [] },
  ),
  fc.dictionary(fc.string(), fc.jsonValue()),
  fc.jsonValue(),
);

test('any text gives a configuration; what is wrong has a place and a sentence, and no text is wrong in silence', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    like.map((value) => JSON.stringify(value)),
    fc.tuple(like, fc.nat(300)).map(([value, at]) => JSON.stringify(value, null, 2).slice(0, at)),
  );
  fc.assert(
    fc.property(text, (saved) => {
      const { config, problems } = parseConfig(saved, 'config.json');
      expect(config.leak.graceSeconds).toBeGreaterThanOrEqual(0);
      expect(config.look.intervalSeconds).toBeGreaterThan(0);
      expect(Array.isArray(config.kinds)).toBe(true);
      for (const { message, line } of problems) {
        expect(message).toMatch(/\.$/u);
        expect(message).not.toMatch(/\n/u);
        if (line !== null) expect(line).toBeLessThanOrEqual(saved.split('\n').length);
      }
      const object = isObject(saved);
      if (saved.trim() !== '' && !object) expect(problems.length).toBeGreaterThan(0);
    }),
    { numRuns: 500 },
  );
});

/** Whether a text is a JSON object by the strict rules. */
function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return /\/[/*]/u.test(text);
  }
}

test('what is set within its bounds is what counts, and the rest stays as it was', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 3600 }), fc.integer({ min: 1, max: 60 }), (graceSeconds, intervalSeconds) => {
      const text = `// mine\n${JSON.stringify({ leak: { graceSeconds }, look: { intervalSeconds } })}`;
      const { config, problems } = parseConfig(text, 'config.json');
      expect(problems).toEqual([]);
      expect(config).toEqual({
        ...DEFAULTS,
        leak: { ...DEFAULTS.leak, graceSeconds },
        look: { ...DEFAULTS.look, intervalSeconds },
      });
    }),
  );
});
