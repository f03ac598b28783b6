import { KeyedQueue } from '@pith/promises';
import { type Conversations, type ExtensionContext, type JsonValue, PithError, type Remote, type TurnEvent, type TurnRequest } from 'pith';
import { Outbox } from './outbox.ts';
import { serverEvent } from './server-events.ts';

/** The channel of turns that are asked for here. */
const CHANNEL_ID = 'web';
/** Events that wait for one reader of a turn. */
const MOST_WAITING = 5_000;
const HEARTBEAT_MS = 15_000;

type TurnEnd = Extract<TurnEvent, { type: 'turn-end' }>;
type Asked = Pick<TurnRequest, 'agent' | 'input' | 'attachments' | 'policy' | 'key' | 'resume'> &
  Readonly<Record<'threadId' | 'userId', string>>;

/** What is drawn again for somebody who comes later: the events of the step that is open. `n`: of the last event. */
interface LiveState {
  readonly turn: string | null;
  readonly state: 'queued' | 'running';
  readonly n: number;
  readonly events: readonly TurnEvent[];
}

/** A turn that this process runs, whoever watches it. */
export class LiveTurn {
  readonly ended: Promise<TurnEnd>;
  turnId: string | null = null;
  n = 0;
  /** Steps that have ended: what they said is kept. */
  steps = 0;
  readonly #readers = new Set<Outbox<TurnEvent>>();
  #open: TurnEvent[] = [];
  #end: TurnEnd | null = null;
  #resolve!: (end: TurnEnd) => void;

  constructor(
    readonly asked: Asked,
    readonly isQueued: boolean,
  ) {
    this.ended = new Promise((resolve) => (this.#resolve = resolve));
  }

  take(event: TurnEvent): void {
    this.n += 1;
    if (event.type === 'turn-start') this.turnId = event.turn;
    this.#keep(event);
    for (const reader of this.#readers) reader.add(event);
    if (event.type !== 'turn-end') return;
    this.#end = event;
    for (const reader of this.#readers) reader.end();
    this.#resolve(event);
  }

  state(): LiveState {
    return { turn: this.turnId, state: this.turnId === null ? 'queued' : 'running', n: this.n, events: [...this.#open] };
  }

  get hasEnded(): boolean {
    return this.#end !== null;
  }

  /** Its events from the step on that is open now. The turn goes on when the reader leaves. */
  async *events(clock: ExtensionContext['clock'], signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const reader = new Outbox<TurnEvent>(MOST_WAITING);
    for (const event of this.#open) reader.add(event);
    if (this.#end === null) this.#readers.add(reader);
    else reader.end();
    try {
      if (this.isQueued && this.turnId === null) yield serverEvent('queued', {});
      for (;;) {
        const next = await reader.next(clock, HEARTBEAT_MS, signal);
        if (next === 'ended') return;
        if (next === 'over') return yield serverEvent('reset', {});
        yield next === 'idle' ? serverEvent('heartbeat', {}) : serverEvent('turn', jsonOf(next.item));
      }
    } finally {
      this.#readers.delete(reader);
    }
  }

  /** Texts that follow each other are one. */
  #keep(event: TurnEvent): void {
    const last = this.#open.at(-1);
    if (event.type === 'step-end') {
      this.steps += 1;
      this.#open = [];
    } else if (event.type === 'text-delta' && last?.type === 'text-delta')
      this.#open[this.#open.length - 1] = { type: 'text-delta', text: last.text + event.text };
    else this.#open.push(event);
  }
}

export function jsonOf(event: TurnEvent): JsonValue {
  return event as unknown as JsonValue; // plain data without functions
}

type Listener = (turn: LiveTurn, event: TurnEvent) => void;

/** The turns that this process runs for its clients, in each thread one after the other. */
export class LiveTurns {
  readonly #threads = new Map<string, LiveTurn[]>();
  readonly #queue = new KeyedQueue();
  readonly #stop = new AbortController();
  readonly #listeners = new Set<Listener>();

  constructor(
    private readonly context: Pick<ExtensionContext, 'agents' | 'clock'>,
    private readonly conversations: Remote<Conversations>,
  ) {}

  /** Begins a turn, or finds the one of its key. It waits for its place where the thread is busy, here or in another process. */
  async start(asked: Asked): Promise<LiveTurn> {
    const { threadId, key } = asked;
    const same = (this.#threads.get(threadId) ?? []).find((each) => key !== undefined && each.asked.key === key);
    if (same !== undefined) return same;
    const isBusy = this.#queue.isBusy(threadId) || (await this.conversations.find(threadId))?.state === 'running';
    const turn = new LiveTurn(asked, isBusy);
    this.#threads.set(threadId, [...(this.#threads.get(threadId) ?? []), turn]);
    void this.#queue.run(threadId, () => this.#run(turn)).finally(() => this.#forget(turn));
    return turn;
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

  async #run(turn: LiveTurn): Promise<void> {
    const request: TurnRequest = { ...turn.asked, channelId: CHANNEL_ID };
    for (let isBusy = true; isBusy;) {
      isBusy = false;
      for await (const event of this.context.agents.run(request, this.#stop.signal)) {
        isBusy = turn.turnId === null && event.type === 'turn-end' && event.error?.code === 'thread_busy' && !this.#stop.signal.aborted;
        if (isBusy) break; // another process works there: it has waited for that already
        turn.take(event);
        for (const listener of this.#listeners) listener(turn, event);
      }
    }
  }

  #forget(turn: LiveTurn): void {
    const { threadId } = turn.asked;
    const left = (this.#threads.get(threadId) ?? []).filter((each) => each !== turn);
    if (left.length > 0) this.#threads.set(threadId, left);
    else this.#threads.delete(threadId);
  }
}
