import type * as OpenTelemetry from '@opentelemetry/api';
import type { Events, ToolResult, TopicMap, TurnInfo } from 'pith';
import { oncePromised } from '@pith/promises';
import { skillUsed } from '../contract.ts';
import { packed } from './exposure.ts';
import { dropEntry, keptEntry, newestTurn, readThread, turnEntry, useEntry } from './ledger-rows.ts';
import { hasTables, LedgerWriter, type LedgerWriterPorts } from './ledger-writer.ts';
import type { Offer } from '../catalog/scope.ts';
import type { Familiarity, LoadedSkill, MatchedSkill, SkillLoad, SkillUse } from './skill-use.ts';
import { keepNewest, LOADS, ThreadLoads, TURNS } from './thread-loads.ts';

export interface LedgerPorts extends LedgerWriterPorts {
  readonly events: Pick<Events, 'publish'>;
  /** The display name of a skill. */
  nameOf(skillId: string): string;
  /** Told of every load of a turn that is more than a preview. */
  readonly onLoad?: (turn: TurnInfo, load: SkillLoad) => void;
}

interface Beginning {
  readonly turn: TurnInfo;
  readonly uses: SkillUse[];
  offer: Offer | null;
}

const THREADS = 1000;
/** More turns than this do not begin at once; the oldest is one that never started. */
const BEGINNING = 256;
/** More than this do not go on at once; the oldest is one whose end was never heard of. */
const RUNNING = 4096;

/** Knows what became of each skill in each turn. Nothing here waits, and nothing throws. */
export class SkillLedger {
  readonly #ports: LedgerPorts;
  readonly #writer: LedgerWriter;
  readonly #threads = new Map<string, ThreadLoads>();
  /** Turns that are being prepared: only those that start have done what is recorded for them. */
  readonly #beginning = new Map<string, Beginning>();
  readonly #running = new Map<string, TurnInfo>();
  /** For which turn each thread was last looked up. */
  readonly #lookedUp = new Map<string, string>();
  #unread = false;

  constructor(ports: LedgerPorts) {
    this.#ports = ports;
    this.#writer = new LedgerWriter(ports);
    prepareSpans();
  }

