import { statSync } from 'node:fs';
import path from 'node:path';
import type { JsonValue } from 'pith';
import type { Skill } from '../skill.ts';
import { outcomeOf } from './toolset-outcomes.ts';

/** What is known of a skill's toolsets without running them; null where it declares none. */
export interface ToolsetReport {
  readonly [key: string]: JsonValue;
  readonly modules: readonly string[];
  /** Those whose file is not there. */
  readonly missing: readonly string[];
  /** When they were last loaded; null: not yet. */
  readonly loaded: { readonly at: string; readonly tools: readonly string[]; readonly problems: readonly string[] } | null;
}

export function toolsetReport({ id, toolsets, realDirectory }: Skill, dataDirectory: string): ToolsetReport | null {
  if (toolsets.length === 0) return null;
  const missing = toolsets.filter(
    (spec) => !ENDINGS.some((ending) => isFile(path.resolve(realDirectory, spec.replace(/:[^:]*$/, '') + ending))),
  );
  const outcome = outcomeOf(dataDirectory, id);
  const loaded = outcome && { at: new Date(outcome.at).toISOString(), tools: outcome.tools, problems: outcome.problems };
  return { modules: toolsets, missing, loaded };
}

export function* toolsetLines({ modules, missing, loaded }: ToolsetReport): Iterable<string> {
  yield `toolsets: ${modules.join(', ')}`;
  for (const spec of missing) yield `toolset '${spec}': error: there is no such file; correct the path or add the file`;
  if (loaded === null) yield 'its tools have not been loaded yet: they come with the skill; pith doctor tries them';
  else yield `brought ${loaded.tools.length === 0 ? 'no tools' : loaded.tools.join(', ')} when last loaded, ${loaded.at}`;
  for (const problem of loaded?.problems ?? []) yield `error: ${problem}`;
}

const ENDINGS = ['', '.ts', '.js', '.mjs', '/index.ts', '/index.js', '/index.mjs'];

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}
