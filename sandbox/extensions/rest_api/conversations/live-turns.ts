import { randomUUID } from 'node:crypto';
import { hiddenFolders } from '@pith/plain-text';
import { KeyedQueue } from '@pith/promises';
import { HEARTBEAT_MS, sentEvent } from '@pith/server-answers';
import {
  type Conversations,
  type ExtensionContext,
  type JsonValue,
  messageOf,
  PithError,
  Places,
  type Remote,
  type TurnEvent,
  type TurnRequest,
} from 'pith';
import { shownEvent } from 'pith/http';
import { type Frame, Outbox } from './outbox.ts';
import type { AskedTurn, KeptTurn, QueuedMessages } from './queued-messages.ts';
import type { TurnEnds } from './turn-ends.ts';

/** The channel of turns that are asked for here. */
export const CHANNEL_ID = 'web';
/** Of events that wait for one reader of a turn. */
const MOST_BYTES = 8 * 1024 * 1024;
/** Of what a call has put out, for those who come later. */
const MOST_OUTPUT = 64 * 1024;

/** How often a message looks whether its thread is free, where nobody says so. */
const LOOK_MS = 500;
/** So often it finds that every question is answered, before it goes on with the turn itself. */
const MOST_LOOKS = 10;

type TurnEnd = Extract<TurnEvent, { type: 'turn-end' }>;

const NEVER_BEGAN: TurnEnd = { type: 'turn-end', reason: 'aborted', text: '', usage: { inputTokens: 0, outputTokens: 0 } };

const REMOVED: NonNullable<TurnEnd['error']> = {
  code: 'thread_unknown',
  message: 'this message was not sent: its conversation was deleted while it waited; begin a new one',
};

/** What is drawn again for somebody who comes later: the events of the step that is open. `n`: of the last event. */
interface LiveState {
  readonly turn: string | null;
  /** `queued`: others work in the thread, or a question is open there. */
  readonly state: 'queued' | 'running';
  readonly n: number;
  readonly events: readonly TurnEvent[];
}

/** A turn that this process runs, whoever watches it. */
export class LiveTurn {
  readonly ended: Promise<TurnEnd>;
  turnId: string | null = null;
  /** Steps that have ended: what they said is kept. */
  steps = 0;
  /** Until its thread is free. */
  isWaiting = false;
  readonly #readers = new Set<Outbox>();
  #n = 0;
  #open: TurnEvent[] = [];
  #end: TurnEnd | null = null;
  #resolve!: (end: TurnEnd) => void;

