import { type Clock, type Logger, messageOf, z } from 'pith';
import { once } from '@pith/promises';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import { sha256 } from '@pith/plain-data';
import { treeDigest } from '@pith/skill-files';
import { KEPT_VERSION, type SkillVersion } from '../contract.ts';
import type { History } from '../history/history.ts';
import type { HistorySubject } from '../history/history-file.ts';
import type { Skill, Snapshot } from '../skill.ts';
import type { Versions } from '../versions/versions.ts';

/** A skill that changed while a program ran that nothing confines, and nobody recorded who changed it. */
export interface OutsideChange extends HistorySubject {
  /** What is used until a person accepts the change; null: nothing, since no version before is kept. */
  readonly serves: string | null;
  readonly program: string;
  readonly at: number;
}

export interface OutsidePorts {
  readonly dataDirectory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly history: History;
  readonly versions: Versions;
  /** A person said what becomes of it. */
  decided(id: string): void;
}

const schema = once(() =>
  z.object({ id: z.string(), label: z.string(), folder: z.string(), serves: z.string().nullable(), program: z.string(), at: z.number() }),
);

/** A skill before a program ran. */
interface Known {
  /** So many versions its history had. */
  readonly count: number;
  /** The one that is used. */
  readonly serves: string | null;
  /** Of one without a history: what differs with its files. */
  readonly state: string | null;
}

interface Before {
  readonly program: string;
  /** By `label/folder`. */
  readonly skills: ReadonlyMap<string, Known>;
  /** As they were: what has not changed since is the same object. */
  readonly all: ReadonlySet<Skill>;
}

/** A turn in which such a program runs. */
interface Watched {
  readonly looked: Promise<Before>;
  /** null: nothing runs yet. */
  before: Before | null;
}

/** Skills get a history until so many have one, for which the program waits. Of others only a change is seen, and no version before is used. */
const LEAST_RECORDED = 50;

/** Finds what changes in skills below the tools, where no sandbox holds it back, and keeps the recorded version in use. */
export class OutsideChanges {
  readonly #folder: StateFolder;
  readonly #turns = new Map<string, Watched>();

  constructor(private readonly ports: OutsidePorts) {
    this.#folder = stateFolder(ports.dataDirectory, 'outside');
  }

