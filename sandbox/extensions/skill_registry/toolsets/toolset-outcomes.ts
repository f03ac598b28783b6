import type { Logger } from 'pith';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import type { ToolsetLoaded } from '../contract.ts';

/** What came of a toolset when it was last loaded. */
export interface ToolsetOutcome {
  readonly at: number;
  readonly tools: readonly string[];
  /** What is wrong with modules, as sentences. */
  readonly problems: readonly string[];
}

const MOST = 500;

/** Keeps the outcomes by skill, for `pith skills explain`, which loads nothing. Only a cache: a file that is damaged is rewritten. */
export class ToolsetOutcomes {
  readonly #folder: StateFolder;

  constructor(dataDirectory: string) {
    this.#folder = stateFolder(dataDirectory);
  }

  loaded({ toolsetId, tools, problems }: ToolsetLoaded, at: number, logger: Logger): void {
    const all = read(this.#folder);
    const former = all.get(toolsetId);
    if (former && JSON.stringify([former.tools, former.problems]) === JSON.stringify([tools, problems])) return;
    all.delete(toolsetId);
    all.set(toolsetId, { at, tools, problems });
    try {
      this.#folder.writeNow(FILE, JSON.stringify([...all].slice(-MOST)));
    } catch (error) {
      logger.warn('what came of a toolset cannot be written down', { toolsetId, reason: String(error) });
    }
  }
}

/** null: it has not been loaded yet. */
export function outcomeOf(dataDirectory: string, skillId: string): ToolsetOutcome | null {
  return read(stateFolder(dataDirectory)).get(skillId) ?? null;
}

const FILE = 'toolsets.json';

function read(folder: StateFolder): Map<string, ToolsetOutcome> {
  try {
    return new Map(JSON.parse(String(folder.read(FILE) ?? '[]')) as [string, ToolsetOutcome][]);
  } catch {
    return new Map(); // damaged, or no file of ours
  }
}
