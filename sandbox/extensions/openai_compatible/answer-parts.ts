import type { ModelPart } from 'pith';
import { codeIn, countOf, failureIn, listOf, missingAnswer, ServerError, serverWords, textOf } from '@pith/server-answers';
import { printableLine } from '@pith/plain-text';
import { fieldsOf, jsonOf, type PlainMap } from '@pith/plain-data';
import { CalledTools } from './called-tools.ts';
import { ThinkTags, type Said } from './think-tags.ts';

type Finish = Extract<ModelPart, { type: 'finish' }>;

/** The facts of a request that decide how its answer is read. */
export interface Asked {
  readonly model: string;
  /** The names of the offered tools. */
  readonly tools: ReadonlySet<string>;
}

/** Turns the chunks of one answer into parts for the loop. Pure. Accepts any JSON, and never throws. */
export class AnswerParts {
  /** The answer failed, and the rest is ignored. */
  failed = false;
  private open: Said[0] | null = null;
  private opened = 0;
  private started = false;
  private choice: string | null = null;
  private finishReason: string | null = null;
  private usage: PlainMap | null = null;
  private readonly calls: CalledTools;
  private readonly tags: ThinkTags;
  /** The last text that is not part of an answer. */
  private unread: string | null = null;
  private stray = '';
  private readonly parts: ModelPart[] = [];

  constructor({ model, tools }: Asked) {
    this.calls = new CalledTools(tools);
    this.tags = new ThinkTags(model);
  }

  /** The parts since the last call. */
  take(): ModelPart[] {
    return this.parts.splice(0);
  }

  /** Adds one event, or a whole answer. Text that is not JSON may be a heartbeat, or the reason why the answer breaks off. */
  add(text: string): void {
    const chunk = jsonOf(text);
    const chunks = chunk === undefined ? chunksIn(text) : listOf(chunk);
    for (const each of chunks) this.addChunk(fieldsOf(each));
    if (!chunks.some((each) => fieldsOf(each)['choices'] !== undefined)) this.skip(text);
  }

  /** The server reports a failure in its own words. */
  fail(said: unknown): void {
    if (!this.failed) this.failWith(failureIn(said));
  }

  /** Adds text that is not an event: all of it together may be the answer, or say why there is none. */
  addStray(text: string): void {
    this.stray += `${text}\n`;
  }

  /** `isDone`: the server marked the end. */
  end(isDone = false): void {
    const isWhole = this.stray.trim() !== '' && this.readBody(this.stray);
    for (const said of this.tags.end()) this.say(said);
    this.close();
    if (!this.failed) {
      const problem = this.problem(isDone || isWhole);
      if (problem === null) this.parts.push(...this.calls.parts());
      else this.failWith(problem);
    }
    this.parts.push({ type: 'finish', finishReason: this.reason(), usage: usageOf(this.usage) });
  }

  private failWith(error: ServerError): void {
    this.failed = true;
    this.parts.push({ type: 'error', error });
  }

  /** Reads a body that was not a stream. True when it is the whole answer. */
  private readBody(text: string): boolean {
    if (this.failed || this.finishReason !== null) return false;
    const begun = this.size;
    this.add(text);
    if (this.failed || this.finishReason !== null || begun > 0) return false;
    if (this.size > 0) return jsonOf(text) !== undefined;
    this.failWith(missingAnswer(false, text));
    return false;
  }

  private get size(): number {
    return this.opened + this.calls.size;
  }

  /** Why this is not an answer. */
  private problem(isDone: boolean): ServerError | null {
    const said = this.unread === null ? '' : `; it sent: ${printableLine(this.unread, MOST_WORDS)}`;
    if (this.finishReason !== null) {
      const isTransient = TRANSIENT.has(this.finishReason.toLowerCase());
      if (!isTransient && this.unified(this.finishReason) !== 'error') return null;
      const why = this.finishReason === 'error' ? '' : ` (${printableLine(this.finishReason, 100)})`;
      return new ServerError(`the server ended the answer with an error${why}${said}`, { isRetryable: isTransient });
    }
    if (isDone && this.size > 0 && this.calls.areWhole) return null;
    if (isDone && this.size === 0) return new ServerError(`the server sent an empty answer${said}`);
    return missingAnswer(this.started || this.unread !== null, this.unread ?? '');
  }

