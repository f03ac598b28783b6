import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Logger, TopicMap } from 'pith';

/** What came of a toolset when it was last loaded. */
export interface ToolsetOutcome {
  readonly at: number;
  readonly tools: readonly string[];
  /** What is wrong with modules, as sentences. */
  readonly problems: readonly string[];
}

const MOST = 500;

/** Keeps the outcomes by skill, for `pith skills explain`, which loads nothing. Only a memory: a file that is damaged is written anew. */
export class ToolsetOutcomes {
  readonly #file: string;

  constructor(dataDirectory: string) {
    this.#file = fileIn(dataDirectory);
  }

  loaded({ toolsetId, tools, problems }: TopicMap['toolset.loaded'], at: number, logger: Logger): void {
    const all = read(this.#file);
    const former = all.get(toolsetId);
    if (former && JSON.stringify([former.tools, former.problems]) === JSON.stringify([tools, problems])) return;
    all.delete(toolsetId);
    all.set(toolsetId, { at, tools, problems });
    const draft = `${this.#file}.${process.pid}.tmp`;
    try {
      mkdirSync(path.dirname(this.#file), { recursive: true });
      writeFileSync(draft, JSON.stringify([...all].slice(-MOST)));
      renameSync(draft, this.#file);
    } catch (error) {
      logger.warn('what came of a toolset cannot be written down', { toolsetId, reason: String(error) });
    }
  }
}

/** null: it has not been loaded yet. */
export function outcomeOf(dataDirectory: string, skillId: string): ToolsetOutcome | null {
  return read(fileIn(dataDirectory)).get(skillId) ?? null;
}

function fileIn(dataDirectory: string): string {
  return path.join(dataDirectory, 'toolsets.json');
}

function read(file: string): Map<string, ToolsetOutcome> {
  try {
    return new Map(JSON.parse(readFileSync(file, 'utf8')) as [string, ToolsetOutcome][]);
  } catch {
    return new Map(); // none yet, or damaged
  }
}
