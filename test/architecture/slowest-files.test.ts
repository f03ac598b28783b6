import { expect, it, vi } from 'vitest';
import type { TestModule } from 'vitest/node';
import { SlowestFiles } from '../slowest-files.ts';

const modules = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    relativeModuleId: `test/${at}.test.ts`,
    diagnostic: () => ({ duration: at * 1000 }),
  })) as unknown as readonly TestModule[];

it('29 a run of many files ends with the ten slowest, a run of few with none', () => {
  const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    new SlowestFiles().onTestRunEnd(modules(10));
    expect(written).not.toHaveBeenCalled();
    new SlowestFiles().onTestRunEnd(modules(12));
    const lines = written.mock.calls
      .map(([text]) => String(text))
      .join('')
      .split('\n')
      .filter((line) => line.includes('.test.ts'));
    expect(lines).toHaveLength(10);
    expect([lines[0], lines.at(-1)]).toEqual(['    11.0 s  test/11.test.ts', '     2.0 s  test/2.test.ts']);
  } finally {
    written.mockRestore();
  }
});
