import { basename } from 'node:path';
import type { Diagnostic, Logger } from 'pith';
import { CacheFile, type StateFolder } from '@pith/safe-files';
import { emptyFields, type FoundDirectory, type FoundSkill, idOf, inPieces, type SkillFields, type SourceScan } from '@pith/skill-files';

/** Raise it when a SKILL.md is read otherwise than before, or a record has another shape: what older versions kept is then read again. A test pins it. */
export const SCANS_FORMAT = 2;

const VERSION = `${SCANS_FORMAT}`;
/** Far above what the largest library needs. */
const MOST_BYTES = 256 * 1024 * 1024;
const AT_ONCE = 400;

type Scans = ReadonlyMap<string, SourceScan>;

/** What the last scan found, in one file, under the stamps of the files: what is unchanged is not read again. A cache: it may be deleted at any time. */
export class KeptScans {
  private readonly file: CacheFile;

  constructor(folder: StateFolder, logger: Logger) {
    this.file = new CacheFile(folder, 'skills.scans', MOST_BYTES, logger);
  }

  /** By the source's directory; empty where there is none, or it is damaged or of another version. */
  read(): Scans {
    const decode = (body: Buffer) => (JSON.parse(body.toString('utf8')) as KeptSource[]).map((one) => [one[0], scanOf(one)] as const);
    return new Map(this.file.read(VERSION, decode));
  }

  /** Never rejects: without it the next start reads all skills. */
  async write(scans: Scans): Promise<void> {
    await this.file.write(VERSION, Buffer.from(await inPieces(encoded(scans))));
  }

  findings(): readonly Diagnostic[] {
    return this.file.findings('each start reads all skills');
  }
}

type KeptSource = readonly [
  directory: string,
  directories: readonly (readonly [string, FoundDirectory])[],
  diagnostics: SourceScan['diagnostics'],
  skills: readonly KeptSkill[],
];

/** What is as it mostly is, is left out. */
interface KeptSkill {
  /** Below the source. */
  readonly at: string;
  readonly stamp: string;
  readonly id?: string;
  readonly file?: string;
  readonly real?: string;
  readonly tokens: number;
  readonly counted?: number;
  readonly digest?: string;
  readonly invalid?: true;
  readonly fields: Partial<SkillFields>;
  readonly diagnostics?: FoundSkill['parsed']['diagnostics'];
}

function* encoded(scans: Scans): Generator<void, string> {
  const sources: string[] = [];
  for (const [directory, { directories, diagnostics, skills }] of scans) {
    if (directories.size + skills.size + diagnostics.length === 0) continue; // most of them are not there
    const records: string[] = [];
    for (const skill of skills.values()) {
      // Of a broken skill the last good version counts, which only the process knows that saw it.
      if (skill.settled && skill.good === null) records.push(JSON.stringify(keptOf(directory, skill)));
      if (records.length % AT_ONCE === AT_ONCE - 1) yield;
    }
    const settled = [...directories].filter(([, folder]) => folder.settled);
    sources.push(`[${JSON.stringify(directory)},${JSON.stringify(settled)},${JSON.stringify(diagnostics)},[${records.join(',')}]]`);
  }
  return `[${sources.join(',')}]`;
}

function keptOf(source: string, { id, directory, realDirectory, file, stamp, parsed, bodyTokens, digest }: FoundSkill): KeptSkill {
  const name = idOf(directory);
  const defaults = emptyFields(name);
  const fields = Object.entries(parsed.fields).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(defaults[key as keyof SkillFields]),
  );
  return {
    at: directory.slice(source.length + 1),
    stamp,
    ...(id === name ? {} : { id }),
    ...(file === `${directory}/SKILL.md` ? {} : { file: basename(file) }),
    ...(realDirectory === directory ? {} : { real: realDirectory }),
    tokens: parsed.tokens,
    ...(bodyTokens === null ? {} : { counted: bodyTokens }),
    ...(digest === null ? {} : { digest }),
    ...(parsed.valid ? {} : { invalid: true }),
    fields: Object.fromEntries(fields),
    ...(parsed.diagnostics.length === 0
      ? {}
      : { diagnostics: parsed.diagnostics.map((one) => (one.file === file ? { ...one, file: undefined } : one)) }),
  };
}

function scanOf([source, directories, diagnostics, kept]: KeptSource): SourceScan {
  const skills = new Map<string, FoundSkill>();
  for (const one of kept) {
    const directory = `${source}/${one.at}`;
    const name = idOf(directory);
    const file = `${directory}/${one.file ?? 'SKILL.md'}`;
    skills.set(directory, {
      id: one.id ?? name,
      directory,
      realDirectory: one.real ?? directory,
      file,
      stamp: one.stamp,
      settled: true,
      parsed: {
        valid: one.invalid !== true,
        fields: { ...emptyFields(name), ...one.fields },
        tokens: one.tokens,
        diagnostics: (one.diagnostics ?? NONE).map((finding) => (finding.file === undefined ? { ...finding, file } : finding)),
      },
      good: null,
      digest: one.digest ?? null,
      bodyTokens: one.counted ?? null,
    });
  }
  return { skills, directories: new Map(directories), diagnostics, read: NONE };
}

const NONE: readonly never[] = [];
