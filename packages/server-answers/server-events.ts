import { systemClock, within } from '@pith/promises';

/** What a server sent at once. Fields that say nothing of an answer, and comments, are left out. */
export interface ServerEvent {
  /** `stray`: lines that belong to no event, as when the body is no stream at all. They come up to each empty line. */
  readonly kind: 'data' | 'error' | 'stray';
  readonly data: string;
}

/** Longest line that a server may send; a tool call's whole arguments can be one. Also of all that is no event. */
const MOST_CHARACTERS = 4 * 1024 * 1024;

/**
 * Server-sent events in batches, as the network delivers them. Lines end with LF, CRLF or CR; a byte order mark, a missing blank after
 * `data:` and a missing blank line at the end do not matter.
 */
export async function* serverEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<readonly ServerEvent[]> {
  const decoder = new TextDecoder();
  const lines = new EventLines();
  let rest = '';
  let endedWithReturn = false;
  const read = (text: string): readonly ServerEvent[] => {
    const given = endedWithReturn && text.startsWith('\n') ? text.slice(1) : text; // the other half of CRLF
    if (text !== '') endedWithReturn = text.endsWith('\r');
    const [first = '', ...others] = given.includes('\r') ? given.split(/\r\n|[\r\n]/) : given.split('\n');
    const last = others.pop();
    if (last === undefined) {
      rest += first;
      return [];
    }
    const events = [rest + first, ...others].flatMap((line) => lines.add(line));
    rest = last;
    return events;
  };
  for await (const bytes of body) {
    const events = read(decoder.decode(bytes, { stream: true }));
    if (rest.length + lines.size > MOST_CHARACTERS) throw new Error(`the server sent a line of more than ${MOST_CHARACTERS} characters`);
    if (events.length > 0) yield events;
  }
  const events = [read(decoder.decode()), lines.add(rest), lines.add('')].flat();
  if (events.length > 0) yield events;
}

/** Servers end an answer right after its last event. Some keep it open. */
const REST_MS = 250;

/** Reads what comes after an answer. Whether it came to its end soon: then its connection can be used again. */
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

/** Puts the lines of an event together. */
class EventLines {
  private data: string | null = null;
  private isError = false;
  private stray = '';

  get size(): number {
    return (this.data?.length ?? 0) + this.stray.length;
  }

  /** What ends with this line. */
  add(line: string): readonly ServerEvent[] {
    if (line === '') return this.take();
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
    return NONE;
  }

  private take(): readonly ServerEvent[] {
    const { data, isError, stray } = this;
    if (data === null && stray === '') return NONE;
    this.data = null;
    this.isError = false;
    this.stray = '';
    const event: ServerEvent[] = data === null ? [] : [{ kind: isError ? 'error' : 'data', data }];
    return stray === '' ? event : [{ kind: 'stray', data: stray }, ...event];
  }
}

const NONE: readonly ServerEvent[] = [];