  private addChunk(chunk: PlainMap): void {
    if (this.failed) return;
    const choices = listOf(chunk['choices']).map(fieldsOf);
    const choice = this.choiceOf(choices);
    const failed = [chunk, choice ?? NONE].find((said) => isFailure(said, choice !== null));
    if (failed !== undefined) return this.fail(failed);
    if (choice !== null && !this.started) {
      this.started = true;
      const created = countOf(chunk['created']);
      const timestamp = created !== undefined && created < LATEST ? new Date(created * 1000) : undefined;
      this.parts.push({
        type: 'response-metadata',
        id: textOf(chunk['id']) || undefined,
        modelId: textOf(chunk['model']) || undefined,
        timestamp,
      });
    }
    const { finish_reason: finish, delta, message, usage } = choice ?? NONE;
    if (typeof finish === 'string' && finish !== '') this.finishReason = finish;
    this.addDelta(fieldsOf(delta ?? message));
    this.addUsage(chunk['usage'] ?? usage ?? fieldsOf(chunk['x_groq'])['usage']);
  }

  /** The first choice with content is the answer; others are alternatives. */
  private choiceOf(choices: readonly PlainMap[]): PlainMap | null {
    const keyOf = ({ index }: PlainMap): string => textOf(index) || '0';
    if (choices.length > 0) this.choice ??= choices.some((choice) => keyOf(choice) === '0') ? '0' : keyOf(choices[0]!);
    return choices.find((choice) => keyOf(choice) === this.choice || textOf(choice['index']) === '') ?? null;
  }

  private addUsage(usage: unknown): void {
    const given = fieldsOf(usage);
    if (countOf(given['prompt_tokens']) !== undefined || countOf(given['completion_tokens']) !== undefined) this.usage = given;
  }

  private addDelta(delta: PlainMap): void {
    const { reasoning_content: content, reasoning, reasoning_details: details } = delta;
    const thought = thoughtOf(content) || thoughtOf(reasoning) || thoughtOf(details);
    if (thought !== '') {
      this.tags.thoughtApart();
      this.say(['reasoning', thought]);
    }
    if (typeof delta['refusal'] === 'string') this.say(['text', delta['refusal']]);
    for (const part of listOf(delta['content'])) this.addContent(part);
    this.calls.add(delta['tool_calls']);
    if (delta['function_call']) this.calls.add([{ function: delta['function_call'] }]); // the form from before parallel calls
  }

  private addContent(part: unknown): void {
    if (typeof part === 'string') for (const said of this.tags.feed(part)) this.say(said);
    else if (fieldsOf(part)['type'] === 'thinking') this.say(['reasoning', thoughtOf(fieldsOf(part)['thinking'])]);
    else {
      const { text, refusal } = fieldsOf(part);
      this.say(['text', textOf(text) || textOf(fieldsOf(text)['value']) || textOf(refusal)]);
    }
  }

  private skip(text: string): void {
    if (text.trim() !== '') this.unread = text.trim().slice(0, 2 * MOST_WORDS);
  }

  private say([kind, delta]: Said): void {
    if (delta === '') return;
    if (this.open !== kind) {
      this.close();
      this.open = kind;
      this.opened += 1;
      this.parts.push({ type: `${kind}-start`, id: String(this.opened) });
    }
    this.parts.push({ type: `${kind}-delta`, id: String(this.opened), delta });
  }

  private close(): void {
    if (this.open !== null) this.parts.push({ type: `${this.open}-end`, id: String(this.opened) });
    this.open = null;
  }

  private reason(): Finish['finishReason'] {
    const raw = this.finishReason ?? undefined;
    if (this.failed) return { unified: 'error', raw };
    return { unified: raw === undefined ? 'other' : this.unified(raw), raw };
  }

