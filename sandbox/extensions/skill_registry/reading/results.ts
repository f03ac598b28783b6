import { toolError, toolResult, type ToolResult } from 'pith';
import { printable, printableLine } from '@pith/plain-text';
import type { ConfinedOutcome } from '@pith/held-process';
import type { Skill } from '../skill.ts';

/** With what channels get of a result about one skill. */
export function skillResult(
  output: string,
  { id, name, directory }: Skill,
  {
    title,
    retain,
    ...more
  }: {
    readonly title: string;
    readonly path?: string;
    readonly to?: string;
    readonly retain?: NonNullable<Extract<ToolResult, { ok: true }>['retain']>;
  },
): ToolResult {
  const metadata = { skill_id: id, skill_name: name, directory, ...more };
  return toolResult(output, { title, metadata, ...(retain === undefined ? {} : { retain }) });
}

export function skillError(code: string, message: string): ToolResult {
  return toolError(code, message, { title: `Error: ${message}` });
}

/** A skill whose files are not what a person looked at. */
export function noLongerTrusted({ id }: Pick<Skill, 'id'>): ToolResult {
  return skillError(
    'skill_not_offered',
    `Skill '${id}' changed since a person trusted it; a person must look at it first: pith skills trust.`,
  );
}

type Metadata = Readonly<Record<string, unknown>>;

/** What a tool of this extension shows of its result: one line. */
export type Presenter = (result: ToolResult) => string;

/** A tool whose result is about one skill: `line` gets its id, and of the metadata each of `names`; all are there, or the line is invalid. */
export function presentsSkill<Name extends string>(
  tool: string,
  names: readonly Name[],
  line: (id: string, values: Readonly<Record<Name, string>>, metadata: Metadata) => string | null,
): Presenter {
  return presenter(tool, (metadata) => {
    const [id, ...rest] = ['skill_id', 'skill_name', 'directory', ...names].map((name) => textIn(metadata, name));
    const values = rest.slice(2);
    if (!id || rest.includes(null)) return null;
    return line(id, Object.fromEntries(names.map((name, at) => [name, values[at]])) as Record<Name, string>, metadata);
  });
}

/** A tool that runs a script of a skill; `exit` is null in the metadata of one that was ended. */
export function presentsScript(tool: string): Presenter {
  return presentsSkill(tool, ['path'], (id, { path }, { exit }) =>
    exit === null || Number.isInteger(exit) ? lineOf(path, id, exit as number | null) : null,
  );
}

/** A tool's one line in a terminal: made from the metadata, never a throw. */
export function presenter(tool: string, line: (metadata: Metadata) => string | null): Presenter {
  return (result: Partial<ToolResult> | null) => {
    if (result?.ok === false && typeof result.error?.message === 'string') return `Error: ${printable(result.error.message)}`;
    const metadata = result?.ok === true ? result.metadata : null;
    const shown = typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata) ? line(metadata as Metadata) : null;
    return shown ?? `Error: invalid metadata for ${tool}`;
  };
}

/** One line of text; null makes the line invalid. */
function textIn(metadata: Metadata, key: string): string | null {
  const value = metadata[key];
  return typeof value === 'string' && value !== '' ? printableLine(value) : null;
}

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
function lineOf(script: string, id: string, exit: number | null): string {
  return `Script ${script} of ${id}: exit ${exit ?? 'none'}`;
}