  constructor(
    readonly asked: Pick<AskedTurn, 'threadId' | 'userId' | 'key'>,
    private readonly isQueued: boolean,
  ) {
    this.ended = new Promise((resolve) => (this.#resolve = resolve));
  }

  /** Passes an event on, and returns it as a stream has it. */
  take(event: TurnEvent): Frame {
    this.#n += 1;
    if (event.type === 'turn-start') this.turnId = event.turn;
    this.#keep(event);
    const said = { thread: this.asked.threadId, turn: this.turnId, n: this.#n, event: event as unknown as JsonValue };
    const frame = { bytes: sentEvent(said, { event: 'turn' }) };
    for (const reader of this.#readers) reader.add(frame);
    if (event.type !== 'turn-end') return frame;
    this.#end = event;
    for (const reader of this.#readers) reader.end();
    this.#resolve(event);
    return frame;
  }

  state(): LiveState {
    const state = this.isQueued && this.turnId === null ? 'queued' : 'running';
    return { turn: this.turnId, state, n: this.#n, events: [...this.#open] };
  }

  get hasEnded(): boolean {
    return this.#end !== null;
  }

  /** Why it ended before it began; null: it did not. */
  get refusal(): NonNullable<TurnEnd['error']> | null {
    return this.turnId === null && this.#end?.reason === 'error' ? (this.#end.error ?? null) : null;
  }

  /** `open` is its state as it is now; then its events. The turn goes on when the reader leaves. */
  async *events(clock: ExtensionContext['clock'], signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const reader = new Outbox(MOST_BYTES);
    const state = this.state() as unknown as Readonly<Record<string, JsonValue>>;
    const open = sentEvent({ thread: this.asked.threadId, ...state }, { event: 'open' });
    if (this.#end === null) this.#readers.add(reader);
    else reader.end();
    try {
      yield open;
      for (;;) {
        const next = await reader.next(clock, HEARTBEAT_MS, signal);
        if (next === 'ended') return;
        if (next === 'over') return yield sentEvent({}, { event: 'reset' });
        if (next === 'idle') yield sentEvent({}, { event: 'heartbeat' });
        else for (const { bytes } of next) yield bytes;
      }
    } finally {
      this.#readers.delete(reader);
    }
  }

  /** Texts that follow each other are one, and of what a call puts out the end is kept. */
  #keep(event: TurnEvent): void {
    const last = this.#open.at(-1);
    if (event.type === 'step-end') {
      this.steps += 1;
      this.#open = [];
    } else if (event.type === 'text-delta' && last?.type === 'text-delta')
      this.#open[this.#open.length - 1] = { type: 'text-delta', text: last.text + event.text };
    else if (event.type === 'tool-output') {
      const before = this.#open.find((each) => each.type === 'tool-output' && each.id === event.id);
      const text = `${before?.type === 'tool-output' ? before.text : ''}${event.text}`.slice(-MOST_OUTPUT);
      this.#open = [...this.#open.filter((each) => each !== before), { ...event, text }];
    } else this.#open.push(event);
  }
}

type Listener = (userId: string, frame: Frame) => void;

/** The turns that this process runs for its clients, in each thread one after the other. */
export class LiveTurns {
  readonly #threads = new Map<string, LiveTurn[]>();
  readonly #running = new KeyedQueue();
  readonly #waiting = new KeyedQueue();
  readonly #stop = new AbortController();
  readonly #listeners = new Set<Listener>();
  readonly #work = new Set<Promise<void>>();

  constructor(
    private readonly context: Pick<ExtensionContext, 'agents' | 'clock' | 'logger' | 'use'>,
    private readonly conversations: Remote<Conversations>,
    private readonly queued: QueuedMessages,
    private readonly ends: TurnEnds,
  ) {}

  /**
   * Begins a turn, or finds the one of its key. A message waits where the thread is busy, here or in another process, also over a restart; one
   * that was sent before a question was asked, or after it was answered, waits until the turn that asked has ended. Rejects `limit_reached`
   * where too many wait.
   */
  async start(asked: AskedTurn): Promise<LiveTurn> {
    const { threadId, userId, input } = asked;
    const state = (await this.conversations.find(threadId))?.state;
    const isAsked = (await this.conversations.questions({ threadId })).length > 0;
    const same = this.#same(asked);
    if (same !== null) return same;
    const isBusy = state === 'running' || this.#running.isBusy(threadId) || (this.#waiting.isBusy(threadId) && !isAsked);
    if (input === undefined) return this.#begin(asked, isBusy);
    const key = asked.key ?? randomUUID();
    const isAnswered = state === 'awaiting_approval' && !isAsked; // what a person allowed is done first
    if (!isBusy && !isAnswered) return this.#begin({ ...asked, key }, false);
    await this.queued.keep({ ...asked, key });
    const kept = { threadId, userId, key }; // what it says is read when its time has come
    return this.#same(kept) ?? (isAsked ? this.#beginKept(kept) : this.#wait(kept)); // a message after a question may take its place
  }

  /** Goes on with what ran and what waited when a process ended. `removed`: threads that were deleted since, where nothing begins another one. */
  async restore(removed: ReadonlySet<string>): Promise<void> {
    for (const kept of await this.queued.all()) {
      if (this.#same(kept) !== null) continue;
      if (removed.has(kept.threadId)) await this.#drop(kept);
      else if (kept.hasBegun) this.#beginKept(kept);
      else this.#wait(kept);
    }
  }

  /** Takes a message back, and gives what it said; null: none of this key waits. */
  async takeBack(kept: KeptTurn): Promise<Pick<AskedTurn, 'input' | 'attachments'> | null> {
    const asked = await this.queued.takeBack(kept);
    if (asked !== null) this.#same(kept)?.take(NEVER_BEGAN); // else another process has it, and finds it gone
    return asked;
  }

  /** Of a thread that was removed: what waited there, and is kept no longer, begins no other one of its id. */
  async refuseForgotten(threadId: string): Promise<void> {
    const kept = new Set((await this.queued.waiting(threadId)).map(({ key }) => key));
    const forgotten = this.of(threadId).filter(({ isWaiting, asked: { key = '' } }) => isWaiting && !kept.has(key));
    await Promise.all(forgotten.map((turn) => this.#refuse(turn, REMOVED)));
  }

  /** Those of a thread that have not ended, the one that runs first. */
  of(threadId: string): readonly LiveTurn[] {
    const open = (this.#threads.get(threadId) ?? []).filter(({ hasEnded }) => !hasEnded);
    return [...open.filter(({ isWaiting }) => !isWaiting), ...open.filter(({ isWaiting }) => isWaiting)];
  }

  /** The one that runs or is about to; null: all wait. */
  first(threadId: string): LiveTurn | null {
    return this.of(threadId).find(({ isWaiting }) => !isWaiting) ?? null;
  }

  /** Each event of every turn, until the returned function is called. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Ends all. What had begun goes on in the next process that serves, or once this extension has been loaded again. */
  async stop(): Promise<void> {
    this.#stop.abort(new PithError('aborted', 'Pith stops'));
    await Promise.all(this.#work);
  }

  #begin(asked: AskedTurn, isQueued: boolean): LiveTurn {
    const turn = this.#added(asked, isQueued);
    this.#track(turn, () => this.#run(turn, asked));
    return turn;
  }

  #beginKept(kept: KeptTurn): LiveTurn {
    const turn = this.#added(kept, true);
    this.#track(turn, () => this.#runKept(turn, kept));
    return turn;
  }

  #wait(kept: KeptTurn): LiveTurn {
    const { threadId } = kept;
    const turn = this.#added(kept, true);
    turn.isWaiting = true;
    this.#track(turn, () =>
      this.#waiting.run(threadId, async () => {
        await this.#freed(turn);
        turn.isWaiting = false;
        await this.#runKept(turn, kept);
      }),
    );
    return turn;
  }

  #added({ threadId, userId, key }: Pick<AskedTurn, 'threadId' | 'userId' | 'key'>, isQueued: boolean): LiveTurn {
    const turn = new LiveTurn({ threadId, userId, ...(key === undefined ? {} : { key }) }, isQueued);
    this.#threads.set(threadId, [...(this.#threads.get(threadId) ?? []), turn]);
    return turn;
  }

  #track(turn: LiveTurn, run: () => Promise<void>): void {
    const work = run().catch(async (error: unknown) => {
      this.context.logger.error('a turn could not be run', { threadId: turn.asked.threadId, reason: messageOf(error) });
      if (!turn.hasEnded) await this.#refuse(turn, { code: 'internal', message: 'something went wrong; the log says what' });
    });
    this.#work.add(work);
    void work.finally(() => {
      this.#work.delete(work);
      this.#forget(turn);
    });
  }

  /** A turn that cannot begin: its message waits no longer, whoever hears of it. */
  async #refuse(turn: LiveTurn, error: NonNullable<TurnEnd['error']>): Promise<void> {
    const { threadId, userId, key } = turn.asked;
    if (key !== undefined && !this.#stop.signal.aborted) await this.#drop({ threadId, userId, key });
    if (!turn.hasEnded) this.#pass(turn, { ...NEVER_BEGAN, reason: 'error', error });
  }

  #pass(turn: LiveTurn, event: TurnEvent): void {
    const frame = turn.take(event);
    for (const listener of this.#listeners) listener(turn.asked.userId, frame);
  }

  #same({ threadId, key }: Pick<AskedTurn, 'threadId' | 'key'>): LiveTurn | null {
    return this.of(threadId).find((each) => key !== undefined && each.asked.key === key) ?? null;
  }

  /** Until the turn before it has ended: what was said before a question does not answer it. A turn that nobody goes on with goes on here. */
  async #freed(turn: LiveTurn): Promise<void> {
    const { threadId } = turn.asked;
    let wasThere = false;
    for (let looks = 0; !turn.hasEnded && !this.#stop.signal.aborted;) {
      const ahead = this.first(threadId);
      if (ahead !== null) {
        await Promise.race([ahead.ended, turn.ended]);
        continue;
      }
      const found = await this.conversations.find(threadId);
      const isOpen = (await this.conversations.questions({ threadId })).length > 0;
      if (this.first(threadId) !== null) continue;
      if (found === null && wasThere) return this.#refuse(turn, REMOVED);
      if (found === null || found.state === 'idle') return;
      wasThere = true;
      looks = found.state === 'awaiting_approval' && !isOpen ? looks + 1 : 0;
      const hasGoneOn = (found.state === 'cut_off' || looks > MOST_LOOKS) && (await this.#goOn(turn, found.agentId));
      if (!hasGoneOn && !turn.hasEnded) await this.context.clock.sleep(LOOK_MS, this.#stop.signal).catch(() => undefined); // stopped: the loop sees it
    }
  }

  /** Goes on with the turn before this one. False: it did not begin; where that was refused, this one is, too. */
  async #goOn(turn: LiveTurn, agent: string): Promise<boolean> {
    const { threadId, userId } = turn.asked;
    const before = this.#begin({ agent, threadId, userId, resume: true }, true);
    await Promise.race([before.ended, turn.ended]);
    if (before.refusal !== null && !turn.hasEnded) await this.#refuse(turn, before.refusal);
    return before.turnId !== null;
  }

  #runKept(turn: LiveTurn, kept: KeptTurn): Promise<void> {
    return this.#running.run(kept.threadId, async () => {
      const isOver = turn.hasEnded || this.#stop.signal.aborted; // then it waits for the next process
      const asked = isOver ? null : await this.queued.begin(kept);
      if (asked !== null) await this.#events(turn, asked, () => this.#drop(kept));
      else if (!turn.hasEnded) turn.take(NEVER_BEGAN);
    });
  }

  #run(turn: LiveTurn, asked: AskedTurn): Promise<void> {
    return this.#running.run(asked.threadId, () => this.#events(turn, asked));
  }

  /** `begun` is awaited once the thread has the message. */
  async #events(turn: LiveTurn, asked: AskedTurn, begun: () => Promise<void> = async () => undefined): Promise<void> {
    const request: TurnRequest = { ...asked, channelId: CHANNEL_ID };
    const hide = hiddenFolders(this.context.use(Places));
    for (let isBusy = true; isBusy;) {
      isBusy = false;
      for await (const event of this.context.agents.run(request, this.#stop.signal)) {
        const isStopped = this.#stop.signal.aborted;
        isBusy = turn.turnId === null && event.type === 'turn-end' && event.error?.code === 'thread_busy' && !isStopped;
        if (isBusy) break; // another process works there: it has waited for that already
        if (event.type === 'turn-start' || (event.type === 'turn-end' && !isStopped)) await begun();
        if (event.type === 'turn-end' && event.reason === 'aborted' && isStopped) await this.#keepBegun(turn, asked);
        if (event.type === 'turn-end' && !isStopped) await this.#keep(turn, event);
        this.#pass(turn, shownEvent(event, hide));
      }
    }
  }

  /** For those who come later. */
  async #keep({ turnId, asked }: LiveTurn, end: TurnEnd): Promise<void> {
    if (turnId === null) return;
    try {
      await this.ends.keep(asked.threadId, turnId, end);
    } catch (error) {
      this.context.logger.warn('how a turn ended was not kept', { reason: messageOf(error) });
    }
  }

  /** One that somebody went on with may be of another interface: it is found by its id. */
  async #keepBegun({ turnId }: LiveTurn, asked: AskedTurn): Promise<void> {
    if (turnId !== null) await this.queued.keepBegun({ ...asked, key: asked.key ?? turnId });
  }

  /** The thread has it now. */
  async #drop(kept: KeptTurn): Promise<void> {
    try {
      await this.queued.drop(kept);
    } catch (error) {
      this.context.logger.warn('a message that has begun is still kept as waiting', { reason: messageOf(error) });
    }
  }

  #forget(turn: LiveTurn): void {
    const { threadId } = turn.asked;
    const left = (this.#threads.get(threadId) ?? []).filter((each) => each !== turn);
    if (left.length > 0) this.#threads.set(threadId, left);
    else this.#threads.delete(threadId);
  }
}
