import { ulid } from 'ulid';
import {
  type AgentSpec,
  type Conversations,
  type ExtensionContext,
  messageOf,
  PithError,
  type Remote,
  type TurnEvent,
  type TurnRequest,
} from 'pith';
import { shownEvent } from 'pith/http';
import { answerInstructions, answerQuestion, type AnswerSchema, valueIn } from '@pith/json-answers';
import { printableLine } from '@pith/plain-text';
import { valueCheck } from '@pith/tool-schemas';
import { threadOfCall } from './call-ids.ts';
import type { ProgramEnd, ProgramEvent, ProgramQuestion, ProgramRequest } from './contract.ts';
import { OpenCalls } from './open-calls.ts';
import { type TurnInput, turnOf } from './turn-input.ts';
import { messageDigest, type WaitingTurn, type WaitingTurns } from './waiting-turns.ts';

export interface ProgramTurnPorts extends Pick<ExtensionContext, 'agents' | 'clock'> {
  readonly conversations: Remote<Conversations>;
  readonly waiting: WaitingTurns;
  /** Names folders of this machine in place of their paths. */
  hide<T>(shown: T): T;
}

type PreparedRequest = ProgramRequest & TurnInput & { readonly spec: AgentSpec };

type Conversation = NonNullable<Awaited<ReturnType<Conversations['find']>>>;

/** An answer that is not what the schema wants is asked for again so often. */
const REPAIRS = 2;
/** What the model reads where a program sends results of calls that no turn here waits for, and nothing else. */
const GO_ON = 'Go on with the results of the tools.';

/** What is to go on before a message is said. `isOver`: the message is another one, and comes after it. */
interface Pending {
  readonly isOver: boolean;
  readonly hasResults: boolean;
  /** Whoever answered its question went on with it to its end. */
  readonly hasEnded: boolean;
}

/** What one request of a program runs: a turn that waits, a new one, or one after the other. */
export class ProgramTurn {
  readonly calls: OpenCalls;
  /** The turn with a question of which the program does not know the end. */
  #unheard: WaitingTurn | null = null;
  /** What is the answer of the turn that runs, where it is held back to be checked. */
  #held: string[] = [];
  #usage: ProgramEnd['usage'] = { inputTokens: 0, outputTokens: 0 };
  /** What was to go on had ended meanwhile. */
  #nothingWaited = false;

  private constructor(
    readonly threadId: string,
    private readonly request: PreparedRequest,
    private readonly schema: AnswerSchema | null,
    private readonly ports: ProgramTurnPorts,
  ) {
    this.calls = new OpenCalls(request.results);
  }

  /** Throws `thread_unknown`, `usage` and `settings_invalid`. `agent`: as it is declared. */
  static async prepared(request: ProgramRequest, agent: AgentSpec, ports: ProgramTurnPorts): Promise<ProgramTurn> {
    const schema = request.output === undefined ? null : await schemaOf(request.output);
    const said = turnOf(request.messages);
    const instructions = [agent.instructions, said.instructions, schema === null ? '' : answerInstructions(schema)];
    const spec = { ...agent, instructions: instructions.filter(Boolean).join('\n\n') };
    const prepared = { ...request, ...said, spec };
    return new ProgramTurn(await threadOf(prepared, ports), prepared, schema, ports);
  }

  async *events(signal?: AbortSignal): AsyncGenerator<ProgramEvent, void, undefined> {
    yield { type: 'thread', threadId: this.threadId };
    const pending = await this.#pending();
    if (pending !== null) {
      const key = this.#unheard?.key;
      const end = yield* this.#turn({ resume: true, ...(key === undefined ? {} : { key }) }, signal);
      const isNext = this.#nothingWaited || (isBehind(end, pending) && signal?.aborted !== true);
      if (isNext || isFinal(end, pending)) await this.#forget();
      if (!isNext) return yield* this.#finish(end, signal);
      this.#usage = end.usage;
    }
    yield* this.#finish(yield* this.#begin(this.#input(), signal), signal);
  }

  /** null: nothing is to go on. */
  async #pending(): Promise<Pending | null> {
    const { conversations } = this.ports;
    const { message, results } = this.request;
    const found = await conversations.find(this.threadId);
    if (found === null) return null;
    this.#unheard = await this.ports.waiting.find(this.threadId);
    const hasEnded = found.state === 'idle';
    if (hasEnded && this.#unheard === null) return null; // one that runs may be of a process that has just ended: it is waited for
    const isSame = async () =>
      this.#unheard === null ? message?.text === (await this.#lastText()) : messageDigest(message) === this.#unheard.message;
    const isOver = message !== null && !(await isSame());
    const hasResults = Object.keys(results).some((id) => threadOfCall(id) === this.threadId);
    const isOpen = (await conversations.questions({ threadId: this.threadId })).length > 0;
    return isOpen && isOver && !hasResults ? null : { isOver, hasResults, hasEnded };
  }

