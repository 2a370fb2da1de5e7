/** Whether every word of a filter occurs somewhere in these texts, in any order and case. A blank filter fits all. */
export function matches(texts: readonly (string | null)[], filter: string): boolean {
  const wanted = filter.trim().toLowerCase();
  if (wanted === '') return true;
  const all = texts
    .filter((text) => text !== null)
    .join(' ')
    .toLowerCase();
  return wanted.split(/\s+/u).every((word) => all.includes(word));
}
