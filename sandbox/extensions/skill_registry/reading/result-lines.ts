import type { ToolResult } from 'pith';
import { printable, printableLine } from '@pith/plain-text';
import { lineOf } from '../scripts/script-result.ts';

type Metadata = Readonly<Record<string, unknown>>;

/** What a tool of this extension shows of its result: one line. */
export type Presenter = (result: ToolResult) => string;

/** A tool that brings a skill's text: `Skill <id> loaded`. */
export function presentsSkill(tool: string): Presenter {
  return presenter(tool, (metadata) => {
    const id = skillIn(metadata);
    return id === null ? null : `Skill ${id} loaded`;
  });
}

/** A tool that reads a file of a skill: `Resource <path> of <id> read`. */
export function presentsResource(tool: string): Presenter {
  return presenter(tool, (metadata) => {
    const [id, path] = [skillIn(metadata), textIn(metadata, 'path')];
    return id === null || path === null ? null : `Resource ${path} of ${id} read`;
  });
}

/** A tool that copies a file of a skill: `Resource <path> of <id> copied to <to>`. */
export function presentsCopy(tool: string): Presenter {
  return presenter(tool, (metadata) => {
    const [id, path, to] = [skillIn(metadata), textIn(metadata, 'path'), textIn(metadata, 'to')];
    return id === null || path === null || to === null ? null : `Resource ${path} of ${id} copied to ${to}`;
  });
}

/** A tool that runs a script of a skill: `Script <path> of <id>: exit N`; `exit` is null in the metadata of one that was ended. */
export function presentsScript(tool: string): Presenter {
  return presenter(tool, (metadata) => {
    const [id, path, exit] = [skillIn(metadata), textIn(metadata, 'path'), metadata['exit']];
    if (id === null || path === null || (exit !== null && !Number.isInteger(exit))) return null;
    return lineOf(path, id, exit as number | null);
  });
}

/** A tool that has a skill carried out: `Skill <id> run: <reason>`. */
export function presentsRun(tool: string): Presenter {
  return presenter(tool, (metadata) => {
    const [id, reason] = [skillIn(metadata), textIn(metadata, 'reason')];
    return id === null || reason === null ? null : `Skill ${id} run: ${reason}`;
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

/** The id, where all is there that channels are told of a skill. */
function skillIn(metadata: Metadata): string | null {
  const [id, name, directory] = ['skill_id', 'skill_name', 'directory'].map((key) => textIn(metadata, key));
  return name === null || directory === null ? null : (id ?? null);
}

/** One line of text; null makes the line invalid. */
function textIn(metadata: Metadata, key: string): string | null {
  const value = metadata[key];
  return typeof value === 'string' && value !== '' ? printableLine(value) : null;
}
