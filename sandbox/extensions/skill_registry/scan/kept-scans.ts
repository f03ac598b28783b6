import type { Diagnostic, Logger } from 'pith';
import { CacheFile, type StateFolder } from '@pith/safe-files';
import type { FoundDirectory, FoundSkill, SourceScan } from '@pith/skill-files';

/** Raise it when a SKILL.md is read otherwise than before, or a record has another shape: what older versions kept is then read again. A test pins it. */
export const SCANS_FORMAT = 4;

const VERSION = `${SCANS_FORMAT}`;
/** Far above what the largest library needs. */
const MOST_BYTES = 256 * 1024 * 1024;

type Scans = ReadonlyMap<string, SourceScan>;

type KeptSource = readonly [
  directory: string,
  skills: readonly FoundSkill[],
  directories: readonly (readonly [string, FoundDirectory])[],
  diagnostics: SourceScan['diagnostics'],
];

/** What the last scan found, in one file, under the stamps of the files: what is unchanged is not read again. A cache: it may be deleted at any time. */
export class KeptScans {
  private readonly file: CacheFile;

  constructor(folder: StateFolder, logger: Logger) {
    this.file = new CacheFile(folder, 'skills.scans', MOST_BYTES, logger);
  }

  /** By the source's directory; empty where there is none, or it is damaged or of another version. */
  read(): Scans {
    const decode = (body: Buffer) =>
      (JSON.parse(body.toString('utf8')) as KeptSource[]).map(([directory, skills, directories, diagnostics]): [string, SourceScan] => [
        directory,
        { skills: new Map(skills.map((skill) => [skill.directory, skill])), directories: new Map(directories), diagnostics, read: [] },
      ]);
    return new Map(this.file.read(VERSION, decode));
  }

  /** Never rejects: without it the next start reads all skills. */
  async write(scans: Scans): Promise<void> {
    // Most sources are not there.
    const found = [...scans].filter(([, { skills, directories, diagnostics }]) => skills.size + directories.size + diagnostics.length > 0);
    const kept = found.map(([directory, { skills, directories, diagnostics }]): KeptSource => [
      directory,
      // Of a broken skill the last good version counts, which only the process knows that saw it.
      [...skills.values()].filter(({ settled, good }) => settled && good === null),
      [...directories].filter(([, { settled }]) => settled),
      diagnostics,
    ]);
    await this.file.write(VERSION, Buffer.from(JSON.stringify(kept)));
  }

  findings(): readonly Diagnostic[] {
    return this.file.findings('each start reads all skills');
  }
}
