import { systemClock, within } from '@pith/promises';

/** One server-sent event. Comments and fields that are not part of an answer are left out. */
export interface ServerEvent {
  /** `stray`: lines that belong to no event, up to an empty line, as when the body is not a stream. */
  readonly kind: 'data' | 'error' | 'stray';
  readonly data: string;
}

/** The longest line from a server; it may be the whole arguments of a tool call. Also the limit for all stray text together. */
const MOST_CHARACTERS = 4 * 1024 * 1024;

/**
 * Server-sent events in batches, as the network delivers them. Lines end with LF, CRLF or CR; a byte order mark, a missing blank after
 * `data:` and a missing last blank line are accepted.
 */
export async function* serverEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<readonly ServerEvent[]> {
  const decoder = new TextDecoder();
  const lines = new EventLines();
  let rest = '';
  let endedWithReturn = false;
  const read = (text: string): readonly ServerEvent[] => {
    const given = endedWithReturn && text.startsWith('\n') ? text.slice(1) : text; // the second half of CRLF
    if (text !== '') endedWithReturn = text.endsWith('\r');
    const found = given.includes('\r') ? given.split(/\r\n|[\r\n]/) : given.split('\n');
    found[0] = rest + found[0];
    rest = found.pop()!;
    const events: ServerEvent[] = [];
    for (const line of found) lines.add(line, events);
    return events;
  };
  for await (const bytes of body) {
    const events = read(decoder.decode(bytes, { stream: true }));
    if (rest.length + lines.size > MOST_CHARACTERS) throw new Error(`the server sent a line of more than ${MOST_CHARACTERS} characters`);
    if (events.length > 0) yield events;
  }
  const events = [...read(`${decoder.decode()}\n`), ...read('\n')]; // some servers leave out the last empty line
  if (events.length > 0) yield events;
}

/** Waits so long for the end: servers end the body right after an answer's last event, but some keep it open. */
const REST_MS = 250;

/** Reads what follows an answer. True when the body ended soon: then the connection can be reused. */
export async function readRest(events: AsyncIterator<unknown>): Promise<boolean> {
  return within(systemClock, REST_MS, readToEnd(events), () => false);
}

async function readToEnd(events: AsyncIterator<unknown>): Promise<boolean> {
  try {
    while ((await events.next()).done !== true);
    return true;
  } catch {
    return false; // the connection broke after the answer
  }
}

/** Assembles the lines of an event. */
class EventLines {
  private data: string | null = null;
  private isError = false;
  private stray = '';
  private strayed = 0;

  get size(): number {
    return (this.data?.length ?? 0) + this.stray.length;
  }

  /** Adds the event that ends with this line to `events`. */
  add(line: string, events: ServerEvent[]): void {
    if (line === '') return this.take(events);
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1);
    if (field === 'data' || field === 'error') {
      this.isError ||= field === 'error'; // older servers of llama.cpp
      this.data = this.data === null ? value : `${this.data}\n${value}`;
    } else if (field === 'event') {
      this.isError ||= value.trim() === 'error';
    } else if (field !== '' && field !== 'id' && field !== 'retry') {
      this.stray += `${line}\n`;
    }
  }

  private take(events: ServerEvent[]): void {
    this.strayed += this.stray.length;
    if (this.stray !== '' && this.strayed <= MOST_CHARACTERS) events.push({ kind: 'stray', data: this.stray });
    if (this.data !== null) events.push({ kind: this.isError ? 'error' : 'data', data: this.data });
    this.data = null;
    this.isError = false;
    this.stray = '';
  }
}