  /** Called where a turn's prompt is made, before anything is recorded for it. */
  begin(turn: TurnInfo): void {
    keepNewest(this.#beginning, turn.id, { turn, uses: [], offer: null }, BEGINNING);
  }

  /** Records once for each turn, when its prompt is made, what the model is shown of the skills. */
  offered(turn: TurnInfo, offer: Offer): void {
    const begun = this.#beginning.get(turn.id);
    if (begun !== undefined) begun.offer = offer;
  }

  /** The turn is more than a preview: what it did while it was prepared counts. Of what was to stand beside its message, only what does. */
  started(turnId: string, documents: readonly NonNullable<Extract<ToolResult, { ok: true }>['retain']>[]): void {
    const begun = this.#beginning.get(turnId);
    if (begun === undefined) return;
    const { turn, offer } = begun;
    const isGiven = ({ skillId, sha256 }: SkillLoad) => documents.some(({ key, digest }) => key === skillId && digest === sha256);
    const uses = begun.uses.filter((use) => !isDocument(use) || isGiven(use));
    this.#beginning.delete(turnId);
    keepNewest(this.#running, turnId, turn, RUNNING);
    this.#thread(turn.threadId).enter(turnId);
    this.#writeTurn(turn, offer);
    for (const use of uses) this.#keep(turn, use);
    tellSpan(uses, this.#ports.nameOf);
  }

  ended(turnId: string): void {
    if (this.#running.delete(turnId)) void this.#writer.flush();
  }

  /** What the thread holds and was not kept whole is dropped. */
  compacted({ threadId, turnId, compactions, kept }: TopicMap['thread.compacted']): void {
    const fate = this.#thread(threadId).compacted(compactions, kept);
    for (const { load } of fate.kept) this.#writer.add(keptEntry(threadId, load, compactions));
    for (const { load, agentId } of fate.dropped) {
      const { skillId, sha256 } = load;
      this.#writer.add(dropEntry({ threadId, turnId, skillId, sha256, compactions }, agentId, this.#ports.clock.now()));
      const correlationId = (turnId === null ? undefined : this.#running.get(turnId)?.correlationId) ?? null;
      this.#ports.events.publish(skillUsed, { turnId, threadId, agentId, skillId, state: 'dropped', sha256, correlationId });
    }
  }

  /** Known at once to this process, on disk soon after. What a preview asks for is forgotten with it. */
  record(turn: TurnInfo, use: SkillUse): void {
    const begun = this.#beginning.get(turn.id);
    if (begun !== undefined) begun.uses.push(use);
    else if (!isDocument(use)) {
      this.#keep(turn, use);
      tellSpan([use], this.#ports.nameOf);
    }
  }

  /** Skills whose body this thread holds, the latest first. Those of `uses_skills` only in the turn that carries them. */
  loadedIn(turn: TurnInfo): readonly LoadedSkill[] {
    const now = (this.#beginning.get(turn.id)?.uses ?? []).filter((use) => use.state === 'loaded');
    return this.#threadOf(turn).held(turn, now);
  }

  /** Skills that a trigger matched in one of the thread's last `turns` turns, the latest first, also those that it holds no longer. */
  matchedIn(turn: TurnInfo, turns: number): readonly MatchedSkill[] {
    return this.#threadOf(turn).matched(turn, turns);
  }

  /** Whether the thread holds this text of the skill already. */
  familiarity(turn: TurnInfo, load: SkillLoad): Familiarity {
    return this.#threadOf(turn).familiarity(turn, load);
  }

  /** Writes what waits. */
  close(): Promise<void> {
    return this.#writer.flush();
  }

  #keep(turn: TurnInfo, use: SkillUse): void {
    if (use.state === 'loaded') {
      this.#thread(turn.threadId).add(turn, use);
      this.#ports.onLoad?.(turn, use);
    }
    this.#writer.add(useEntry(turn, use, this.#ports.clock.now()));
    const { id: turnId, threadId, agent, correlationId } = turn;
    const { skillId, state } = use;
    const more =
      state === 'loaded' ? { how: use.how, sha256: use.sha256 } : { path: use.path, ...(state === 'script_run' ? { exit: use.exit } : {}) };
    this.#ports.events.publish(skillUsed, { turnId, threadId, agentId: agent.id, skillId, state, ...more, correlationId });
  }

  #writeTurn(turn: TurnInfo, offer: Offer | null): void {
    if (this.#writer.isOff) return;
    const at = this.#ports.clock.now();
    const shown = offer?.shown ?? [];
    if (offer === null) this.#writer.add(turnEntry(turn, at, null, shown));
    else this.#writer.add({ prepare: async () => turnEntry(turn, at, await packed(offer), shown) });
  }

  /** Another process may have run the thread's last turn: then it is read again, at most once a turn. */
  #threadOf({ id, threadId }: TurnInfo): ThreadLoads {
    const thread = this.#thread(threadId);
    if (this.#lookedUp.get(threadId) === id) return thread;
    keepNewest(this.#lookedUp, threadId, id, THREADS);
    const { database } = this.#ports;
    try {
      const newest = hasTables(database) ? newestTurn(database, threadId) : null;
      if (newest === null || thread.knows(newest)) return thread;
    } catch {
      return thread; // what could not be read is told where a thread is read first
    }
    this.#threads.delete(threadId);
    return this.#thread(threadId);
  }

  /** What a thread holds is read once, and known from then on. */
  #thread(threadId: string): ThreadLoads {
    const thread = this.#threads.get(threadId) ?? this.#read(threadId);
    keepNewest(this.#threads, threadId, thread, THREADS);
    return thread;
  }

  #read(threadId: string): ThreadLoads {
    const { database, logger } = this.#ports;
    try {
      if (hasTables(database)) return new ThreadLoads(readThread(database, threadId, TURNS, LOADS));
    } catch (error) {
      if (!this.#unread) logger.warn('what was loaded before is not known: skills are read again', { error: String(error) });
      this.#unread = true;
    }
    return new ThreadLoads();
  }
}

/** A body that was to stand beside the turn's message: who is late with it gives it to nobody. */
function isDocument(use: SkillUse): use is SkillLoad {
  return use.state === 'loaded' && use.how === 'trigger' && use.again === undefined;
}

/** Where the API of OpenTelemetry keeps what a program registered: looked at first, so that nothing is loaded for nobody. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');

let loaded: typeof OpenTelemetry | undefined;
const loadApi = oncePromised(async () => (loaded = (await import('@opentelemetry/api')).default as unknown as typeof OpenTelemetry));

/** Says on the active span, that of the tool call or of the turn, which skills were used: texts for one, lists for several. */
function tellSpan(uses: readonly SkillUse[], nameOf: (skillId: string) => string): void {
  if (uses.length === 0 || !isCollected()) return;
  const attributes = {
    'skill.id': oneOrAll(uses.map(({ skillId }) => skillId)),
    'skill.name': oneOrAll(uses.map(({ skillId }) => nameOf(skillId))),
    'skill.how': oneOrAll(uses.map((use) => (use.state === 'loaded' ? use.how : use.state))),
  };
  if (loaded !== undefined) loaded.trace.getActiveSpan()?.setAttributes(attributes);
  else void loadApi().then(({ trace }) => trace.getActiveSpan()?.setAttributes(attributes), ignored);
}

/** Called ahead of the first use, which is then not late for its span. */
function prepareSpans(): void {
  if (isCollected()) void loadApi().catch(ignored);
}

function isCollected(): boolean {
  return (globalThis as { [REGISTERED]?: { trace?: unknown } })[REGISTERED]?.trace !== undefined;
}

function oneOrAll(values: readonly string[]): string | string[] {
  return values.length === 1 ? values[0]! : [...values];
}

function ignored(): void {}
