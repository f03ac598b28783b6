import type { StateFolder } from '@pith/safe-files';

const MOST = 1000;
const FILE = 'history';

/** What was typed before, one JSON string a line, for this user's eyes only. */
export class HistoryFile {
  constructor(
    private readonly folder: StateFolder,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Newest first. */
  async load(): Promise<string[]> {
    try {
      const lines = String(this.folder.read(FILE) ?? '')
        .split('\n')
        .flatMap(parse);
      if (lines.length > 2 * MOST)
        await this.folder.write(
          FILE,
          lines
            .slice(-MOST)
            .map((line) => `${JSON.stringify(line)}\n`)
            .join(''),
        );
      return lines.slice(-MOST).reverse();
    } catch (error) {
      this.onError(error);
      return [];
    }
  }

  add(line: string): void {
    try {
      this.folder.append(FILE, `${JSON.stringify(line)}\n`);
    } catch (error) {
      this.onError(error);
    }
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
