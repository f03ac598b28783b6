import type { TestCase } from 'vitest/node';
import type { Reporter } from 'vitest/reporters';

/** Names the tests that passed only when they were run again, with why they failed before: each is a race that somebody is to look at. */
export class SecondTries implements Reporter {
  readonly #tests: TestCase[] = [];

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky === true) this.#tests.push(test);
  }

  onTestRunEnd(): void {
    for (const test of this.#tests) {
      const why = test.result().errors?.[0]?.message ?? 'no error was kept';
      process.stdout.write(`\npassed only when run again: ${test.module.relativeModuleId} > ${test.fullName}\n  ${why}\n`);
    }
  }
}
