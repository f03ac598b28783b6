import type { Boot } from './boot.ts';
import { writeError, type Stdio } from './terminal-io.ts';

/** Findings on settings that make Pith do other than was written. */
const CODES: readonly string[] = ['settings_invalid', 'name_unknown'];
/** These show them themselves. */
const SHOWING: readonly string[] = ['doctor', 'settings'];

/** A boot whose kernel says on the error stream, in every mode, what in the settings does not hold. */
export function tellingSettingsErrors(boot: Boot, stdio: Stdio, [command = '']: readonly string[]): Boot {
  let told = SHOWING.includes(command);
  return {
    ...boot,
    async kernel(target) {
      const kernel = await boot.kernel(target);
      if (told) return kernel;
      told = true;
      const findings = kernel.findings().filter(({ severity, code }) => severity === 'error' && CODES.includes(code));
      if (findings.length === 0) return kernel;
      const { findingLine } = await import('./commands/text.ts');
      for (const finding of findings) writeError(stdio, `pith: settings: ${findingLine(finding)}`);
      return kernel;
    },
  };
}
