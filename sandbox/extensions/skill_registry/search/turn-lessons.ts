import { messageOf, type Logger, type TopicMap, type TurnInfo } from 'pith';
import type { SkillLoad } from '../ledger/skill-use.ts';
import { dropOldest } from '../ledger/thread-loads.ts';
import type { Skill } from '../skill.ts';
import { exampleOf } from './example-text.ts';
import type { LearnedExamples } from './learned-examples.ts';

export interface TurnLessonsPorts {
  readonly learned: LearnedExamples;
  readonly logger: Logger;
  /** The skill that is offered under an id. */
  skillOf(id: string): Skill | undefined;
  /** Whether the turn's agent may be learned from. */
  allows(turn: TurnInfo): boolean;
  /** Called when something was learned. */
  onLearned(): void;
}

/** A turn that loads more skills than this was looking around: its text says of none of them that it fits. */
const MOST_SKILLS = 3;
/** More turns than this do not go on at once. */
const RUNNING = 1024;

/** Learns from turns that loaded a skill and ended well: what the person said, and what was loaded for it. Nobody waits for it. */
export class TurnLessons {
  readonly #ports: TurnLessonsPorts;
  readonly #turns = new Map<string, { readonly turn: TurnInfo; readonly ids: Set<string> }>();
  #learning: Promise<void> = Promise.resolve();

  constructor(ports: TurnLessonsPorts) {
    this.#ports = ports;
  }

  /** Something was chosen for this turn's text: not what the agent carries anyway, nor what an earlier turn brought. */
  loaded(turn: TurnInfo, { skillId, how, again, carried, part }: SkillLoad): void {
    if (how === 'uses_skills' || again || carried || (part ?? 1) > 1 || !isPersons(turn) || !chooses(turn)) return;
    const known = this.#turns.get(turn.id) ?? { turn, ids: new Set() };
    known.ids.add(skillId);
    this.#turns.set(turn.id, known);
    dropOldest(this.#turns, RUNNING);
  }

  /** One that waits for an answer goes on later. */
  ended({ turnId, reason }: Pick<TopicMap['turn.ended'], 'turnId' | 'reason'>): void {
    const known = this.#turns.get(turnId);
    if (known === undefined || reason === 'awaiting_approval') return;
    this.#turns.delete(turnId);
    if (reason === 'done' && known.ids.size <= MOST_SKILLS && this.#ports.allows(known.turn))
      this.#learning = this.#learning.then(() => this.#learn(known.turn, known.ids));
  }

  /** Resolves when what was learned has been written. */
  settled(): Promise<void> {
    return this.#learning;
  }

  async #learn({ userTexts }: TurnInfo, ids: ReadonlySet<string>): Promise<void> {
    const { learned, logger, skillOf, onLearned } = this.#ports;
    const said = userTexts.at(-1) ?? '';
    const lessons = [...ids].flatMap((skillId) => {
      const skill = skillOf(skillId);
      const text = skill === undefined ? null : exampleOf(said, skill);
      return text === null ? [] : { skillId, text };
    });
    if (lessons.length === 0) return;
    try {
      await learned.add(lessons);
      onLearned();
    } catch (error) {
      logger.warn('what a turn taught is not kept', { error: messageOf(error) });
    }
  }
}

/** What another agent, a task or a schedule says is not a person's wording. */
function isPersons({ depth, key }: TurnInfo): boolean {
  return depth === 0 && key === undefined;
}

/** The model for want of a network takes the first of equals: what it loads says nothing of what was meant. */
function chooses({ model }: TurnInfo): boolean {
  return !model.ref.startsWith('offline/');
}