  /** Changes with what it holds back. */
  get stamp(): string {
    return [...this.#folder.list(), ...this.#turns.keys()].join(' ');
  }

  all(): readonly OutsideChange[] {
    return this.#folder.list().flatMap((name) => {
      try {
        return schema().safeParse(JSON.parse(String(this.#folder.read(name)))).data ?? [];
      } catch {
        return []; // it is no JSON, and so none of ours
      }
    });
  }

  /** Before such a program runs in a turn. Of several that are to run at once none does before all skills are known as they were. */
  async begin(turnId: string, program: string, snapshot: () => Promise<Snapshot>): Promise<void> {
    const watched = this.#turns.get(turnId) ?? { looked: this.#look(program, snapshot), before: null };
    this.#turns.set(turnId, watched);
    try {
      watched.before = await watched.looked;
    } catch (error) {
      this.#turns.delete(turnId);
      throw error;
    }
  }

  /** After the turn: what changed. */
  async end(turnId: string, snapshot: () => Promise<Snapshot>): Promise<readonly OutsideChange[]> {
    const before = await this.#turns.get(turnId)?.looked;
    if (before === undefined) return [];
    const found: OutsideChange[] = [];
    try {
      for (const subject of this.#subjects(await snapshot())) {
        const change = await this.#changeOf(subject, before);
        if (change === null) continue;
        await this.#folder.write(`${sha256(keyOf(change))}.json`, JSON.stringify(change));
        found.push(change);
      }
    } finally {
      this.#turns.delete(turnId); // only now: what is not written yet is held back by the turn
    }
    return found;
  }

  /** What holds the skill back now, also while the turn still goes on in which it changed; null: nothing does. */
  async heldBack(skill: Skill): Promise<OutsideChange | null> {
    const changes = this.all();
    if (changes.length === 0 && this.#turns.size === 0) return null;
    const subject = this.ports.history.subjectOf(skill);
    if (subject === null) return null;
    const key = keyOf(subject);
    for (const { looked } of this.#turns.values()) {
      const change = await this.#changeOf(subject, await looked);
      if (change !== null) return change;
    }
    return changes.find((change) => keyOf(change) === key) ?? null;
  }

  /** The version that is used in its place; null: none is kept. */
  async recorded({ serves, id }: Pick<OutsideChange, 'serves' | 'id'>): Promise<Skill | null> {
    if (serves === null) return null;
    try {
      return await this.ports.versions.at(KEPT_VERSION + serves, id);
    } catch (error) {
      this.ports.logger.warn(`the recorded version of the skill '${id}' cannot be used: ${messageOf(error)}`);
      return null;
    }
  }

  /** A person wants it as it is now. */
  accept(change: HistorySubject & { readonly id: string }): void {
    this.#folder.remove(`${sha256(keyOf(change))}.json`);
    this.ports.decided(change.id);
  }

  /** The snapshot with the recorded versions in the place of what changed, also while the turns still go on in which it did. */
  async apply(snapshot: Snapshot): Promise<Snapshot> {
    let next = snapshot;
    const kept = this.all();
    for (const change of await this.#changesNow(snapshot)) {
      const live = this.#liveOf(change, next);
      if (live !== undefined && !kept.some((each) => keyOf(each) === keyOf(change)))
        next = inPlace(next, live, { change, kept: await this.recorded(change) });
    }
    for (const change of kept) {
      const live = this.#liveOf(change, next);
      if (live === undefined) continue;
      const last = (await this.ports.history.record(change)).versions.at(-1);
      if (last === undefined || last.digest === change.serves || isAuthored(last)) this.accept(change); // it is as it was, or a person put it right
      else next = inPlace(next, live, { change, kept: await this.recorded(change) });
    }
    return next;
  }

  #liveOf(change: HistorySubject, { all }: Snapshot): Skill | undefined {
    const directory = this.ports.history.directoryOf(change);
    return all.find((skill) => skill.directory === directory);
  }

  async #changesNow({ all }: Snapshot): Promise<readonly OutsideChange[]> {
    const changes: OutsideChange[] = [];
    for (const { before } of this.#turns.values())
      for (const skill of before === null ? [] : all.filter((each) => !before.all.has(each))) {
        const subject = this.ports.history.subjectOf(skill);
        const change = subject === null ? null : await this.#changeOf(subject, before!);
        if (change !== null) changes.push(change);
      }
    return changes;
  }

  async #look(program: string, snapshot: () => Promise<Snapshot>): Promise<Before> {
    const held = new Map(this.all().map((each) => [keyOf(each), each.serves]));
    const skills = new Map<string, Known>();
    const { history } = this.ports;
    const found = await snapshot();
    const subjects = this.#subjects(found);
    let room = LEAST_RECORDED - subjects.filter((subject) => history.has(subject)).length;
    for (const subject of subjects) {
      const key = keyOf(subject);
      if (!history.has(subject) && room-- <= 0) {
        skills.set(key, { count: 0, serves: held.get(key) ?? null, state: await this.#stateOf(subject) });
        continue;
      }
      const { versions } = await history.record(subject);
      const serves = held.has(key) ? held.get(key)! : (versions.at(-1)?.digest ?? null);
      skills.set(key, { count: versions.length, serves, state: null });
    }
    return { program, skills, all: new Set(found.all) };
  }

  /** Its stamp, or its digest where it changed just now. `like`: in the form of this one. */
  async #stateOf(subject: HistorySubject, like = ''): Promise<string> {
    const stamp = like.startsWith('sha256:') ? '' : await this.ports.history.stampOf(subject);
    return stamp || (await treeDigest(this.ports.history.directoryOf(subject)).catch(() => 'unreadable'));
  }

  /** What a program did to a skill since it was looked at; null: nothing, or somebody said that they did it. */
  async #changeOf(subject: HistorySubject, { program, skills }: Before): Promise<OutsideChange | null> {
    const { count, serves, state } = skills.get(keyOf(subject)) ?? { count: 0, serves: null, state: null };
    if (state !== null && (await this.#stateOf(subject, state)) === state) return null;
    const last = (await this.ports.history.record(subject)).versions.slice(count).at(-1);
    if (last === undefined || isAuthored(last) || last.digest === serves) return null;
    return { ...subject, serves, program, at: this.ports.clock.now() };
  }

  #subjects({ all }: Snapshot): readonly HistorySubject[] {
    return all.flatMap((skill) => this.ports.history.subjectOf(skill) ?? []);
  }
}

/** Of a skill that changed while a program ran that nothing confines. */
export const CHANGED_OUTSIDE = 'changed_outside';

function inPlace(
  snapshot: Snapshot,
  live: Skill,
  { change, kept }: { readonly change: OutsideChange; readonly kept: Skill | null },
): Snapshot {
  const reason = reasonOf(change);
  const cure = `look at it and decide: pith skills accept ${change.id}${change.serves === null ? '' : `, or ${takenBackBy(change)}`}`;
  const message = `${reason}${kept === null ? '' : '; the version before is used'}`;
  const finding = { severity: 'warning', code: CHANGED_OUTSIDE, message, file: live.file, cure } as const;
  const held: Skill = { ...live, state: 'untrusted', reason, diagnostics: [...live.diagnostics, finding] };
  const all = snapshot.all.flatMap((skill) => (skill === live ? [...(kept === null ? [] : [kept]), held] : [skill]));
  const skills = new Map(snapshot.skills);
  if (skills.get(live.id) === live) skills.set(live.id, kept ?? all.find(({ id, state }) => id === live.id && state === 'offered') ?? held);
  return Object.freeze({ ...snapshot, skills, all });
}

/** Why the skill is not used as it is now. */
export function reasonOf(change: Pick<OutsideChange, 'serves' | 'program'>): string {
  return `changed outside: it ${howOf(change)} while ${change.program} ran, which nothing confines`;
}

/** As the beginning of a sentence about it. */
export function howOf({ serves }: Pick<OutsideChange, 'serves'>): string {
  return serves === null ? 'came or changed' : 'changed';
}

/** The command that puts back what is used. */
export function takenBackBy({ id, serves }: Pick<OutsideChange, 'id' | 'serves'>): string {
  return `pith skills rollback ${id} ${serves?.slice('sha256:'.length).slice(0, 12) ?? ''}`;
}

/** Somebody said who changes it, and why. */
function isAuthored({ how }: SkillVersion): boolean {
  return how !== 'found' && how !== 'by_hand';
}

function keyOf({ label, folder }: HistorySubject): string {
  return `${label}/${folder}`;
}
