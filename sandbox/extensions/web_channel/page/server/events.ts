import { signal } from '@preact/signals';
import { LeadingTab } from './leading-tab.ts';
import { findPerson, pageValue, person } from './session.ts';

/** One event of the server's stream. */
export interface ServerEvent {
  /** Its place in the server's journal; null: it is not kept. */
  readonly id: string | null;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Whether this page hears from the server now. */
export const isConnected = signal(false);

/** After so long without a word, the connection counts as lost. */
const SILENCE_MS = 45_000;
/** The server says something this often. */
const QUIET_MS = 16_000;
const TICK_MS = 1000;
/** A tick that comes so late says that the page, or its machine, has slept. */
const LATE_MS = 5000;
/** Of one server, a browser keeps so many connections for the next requests. */
const KEPT_CONNECTIONS = 6;
const PROBE_MS = 1000;
/** The tab that leads answers so fast, unless it is frozen. */
const ANSWER_MS = 1000;
/** What is changed is drawn 35 ms later at most. */
const DRAWN_MS = 100;
const PAUSES_MS = [250, 500, 1000, 2000, 5000];

type Listener = (event: ServerEvent) => void;
const listeners = new Set<Listener>();
/** Events that wait, and how many are waited for. */
const held: ServerEvent[] = [];
let holds = 0;
let last: string | null = null;
let running: AbortController | null = null;
let lost = new AbortController();
let usable: Promise<unknown> = Promise.resolve();
/** When the server was heard, or was asked to say something. */
let lastAt = 0;
/** Whether the leading tab has been heard since this one asked. */
let isAnswered = false;
/** Ends the pause before the next attempt. */
let wake = (): void => undefined;

/** Between the tabs of a browser: browsers open few connections to a server, so one of them follows the events for all. */
type TabMessage =
  | { readonly kind: 'event'; readonly userId: string | undefined; readonly event: ServerEvent }
  /** The leading tab has this connection; `last`: the place of the last event. */
  | { readonly kind: 'state'; readonly userId: string | undefined; readonly isConnected: boolean; readonly last: string | null }
  /** The connections of the browser are dead. */
  | { readonly kind: 'lost' }
  /** Another tab asks for the state. */
  | { readonly kind: 'question' };

const tabs = new LeadingTab<TabMessage>(receive);

/** Calls `listener` with each event from now on. `reset`: some may be missing, so that what is shown is loaded again. */
export function onEvent(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Once it can be used, a signal that aborts when the connection is lost: what was asked is not answered any more. */
export async function connection(): Promise<AbortSignal> {
  await usable;
  return lost.signal;
}

/**
 * Reports no event before `work` has ended and whoever asked for it has acted on that: a view that deletes what it shows would hear that it
 * has changed, and read once more what is no longer there.
 */
export async function beforeEvents<T>(work: () => Promise<T>): Promise<T> {
  holds += 1;
  try {
    return await work();
  } finally {
    setTimeout(() => {
      holds -= 1;
      if (holds === 0) held.splice(0).forEach(report);
    }, DRAWN_MS);
  }
}

/** Follows the server's events while somebody is signed in. A lost connection goes on where it was. */
export function followEvents(): void {
  let tick = (lastAt = Date.now());
  // By the clock of the wall, which goes on while a machine sleeps.
  setInterval(() => {
    const isLate = Date.now() - tick > LATE_MS;
    tick = Date.now();
    if (isLate) lookNow();
    else if (tick - lastAt > SILENCE_MS) giveUp();
  }, TICK_MS);
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') lookNow();
  });
  tabs.post({ kind: 'question' });
  void tabs.run(follow);
}

function receive(message: TabMessage): void {
  if (message.kind === 'question') return tabs.isLeading ? postState() : undefined;
  if (message.kind === 'lost') return drop();
  if (tabs.isLeading || message.userId !== person.peek()?.userId) return; // of somebody who was signed in before
  [lastAt, isAnswered] = [Date.now(), true];
  if (message.kind === 'event') return deliver(message.event);
  isConnected.value = message.isConnected;
  last ??= message.last;
}

