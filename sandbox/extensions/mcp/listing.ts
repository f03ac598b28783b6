import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { isPlainMap } from '@pith/plain-data';
import { printableLine } from '@pith/plain-text';
import { workOfSource, sentSchema, type SentSchema, type Work } from '@pith/tool-schemas';
import { asJson } from './tool-results.ts';

/** The tools of a server, and what is left out. */
export interface Listing {
  readonly tools: readonly ServerTool[];
  /** Tools that cannot be offered, by name, and why. */
  readonly refused: ReadonlyMap<string, string>;
  /** What is wrong with the list as a whole. */
  readonly notes: readonly string[];
  /** The server answered with something else where a list was to be: it does not say that it has no tools. */
  readonly isNone?: true;
}

const MOST_TOOLS = 10_000;
const MOST_PAGES = 200;
const LONGEST_SHOWN = 100;
/** Steps and tools after which others have a turn. */
const MOST_IN_ONE_GO = { steps: 5000, tools: 100 };

/** Reads all pages. `ask` answers the page at a cursor; where the first fails this rejects, where a later one does the others count. */
export async function listing(ask: (cursor: string | undefined) => Promise<unknown>): Promise<Listing> {
  const read = new Reader();
  const asked = new Set<string>();
  let cursor: string | undefined;
  let isNone = false;
  for (let at = 1; ; at += 1) {
    let page: unknown;
    try {
      page = await ask(cursor);
    } catch (error) {
      if (at === 1) throw error;
      read.notes.push(`page ${at} of its list cannot be read`);
      break;
    }
    const { tools = null, nextCursor = null } = isPlainMap(page) ? page : {};
    if (Array.isArray(tools)) await read.addAll(tools);
    else if (tools !== null) {
      isNone ||= at === 1;
      read.notes.push(`page ${at} of its list has no list of tools`);
    }
    if (nextCursor === null) break;
    if (typeof nextCursor !== 'string')
      read.notes.push(`what follows page ${at} of its list cannot be asked for: its cursor is not a text`);
    else if (asked.has(nextCursor)) read.notes.push(`its list does not end: page ${at} leads to an earlier one`);
    else if (at >= MOST_PAGES) read.notes.push(`of its list only the first ${MOST_PAGES} pages are read`);
    else {
      asked.add(nextCursor);
      cursor = nextCursor;
      if (!read.isFull) continue;
    }
    break;
  }
  return { ...read.listing(), ...(isNone && { isNone }) };
}

class Reader {
  readonly notes: string[] = [];
  readonly #tools = new Map<string, ServerTool>();
  readonly #refused = new Map<string, string>();
  readonly #work = workOfSource();
  #count = 0;

  get isFull(): boolean {
    return this.#count > MOST_TOOLS;
  }

  async addAll(tools: readonly unknown[]): Promise<void> {
    let next = { steps: this.#work.left - MOST_IN_ONE_GO.steps, tools: MOST_IN_ONE_GO.tools };
    for (const [at, each] of tools.entries()) {
      this.#add(each);
      if (this.isFull) return;
      if (this.#work.left > next.steps && at < next.tools) continue;
      await yieldToOthers();
      next = { steps: this.#work.left - MOST_IN_ONE_GO.steps, tools: at + MOST_IN_ONE_GO.tools };
    }
  }

  #add(given: unknown): void {
    this.#count += 1;
    if (this.isFull) return;
    const tool = readTool(given, this.#work);
    if (typeof tool !== 'string') return this.#keep(tool);
    const name = isPlainMap(given) ? given['name'] : undefined;
    this.#refused.set(typeof name === 'string' && name !== '' ? shown(name) : `number ${this.#count}`, printableLine(tool));
  }

  #keep(tool: ServerTool): void {
    const known = this.#tools.get(tool.name);
    if (known === undefined) this.#tools.set(tool.name, tool);
    else if (JSON.stringify(known) !== JSON.stringify(tool)) this.notes.push(`it lists '${shown(tool.name)}' twice; the first counts`);
  }

  listing(): Listing {
    const notes = this.isFull ? [...this.notes, `it lists more than ${MOST_TOOLS} tools; the others are not looked at`] : this.notes;
    return { tools: [...this.#tools.values()], refused: this.#refused, notes: [...new Set(notes)] };
  }
}

function shown(name: string): string {
  return printableLine(name, LONGEST_SHOWN);
}

/** A tool as a server lists it, as far as it is used. */
export interface ServerTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: Fields;
  /** What a model is told of it. */
  readonly sent: SentSchema;
  readonly outputSchema?: Fields;
  readonly annotations?: Fields;
}

type Fields = Readonly<Record<string, unknown>>;

const LONGEST_NAME = 512;
/** Of all that a server says of one tool, in characters; what a model is told of it has a smaller bound. */
const LARGEST = 256 * 1024;

const CHARACTERS_A_STEP = 64;

/** The tool, or why it cannot be offered. What is not needed to call it may be of any kind. What it costs is taken from `work`. */
export function readTool(given: unknown, work: Work = workOfSource()): ServerTool | string {
  if (!isPlainMap(given)) return 'it is not a map';
  const { name, title, description, inputSchema, outputSchema, annotations } = given;
  if (typeof name !== 'string') return 'its name is not text';
  if (name === '' || name.length > LONGEST_NAME) return `its name must have 1 to ${LONGEST_NAME} characters`;
  const size = asJson(given)?.length ?? Infinity;
  if (size > LARGEST) return `its description is longer than ${LARGEST / 1024} KB, or nested too deep`;
  work.left -= Math.ceil(size / CHARACTERS_A_STEP);
  const sent = sentSchema(inputSchema, work);
  if ('problem' in sent) return sent.problem;
  const words = [description, title].find((each) => typeof each === 'string' && each !== '');
  return {
    name,
    ...(words === undefined ? {} : { description: words as string }),
    inputSchema: isPlainMap(inputSchema) ? inputSchema : { type: 'object' },
    sent,
    ...(isPlainMap(outputSchema) ? { outputSchema } : {}),
    ...(isPlainMap(annotations) ? { annotations } : {}),
  };
}