  /** What the user said last in the thread. */
  async #lastText(): Promise<string | null> {
    let before: number | undefined;
    for (;;) {
      const window = { limit: WINDOW, ...(before === undefined ? {} : { before }) };
      const messages = await this.ports.conversations.messages(this.threadId, window);
      const last = messages.findLast(({ role }) => role === 'user');
      if (last !== undefined || messages.length === 0) return last?.text ?? null;
      before = messages[0]?.seq;
    }
  }

  #input(): Pick<TurnRequest, 'input' | 'attachments' | 'history'> {
    const { message, history, threadId } = this.request;
    if (message !== null) return { input: message.text, history, ...(message.attachments && { attachments: message.attachments }) };
    if (threadId === null && history.length > 0 && !this.#nothingWaited) return { input: GO_ON, history };
    throw new PithError('usage', 'nothing waits for these results', { cure: 'send a message of the user' });
  }

  /** A new turn. Where it ends with a question its key is kept. */
  async *#begin(
    what: Pick<TurnRequest, 'input' | 'attachments' | 'history'>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<ProgramEvent, ProgramEnd, undefined> {
    const key = ulid(this.ports.clock.now());
    await this.#forget(); // it has taken the place of that turn
    const end = yield* this.#turn({ ...what, key }, signal);
    if (end.reason === 'approval') await this.ports.waiting.keep(this.threadId, { key, message: messageDigest(this.request.message) });
    return end;
  }

  async #forget(): Promise<void> {
    if (this.#unheard !== null) await this.ports.waiting.forget(this.threadId);
    this.#unheard = null;
  }

  /** One turn to its end, which is returned. */
  async *#turn(
    what: Pick<TurnRequest, 'input' | 'attachments' | 'history' | 'resume' | 'key'>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<ProgramEvent, ProgramEnd, undefined> {
    const { spec, by, channelId } = this.request;
    const request = { agent: spec, threadId: this.threadId, userId: by.userId, channelId, ...what };
    const events = new ProgramEvents(this.calls, this.request.tools);
    this.calls.forget();
    this.#held = [];
    let hasBegun = false;
    for await (const run of this.ports.agents.run(request, signal)) {
      const event = shownEvent(run, this.ports.hide);
      hasBegun ||= event.type === 'turn-start';
      if (event.type === 'turn-end') {
        const isBusy = what.resume === true && !hasBegun && event.error?.code === 'thread_busy' && signal?.aborted !== true;
        return isBusy ? yield* this.#turn(what, signal) : events.end(event); // another process goes on with it: it is waited for
      }
      if (event.type === 'notice' && event.code === 'nothing_to_resume') {
        this.#nothingWaited = true;
        continue;
      }
      if (event.type === 'text-delta' && this.schema !== null) this.#held.push(event.text);
      else yield* events.of(event);
      if (event.type === 'tool-call') this.#held = []; // what was said before a call is not the answer
    }
    throw new PithError('internal', 'a turn ended without its last event');
  }

  /** The end, once the answer is what the schema wants. */
  async *#finish(ended: ProgramEnd, signal: AbortSignal | undefined): AsyncGenerator<ProgramEvent, void, undefined> {
    let end = this.#counted(ended);
    for (let repair = 0; this.schema !== null && end.reason === 'done'; repair += 1) {
      const found = await valueIn(this.#held.join(''), this.schema);
      if ('value' in found) {
        yield { type: 'text-delta', text: JSON.stringify(found.value) };
        break;
      }
      if (repair === REPAIRS) {
        const message = `the model gave ${REPAIRS + 1} answers that do not match the schema; the last: ${found.problems.join('; ')}`;
        const cure = 'loosen the schema, describe its fields, or choose another agent';
        end = { ...end, reason: 'error', error: { code: 'output_invalid', message: `${message}; ${cure}`, cure } };
        break;
      }
      this.#usage = end.usage;
      end = this.#counted(yield* this.#begin({ input: answerQuestion(found.problems) }, signal));
    }
    yield end;
  }

  /** With what the turns before it took. */
  #counted(end: ProgramEnd): ProgramEnd {
    const { inputTokens, outputTokens } = this.#usage;
    return { ...end, usage: { inputTokens: inputTokens + end.usage.inputTokens, outputTokens: outputTokens + end.usage.outputTokens } };
  }
}

/** The message of the program comes after this end. */
function isBehind({ reason }: ProgramEnd, { isOver, hasResults, hasEnded }: Pending): boolean {
  if (!isOver || reason === 'approval') return false;
  return reason === 'calls' ? !hasResults : reason === 'done' || hasEnded;
}

