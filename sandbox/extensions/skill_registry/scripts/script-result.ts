import type { ConfinedOutcome } from '@pith/held-process';
import { toolError, toolResult, type ToolResult } from 'pith';
import { printableLine } from '@pith/plain-text';
import type { Skill } from '../skill.ts';

const LAST_CHARACTERS = 500;

export interface ScriptEnd {
  readonly maxOutputBytes: number;
  /** The command that fetches what was missing; null: nothing was. */
  readonly fetch: string | null;
}

/** What the model is told of a script that ran. */
export function scriptResult(skill: Skill, script: string, outcome: ConfinedOutcome, { maxOutputBytes, fetch }: ScriptEnd): ToolResult {
  const { exit, stdout, stderr, truncated, stopped } = outcome;
  const what = `Script ${printableLine(script)} of ${skill.id}`;
  const metadata = { skill_id: skill.id, skill_name: skill.name, directory: skill.directory, path: script, exit };
  if (exit === 0 || truncated) {
    const mark = truncated ? `[output cut at ${maxOutputBytes} bytes: the script was ended, and the rest of its output is not known]` : '';
    const parts = [stdout, stderr.trim() === '' ? '' : `[error output]\n${stderr}`, mark].filter((part) => part !== '');
    const output = parts.map((part) => (part.endsWith('\n') ? part : `${part}\n`)).join('') || '(it printed nothing)';
    return toolResult(output, { title: lineOf(printableLine(script), skill.id, exit), metadata });
  }
  const last = stderr.trimEnd().slice(-LAST_CHARACTERS);
  const said = last === '' ? 'it wrote nothing to its error output' : `the end of its error output:\n${last}`;
  const [code, how] = outcome.timedOut
    ? ['script_timeout', `was ended with all that it started, because ${stopped}`]
    : exit === null
      ? ['script_limit', `was ended with all that it started, because ${stopped}`]
      : ['script_failed', `ended with exit code ${exit}`];
  if (fetch !== null) {
    const missing = `${what} needs packages that have not been fetched. A person fetches them once by: ${fetch}\nIt ${how}; ${said}`;
    return toolError('script_packages_missing', missing, { title: `Error: ${missing}`, metadata });
  }
  const message = `${what} ${how}; ${said}`;
  return toolError(code, message, { title: `Error: ${message}`, metadata });
}

/** The line of a terminal. */
export function lineOf(script: string, id: string, exit: number | null): string {
  return `Script ${script} of ${id}: exit ${exit ?? 'none'}`;
}
