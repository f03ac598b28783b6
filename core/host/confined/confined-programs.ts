import type { ConfinedPrograms } from '../../contract/confined.ts';
import { PithError } from '../../contract/errors.ts';
import { findProgram, installCommand } from '../process/programs.ts';
import { probeSandboxing, type Sandboxing } from '../process/sandboxing.ts';
import { runConfined, type ConfinedHost } from './confined-process.ts';

/** What `context.confined` does. `probe`: whether bubblewrap works here, asked once. */
export function createConfinedPrograms(host: ConfinedHost, probe: () => Promise<Sandboxing> = probeSandboxing): ConfinedPrograms {
  return {
    async unavailable() {
      const found = await probe();
      return found.available ? null : { why: found.why, cure: found.cure };
    },
    locate: async (name, folders) => ({ path: findProgram(name, folders), install: installCommand(name) }),
    async run(program, signal) {
      if (signal?.aborted) throw new PithError('aborted', 'the program was not started: it was aborted', { cause: signal.reason });
      if (program.sandbox === 'none') return runConfined(host, program, null, signal);
      const found = await probe();
      if (!found.available) throw new PithError('sandbox_unavailable', `the program was not run: ${found.why}`, { cure: found.cure });
      return runConfined(host, program, found.program, signal);
    },
  };
}