/** A request that is repeated is to get this end no second time. What failed or was stopped is tried again. */
function isFinal({ reason, error }: ProgramEnd, { hasEnded }: Pending): boolean {
  if (reason === 'error') return error?.code === 'interrupted';
  return reason === 'aborted' ? hasEnded : reason !== 'approval' && reason !== 'calls';
}

const WINDOW = 50;

/** Turns the events of a turn into those that a program is told. */
class ProgramEvents {
  readonly #names = new Map<string, string>();
  /** A call that may be the program's is told once it is known not to be. */
  readonly #held = new Map<string, TurnEvent>();
  readonly #questions: ProgramQuestion[] = [];
  #cut: ProgramEnd['cut'] = null;

  constructor(
    private readonly calls: OpenCalls,
    private readonly tools: ProgramRequest['tools'],
  ) {}

  *of(event: Exclude<TurnEvent, { type: 'turn-end' }>): Generator<Exclude<TurnEvent, { type: 'turn-end' }>, void, undefined> {
    if (event.type === 'turn-start') this.#cut = null;
    if (event.type === 'notice') this.#cut = CUTS.get(event.code) ?? this.#cut;
    if (event.type === 'approval-request') this.#questions.push(questionOf(event));
    if (event.type === 'tool-call') {
      this.#names.set(event.id, ownName(event.name));
      this.#held.set(event.id, event);
      return;
    }
    if ('id' in event && this.calls.has(event.id)) return;
    for (const [id, held] of this.#held) {
      if (this.calls.has(id)) continue;
      this.#held.delete(id);
      yield held as never;
    }
    yield event;
  }

  end({ reason, usage, error }: Extract<TurnEvent, { type: 'turn-end' }>): ProgramEnd {
    const calls = reason === 'awaiting_approval' ? this.calls.waiting((id) => this.#nameOf(id)) : [];
    const waits = calls.length > 0 ? 'calls' : 'approval';
    return {
      type: 'end',
      reason: reason === 'awaiting_approval' ? waits : reason,
      calls,
      questions: this.#questions,
      cut: reason === 'limit' ? 'length' : this.#cut,
      usage,
      ...(error === undefined ? {} : { error }),
    };
  }

  /** As the program named it: where the agent has a tool of that name, the model knows it by another. */
  #nameOf(callId: string): string {
    const name = this.#names.get(callId) ?? '';
    return this.tools.find((tool) => tool.name === name)?.name ?? name;
  }
}

/** What notices say of an answer that is not whole. */
const CUTS: ReadonlyMap<string, ProgramEnd['cut']> = new Map([
  ['answer_cut', 'length'],
  ['answer_filtered', 'filter'],
]);

const PREFIX = 'program_turns__';

function ownName(name: string): string {
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name;
}

function questionOf(event: Extract<TurnEvent, { type: 'approval-request' }>): ProgramQuestion {
  const { id, tool, input, summary, details } = event;
  const what = printableLine(summary ?? details ?? `call ${tool} with ${JSON.stringify(input)}`, 500);
  return {
    id,
    tool,
    input,
    text: `This waits for a person: ${what}. Allow it with \`pith approvals approve ${id}\`, or refuse it with \`pith approvals reject ${id}\`; then send the next request in this thread.`,
  };
}

/** The thread that a request goes on in, or a new one. Throws `thread_unknown` for one that is not the user's, as for one that is not there. */
async function threadOf(
  { threadId, newThreadId, results, by }: PreparedRequest,
  { conversations, clock }: ProgramTurnPorts,
): Promise<string> {
  const wanted = threadId ?? newThreadId;
  if (wanted !== undefined) {
    const found = await conversations.find(wanted);
    if (isOwn(found, by.userId) || (found === null && threadId === null)) return wanted;
    throw new PithError('thread_unknown', `there is no thread '${printableLine(wanted, 100)}'`, {
      cure: 'leave it out: a new thread begins, and the answer names it',
    });
  }
  const named = Object.keys(results).flatMap((id) => threadOfCall(id) ?? []);
  const found = named[0] === undefined ? null : await conversations.find(named[0]);
  return found !== null && isOwn(found, by.userId) && found.state !== 'idle' ? found.id : ulid(clock.now()).toLowerCase();
}

/** A person's own, not that of a call, a task or a schedule. */
function isOwn(found: Conversation | null, userId: string): boolean {
  return found !== null && found.userId === userId && !/[/:]/u.test(found.id);
}

/** Throws `settings_invalid`. */
async function schemaOf(json: Readonly<Record<string, unknown>>): Promise<AnswerSchema> {
  try {
    const { check, ready } = valueCheck(json);
    await ready();
    return { json, check };
  } catch (error) {
    throw new PithError('settings_invalid', `this schema of the answer cannot be used: ${messageOf(error)}`, {
      cause: error,
      cure: 'simplify it',
    });
  }
}
