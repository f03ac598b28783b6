import path from 'node:path';
import type { Copy } from './copy.ts';
import type { Fault } from './faults.ts';

export interface TestResult {
  readonly file: string;
  /** With the names of its groups in front. */
  readonly title: string;
  readonly passed: boolean;
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

const REPORT = 'break-it.json';

/** Those tests alone that must notice one of the faults. What is not among the answers did not run. */
export async function runTests(copy: Copy, faults: readonly Fault[]): Promise<readonly TestResult[]> {
  const files = [...new Set(faults.flatMap(({ tests }) => tests))];
  const titles = faults.map(({ notices }) => notices.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)).join('|');
  const argv = ['node_modules/vitest/vitest.mjs', 'run', ...files, '--config', 'vitest.break-it.config.ts', '-t', titles];
  const { said } = await copy.run([...argv, '--reporter=json', `--outputFile=${REPORT}`]);
  const { testResults } = JSON.parse(
    await copy.take(REPORT).catch((cause: unknown) => {
      throw new Error(`the tests ${files.join(', ')} did not come to an end: ${said.slice(-2000)}`, { cause });
    }),
  ) as Report;
  return testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'passed' || status === 'failed')
      .map(({ fullName, status }) => ({
        file: path.relative(copy.folder, name).split(path.sep).join('/'),
        title: fullName,
        passed: status === 'passed',
      })),
  );
}
