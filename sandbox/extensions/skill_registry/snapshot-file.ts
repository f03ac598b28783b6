import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Clock, Diagnostic, Logger } from 'pith';
import { emptyFields, type SkillFields } from './format/fields.ts';
import type { FoundDirectory, FoundSkill, GoodVersion, SourceScan } from './found.ts';
import type { SourcedScan } from './snapshot.ts';
import type { Source } from './sources.ts';
import type { Stamp } from './stamp.ts';

/** Raise it whenever the rows or the rules that made them change. */
const FORMAT = 1;
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
  private readonly options: { readonly dataDirectory: string; readonly sources: readonly Source[]; readonly clock: Clock; readonly logger: Logger };
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
      if (!this.failed) logger.warn(`the skill index cannot be written to ${dataDirectory}: ${String(error)}; starts are slower until it can`);
      this.failed = true;
    }
  }
}

type StoredSource = readonly [directory: string, directories: readonly StoredDirectory[], skills: readonly StoredSkill[], diagnostics: readonly Diagnostic[]];
type StoredStamp = readonly [mtimeNs: string, ctimeNs: string, size: string, inode: string];
type StoredDirectory = readonly [path: string, ...stamp: StoredStamp, children: readonly string[], links: readonly string[], oddFile: string | null, hasFiles: boolean];
type StoredSkill = readonly [
  path: string, fileName: string, ...stamp: StoredStamp, valid: boolean, tokens: number, fields: StoredFields,
  diagnostics: readonly Diagnostic[] | 0, good: StoredGood | 0, digest: string | 0, realDirectory: string | 0,
];
type StoredGood = readonly [fields: StoredFields, tokens: number, body: GoodVersion['body']];
/** The fields in the order of `FIELD_ORDER`; 0 stands for what most skills do not have. */
type StoredFields = readonly unknown[];

const FIELD_ORDER = [
  'name', 'description', 'brief', 'version', 'tags', 'requires', 'examples', 'allowedTools', 'toolsets', 'scripts', 'defaultEnabled', 'extra',
] as const satisfies readonly (keyof SkillFields)[];
const BLANK = emptyFields('');
const NONE: readonly never[] = Object.freeze([]);

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
    sources.push(`[${JSON.stringify(source.directory)},${JSON.stringify(directories)},[${rows.join(',\n')}],${JSON.stringify(scan.diagnostics)}]`);
  }
  return `[${FORMAT},[${sources.join(',\n')}]]\n`;
}

function fromDirectory(path: string, { stamp, settled, children, links, oddFile, hasFiles }: FoundDirectory): StoredDirectory {
  return [path, ...fromStamp(stamp, settled), children, links, oddFile, hasFiles];
}

function fromSkill(root: string, { directory, realDirectory, file, stamp, settled, parsed, good, digest }: FoundSkill): StoredSkill {
  const diagnostics = parsed.diagnostics.map((diagnostic) => (diagnostic.file === file ? { ...diagnostic, file: undefined } : diagnostic));
  return [
    directory.slice(root.length), file.slice(directory.length + 1), ...fromStamp(stamp, settled), parsed.valid, parsed.tokens, fromFields(parsed.fields),
    diagnostics.length === 0 ? 0 : diagnostics, good === null ? 0 : [fromFields(good.fields), good.tokens, good.body], digest ?? 0,
    realDirectory === directory ? 0 : realDirectory,
  ];
}

/** What has not settled is written as changed, so that the next process reads it again. */
function fromStamp({ mtimeNs, ctimeNs, size, inode }: Stamp, settled: boolean): StoredStamp {
  return [settled ? String(mtimeNs) : '-1', String(ctimeNs), String(size), String(inode)];
}

function fromFields(fields: SkillFields): StoredFields {
  const values: unknown[] = FIELD_ORDER.map((key) => {
    const value = fields[key];
    const blank = BLANK[key];
    return value === blank || (Array.isArray(value) && value.length === 0) ? 0 : value;
  });
  while (values.at(-1) === 0) values.pop();
  return values;
}

function toScan([root, directories, skills, diagnostics]: StoredSource): SourceScan {
  const found = new Map<string, FoundSkill>();
  for (const row of skills) {
    const skill = toSkill(root, row);
    found.set(skill.directory, skill);
  }
  return { skills: found, directories: new Map(directories.map((row) => toDirectory(root, row))), diagnostics, read: NONE };
}

function toDirectory(root: string, [path, mtimeNs, ctimeNs, size, inode, children, links, oddFile, hasFiles]: StoredDirectory): [string, FoundDirectory] {
  return [root + path, { stamp: toStamp(mtimeNs, ctimeNs, size, inode), settled: true, children, links, oddFile, hasFiles }];
}

function toSkill(root: string, row: StoredSkill): FoundSkill {
  const [path, fileName, mtimeNs, ctimeNs, size, inode, valid, tokens, fields, diagnostics, good, digest, realDirectory] = row;
  const directory = root + path;
  const file = `${directory}/${fileName}`;
  const id = directory.slice(directory.lastIndexOf('/') + 1);
  return {
    id, directory, realDirectory: realDirectory || directory, file, stamp: toStamp(mtimeNs, ctimeNs, size, inode), settled: true, digest: digest || null,
    parsed: {
      valid, tokens, fields: toFields(fields, id),
      diagnostics: diagnostics === 0 ? NONE : diagnostics.map((diagnostic) => ({ ...diagnostic, file: diagnostic.file ?? file })),
    },
    good: good === 0 ? null : { fields: toFields(good[0], id), tokens: good[1], body: good[2] },
  };
}

function toStamp(mtimeNs: string, ctimeNs: string, size: string, inode: string): Stamp {
  return { mtimeNs: BigInt(mtimeNs), ctimeNs: BigInt(ctimeNs), size: BigInt(size), inode: BigInt(inode) };
}

function toFields(values: StoredFields, id: string): SkillFields {
  const take = <Key extends keyof SkillFields>(index: number, blank: SkillFields[Key]) => (values[index] || blank) as SkillFields[Key];
  return {
    name: take<'name'>(0, id), description: take<'description'>(1, ''), brief: take<'brief'>(2, null), version: take<'version'>(3, null),
    tags: take<'tags'>(4, NONE), requires: take<'requires'>(5, NONE), examples: take<'examples'>(6, NONE), allowedTools: take<'allowedTools'>(7, NONE),
    toolsets: take<'toolsets'>(8, NONE), scripts: take<'scripts'>(9, NONE), defaultEnabled: values[10] !== false, extra: take<'extra'>(11, BLANK.extra),
  };
}
