import type { ContextParts, TurnInfo } from 'pith';
import { keepNewest } from '../ledger/thread-loads.ts';
import type { Snapshot } from '../skill.ts';
import { decide, STAYS_FOR, type TriggerDecision } from './decision.ts';
import { PatternCache } from './pattern-cache.ts';
import { TriggerIndex } from './trigger-index.ts';
import { triggerParts, type TriggerPorts } from './trigger-parts.ts';

/** The mode in which a message itself brings the skills that it needs. One decision a turn, whoever asks. */
export class TriggerMode {
  readonly #ports: TriggerPorts;
  readonly #patterns: PatternCache;
  readonly #indexes = new WeakMap<Snapshot, Promise<TriggerIndex>>();
  readonly #turns = new Map<string, Decided>();

  constructor(ports: TriggerPorts) {
    this.#ports = ports;
    this.#patterns = new PatternCache(ports.context.clock);
  }

  /** What this turn is given of the skills: the same for the whole turn. */
  decide(turn: TurnInfo, snapshot: Snapshot): Promise<TriggerDecision> {
    const known = this.#turns.get(turn.id);
    // A preview gives every turn the same id and never starts.
    const text = turn.userTexts.at(-1) ?? '';
    const isSame = known !== undefined && !known.told && known.snapshot === snapshot && known.text === text;
    if (known !== undefined && (known.started || isSame)) return known.decision;
    const decision = this.#decide(turn, snapshot, text);
    keepNewest(this.#turns, turn.id, { snapshot, text, decision, told: false, started: false }, TURNS);
    decision.catch(() => this.release(turn.id)); // who asked gets the rejection
    return decision;
  }

  /** What stands beside the turn's message. Asked once, when its prompt is made. */
  async parts(turn: TurnInfo, snapshot: Snapshot, signal?: AbortSignal): Promise<ContextParts | null> {
    const decision = await this.decide(turn, snapshot);
    const decided = this.#turns.get(turn.id);
    if (decided !== undefined) decided.told = true;
    const scope = this.#ports.cache.scope(snapshot, turn.agent);
    return triggerParts(this.#ports, decision, { snapshot, scope }, turn, signal);
  }

  started(turnId: string): void {
    const decided = this.#turns.get(turnId);
    if (decided !== undefined) decided.started = true;
  }

  release(turnId: string): void {
    this.#turns.delete(turnId);
  }

  async #decide(turn: TurnInfo, snapshot: Snapshot, text: string): Promise<TriggerDecision> {
    const { ledger, cache, context } = this.#ports;
    const scope = cache.scope(snapshot, turn.agent);
    return decide({
      snapshot,
      scope,
      index: await this.#index(snapshot),
      text,
      maxSkills: scope.settings.max_skills ?? context.config.max_skills,
      recent: (await ledger.loadedIn(turn)).map(({ skillId }) => skillId),
      matched: await ledger.matchedIn(turn, STAYS_FOR),
    });
  }

  #index(snapshot: Snapshot): Promise<TriggerIndex> {
    let made = this.#indexes.get(snapshot);
    if (made === undefined) this.#indexes.set(snapshot, (made = TriggerIndex.of(snapshot, this.#patterns)));
    return made;
  }
}

interface Decided {
  readonly snapshot: Snapshot;
  readonly text: string;
  readonly decision: Promise<TriggerDecision>;
  /** The turn's prompt has been made with it. */
  told: boolean;
  /** The turn is more than a preview. */
  started: boolean;
}

/** More turns than this do not run at once. */
const TURNS = 4096;
