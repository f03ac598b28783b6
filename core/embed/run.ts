import { type AgentSpec, type Clock, messageOf, PithError, type TurnEvent, type TurnRequest } from '../contract/index.ts';
import { type Approval, sumOf, type Usage } from '../agent/index.ts';
import type { Kernel } from '../compose/index.ts';
import type { OriginalRequest } from '../kernel/index.ts';
import { DEFAULT_LIMITS } from '../trust/index.ts';
import { answerInstructions, answerQuestion, valueIn } from '@pith/json-answers';
import { keepAliveClock, untilAborted } from '@pith/promises';
import { ANSWERS, isAnswer } from './checked-options.ts';
import { EMBEDDED } from './embedded.ts';
import { RunEvents } from './events.ts';
import type { Apart, HeldThreads } from './held-threads.ts';
import type { Approve, ApproveAnswer, Limits, Question, Run, RunOptions, RunResult } from './options.ts';
import { OutputInvalid } from './output.ts';
import { errorForProgram, eventForProgram } from './program-texts.ts';
import { limitOf, RunLimits } from './run-limits.ts';
import { type AnySchema, schemaOf } from './schemas.ts';

/** What runs share. */
export interface RunPorts {
  readonly kernel: Pick<Kernel, 'agents' | 'approvals' | 'threads'>;
  readonly approve: Approve;
  readonly limits: Limits;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly held: HeldThreads;
  /** Aborts when `close` is called. */
  readonly closing: AbortSignal;
  /** The program gives model objects, which have keys of their own. */
  readonly ownModel: boolean;
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

type Performer = Pick<RunRequest, 'agent' | 'userId' | 'model'>;

/** An answer that is no JSON value of the schema is asked for again so often. */
const REPAIRS = 2;

/** So long may runs take to end in order once they are aborted: a store may hang. */
export const ENDING_MS = 500;

/** Begins a run. */
export function startRun<Output>(request: RunRequest, ports: RunPorts): Run<Output> {
  const aborting = new AbortController();
  const stops = [aborting.signal, ports.closing, ...(request.signal === undefined ? [] : [request.signal])];
  const events = new RunEvents(() => aborting.abort(new PithError('aborted', 'the loop over the run was left')));
  const running = new RunningRun(request, ports, events, stops);
  const result = running.run().catch((error: unknown) => {
    throw errorForProgram(error, ports.ownModel);
  }) as Promise<RunResult<Output>>;
  ports.track(
    result.then(
      () => events.end(null),
      (error: unknown) => events.end(error), // `result` rejects, too
    ),
  );
  return {
    thread: request.thread,
    result,
    get text() {
      return events.read((event) => (event.type === 'text-delta' ? event.text : undefined));
    },
    [Symbol.asyncIterator]: () => events.read((event) => event),
  };
}

type End = Extract<TurnEvent, { type: 'turn-end' }>;

class RunningRun {
  /** Of the turns that have ended. */
  #usage: Usage = { inputTokens: 0, outputTokens: 0 };
  /** Where the present turn ended, or waits. */
  #end: End | null = null;
  /** Why it failed. */
  #failure: unknown;
  /** How the model cut its last answer. */
  #cut: RunResult['cut'] = null;
  /** Of the turn that runs. */
  #steps = 0;
  /** A call that was asked about is told again when it runs. */
  readonly #calls = new Set<string>();
  readonly #limits: RunLimits;
  /** Aborts when its time is over. */
  readonly #timeOver = new AbortController();
  private readonly signal: AbortSignal;
  /** Ids of questions that stay open. */
  readonly #later = new Set<string>();
  /** While somebody is asked, the thread is free for others. */
  #apart: Apart = (ask) => ask();

