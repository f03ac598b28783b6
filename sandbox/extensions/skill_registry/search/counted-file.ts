import { setImmediate as breathe } from 'node:timers/promises';
import { messageOf, type Logger } from 'pith';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import { FIELD_COUNT, type Counted } from './term-index.ts';
import { POSITIONS } from './term-positions.ts';

const FILE = 'counted.jsonl';
/** Raise it whenever other terms would be counted in the same text. */
const FORMAT = 1;
/** More than 50,000 skills need. */
const SIZE_LIMIT = 256 * 1024 * 1024;
const LINES_AT_ONCE = 50;
/** So many lines of former versions stay before the file is written again without them. */
const MOST_DEAD = 500;
const NEWLINE = 10;

type Row = readonly [version: string, lengths: readonly number[], positions: string, terms: readonly string[], counts: readonly number[]];

/** What was counted in the texts of skills, kept for the next start: a line each, by version. It may be lost at any time. */
export class CountedFile {
  readonly #folder: StateFolder;
  readonly #logger: Logger;
  #complained = false;

  constructor({ dataDirectory, logger }: { readonly dataDirectory: string; readonly logger: Logger }) {
    this.#folder = stateFolder(dataDirectory);
    this.#logger = logger;
  }

  /** Calls `found` with each version that is kept; true: it is used. What is old or damaged is thrown away. Never rejects. */
  async read(found: (version: string, counted: Counted) => boolean): Promise<void> {
    const used: Buffer[] = [];
    let dead = 0;
    try {
      const bytes = this.#folder.read(FILE, SIZE_LIMIT);
      if (bytes === null) return;
      if (bytes.length === 0) throw new Error('it is empty');
      for (let [at, line] = [0, 0]; at < bytes.length; line++) {
        const end = bytes.indexOf(NEWLINE, at) + 1 || bytes.length;
        const row = JSON.parse(bytes.toString('utf8', at, end)) as Row | number;
        if (line === 0 && row !== FORMAT) throw new Error('another version wrote it');
        // Two processes may have begun the file.
        if (row === FORMAT ? line === 0 : found((row as Row)[0], countedOf(row as Row))) used.push(bytes.subarray(at, end));
        else dead++;
        at = end;
        if (line % LINES_AT_ONCE === 0) await breathe();
      }
    } catch (error) {
      this.#logger.debug(`some texts of skills are counted again: ${messageOf(error)}`);
      dead = Infinity;
    }
    if (dead <= used.length + MOST_DEAD) return;
    const rest = Buffer.concat(used);
    await this.#folder.write(FILE, rest.length === 0 ? `${FORMAT}\n` : rest, { durable: false }).catch(this.#complain);
  }

  /** Keeps more. Never throws. */
  append(counted: ReadonlyMap<string, Counted>): void {
    if (counted.size === 0) return;
    try {
      const lines = [...counted].map(([version, one]) => JSON.stringify(rowOf(version, one)));
      if (!this.#folder.has(FILE)) lines.unshift(String(FORMAT));
      this.#folder.append(FILE, `${lines.join('\n')}\n`);
    } catch (error) {
      this.#complain(error);
    }
  }

  readonly #complain = (error: unknown): void => {
    if (!this.#complained)
      this.#logger.warn(`what was counted of skills cannot be kept: ${messageOf(error)}; starts are slower until it can`);
    this.#complained = true;
  };
}

function rowOf(version: string, { lengths, positions, counts }: Counted): Row {
  const used = positions.subarray(0, positions.findLastIndex((mark) => mark !== 0) + 1);
  const text = Buffer.from(used.buffer, used.byteOffset, used.byteLength).toString('base64');
  return [version, lengths, text, [...counts.keys()], [...counts.values()]];
}

/** Throws where the row is none. */
function countedOf([, lengths, text, terms, counts]: Row): Counted {
  const bytes = Buffer.from(text, 'base64');
  const isWhole =
    lengths.length === FIELD_COUNT && terms.length === counts.length && bytes.length % 2 === 0 && bytes.length <= POSITIONS * 2;
  if (!isWhole) throw new Error('a line holds no counts');
  const positions = new Uint16Array(POSITIONS);
  for (let at = 0; at < bytes.length; at += 2) positions[at / 2] = bytes.readUInt16LE(at);
  return { lengths, positions, counts: new Map(terms.map((term, at) => [term, counts[at]!])) };
}
