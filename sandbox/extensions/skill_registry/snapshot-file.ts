import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Clock, Logger } from 'pith';
import type { SourceScan } from './found.ts';
import type { SourcedScan } from './snapshot.ts';
import { fromDirectory, fromSkill, toScan, type StoredSource } from './snapshot-rows.ts';
import type { Source } from './sources.ts';

/** Raise it whenever the rows or the rules that made them change. */
const FORMAT = 2;
const ROWS_AT_ONCE = 500;
const WRITE_AFTER_MS = 500;

export interface LoadedSnapshot {
  /** By the source's directory. */
  readonly scans: ReadonlyMap<string, SourceScan>;
  /** Why the file was not used, or null. */
  readonly problem: string | null;
}

/** What the last process knew. It is only a memory: the scan that follows checks every stamp. */
export function loadSnapshot(dataDirectory: string, sources: readonly Source[]): LoadedSnapshot {
  const scans = new Map<string, SourceScan>();
  const file = fileIn(dataDirectory);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const absent = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return { scans, problem: absent ? null : `the skill index ${file} cannot be read and is made anew: ${String(error)}` };
  }
  try {
    const [format, stored] = JSON.parse(text) as [number, readonly StoredSource[]];
    if (format !== FORMAT) return { scans, problem: null };
    for (const source of stored) {
      if (sources.some(({ directory }) => directory === source[0])) scans.set(source[0], toScan(source));
    }
    return { scans, problem: null };
  } catch (error) {
    return { scans: new Map(), problem: `the skill index ${file} is damaged and is made anew: ${String(error)}` };
  }
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
      const { default: writeFileAtomic } = await import('write-file-atomic');
      mkdirSync(dataDirectory, { recursive: true });
      await writeFileAtomic(fileIn(dataDirectory), text);
      this.failed = false;
    } catch (error) {
      if (!this.failed)
        logger.warn(`the skill index cannot be written to ${dataDirectory}: ${String(error)}; starts are slower until it can`);
      this.failed = true;
    }
  }
}

function fileIn(dataDirectory: string): string {
  return join(dataDirectory, 'index');
}

async function serialise(scans: readonly SourcedScan[]): Promise<string> {
  const sources: string[] = [];
  for (const { source, scan } of scans) {
    const directories = [...scan.directories].map(([path, folder]) => fromDirectory(path.slice(source.directory.length), folder));
    const rows: string[] = [];
    for (const found of scan.skills.values()) {
      rows.push(JSON.stringify(fromSkill(source.directory, found)));
      if (rows.length % ROWS_AT_ONCE === 0) await setImmediate();
    }
    sources.push(
      `[${JSON.stringify(source.directory)},${JSON.stringify(directories)},[${rows.join(',\n')}],${JSON.stringify(scan.diagnostics)}]`,
    );
  }
  return `[${FORMAT},[${sources.join(',\n')}]]\n`;
}
