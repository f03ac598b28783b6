import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from 'pith';

const MOST = 1000;

/** What was typed before, one JSON string a line, for this user's eyes only. */
export class HistoryFile {
  #writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly file: string,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Newest first. */
  async load(): Promise<string[]> {
    try {
      const lines = (await readFile(this.file, 'utf8')).split('\n').flatMap(parse);
      if (lines.length > 2 * MOST)
        await writeFile(
          this.file,
          lines
            .slice(-MOST)
            .map((line) => `${JSON.stringify(line)}\n`)
            .join(''),
          { mode: 0o600 },
        );
      return lines.slice(-MOST).reverse();
    } catch (error) {
      if (codeOf(error, '') !== 'ENOENT') this.onError(error);
      return [];
    }
  }

  add(line: string): void {
    this.#writing = this.#writing
      .then(() => mkdir(dirname(this.file), { recursive: true }))
      .then(() => appendFile(this.file, `${JSON.stringify(line)}\n`, { mode: 0o600 }))
      .catch(this.onError);
  }

  /** Resolves when everything is on disk. */
  close(): Promise<void> {
    return this.#writing;
  }
}

function parse(line: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'string' ? [value] : [];
  } catch {
    return []; // a torn last line
  }
}
