import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Clock, Diagnostic, Logger } from 'pith';
import { stateFolder } from '@pith/safe-files';
import { inPieces } from '../tree/folder-tree.ts';
import { emptyFields, type SkillFields } from '../format/fields.ts';
import type { FoundDirectory, FoundSkill, SourceScan } from './found.ts';
import { NOTHING } from './scan.ts';
import type { SourcedScan } from './source-scans.ts';
import type { Source } from './sources.ts';

/** Raise it whenever the rows or the rules that made them change. */
const FORMAT = 9;
/** Far above what thousands of skills need. */
const SIZE_LIMIT = 512 * 1024 * 1024;
const ROWS_AT_ONCE = 250;
const WRITE_AFTER_MS = 500;
/** Fields that say nothing, as most do: they are left out. */
const BLANK = Object.fromEntries(Object.entries(emptyFields('')).map(([key, value]) => [key, JSON.stringify(value)]));

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
    const bytes = stateFolder(dataDirectory).read(FILE, SIZE_LIMIT);
    if (bytes === null) return { scans: new Map(), problem: null };
    text = bytes.toString('utf8');
  } catch (error) {
    return { scans: new Map(), problem: `the skill index ${file} cannot be read and is rebuilt: ${String(error)}` };
  }
  try {
    return { scans: await inPieces(parse(text, sources)), problem: null };
  } catch (error) {
    return { scans: new Map(), problem: `the skill index ${file} is damaged and is rebuilt: ${String(error)}` };
  }
}

/** A line of the file for each source, and below it one for each of its skills: so it is read in pieces. The first says the format. */
interface StoredSource {
  readonly directory: string;
  readonly skills: number;
  readonly directories: readonly (readonly [path: string, Stored<FoundDirectory>])[];
  readonly diagnostics: readonly Diagnostic[];
}
/** As it was found. What had not settled has no stamp, so that it is read again. */
type Stored<Found> = Omit<Found, 'settled'>;

function* parse(text: string, sources: readonly Source[]): Generator<void, Map<string, SourceScan>> {
  const scans = new Map<string, SourceScan>();
  let at = 0;
  const next = (): unknown => {
    const end = text.indexOf('\n', at);
    const line = text.slice(at, end === -1 ? text.length : end);
    at = end === -1 ? text.length : end + 1;
    const row: unknown = JSON.parse(line);
    if (typeof row !== 'object') throw new Error('a line holds no row');
    return row;
  };
  const [format, count] = next() as [number, number];
  if (format !== FORMAT) return scans;
  for (let left = count; left > 0; left--) {
    const { directory, skills: rows, directories, diagnostics } = next() as StoredSource;
    const skills = new Map<string, FoundSkill>();
    for (let row = 0; row < rows; row++) {
      const skill = restoredSkill(next() as Stored<FoundSkill>);
      skills.set(skill.directory, skill);
      if (row % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) yield;
    }
    if (!sources.some((source) => source.directory === directory)) continue;
    scans.set(directory, { skills, directories: new Map(directories.map(([path, row]) => [path, restored(row)])), diagnostics, read: [] });
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
    const directories = [...scan.directories].map(([path, folder]) => [path, stored(folder)] as const);
    const { diagnostics, skills } = scan;
    lines.push(JSON.stringify({ directory: source.directory, skills: skills.size, directories, diagnostics } satisfies StoredSource));
    for (const found of skills.values()) {
      lines.push(JSON.stringify(storedSkill(found)));
      if (lines.length % ROWS_AT_ONCE === 0) await setImmediate();
    }
  }
  return `${lines.join('\n')}\n`;
}

function stored<Found extends FoundSkill | FoundDirectory>({ settled, ...found }: Found): Stored<Found> {
  return { ...found, stamp: settled ? found.stamp : '' };
}

function restored<Found extends FoundSkill | FoundDirectory>(row: Stored<Found>): Found {
  return { ...row, settled: true } as Found;
}

function storedSkill(found: FoundSkill): Stored<FoundSkill> {
  const fields = Object.fromEntries(Object.entries(found.parsed.fields).filter(([key, value]) => JSON.stringify(value) !== BLANK[key]));
  return { ...stored(found), parsed: { ...found.parsed, fields: fields as unknown as SkillFields } };
}

function restoredSkill(row: Stored<FoundSkill>): FoundSkill {
  return restored<FoundSkill>({ ...row, parsed: { ...row.parsed, fields: { ...emptyFields(row.id), ...row.parsed.fields } } });
}
