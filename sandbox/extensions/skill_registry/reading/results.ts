import { toolError, toolResult, type ToolResult } from 'pith';
import { printable, printableLine } from '@pith/plain-text';
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

export type Failed = Extract<ToolResult, { ok: false }>;

export function skillError(code: string, message: string): Failed {
  return toolError(code, message, { title: `Error: ${message}` });
}

/** A skill whose files are not what a person looked at. */
export function noLongerTrusted({ id, source }: Pick<Skill, 'id' | 'source'>): Failed {
  return skillError(
    'skill_not_offered',
    `Skill '${printableLine(id)}' waits until a person looks at it and trusts it: pith skills trust ${printableLine(`${source}/${id}`)}`,
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