  constructor(
    private readonly request: RunRequest,
    private readonly ports: RunPorts,
    private readonly events: RunEvents,
    stops: readonly AbortSignal[],
  ) {
    this.signal = AbortSignal.any([...stops, this.#timeOver.signal]);
    this.#limits = new RunLimits(ports.limits, request.limits ?? {});
  }

  async run(): Promise<RunResult> {
    const ending = new AbortController();
    let cancel: (() => void) | undefined;
    const release = keepAliveClock.after(Number.MAX_SAFE_INTEGER, () => undefined); // timers of limits do not keep the process alive
    const onAbort = () => void (cancel = keepAliveClock.after(ENDING_MS, () => ending.abort()));
    if (this.signal.aborted) onAbort();
    else this.signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await untilAborted(
        this.ports.held.hold(this.request.thread, this.signal, (apart) => this.#turns(apart)),
        ending.signal,
      );
    } catch (error) {
      if (this.signal.reason === TIME_OVER) return { ...this.#result('limit', []), limit: 'ms' };
      if (this.signal.aborted) return this.#result('aborted', []);
      throw error;
    } finally {
      this.signal.removeEventListener('abort', onAbort);
      cancel?.();
      release();
    }
  }

  /** What `work` resolves within the time that is left, which it takes, else within `most`. A turn ends by itself then; what does not, ends half a second later. */
  async #timed<T>(work: () => Promise<T>, most?: number): Promise<T> {
    const { clock } = this.ports;
    const { ms = most } = this.#limits;
    const began = clock.now();
    const late = () => this.#timeOver.abort(TIME_OVER);
    const cancel = ms === undefined ? undefined : clock.after(ms + ENDING_MS, late);
    try {
      return await untilAborted(work(), this.#timeOver.signal);
    } finally {
      cancel?.();
      this.#limits.spend({ ms: clock.now() - began });
    }
  }

  async #turns(apart: Apart): Promise<RunResult> {
    this.#apart = apart;
    const { output } = this.request;
    const schema = output === undefined ? null : schemaOf(output, 'output');
    const performer = await this.#timed(() => this.#performer(schema));
    let text = this.request.text;
    if (text === null) await this.#answerGiven(this.request.answers ?? {});
    const answers: string[] = [];
    for (;;) {
      const ended = await this.#turn(performer, text);
      if (schema === null || ended.status !== 'done') return ended;
      const found = await this.#timed(() => untilAborted(valueIn(ended.text, schema), this.signal), DEFAULT_LIMITS.time_budget_ms);
      if ('value' in found) return { ...ended, output: found.value };
      answers.push(ended.text);
      if (answers.length > REPAIRS) throw new OutputInvalid(answers, found.problems, ended);
      const limit = this.#limits.spent;
      if (limit !== null) return { ...ended, status: 'limit', output: undefined, limit };
      text = answerQuestion(found.problems);
    }
  }

  /** As whom its turns run, told what the answer must be. A turn that goes on does so as the one who began it. */
  async #performer(schema: AnySchema | null): Promise<Performer> {
    const { thread, text, ...request } = this.request;
    const { agents, threads } = this.ports.kernel;
    const begun = text === null ? (await untilAborted(threads.unfinished(thread), this.signal))?.turn : undefined;
    const { agent, userId, model } = begun === undefined ? request : { ...begun, model: begun.policy.model };
    if (schema === null) return { agent, userId, model };
    const { spec } = typeof agent === 'string' ? await agents.resolve(agent) : { spec: agent };
    const said = answerInstructions(schema);
    const instructions = spec.instructions.includes(said) ? spec.instructions : [spec.instructions, said].filter(Boolean).join('\n\n');
    return { agent: { ...spec, instructions }, userId, model };
  }

  /** One turn, to its end or until questions stay open. */
  async #turn({ agent, userId, model }: Performer, text: string | null): Promise<RunResult> {
    const { thread } = this.request;
    const common = {
      agent,
      threadId: thread,
      channelId: 'embed',
      failed: (error: unknown) => void (this.#failure = error),
      ...(userId === undefined ? {} : { userId }),
    };
    let next: Pick<TurnRequest, 'input' | 'resume'> = text === null ? { resume: true } : { input: text };
    for (;;) {
      const policy = { ...this.#limits.policy, ...(model === undefined ? {} : { model }) };
      const end = (this.#end = await this.#timed(() => this.#read({ ...common, ...next, policy })));
      if (end.reason === 'error') throw failureOf(this.#failure, end);
      if (end.reason !== 'awaiting_approval') return this.#result(end.reason, []);
      const open = await this.#answerAll({});
      if (open.length > 0) return this.#result('waiting', open);
      next = { resume: true };
    }
  }

  async #read(request: OriginalRequest): Promise<End> {
    const { kernel, ownModel } = this.ports;
    let end: End | undefined;
    let turn: string | null = null;
    for await (const event of kernel.agents.run(request, this.signal)) {
      if (event.type === 'notice' && event.code === NOTHING_TO_RESUME)
        throw new PithError(NOTHING_TO_RESUME, `resume: nothing waits in thread '${request.threadId}'`, { cure: 'use run' });
      this.events.push(event.type === 'approval-request' ? { ...event, tool: givenName(event.tool) } : eventForProgram(event, ownModel));
      if (event.type === 'turn-start') {
        turn = event.turn;
        this.#cut = null;
      }
      if (event.type === 'notice') this.#cut = CUTS.get(event.code) ?? this.#cut;
      if (event.type === 'step-end') this.#steps += 1;
      if (event.type === 'tool-call') this.#calls.add(`${this.#steps}/${event.id}`);
      if (event.type === 'turn-end') end = event;
    }
    if (end === undefined) throw new PithError('internal', 'a turn ended without its last event');
    if (end.reason !== 'awaiting_approval') await this.#ended(turn, end.usage);
    return end;
  }

  /** A turn that goes on reports all its use at its end. */
  async #ended(turn: string | null, usage: Usage): Promise<void> {
    this.#usage = sumOf(this.#usage, usage);
    const { threads } = this.ports.kernel;
    const { steps, calls } = turn === null ? { steps: 0, calls: 0 } : await threads.delegated(this.request.thread, turn);
    const tokens = usage.inputTokens + usage.outputTokens;
    this.#limits.spend({ steps: this.#steps + steps, toolCalls: this.#calls.size + calls, tokens, cost: usage.cost ?? 0 });
    this.#steps = 0;
    this.#calls.clear();
  }

  #result(status: RunResult['status'], questions: readonly Question[]): RunResult {
    const { thread } = this.request;
    const open = this.#end?.reason === 'awaiting_approval' ? this.#end : null;
    const { inputTokens, outputTokens, cost } = open === null ? this.#usage : sumOf(this.#usage, open.usage);
    return {
      status,
      limit: status === 'limit' ? limitOf(this.#end?.error?.limit) : null,
      text: this.#end?.text ?? '',
      cut: this.#cut,
      output: undefined,
      thread,
      usage: { inputTokens, outputTokens },
      cost: cost === undefined ? null : { amount: cost, currency: 'USD' },
      questions,
    };
  }

  /** Answers what is open in the thread. Throws `approval_unknown` for an answer to what was never asked there, `approval_answered` for one that comes too late. */
  async #answerGiven(answers: Readonly<Record<string, ApproveAnswer>>): Promise<void> {
    const { approvals } = this.ports.kernel;
    const { thread } = this.request;
    for (const [id, answer] of Object.entries(answers)) {
      const asked = await this.#timed(() => untilAborted(approvals.get(id, thread), this.signal));
      if (asked?.rootThreadId !== thread)
        throw new PithError('approval_unknown', `resume: thread '${thread}' has no question '${id}'`, {
          cure: 'use the ids of `questions` of the run that waits',
        });
      if (answer === 'later' || asked.answer === null) continue;
      if ((asked.answer === 'no') === (replyOf(answer).answer === 'no')) continue; // it was given before
      const isLate = asked.by === null;
      const why = isLate ? asked.reason : `it was answered ${asked.answer === 'no' ? 'no' : 'yes'}`;
      throw new PithError('approval_answered', `resume: question '${id}' is no longer open: ${why}`, {
        cure: isLate ? 'run the message again' : 'leave it out of the answers',
      });
    }
    await this.#answerAll(answers);
  }

  /** Answers what is open in the thread, and asks about nothing twice; resolves what stays open. */
  async #answerAll(given: Readonly<Record<string, ApproveAnswer>>): Promise<readonly Question[]> {
    const { approvals } = this.ports.kernel;
    const left: Question[] = [];
    for (const approval of await this.#timed(() => untilAborted(approvals.list(this.request.thread), this.signal))) {
      const question = questionOf(approval);
      const answer = this.#later.has(question.id) ? 'later' : (given[question.id] ?? (await this.#ask(question)));
      if (answer !== 'later') await this.#timed(() => approvals.answer(question.id, { ...replyOf(answer), threadId: question.thread }));
      else {
        this.#later.add(question.id);
        left.push(question);
      }
    }
    return left;
  }

