import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { stateFolder, type Clock, type Logger } from 'pith';
import type { FoundSkill, SourceScan } from './found.ts';
import { inPieces } from './pieces.ts';
import { INDEX_LIMIT } from './regular-file.ts';
import { NOTHING } from './scan.ts';
import type { SourcedScan } from './source-scans.ts';
import { fromDirectory, fromSkill, toScan, toSkill, type StoredSkill, type StoredSource } from './snapshot-rows.ts';
import type { Source } from './sources.ts';

/** Raise it whenever the rows or the rules that made them change. */
const FORMAT = 6;
const ROWS_AT_ONCE = 250;
const WRITE_AFTER_MS = 500;

export interface LoadedSnapshot {
  /** By the source's directory. */
  readonly scans: ReadonlyMap<string, SourceScan>;
  /** Why the file was not used, or null. */
  readonly problem: string | null;
}

/** What the last process knew, in pieces. It is only a memory: the scan that follows checks every stamp. */
export async function loadSnapshot(dataDirectory: string, sources: readonly Source[]): Promise<LoadedSnapshot> {
  const file = fileIn(dataDirectory);
  let text: string;
  try {
    const bytes = stateFolder(dataDirectory).read(FILE, INDEX_LIMIT);
    if (bytes === null) return { scans: new Map(), problem: null };
    text = bytes.toString('utf8');
  } catch (error) {
    return { scans: new Map(), problem: `the skill index ${file} cannot be read and is made anew: ${String(error)}` };
  }
  try {
    return { scans: await inPieces(parse(text, sources)), problem: null };
  } catch (error) {
    return { scans: new Map(), problem: `the skill index ${file} is damaged and is made anew: ${String(error)}` };
  }
}

/** A line says the format and how many sources there are; each has a line of its own, and one for each skill. */
function* parse(text: string, sources: readonly Source[]): Generator<void, Map<string, SourceScan>> {
  const scans = new Map<string, SourceScan>();
  let at = 0;
  const next = (): unknown => {
    const end = text.indexOf('\n', at);
    const line = text.slice(at, end === -1 ? text.length : end);
    at = end === -1 ? text.length : end + 1;
    const row: unknown = JSON.parse(line);
    if (!Array.isArray(row)) throw new Error('a line holds no row');
    return row;
  };
  const [format, count] = next() as [number, number];
  if (format !== FORMAT) return scans;
  for (let left = count; left > 0; left--) {
    const source = next() as StoredSource;
    const wanted = sources.some(({ directory }) => directory === source[0]);
    const skills: FoundSkill[] = [];
    for (let row = 0; row < source[1]; row++) {
      skills.push(toSkill(source[0], next() as StoredSkill));
      if (row % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) yield;
    }
    if (wanted) scans.set(source[0], toScan(source, skills));
  }
  if (at !== text.length) throw new Error('it has too many lines');
  return scans;
}

/** Writes the newest state some time after a change: never two at once, never a torn file. */
export class SnapshotWriter {
  private readonly options: {
    readonly dataDirectory: string;
    readonly sources: readonly Source[];
    readonly clock: Clock;
    readonly logger: Logger;
  };
  private pending: readonly SourcedScan[] | null = null;
  private writing: Promise<void> = Promise.resolve();
  private cancel: (() => void) | null = null;
  private failed = false;

  constructor(options: SnapshotWriter['options']) {
    this.options = options;
  }

  write(scans: readonly SourcedScan[]): void {
    this.pending = scans;
    this.cancel ??= this.options.clock.after(WRITE_AFTER_MS, () => void this.flush());
  }

  flush(): Promise<void> {
    this.cancel?.();
    this.cancel = null;
    this.writing = this.writing.then(() => this.save());
    return this.writing;
  }

  private async save(): Promise<void> {
    const scans = this.pending;
    this.pending = null;
    if (scans === null) return;
    const { dataDirectory, logger } = this.options;
    try {
      const text = await serialise(scans);
      await stateFolder(dataDirectory).write(FILE, text);
      this.failed = false;
    } catch (error) {
      if (!this.failed)
        logger.warn(`the skill index cannot be written to ${dataDirectory}: ${String(error)}; starts are slower until it can`);
      this.failed = true;
    }
  }
}

function fileIn(dataDirectory: string): string {
  return join(dataDirectory, FILE);
}

const FILE = 'index';

async function serialise(scans: readonly SourcedScan[]): Promise<string> {
  const there = scans.filter(({ scan }) => scan !== NOTHING);
  const lines = [JSON.stringify([FORMAT, there.length])];
  for (const { source, scan } of there) {
    const directories = [...scan.directories].map(([path, folder]) => fromDirectory(path.slice(source.directory.length), folder));
    lines.push(JSON.stringify([source.directory, scan.skills.size, directories, scan.diagnostics] satisfies StoredSource));
    for (const found of scan.skills.values()) {
      lines.push(JSON.stringify(fromSkill(source.directory, found)));
      if (lines.length % ROWS_AT_ONCE === 0) await setImmediate();
    }
  }
  return `${lines.join('\n')}\n`;
}
