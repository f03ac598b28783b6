import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Places, TurnInfo } from 'pith';
import { sha256 } from '@pith/plain-data';
import type { FolderInstructions, JoiningInstructions } from './contract.ts';
import { NAMES, readProjectFile, type Instructions } from './instruction-files.ts';
import { joiningText, usedLine } from './instructions-text.ts';

type Project = Pick<Places, 'project' | 'projectFiles'>;

/** The most files in one result, nearest first; those above follow with the next result. */
const MOST_AT_ONCE = 3;
/** How many turns are remembered with what they were given, since the calls of one answer run in parallel. */
const MOST_TURNS = 100;

/** Instructions of folders that are not in the system text: each once in a conversation, until compaction takes it out or it changes. */
export class JoinedInstructions implements FolderInstructions {
  readonly #given = new Map<string, Set<string>>();

  constructor(private readonly places: Project) {}

  async joining(names: readonly string[], turn: TurnInfo): Promise<JoiningInstructions | null> {
    const { project, projectFiles } = this.places;
    if (project === null) return null;
    const given = this.#givenIn(turn);
    const held = new Set(turn.held.flatMap(entriesOf));
    const found: Instructions[] = [];
    for (let depth = names.length; depth > 0 && found.length < MOST_AT_ONCE; depth -= 1) {
      const folder = path.join(project, ...names.slice(0, depth));
      const files = NAMES.map((name) => path.join(folder, name)).filter((file) => existsSync(file));
      if (NAMES.some((name) => projectFiles.includes(path.join(folder, name)))) continue; // it is in the system text
      const file = files.find((each) => isAgreed(this.places, each)) ?? files[0];
      if (file === undefined || file === path.join(project, ...names) || given.has(file)) continue;
      given.add(file);
      const name = path.relative(project, file);
      const read = isAgreed(this.places, file) ? await readProjectFile(file, project) : NOT_SHOWN;
      if (read !== null && !held.has(entryOf(name, digestOf(read.text ?? '')))) found.unshift({ name, ...read });
    }
    const used = found.filter(({ text }) => text !== null);
    const lines = [usedLine(used), ...found.flatMap(({ name, why }) => (why === null ? [] : [`not using ${name}: ${why}`]))].filter(
      Boolean,
    );
    if (lines.length === 0) return null;
    return { text: joiningText(used), line: lines.join('; '), retain: used.length === 0 ? null : retainOf(used) };
  }

  #givenIn({ id, compactions }: TurnInfo): Set<string> {
    const key = `${id}/${compactions}`;
    const given = this.#given.get(key) ?? new Set();
    this.#given.delete(key);
    this.#given.set(key, given);
    const [oldest] = this.#given.keys();
    if (this.#given.size > MOST_TURNS && oldest !== undefined) this.#given.delete(oldest);
    return given;
  }
}

const NOT_SHOWN = {
  text: null,
  why: 'instructions of folders came after you trusted this one; to use them: pith trust',
  isPart: false,
  missing: [],
};

function isAgreed({ project, projectFiles }: Project, file: string): boolean {
  return projectFiles.includes(path.join(project ?? '', '**', path.basename(file)));
}

/** One result may have several: names and digests are in the same order. */
function retainOf(used: readonly Instructions[]) {
  return { key: used.map(({ name }) => name).join('\n'), digest: used.map(({ text }) => digestOf(text ?? '')).join('\n') };
}

function entriesOf({ key, digest }: TurnInfo['held'][number]): readonly string[] {
  const digests = digest.split('\n');
  return key.split('\n').map((name, index) => entryOf(name, digests[index] ?? ''));
}

function entryOf(name: string, digest: string): string {
  return `${name}\n${digest}`;
}

function digestOf(text: string): string {
  return sha256(text).slice(0, 16);
}
