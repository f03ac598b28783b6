import type { TestModule } from 'vitest/node';
import type { Reporter } from 'vitest/reporters';

const SHOWN = 10;

/** Ends a run of many files with the slowest of them: what to look at when tests take too long. */
export class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length <= SHOWN) return;
    const slowest = [...modules].sort((a, b) => b.diagnostic().duration - a.diagnostic().duration).slice(0, SHOWN);
    const lines = slowest.map((module) => `${(module.diagnostic().duration / 1000).toFixed(1).padStart(8)} s  ${module.relativeModuleId}`);
    process.stdout.write(`\nThe slowest files:\n${lines.join('\n')}\n\n`);
  }
}