  private unified(raw: string): Finish['finishReason']['unified'] {
    const said = REASONS.get(raw.toLowerCase()) ?? 'other';
    if (said !== 'stop' && said !== 'tool-calls') return said;
    // Some servers say `stop` although the answer calls tools, and some the other way round.
    return this.calls.size > 0 ? 'tool-calls' : said === 'stop' ? 'stop' : 'other';
  }
}

const MOST_WORDS = 200;
/** The latest time that a date can have, in seconds. */
const LATEST = 8.64e12;

/** In lower case. Any other reason is `other`. */
const REASONS: ReadonlyMap<string, Finish['finishReason']['unified']> = new Map(
  Object.entries({
    stop: 'stop eos eos_token end_turn stop_sequence end complete completed',
    length: 'length max_tokens max_output_tokens model_length model_context_window_exceeded',
    'tool-calls': 'tool_calls tool_call tool_use function_call',
    'content-filter': 'content_filter safety sensitive recitation blocklist prohibited_content refusal',
    error: 'error failed abort aborted cancelled canceled malformed_function_call',
  } as const).flatMap(([unified, raw]) => raw.split(' ').map((word) => [word, unified as Finish['finishReason']['unified']] as const)),
);

/** Ends that are temporary. */
const TRANSIENT: ReadonlySet<string> = new Set(['insufficient_system_resource', 'network_error', 'overloaded', 'timeout', 'server_error']);

const NONE: PlainMap = {};

/** A gateway may have wrapped events twice, and some servers leave out the blank lines between them. */
function chunksIn(text: string): readonly unknown[] {
  const lines = text.split('\n').map((line) => line.replace(/^(?:\s*data:)+/, ''));
  const whole = jsonOf(lines.join('\n'));
  return (whole === undefined ? lines.map(jsonOf) : [whole]).flatMap(listOf);
}

/** Whether a chunk, or a choice of it, reports a failure. */
function isFailure(said: PlainMap, isAnswer: boolean): boolean {
  const { error, object, type, base_resp: state } = said;
  if (error !== undefined && error !== null && error !== false && !isBlank(error)) return true;
  if (object === 'error' || (type === 'error' && !isAnswer)) return true;
  const status = state === undefined ? 0 : fieldsOf(state)['status_code'];
  if (typeof status === 'number' && status !== 0) return true;
  if (isAnswer) return false;
  const isRefusal = said['success'] === false || said['detail'] !== undefined || said['errors'] !== undefined || codeIn(said) !== null;
  return isRefusal && serverWords(said) !== null;
}

function isBlank(error: unknown): boolean {
  return typeof error === 'string' ? error.trim() === '' : typeof error === 'object' && Object.keys(fieldsOf(error)).length === 0;
}

/** Servers send thoughts as text, as `{text}` or `{summary}`, or as lists of these; encrypted ones are ignored. */
function thoughtOf(value: unknown): string {
  if (value === undefined || value === null || typeof value === 'string') return value ?? '';
  return listOf(value)
    .map((part) => (typeof part === 'string' ? part : textOf(fieldsOf(part)['text']) || textOf(fieldsOf(part)['summary'])))
    .join('');
}

function usageOf(usage: PlainMap | null): Finish['usage'] {
  const input = countOf(usage?.['prompt_tokens']);
  const output = countOf(usage?.['completion_tokens']);
  const cached = countOf(fieldsOf(usage?.['prompt_tokens_details'])['cached_tokens']) ?? 0;
  const reasoning = countOf(fieldsOf(usage?.['completion_tokens_details'])['reasoning_tokens']) ?? 0;
  return {
    inputTokens: {
      total: input,
      noCache: input === undefined ? undefined : Math.max(0, input - cached),
      cacheRead: cached,
      cacheWrite: undefined,
    },
    outputTokens: { total: output, text: output === undefined ? undefined : Math.max(0, output - reasoning), reasoning },
  };
}
