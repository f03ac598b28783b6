import { toolError, toolResult, type ToolResult } from 'pith';
import { headAndTail, printable, printableLine } from '@pith/plain-text';
import type { ConfinedOutcome } from '@pith/supervised-process';
import type { SkillRecord } from 'pith/skill_registry';
import { isPlainMap } from '@pith/plain-data';

export function scriptError(code: string, message: string): ToolResult {
  return toolError(code, message, { title: `Error: ${message}` });
}

/** The tool's one line in a terminal: made from the metadata, never a throw. */
export function presentScript(result: Partial<ToolResult> | null): string {
  if (result?.ok === false && typeof result.error?.message === 'string') return `Error: ${printable(result.error.message)}`;
  const metadata = (result?.ok === true && isPlainMap(result.metadata) ? result.metadata : {}) as Readonly<Record<string, unknown>>;
  const [id, script] = TEXTS.map((name) => metadata[name]);
  const { exit } = metadata;
  if (!TEXTS.every((name) => isText(metadata[name])) || !(exit === null || Number.isInteger(exit)))
    return 'Error: invalid metadata for run_skill_script';
  return lineOf(printableLine(String(script)), printableLine(String(id)), exit as number | null);
}

const TEXTS = ['skill_id', 'path', 'skill_name', 'directory'];

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

const LAST_CHARACTERS = 500;
/** Characters of a script's output for the model: the first and the last. */
const HEAD = 20_000;
const TAIL = 10_000;
const CURE = 'to see them, run the script again with arguments for which it prints less, or only that part';

export interface ScriptEnd {
  readonly maxOutputBytes: number;
  /** The command that fetches what was missing; null: nothing was. */
  readonly fetch: string | null;
}

/** The result for the model of a script that ran. */
export function scriptResult(
  skill: SkillRecord,
  script: string,
  outcome: ConfinedOutcome,
  { maxOutputBytes, fetch }: ScriptEnd,
): ToolResult {
  const { exit, stdout, stderr, truncated, stopped } = outcome;
  const what = `Script ${printableLine(script)} of ${printableLine(skill.id)}`;
  const metadata = { skill_id: skill.id, skill_name: skill.name, directory: skill.directory, path: script, exit };
  if (exit === 0 || truncated) {
    const mark = truncated ? `[output cut at ${maxOutputBytes} bytes: the script was ended, and the rest of its output is not known]` : '';
    const printed = `${wholeLines(stdout)}${stderr.trim() === '' ? '' : `[error output]\n${wholeLines(stderr)}`}`;
    const output = `${headAndTail(printed, HEAD, TAIL, CURE)}${wholeLines(mark)}` || '(it printed nothing)';
    return toolResult(output, { title: lineOf(printableLine(script), printableLine(skill.id), exit), metadata });
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

function wholeLines(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** The line of a terminal. */
function lineOf(script: string, id: string, exit: number | null): string {
  return `Script ${script} of ${id}: exit ${exit ?? 'none'}`;
}
