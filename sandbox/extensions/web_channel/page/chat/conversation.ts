import { batch, computed, signal } from '@preact/signals';
import { ApiError, ask, beginTurn, read, readTagged } from '../server/api.ts';
import { onEvent, type ServerEvent } from '../server/events.ts';
import { appended, type MessageChunk, prepended } from './message-chunks.ts';
import type { Answer, Live, Message, Question, TakenBack, Thread, TurnEnd, TurnEvent, Waiting } from './shapes.ts';

interface OpenedThread {
  readonly thread: Thread;
  readonly messages: readonly Message[];
  /** Whether there are messages before these. */
  readonly older: boolean;
  readonly live: Live | null;
  readonly end: TurnEnd | null;
}

/** `n` counts the events of the turn; it starts again at 1 where the turn goes on. */
interface SaidEvent {
  readonly turn: string | null;
  readonly n: number;
  readonly event: TurnEvent;
}

/** Events where more is kept than before. */
const BOUNDS: ReadonlySet<string> = new Set(['turn-start', 'step-end', 'approval-request', 'turn-end']);

const FIRST = 50;
const MOST = 200;

/** Of what a call puts out, its end is shown. */
const MOST_OUTPUT = 64 * 1024;

/**
 * One conversation as the page shows it: the messages that the server keeps, in their order, and the open step of the turn that runs. What
 * is kept is read by its place, so that nothing is missing and nothing is there twice, whatever happened to the connection.
 */
export class Conversation {
  readonly thread = signal<Thread | null>(null);
  /** Of the title. */
  readonly tag = signal<string | null>(null);
  /** The messages that are known, without a gap. */
  readonly chunks = signal<readonly MessageChunk[]>([]);
  readonly live = signal<Live | null>(null);
  /** Of the last turn, where it gave no answer. */
  readonly end = signal<TurnEnd | null>(null);
  readonly questions = signal<readonly Question[]>([]);
  /** Messages that did not have their turn, until the message box takes them. */
  readonly takenBack = signal<readonly TakenBack[]>([]);
  readonly notices = signal<readonly string[]>([]);
  readonly error = signal<ApiError | null>(null);
  readonly hasOlder = signal(false);
  readonly isBusy = computed(() => this.live.value !== null || this.thread.value?.state === 'running');
  /** Events that came while the state was read. */
  #early: SaidEvent[] = [];
  /** The turn that was read last because an event told of it. */
  #known: string | null | undefined;
  #reading: Promise<void> | null = null;
  #readingOlder: Promise<void> | null = null;
  #isStale = false;
  readonly #path: string;
  readonly #off: () => void;

  constructor(readonly id: string) {
    this.#path = `/api/threads/${encodeURIComponent(id)}`;
    this.#off = onEvent((event) => this.#hear(event));
    void this.refresh();
  }

  close(): void {
    this.#off();
    this.#isStale = false;
  }

