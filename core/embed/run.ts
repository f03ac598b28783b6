import { type AgentSpec, PithError, type TurnEvent, type TurnRequest } from '../contract/index.ts';
import type { Approval } from '../agent/index.ts';
import type { Kernel } from '../compose/index.ts';
import { EMBEDDED } from './embedded.ts';
import { RunEvents } from './events.ts';
import type { Approve, ApproveAnswer, Limits, Question, Run, RunOptions, RunResult } from './options.ts';
import { outputIn, outputInstructions, OutputInvalid, outputQuestion } from './output.ts';
import { type AnySchema, schemaOf } from './schemas.ts';

/** What runs share. */
export interface RunPorts {
  readonly kernel: Kernel;
  readonly approve: Approve;
  readonly limits: Limits;
  /** Aborts when `close` is called. */
  readonly closing: AbortSignal;
  /** Until it has ended, `close` waits for it. */
  track(work: Promise<unknown>): void;
}

export interface RunRequest extends Pick<RunOptions, 'signal' | 'limits' | 'model' | 'userId'> {
  readonly agent: string | AgentSpec;
  readonly thread: string;
  /** null goes on with the turn that waits. */
  readonly text: string | null;
  readonly answers?: Readonly<Record<string, ApproveAnswer>>;
  readonly output?: object | undefined;
}

/** An answer that is no JSON value of the schema is asked for again so often. */
const REPAIRS = 2;

/** Begins a run. */
export function startRun<Output>(request: RunRequest, ports: RunPorts): Run<Output> {
  const aborting = new AbortController();
  const signal = AbortSignal.any([aborting.signal, ports.closing, ...(request.signal === undefined ? [] : [request.signal])]);
  const events = new RunEvents(() => aborting.abort(new PithError('aborted', 'the loop over the run was left')));
  const running = new RunningRun(request, ports, events, signal);
  const result = running.run().finally(() => events.end()) as Promise<RunResult<Output>>;
  result.catch(() => undefined); // whoever wants the result is told
  ports.track(result);
  return {
    thread: request.thread,
    result,
    get text() {
      return events.text();
    },
    [Symbol.asyncIterator]: () => events[Symbol.asyncIterator](),
  };
}

type End = Extract<TurnEvent, { type: 'turn-end' }>;
type Usage = End['usage'];

class RunningRun {
  #usage: Usage = { inputTokens: 0, outputTokens: 0 };

  constructor(
    private readonly request: RunRequest,
    private readonly ports: RunPorts,
    private readonly events: RunEvents,
    private readonly signal: AbortSignal,
  ) {}

  async run(): Promise<RunResult> {
    const { output } = this.request;
    const schema = output === undefined ? null : schemaOf(output, 'output');
    const spec = await this.#agent(schema);
    let text = this.request.text;
    if (text === null) await this.#answerAll(this.request.answers ?? {});
    const answers: string[] = [];
    for (;;) {
      const ended = await this.#turn(spec, text);
      if (schema === null || ended.status !== 'done') return ended;
      const found = await outputIn(ended.text, schema);
      if ('value' in found) return { ...ended, output: found.value };
      answers.push(ended.text);
      if (answers.length > REPAIRS) throw new OutputInvalid(answers, found.problems);
      text = outputQuestion(found.problems);
    }
  }

  /** The agent, told what its answer must be. */
  async #agent(schema: AnySchema | null): Promise<string | AgentSpec> {
    const { agent } = this.request;
    if (schema === null) return agent;
    const { spec } = typeof agent === 'string' ? await this.ports.kernel.agents.resolve(agent) : { spec: agent };
    return { ...spec, instructions: [spec.instructions, outputInstructions(schema)].filter((part) => part !== '').join('\n\n') };
  }

  /** One turn, to its end or until questions stay open. */
  async #turn(agent: string | AgentSpec, text: string | null): Promise<RunResult> {
    const { thread, userId, model } = this.request;
    const limits = { ...this.ports.limits, ...this.request.limits };
    const policy = { limits: limitsOf(limits), ...(model === undefined ? {} : { model }) };
    const common = { agent, threadId: thread, channelId: 'embed', policy, ...(userId === undefined ? {} : { userId }) };
    let request: TurnRequest = text === null ? { ...common, resume: true } : { ...common, input: text };
    for (;;) {
      const end = await this.#read(request);
      if (end.reason === 'error') throw failureOf(end);
      if (end.reason !== 'awaiting_approval') return this.#result(end.reason, end, []);
      const open = await this.#answerAll({});
      if (open.length > 0) return this.#result('waiting', end, open);
      request = { ...common, resume: true };
    }
  }

  async #read(request: TurnRequest): Promise<End> {
    let end: End | undefined;
    for await (const event of this.ports.kernel.agents.run(request, this.signal)) {
      this.events.push(event);
      if (event.type === 'turn-end') end = event;
    }
    if (end === undefined) throw new PithError('internal', 'a turn ended without its last event');
    if (end.reason !== 'awaiting_approval') this.#usage = plus(this.#usage, end.usage);
    return end;
  }

  #result(status: RunResult['status'], { text }: End, questions: readonly Question[]): RunResult {
    return { status, text, output: undefined, thread: this.request.thread, usage: this.#usage, questions };
  }

  /** Answers what is open in the thread; resolves what stays open. */
  async #answerAll(given: Readonly<Record<string, ApproveAnswer>>): Promise<readonly Question[]> {
    const { kernel, approve } = this.ports;
    const left: Question[] = [];
    for (const approval of await kernel.approvals.list(this.request.thread)) {
      const question = questionOf(approval);
      const answer = given[approval.id] ?? (await approve(question, this.signal));
      if (answer === 'later') left.push(question);
      else await kernel.approvals.answer(approval.id, { ...replyOf(answer), threadId: approval.rootThreadId });
    }
    return left;
  }
}

/** Where nobody answers questions. */
export const nobody: Approve = () => ({ no: 'nobody can be asked here' });

function replyOf(answer: Exclude<ApproveAnswer, 'later'>): {
  readonly answer: 'once' | 'no';
  readonly by: string;
  readonly reason?: string;
} {
  if (answer === 'yes' || answer === true) return { answer: 'once', by: 'program' };
  return { answer: 'no', by: 'program', ...(typeof answer === 'object' ? { reason: answer.no } : {}) };
}

function questionOf({ id, tool, input, digest, summary, details, rootThreadId: thread }: Approval): Question {
  const name = tool.startsWith(`${EMBEDDED}/`) ? tool.slice(EMBEDDED.length + 1) : tool;
  return { id, tool: name, input, digest, thread, ...(summary === null ? {} : { summary }), ...(details === null ? {} : { details }) };
}

function failureOf({ error }: End): PithError {
  const { code = 'internal', message = 'the run failed', retryAfterMs } = error ?? {};
  return new PithError(code, message, retryAfterMs === undefined ? {} : { retryAfterMs });
}

function limitsOf({ steps, toolCalls, tokens, ms }: Limits): NonNullable<NonNullable<TurnRequest['policy']>['limits']> {
  return {
    ...(steps === undefined ? {} : { max_turns: steps }),
    ...(toolCalls === undefined ? {} : { max_tool_calls: toolCalls }),
    ...(tokens === undefined ? {} : { max_tokens: tokens }),
    ...(ms === undefined ? {} : { time_budget_ms: ms }),
  };
}

function plus(one: Usage, other: Usage): Usage {
  return { inputTokens: one.inputTokens + other.inputTokens, outputTokens: one.outputTokens + other.outputTokens };
}
