import { KeyedQueue } from '@pith/promises';
import {
  type Conversations,
  type ExtensionContext,
  type JsonValue,
  messageOf,
  PithError,
  type Remote,
  type TurnEvent,
  type TurnRequest,
} from 'pith';
import { type Frame, Outbox } from './outbox.ts';
import type { AskedTurn, QueuedMessages } from './queued-messages.ts';
import { serverEvent } from './server-events.ts';
import type { TurnEnds } from './turn-ends.ts';

/** The channel of turns that are asked for here. */
const CHANNEL_ID = 'web';
/** Of events that wait for one reader of a turn. */
const MOST_BYTES = 8 * 1024 * 1024;
const HEARTBEAT_MS = 15_000;
/** Of what a call has put out, for those who come later. */
const MOST_OUTPUT = 64 * 1024;

type TurnEnd = Extract<TurnEvent, { type: 'turn-end' }>;

/** What is drawn again for somebody who comes later: the events of the step that is open. `n`: of the last event. */
interface LiveState {
  readonly turn: string | null;
  /** `queued`: others work in the thread. */
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
  readonly #readers = new Set<Outbox>();
  #n = 0;
  #open: TurnEvent[] = [];
  #end: TurnEnd | null = null;
  #resolve!: (end: TurnEnd) => void;

  constructor(
    readonly asked: AskedTurn,
    private readonly isQueued: boolean,
    /** Whether it is kept until it begins. */
    readonly isKept: boolean,
  ) {
    this.ended = new Promise((resolve) => (this.#resolve = resolve));
  }

  /** Passes an event on, and returns it as a stream has it. */
  take(event: TurnEvent): Frame {
    this.#n += 1;
    if (event.type === 'turn-start') this.turnId = event.turn;
    this.#keep(event);
    const said = { thread: this.asked.threadId, turn: this.turnId, n: this.#n, event: event as unknown as JsonValue };
    const frame = { bytes: serverEvent('turn', said) };
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

  /** `open` is its state as it is now; then its events. The turn goes on when the reader leaves. */
  async *events(clock: ExtensionContext['clock'], signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const reader = new Outbox(MOST_BYTES);
    const open = serverEvent('open', { thread: this.asked.threadId, ...(this.state() as unknown as Readonly<Record<string, JsonValue>>) });
    if (this.#end === null) this.#readers.add(reader);
    else reader.end();
    try {
      yield open;
      for (;;) {
        const next = await reader.next(clock, HEARTBEAT_MS, signal);
        if (next === 'ended') return;
        if (next === 'over') return yield serverEvent('reset', {});
        if (next === 'idle') yield serverEvent('heartbeat', {});
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
  readonly #queue = new KeyedQueue();
  readonly #stop = new AbortController();
  readonly #listeners = new Set<Listener>();

  constructor(
    private readonly context: Pick<ExtensionContext, 'agents' | 'clock' | 'logger'>,
    private readonly conversations: Remote<Conversations>,
    private readonly queued: QueuedMessages,
    private readonly ends: TurnEnds,
  ) {}

  /** Begins a turn, or finds the one of its key. It waits for its place where the thread is busy, here or in another process, also over a restart. */
  async start(asked: AskedTurn): Promise<LiveTurn> {
    const { threadId, input } = asked;
    const isRunning = (await this.conversations.find(threadId))?.state === 'running';
    const same = this.#same(asked);
    if (same !== null) return same;
    const isBusy = isRunning || this.#queue.isBusy(threadId);
    if (!isBusy || input === undefined) return this.#begin(asked, isBusy, false);
    const kept = await this.queued.keep(asked);
    return this.#same(kept) ?? this.#begin(kept, true, true);
  }

  /** Goes on with what waited when a process ended, in each thread behind the turn that was cut off. */
  async restore(): Promise<void> {
    for (const asked of await this.queued.all()) {
      const { threadId, userId } = asked;
      const conversation = this.of(threadId).length > 0 ? null : await this.conversations.find(threadId);
      const isCutOff = conversation?.state === 'cut_off' || conversation?.state === 'running'; // the lease of a process that was killed goes on for a while
      if (isCutOff) this.#begin({ agent: conversation.agentId, threadId, userId, resume: true }, true, false);
      if (this.#same(asked) === null) this.#begin(asked, true, true);
    }
  }

  /** Those of a thread that have not ended, the one that runs first. */
  of(threadId: string): readonly LiveTurn[] {
    return (this.#threads.get(threadId) ?? []).filter(({ hasEnded }) => !hasEnded);
  }

  /** Each event of every turn, until the returned function is called. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Ends all, as Ctrl-C does in a chat. */
  stop(): void {
    this.#stop.abort(new PithError('aborted', 'Pith stops'));
  }

  #begin(asked: AskedTurn, isQueued: boolean, isKept: boolean): LiveTurn {
    const { threadId } = asked;
    const turn = new LiveTurn(asked, isQueued, isKept);
    this.#threads.set(threadId, [...(this.#threads.get(threadId) ?? []), turn]);
    void this.#queue.run(threadId, () => this.#run(turn)).finally(() => this.#forget(turn));
    return turn;
  }

  #same({ threadId, key }: AskedTurn): LiveTurn | null {
    return this.of(threadId).find((each) => key !== undefined && each.asked.key === key) ?? null;
  }

  async #run(turn: LiveTurn): Promise<void> {
    const request: TurnRequest = { ...turn.asked, channelId: CHANNEL_ID };
    for (let isBusy = true; isBusy;) {
      isBusy = false;
      for await (const event of this.context.agents.run(request, this.#stop.signal)) {
        isBusy = turn.turnId === null && event.type === 'turn-end' && event.error?.code === 'thread_busy' && !this.#stop.signal.aborted;
        if (isBusy) break; // another process works there: it has waited for that already
        const isBegun = event.type === 'turn-start' || (event.type === 'turn-end' && !this.#stop.signal.aborted);
        if (turn.isKept && isBegun) await this.#drop(turn.asked);
        if (event.type === 'turn-end') await this.#keep(turn, event);
        const frame = turn.take(event);
        for (const listener of this.#listeners) listener(turn.asked.userId, frame);
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

  /** The thread has it now. */
  async #drop(asked: AskedTurn): Promise<void> {
    try {
      await this.queued.drop(asked);
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
