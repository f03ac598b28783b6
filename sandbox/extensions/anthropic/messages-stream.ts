import type { GuardedFetch } from '@pith/guarded-fetch';
import { failureIn, missingAnswer, readRest, serverEvents, type ServerError } from '@pith/server-answers';
import { fieldsOf, jsonOf, type PlainMap } from '@pith/plain-data';

/**
 * A fetch whose answers the client library can read: only complete events of the messages API; an answer that was not streamed becomes
 * events. For any other answer, or one that breaks off, `failed` gets the reason in the server's words, and an event reports it.
 */
export function messagesFetch(ask: GuardedFetch, failed: (error: ServerError) => void): GuardedFetch {
  return async (input, init) => {
    const answer = await ask(input, init);
    if (!answer.ok || answer.body === null) return answer;
    return new Response(streamOf(messageEvents(answer.body, failed)), { headers: { 'content-type': 'text/event-stream' } });
  };
}

/** The answer's events, each as a server-sent event. */
async function* messageEvents(body: AsyncIterable<Uint8Array>, failed: (error: ServerError) => void): AsyncGenerator<string> {
  const reading = new MessageReading();
  const batches = serverEvents(body);
  try {
    while (!reading.isDone) {
      const next = await batches.next();
      const events = next.done === true ? reading.end() : next.value.flatMap(({ kind, data }) => reading.read(kind, data));
      if (reading.failure !== null) failed(reading.failure);
      if (events.length > 0) yield events.join('');
    }
    await readRest(batches);
  } finally {
    void batches.return(undefined); // closes the connection, unless it has ended
  }
}

/** Other events are heartbeats, or specific to some servers. */
const KNOWN: ReadonlySet<unknown> = new Set([
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'ping',
]);

class MessageReading {
  isDone = false;
  failure: ServerError | null = null;
  private hasBegun = false;
  private hasReason = false;
  private stray = '';
  private unread = '';

  read(kind: 'data' | 'error' | 'stray', text: string): readonly string[] {
    if (this.isDone) return [];
    if (kind === 'stray') {
      this.stray += text;
      return [];
    }
    if (kind === 'error') return this.fail(failureIn(text));
    const event = fieldsOf(jsonOf(text));
    if (event['type'] === 'error' || event['error']) return this.fail(failureIn(event));
    if (event['type'] === 'message') return this.whole(event);
    if (event['type'] === 'message_start' && this.hasBegun) return []; // some gateways send the start twice
    if (KNOWN.has(event['type'])) return [this.passed(event)];
    this.unread = text.trim() || this.unread;
    return [];
  }

  /** The events that are missing at the end. */
  end(): readonly string[] {
    if (this.hasReason) return [this.passed({ type: 'message_stop' })];
    const event = fieldsOf(jsonOf(this.stray));
    if (event['type'] === 'message' && !this.hasBegun) return this.whole(event);
    if (event['error']) return this.fail(failureIn(event));
    return this.fail(missingAnswer(this.hasBegun, this.stray.trim() || this.unread));
  }

  private fail(failure: ServerError): readonly string[] {
    this.isDone = true;
    this.failure = failure;
    return [eventOf({ type: 'error', error: { type: 'api_error', message: failure.message } })];
  }

  private passed(event: PlainMap): string {
    if (event['type'] === 'message_start') this.hasBegun = true;
    if (typeof fieldsOf(event['delta'])['stop_reason'] === 'string') this.hasReason = true;
    if (event['type'] === 'message_stop') this.isDone = true;
    return eventOf(counted(event));
  }

  /** A message that was not streamed, as a stream's events. */
  private whole({ content, stop_reason: reason, usage, ...message }: PlainMap): readonly string[] {
    const blocks = (Array.isArray(content) ? content.map(fieldsOf) : []).flatMap((block, index): PlainMap[] => [
      { type: 'content_block_start', index, content_block: block['type'] === 'tool_use' ? { ...block, input: {} } : emptied(block) },
      ...deltasOf(block).map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]);
    return [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage } },
      ...blocks,
      { type: 'message_delta', delta: { stop_reason: reason ?? 'end_turn' }, usage },
      { type: 'message_stop' },
    ].map((event) => this.passed(event));
  }
}

function emptied(block: PlainMap): PlainMap {
  return { ...block, ...('text' in block && { text: '' }), ...('thinking' in block && { thinking: '', signature: undefined }) };
}

function deltasOf({ type, text, thinking, signature, input }: PlainMap): readonly PlainMap[] {
  if (type === 'text') return [{ type: 'text_delta', text }];
  if (type === 'tool_use') return [{ type: 'input_json_delta', partial_json: JSON.stringify(input ?? {}) }];
  if (type !== 'thinking') return [];
  return [{ type: 'thinking_delta', thinking }, ...(typeof signature === 'string' ? [{ type: 'signature_delta', signature }] : [])];
}

/** Some servers count no tokens. */
function counted(event: PlainMap): PlainMap {
  if (event['type'] === 'message_delta') return { ...event, usage: { output_tokens: 0, ...fieldsOf(event['usage']) } };
  if (event['type'] !== 'message_start') return event;
  const message = fieldsOf(event['message']);
  return { ...event, message: { ...message, usage: { input_tokens: 0, output_tokens: 0, ...fieldsOf(message['usage']) } } };
}

function eventOf(event: PlainMap): string {
  return `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`;
}

function streamOf(events: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await events.next(); // its rejection becomes the stream's error
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await events.return(undefined);
    },
  });
}