  /** Reads what is new; once more where something came meanwhile. */
  refresh(): Promise<void> {
    this.#isStale = true;
    return (this.#reading ??= this.#read().finally(() => (this.#reading = null)));
  }

  /** Reads what is before the messages that are known. */
  older(): Promise<void> {
    if (!this.hasOlder.value) return Promise.resolve();
    return (this.#readingOlder ??= this.#readOlder().finally(() => (this.#readingOlder = null)));
  }

  /** Reads all that is before. */
  async oldest(): Promise<void> {
    while (this.hasOlder.value && this.error.value === null) await this.older();
  }

  /** Rejects with `ApiError` where the message was not taken. */
  async send(message: { readonly text: string; readonly [key: string]: unknown }): Promise<void> {
    this.notices.value = [];
    await this.#begin('messages', message);
  }

  /** Goes on with a turn that was cut off. What fails is shown as `error`, here and in `stop`. */
  async continue(): Promise<void> {
    await this.#shown(this.#begin('continue', {}));
  }

  /** What waits behind the answer is taken back first: it was meant for another one. */
  async stop(): Promise<void> {
    await this.#shown(this.#stop());
    await this.refresh();
  }

  async #stop(): Promise<void> {
    const { waiting } = await read<Waiting>(`${this.#path}/waiting`);
    try {
      for (const { key } of waiting.toReversed()) await this.takeBack(key).catch(unlessGone); // each is put before what is in the box
    } finally {
      await ask('POST', `${this.#path}/stop`);
    }
  }

  /** Takes a message that waits back into the message box. Rejects with `ApiError`. */
  async takeBack(key: string): Promise<void> {
    const message = await ask<TakenBack>('DELETE', `${this.#path}/waiting/${encodeURIComponent(key)}`);
    this.takenBack.value = [...this.takenBack.value, message];
  }

  async #shown(work: Promise<unknown>): Promise<void> {
    await work.catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      this.error.value = error;
    });
  }

  async answer(question: Question, answer: Answer, reason = ''): Promise<void> {
    await ask('POST', `/api/approvals/${encodeURIComponent(question.id)}`, { answer, ...(reason === '' ? {} : { reason }) });
    await this.refresh();
  }

  /** The id of a new conversation that begins like this one, before that message, and what the message said. */
  branch(before: number): Promise<{ readonly id: string; readonly text: string | null }> {
    return ask('POST', `${this.#path}/branch`, { before });
  }

  /** What the turn says comes with the page's stream. */
  async #begin(what: 'messages' | 'continue', body: object): Promise<void> {
    [this.error.value, this.end.value] = [null, null];
    await beginTurn(`${this.#path}/${what}`, body);
    void this.refresh();
  }

  #hear({ type, data }: ServerEvent): void {
    if (type === 'reset' || type === 'ready') void this.refresh();
    else if (type === 'changed' && (data['id'] === this.id || (data['id'] === '' && data['kind'] === 'thread'))) void this.refresh();
    else if (type === 'turn' && data['thread'] === this.id) {
      const said = data as unknown as SaidEvent;
      if (said.turn === null) this.#showRefused(said.event);
      this.#showNotice(said);
      const isOfLive = this.live.value?.turn === said.turn;
      if (!isOfLive) this.#readTurn(said);
      if (this.#reading !== null) this.#early.push(said);
      if (isOfLive) this.#apply(said);
    }
  }

  /** Reads the question before its answer is shown. Of a turn that has ended, or cannot be read now, nothing is read for each word that comes late. */
  #readTurn({ turn, event: { type } }: SaidEvent): void {
    if (turn === this.#known && !BOUNDS.has(type)) return;
    this.#known = turn;
    void this.refresh();
  }

  #showNotice({ n, event: { type, message } }: SaidEvent): void {
    if (n === 1) this.notices.value = []; // of the turn before
    if (type === 'notice' && message !== undefined) this.notices.value = [...this.notices.value, message];
  }

  /** A message that waited could not begin a turn, and nobody waits for that answer any more. */
  #showRefused({ type, error }: TurnEvent): void {
    const live = this.live.value;
    if (type !== 'turn-end' || error === undefined || live === null || (live.state !== 'queued' && live.waiting === 0)) return;
    this.error.value = new ApiError({ ...error, status: 409, cure: null, answer: {} }); // the message ends with the cure
  }

  #apply({ turn, n, event }: SaidEvent): void {
    const live = this.live.value;
    if (live === null || live.turn !== turn || n <= live.n) return;
    const last = live.events.at(-1);
    const isMore =
      (event.type === 'text-delta' && last?.type === 'text-delta') ||
      (event.type === 'tool-output' && last?.type === 'tool-output' && last.id === event.id);
    const more = `${last?.text ?? ''}${event.text ?? ''}`;
    const text = event.type === 'tool-output' ? more.slice(-MOST_OUTPUT) : more;
    const events = isMore ? [...live.events.slice(0, -1), { ...event, text }] : [...live.events, event];
    this.live.value = { ...live, n, events };
    if (BOUNDS.has(event.type)) void this.refresh();
  }

  async #readOlder(): Promise<void> {
    const first = this.chunks.value[0]?.[0]?.seq;
    if (first === undefined) return;
    try {
      const { messages, older } = await read<OpenedThread>(`${this.#path}?before=${first}&limit=${MOST}`);
      batch(() => {
        this.chunks.value = prepended(
          this.chunks.value,
          messages.filter(({ seq }) => seq < first),
        );
        this.hasOlder.value = older;
      });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.error.value = error;
    }
  }

  async #read(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      this.#early = [];
      const last = this.chunks.value.at(-1)?.at(-1)?.seq;
      const limit = last === undefined ? FIRST : MOST;
      try {
        const [{ value: opened, tag }, { approvals }] = await Promise.all([
          readTagged<OpenedThread>(`${this.#path}?limit=${limit}${last === undefined ? '' : `&after=${last}`}`),
          read<{ readonly approvals: readonly Question[] }>(`/api/approvals?thread=${encodeURIComponent(this.id)}`),
        ]);
        const { thread, messages, older, live, end } = opened;
        batch(() => {
          [this.thread.value, this.tag.value] = [thread, tag];
          if (this.error.value?.isUnreached) this.error.value = null; // it answers again
          if (last === undefined) this.hasOlder.value = older;
          this.chunks.value = appended(
            this.chunks.value,
            messages.filter(({ seq }) => last === undefined || seq > last),
          );
          [this.live.value, this.end.value] = [live, end];
          this.questions.value = approvals;
          this.#early.forEach((said) => this.#apply(said));
        });
        if (last !== undefined && messages.length === limit) this.#isStale = true;
      } catch (error) {
        if (error instanceof ApiError && (!error.isUnreached || this.thread.value === null)) this.error.value = error;
      }
    }
  }
}

/** It has begun meanwhile. */
function unlessGone(error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null;
  throw error;
}