  async #ask(question: Question): Promise<ApproveAnswer> {
    const ask = async () => this.ports.approve(question, this.signal);
    try {
      const answer = await this.#apart(() => untilAborted(ask(), this.signal));
      if (isAnswer(answer)) return answer;
    } catch (error) {
      if (error instanceof PithError) throw error;
      throw approveFailed(question, messageOf(error), error);
    }
    throw approveFailed(question, `its answer must be ${ANSWERS}`);
  }
}

function approveFailed({ tool }: Question, why: string, cause?: unknown): PithError {
  return new PithError('approve_failed', `approve failed on '${tool}': ${why}`, { cause, cure: 'correct it, then go on with `resume`' });
}

/** As the notice of the turn that says so. */
const NOTHING_TO_RESUME = 'nothing_to_resume';

/** What notices say of an answer that is not whole. */
const CUTS: ReadonlyMap<string, RunResult['cut']> = new Map([
  ['answer_cut', 'length'],
  ['answer_filtered', 'filter'],
]);

const TIME_OVER = new PithError('limit_reached', 'the time of the run is over');

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

/** The name that a program gave to its own tool. */
function givenName(tool: string): string {
  return tool.startsWith(`${EMBEDDED}/`) ? tool.slice(EMBEDDED.length + 1) : tool;
}

/** As a program is asked. */
export function questionOf({ id, tool, path, input, digest, summary, details, rootThreadId: thread }: Approval): Question {
  const agents = path.map(({ agentId }) => agentId);
  return {
    id,
    tool: givenName(tool),
    input,
    digest,
    agents,
    thread,
    ...(summary === null ? {} : { summary }),
    ...(details === null ? {} : { details }),
  };
}

/** The error as it was thrown; one of other code, with the code of the turn's end. */
function failureOf(thrown: unknown, { error }: End): PithError {
  return thrown instanceof PithError ? thrown : new PithError(error?.code ?? 'internal', messageOf(thrown), { cause: thrown });
}
