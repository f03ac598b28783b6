import { type Clock, type Logger, messageOf } from 'pith';
import { Yielder } from '@pith/skill-files';
import type { SkillsChange } from '../contract.ts';
import type { Skill, Snapshot } from '../skill.ts';
import type { History } from './history.ts';
import type { HistorySubject } from './history-file.ts';

export interface RecorderOptions {
  readonly history: History;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Skills without a history get one in the background while so many have begun one. */
  readonly most: number;
}

/** The time between two skills of which nobody waits, so that turns go first. */
const PAUSE_MS = 20;

/** Records in the background what skills hold: those that were loaded, and while Pith runs those that changed. */
export class HistoryRecorder {
  readonly #loaded = new Map<string, Skill>();
  #others: (Skill | HistorySubject)[] = [];
  #begun = 0;
  #running: Promise<void> | null = null;
  readonly #closing = new AbortController();

  constructor(private readonly options: RecorderOptions) {}

  /** It was read for a turn: what it held is kept. */
  loaded(skill: Skill): void {
    this.#loaded.set(skill.directory, skill);
    this.#start();
  }

  /** Looks at these when there is time. A subject is of a skill that is gone. */
  follow(skills: Iterable<Skill | HistorySubject>): void {
    this.#others.push(...skills);
    this.#start();
  }

  changed({ added, changed, removed }: SkillsChange, { skills }: Snapshot): void {
    const gone = removed.flatMap((id) => this.options.history.subjectNamed(id) ?? []);
    this.follow([...[...added, ...changed].flatMap((id) => skills.get(id) ?? []), ...gone]);
  }

  /** Resolves once those that were loaded are recorded. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  #start(): void {
    this.#running ??= this.#work().finally(() => {
      this.#running = null;
    });
  }

  async #work(): Promise<void> {
    const { history } = this.options;
    const yielder = new Yielder();
    for (let at = 0; ;) {
      const [loaded] = this.#loaded.values();
      if (loaded !== undefined) {
        this.#loaded.delete(loaded.directory);
        const subject = history.subjectOf(loaded);
        if (subject !== null) await this.#record(subject);
        continue;
      }
      const next = this.#closing.signal.aborted ? undefined : this.#others[at++];
      if (next === undefined) break;
      await yielder.spend(4);
      const subject = 'label' in next ? next : isUsed(next) ? history.subjectOf(next) : null;
      if (subject !== null && (history.has(subject) || this.#begun++ < this.options.most)) await this.#recordLater(subject);
    }
    this.#others = [];
  }

  async #recordLater(subject: HistorySubject): Promise<void> {
    await this.options.clock.sleep(PAUSE_MS, this.#closing.signal).catch(() => undefined); // it closes
    if (!this.#closing.signal.aborted) await this.#record(subject);
  }

  async #record(subject: HistorySubject): Promise<void> {
    const { history, logger } = this.options;
    await history.record(subject).catch((error: unknown) => {
      logger.warn(`the skill '${subject.id}' could not be recorded in its history: ${messageOf(error)}`);
    });
  }
}

/** What waits for a person, or is broken, is not accepted yet. */
function isUsed({ state }: Skill): boolean {
  return state === 'offered' || state === 'shadowed' || state === 'disabled';
}
