import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const css = readFileSync(new URL('./tokens.css', import.meta.url), 'utf8');

type Theme = 'light' | 'dark';
type Rgb = readonly [number, number, number];

function hex(text: string): Rgb {
  const part = (at: number): number => Number.parseInt(text.slice(at, at + 2), 16);
  return [part(1), part(3), part(5)];
}

/** Every token of one colour for light and one for dark, from the part before any media query. */
const colours = new Map<string, Record<Theme, Rgb>>();
for (const match of css
  .slice(0, css.indexOf('@media'))
  .matchAll(/--([\w-]+):\s*light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/gu)) {
  const [, name = '', light = '', dark = ''] = match;
  colours.set(name, { light: hex(light), dark: hex(dark) });
}

function colour(name: string, theme: Theme): Rgb {
  const found = colours.get(name);
  if (found === undefined) throw new Error(`tokens.css has no --${name}`);
  return found[theme];
}

/** Relative luminance and contrast ratio as WCAG 2 defines them. */
function luminance(rgb: Rgb): number {
  const [red, green, blue] = rgb.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: Rgb, b: Rgb): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

const SURFACES = [
  'main',
  'side',
  'detail',
  'raised',
  'sunken',
  'hover',
  'side-hover',
  'selected',
  'selected-off',
  'leaked-tint',
  'suspect-tint',
  'quiet-tint',
];

/** The lowest ratio over the surfaces, rounded down to one decimal. */
function lowest(name: string, theme: Theme, surfaces: readonly string[]): number {
  const ratios = surfaces.map((surface) => contrast(colour(name, theme), colour(surface, theme)));
  return Math.floor(Math.min(...ratios) * 10) / 10;
}

/** Token, lowest in light, lowest in dark, and what it must reach: 4.5 for text, 3 for shapes and edges. */
const TEXT: readonly (readonly [string, number, number])[] = [
  ['ink', 14.4, 11.0],
  ['ink-2', 6.3, 6.6],
  ['ink-3', 4.5, 4.5],
  ['accent', 5.7, 5.8],
  ['focus', 4.5, 5.8],
  ['supervised', 4.7, 5.8],
  ['owned', 4.6, 5.7],
  ['service', 5.3, 5.3],
  ['detached', 4.8, 5.1],
  ['suspect', 4.8, 6.1],
  ['leaked', 4.7, 5.4],
];

describe('contrast over all twelve surfaces', () => {
  test('the definition gives the extremes', () => {
    expect(contrast([0, 0, 0], [255, 255, 255])).toBeCloseTo(21, 5);
    expect(contrast([18, 52, 86], [18, 52, 86])).toBe(1);
  });

  test.each(TEXT)('--%s is at least %d in light and %d in dark', (name, light, dark) => {
    expect(lowest(name, 'light', SURFACES)).toBe(light);
    expect(lowest(name, 'dark', SURFACES)).toBe(dark);
    expect(Math.min(light, dark)).toBeGreaterThanOrEqual(4.5);
  });

  test.each([
    ['on-accent', 'accent-fill', 6.9, 4.8],
    ['on-danger', 'danger-fill', 6.0, 4.8],
  ] as const)('--%s on --%s', (name, fill, light, dark) => {
    expect(lowest(name, 'light', [fill])).toBe(light);
    expect(lowest(name, 'dark', [fill])).toBe(dark);
  });

  test('the outline of a field is seen on what fields sit on', () => {
    for (const theme of ['light', 'dark'] as const) {
      expect(lowest('edge-field', theme, ['main', 'detail', 'raised'])).toBeGreaterThanOrEqual(3);
    }
  });
});
