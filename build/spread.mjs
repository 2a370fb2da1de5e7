// How test files are spread over the parts of `npm test` that run beside each other.

/**
 * The longest file first, each to the part that has the least to do so far; the same on every machine.
 *
 * @template T
 * @param {readonly T[]} files
 * @param {number} parts
 * @param {(file: T) => string} nameOf
 * @param {(name: string) => number} secondsOf about how long it takes
 * @returns {T[][]}
 */
export function spread(files, parts, nameOf, secondsOf) {
  const weighed = files.map((file) => ({ file, name: nameOf(file), seconds: secondsOf(nameOf(file)) }));
  weighed.sort((a, b) => b.seconds - a.seconds || (a.name < b.name ? -1 : 1));
  const buckets = Array.from({ length: parts }, () => ({ seconds: 0, files: /** @type {T[]} */ ([]) }));
  for (const { file, seconds } of weighed) {
    const least = buckets.reduce((one, other) => (other.seconds < one.seconds ? other : one));
    least.seconds += seconds;
    least.files.push(file);
  }
  return buckets.map((bucket) => bucket.files);
}
