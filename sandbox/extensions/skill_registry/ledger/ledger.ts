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

/** Knows what became of each skill in each turn. Who tells it something waits for nothing, and nothing throws. */
export class SkillLedger {
  readonly #ports: LedgerPorts;
  readonly #writer: LedgerWriter;
  /** Each callback waits for the reading, and for all that was recorded before it. */
  readonly #threads = new Map<string, Promise<ThreadLoads>>();
  /** Turns that are being prepared: only those that start have done what is recorded for them. */
  readonly #beginning = new Map<string, Beginning>();
  readonly #running = new Map<string, TurnInfo>();
  #unread = false;

  constructor(ports: LedgerPorts) {
    this.#ports = ports;
    this.#writer = new LedgerWriter(ports);
    prepareSpans();
  }

  /** Called where a turn's prompt is made, before anything is recorded for it. Another process may have run the thread's last turn: then it is read again. */
  begin(turn: TurnInfo): void {
    const { id, threadId } = turn;
    keepNewest(this.#beginning, id, { turn, uses: [], offer: null }, BEGINNING);
    const looked = this.#threads.get(threadId)?.then((known) => this.#read(threadId, known));
    if (looked !== undefined) keepNewest(this.#threads, threadId, looked, THREADS);
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
    void this.#thread(turn.threadId).then((thread) => thread.enter(turnId));
    this.#writeTurn(turn, offer);
    for (const use of uses) this.#keep(turn, use);
    tellSpan(uses, this.#ports.nameOf);
  }

  ended(turnId: string): void {
    if (this.#running.delete(turnId)) void this.#writer.flush();
  }

  /** What the thread holds and was not kept whole is dropped. */
  async compacted({ threadId, turnId, compactions, kept }: TopicMap['thread.compacted']): Promise<void> {
    const correlationId = (turnId === null ? undefined : this.#running.get(turnId)?.correlationId) ?? null;
    const fate = (await this.#thread(threadId)).compacted(compactions, kept);
    for (const { load } of fate.kept) this.#writer.add(keptEntry(threadId, load, compactions));
    for (const { load, agentId } of fate.dropped) {
      const { skillId, sha256 } = load;
      this.#writer.add(dropEntry({ threadId, turnId, skillId, sha256, compactions }, agentId, this.#ports.clock.now()));
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
  async loadedIn(turn: TurnInfo): Promise<readonly LoadedSkill[]> {
    const now = (this.#beginning.get(turn.id)?.uses ?? []).filter((use) => use.state === 'loaded');
    return (await this.#thread(turn.threadId)).held(turn, now);
  }

  /** Skills that a trigger matched in one of the thread's last `turns` turns, the latest first, also those that it holds no longer. */
  async matchedIn(turn: TurnInfo, turns: number): Promise<readonly MatchedSkill[]> {
    return (await this.#thread(turn.threadId)).matched(turn, turns);
  }

  /** Whether the thread holds this text of the skill already. */
  async familiarity(turn: TurnInfo, load: SkillLoad): Promise<Familiarity> {
    return (await this.#thread(turn.threadId)).familiarity(turn, load);
  }

  /** Writes what waits, and what follows from threads that are still being read. */
  async close(): Promise<void> {
    await Promise.all(this.#threads.values());
    await this.#writer.flush();
  }

  #keep(turn: TurnInfo, use: SkillUse): void {
    if (use.state === 'loaded') {
      void this.#thread(turn.threadId).then((thread) => thread.add(turn, use));
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

  /** What a thread holds is read once, and known from then on. */
  #thread(threadId: string): Promise<ThreadLoads> {
    const thread = this.#threads.get(threadId) ?? this.#read(threadId);
    keepNewest(this.#threads, threadId, thread, THREADS);
    return thread;
  }

  /** `known`: stays while its newest turn is the thread's. Never rejects. */
  async #read(threadId: string, known?: ThreadLoads): Promise<ThreadLoads> {
    const { database, logger } = this.#ports;
    let thread = known ?? new ThreadLoads();
    try {
      if (!(await hasTables(database))) return thread;
      if (known !== undefined) {
        const newest = await newestTurn(database, threadId);
        if (newest === null || known.knows(newest)) return known;
        thread = new ThreadLoads();
        await this.#writer.flush(); // what waits is not to be missed
      }
      thread = new ThreadLoads(await readThread(database, threadId, TURNS, LOADS));
    } catch (error) {
      if (!this.#unread) logger.warn('what was loaded before is not known: skills are read again', { error: String(error) });
      this.#unread = true;
    }
    return thread;
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