function setConnected(is: boolean): void {
  isConnected.value = is;
  postState();
}

function postState(): void {
  tabs.post({ kind: 'state', userId: person.peek()?.userId, isConnected: isConnected.peek(), last });
}

/** Where the leading tab does not say that it follows the events of this person, this one leads. */
function askLeader(): void {
  if (!person.peek()) return;
  [lastAt, isAnswered] = [Date.now(), false];
  tabs.post({ kind: 'question' });
  setTimeout(() => {
    if (!isAnswered) tabs.takeOver();
  }, ANSWER_MS);
}

/** It slept, perhaps: the connection may be dead, and a pause too long. */
function lookNow(): void {
  if (Date.now() - lastAt > QUIET_MS) giveUp();
  wake();
}

/**
 * Ends what waits for the server. A dead connection stays open, also those that the browser keeps for the next requests: each of them is
 * used once, and so closed where nothing is answered.
 */
function giveUp(): void {
  if (!tabs.isLeading) return askLeader();
  if (running === null) return;
  running.abort();
  running = null;
  tabs.post({ kind: 'lost' });
  drop();
}

function drop(): void {
  lost.abort();
  lost = new AbortController();
  const probe = (): Promise<unknown> =>
    fetch('/health', { cache: 'no-store', signal: AbortSignal.timeout(PROBE_MS) }).then((answer) => answer.text());
  usable = Promise.allSettled(Array.from({ length: KEPT_CONNECTIONS }, probe));
}

async function follow(left: AbortSignal): Promise<void> {
  for (let failed = 0; !left.aborted;) {
    await usable;
    if (person.value) {
      running = new AbortController();
      const isFollowed = await listen(AbortSignal.any([running.signal, left]));
      running = null;
      if (left.aborted) return;
      setConnected(false);
      failed = isFollowed ? 0 : failed + 1;
    }
    await pause(PAUSES_MS[Math.min(failed, PAUSES_MS.length - 1)] ?? 5000);
  }
}

/** True once something was said. */
async function listen(signal: AbortSignal): Promise<boolean> {
  lastAt = Date.now();
  let isFollowed = false;
  try {
    last ??= person.peek()?.events ?? null; // views have read their state after that
    const answer = await fetch('/api/events', {
      headers: { 'x-pith-page': pageValue(), ...(last === null ? {} : { 'last-event-id': last }) },
      signal,
    });
    if (answer.status === 401) void findPerson();
    if (!answer.ok || answer.body === null) return false;
    setConnected(true);
    for await (const event of eventsIn(answer.body)) {
      isFollowed = true;
      lastAt = Date.now();
      tabs.post({ kind: 'event', userId: person.peek()?.userId, event });
      deliver(event);
    }
  } catch {
    // cut: it is opened again
  }
  return isFollowed;
}

function deliver(event: ServerEvent): void {
  if (event.id !== null) last = event.id;
  if (holds > 0) held.push(event);
  else report(event);
}

function report(event: ServerEvent): void {
  for (const listener of listeners) {
    try {
      listener(event);
    } catch (error) {
      reportError(error); // the others hear it
    }
  }
}

/** The events of a stream in the form of server-sent events. */
export async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value.replaceAll('\r', '')).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) yield eventOf(block);
    }
  } finally {
    await reader.cancel().catch(() => undefined); // it has ended
  }
}

function eventOf(block: string): ServerEvent {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const at = line.indexOf(':');
    if (at <= 0) continue;
    const [name, value] = [line.slice(0, at), line.slice(at + 1).replace(/^ /, '')];
    fields.set(name, fields.has(name) && name === 'data' ? `${fields.get(name)}\n${value}` : value);
  }
  const data = fields.get('data');
  return {
    id: fields.get('id') ?? null,
    type: fields.get('event') ?? 'message',
    data: data === undefined ? {} : (JSON.parse(data) as ServerEvent['data']),
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    wake = resolve;
    setTimeout(resolve, ms);
  });
}
