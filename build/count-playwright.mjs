// A Playwright reporter that writes how many tests passed, failed and were skipped for `npm test`.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { noCounts, writeCounts } from './count.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

export default class CountPlaywright {
  #suite;
  #errors = [];

  printsToStdio() {
    return false;
  }

  onBegin(_config, suite) {
    this.#suite = suite;
  }

  onError(error) {
    this.#errors.push(`outside any test: ${error.message ?? error.value ?? 'unknown error'}`);
  }

  onEnd() {
    const counts = noCounts();
    counts.failed.push(...this.#errors);
    for (const test of this.#suite?.allTests() ?? []) {
      const title = test.titlePath().filter(Boolean).join(' > ');
      const file = path.relative(root, test.location.file).split(path.sep).join('/');
      const ms = test.results.reduce((sum, { duration }) => sum + duration, 0);
      counts.seconds[file] = (counts.seconds[file] ?? 0) + ms / 1000;
      const outcome = test.outcome();
      if (outcome === 'expected') counts.passed += 1;
      else if (outcome === 'skipped') {
        const reason = test.annotations.find((item) => item.description)?.description ?? 'no reason given';
        counts.skipped.push({ title, reason });
      } else counts.failed.push(title);
    }
    writeCounts(counts);
  }
}
