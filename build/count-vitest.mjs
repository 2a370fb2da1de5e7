// A vitest reporter that writes how many tests passed, failed and were skipped for `npm test`.
import { noCounts, writeCounts } from './count.mjs';

export default class CountVitest {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = noCounts();
    for (const module of modules) {
      const { collectDuration, duration, prepareDuration, setupDuration } = module.diagnostic();
      counts.seconds[module.relativeModuleId] = (collectDuration + duration + prepareDuration + setupDuration) / 1000;
      // A file that cannot even be loaded has no tests to count.
      for (const error of module.errors()) counts.failed.push(`${module.relativeModuleId}: ${error.message}`);
      for (const test of module.children.allTests()) {
        const { state, note } = test.result();
        const title = `${module.relativeModuleId} > ${test.fullName}`;
        if (state === 'passed') counts.passed += 1;
        else if (state === 'skipped') counts.skipped.push({ title, reason: note ?? 'no reason given' });
        else counts.failed.push(title);
      }
    }
    for (const error of unhandledErrors) counts.failed.push(`outside any test: ${error.message}`);
    writeCounts(counts);
  }
}
