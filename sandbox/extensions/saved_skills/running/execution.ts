import { channelsOf, isDelivered } from '../runs/deliveries.ts';
import {
  codeOf,
  messageOf,
  type AgentSpec,
  type ExtensionContext,
  type Job,
  Permissions,
  PithError,
  type TurnEvent,
  type TurnPolicy,
  type TurnSeal,
} from 'pith';
import type { Bounds } from '../domain/permissions.ts';
import { type SavedSkill, emojiOf, type ReactionMoment } from '../domain/saved-skill.ts';
import type { Inputs } from '../domain/inputs.ts';
import type { Config } from '../config.ts';
import type { Library } from '../library/library.ts';
import type { SkillVersion } from '../store/skill-store.ts';
import { INTERRUPTED, MOST_SAID, PREEMPTED, type RunEnd, type RunStore } from '../runs/run-store.ts';
import { threadOf, type Run, type RunState } from '../runs/run.ts';
import { renderTemplate } from '@pith/guarded-templates';

/** What an attempt works with. */
interface Executor {
  readonly context: ExtensionContext<Config>;
  readonly library: Library;
  readonly runs: RunStore;
}

type End = Extract<TurnEvent, { type: 'turn-end' }>;

/** An attempt at a run, and the job by which this process has it. */
interface Taken {
  readonly run: Run;
  readonly job: Job<unknown>;
}

/**
 * One attempt at a run: an ordinary turn in its own thread, under its own key, so that whoever takes over continues it. Rejects where another
 * process is to go on with it.
 */
export async function execute(executor: Executor, taken: Taken, signal: AbortSignal): Promise<RunState> {
  const { run, job } = taken;
  const text = await textOf(executor, run);
  if ('code' in text) {
    await executor.runs.finish(run.id, job, { state: 'error', output: null, error: text }, false);
    return 'error';
  }
  const attempt = new Attempt(executor, taken, text);
  const end = endOf(run, await attempt.work(signal), signal);
  await attempt.finish(end);
  if (end.state !== 'queued') return end.state;
  if (end.error !== null) throw new PithError(end.error.code, end.error.message, end.error); // its job waits for the provider
  throw signal.reason ?? new PithError('stopped', `run ${run.id}: its turn was aborted`);
}

/** How a run ends whose attempt ended so. */
function endOf({ parentId, skill }: Run, end: RunEnd, signal: AbortSignal): RunEnd {
  const why = signal.aborted ? codeOf(signal.reason, '') : 'stopped';
  if (why === 'lease_lost') throw signal.reason; // whoever has it says how it ends
  if (end.state === 'waiting' && parentId !== null)
    return {
      state: 'cancelled',
      output: null,
      error: {
        code: 'approval_needed',
        message: `'${skill}' needs a person's answer, which a run inside another cannot wait for; run it by itself`,
      },
    };
  if (end.state !== 'cancelled' || why === 'cancelled') return end;
  if (why === 'preempted') return { ...end, state: 'preempted', error: PREEMPTED };
  // This process ends: another goes on with it.
  return parentId === null ? { state: 'queued', output: null, error: null } : { ...end, error: INTERRUPTED };
}

interface RunText {
  readonly skill: SavedSkill;
  readonly version: SkillVersion;
}

/** What it runs, or why it cannot: no attempt after this one could either. */
async function textOf({ library: { skills } }: Executor, run: Run): Promise<RunText | NonNullable<Run['error']>> {
  if (run.isDamaged && run.error !== null) return run.error;
  try {
    const version = await skills.version(run.skillId, run.versionId);
    const stored = await skills.byId(run.skillId);
    if (version !== null && stored !== null) return { skill: stored.skill, version };
  } catch (error) {
    if (codeOf(error, '') !== 'skill_damaged') throw error;
    return { code: 'skill_damaged', message: messageOf(error) };
  }
  return { code: 'version_unknown', message: `the saved skill '${run.skill}' is gone, or its version ${run.version}` };
}

class Attempt {
  readonly #reactions: Reactions;
  #calls = 0;
  /** Calls of the step that is under way, which may have begun in an attempt before this one: ids differ within a step only. */
  readonly #ofStep = new Set<string>();
  /** Of turns that have ended. */
  #usedBefore = { inputTokens: 0, outputTokens: 0 };
  /** Of a skill whose data is encrypted: what is written down of its run is, too. */
  #seal: TurnSeal | null = null;

  readonly #run: Run;

  constructor(
    private readonly executor: Executor,
    private readonly taken: Taken,
    private readonly text: RunText,
  ) {
    this.#run = taken.run;
    this.#reactions = new Reactions(taken.run, text.version.snapshot, executor.context);
  }

  async work(signal: AbortSignal): Promise<RunEnd> {
    const { skill, version } = this.text;
    const { snapshot } = version;
    const { library, runs, context } = this.executor;
    const { clock } = context;
    try {
      this.#seal = await this.#sealOf(skill);
      const bounds = await library.boundsOf(skill, version);
      const ends = clock.now() + bounds.max_runtime_seconds * 1000;
      await this.#readCalls();
      const extensions = await extensionVersions(context, snapshot.tools);
      await runs.progress(this.#run.id, this.taken.job, { extensions: JSON.stringify(extensions) });
      const spec = library.specOf(skill, { ...version, isPinned: this.#run.pinned }, bounds);
      const names = snapshot.input_schema.map(({ name }) => name);
      const input = await firstMessage(snapshot.initial_message, this.#run.inputs, names);
      this.#reactions.show({ at: 'start' });
      const end = await this.#turn(spec, { input, key: this.#run.id }, signal);
      const limit = this.#limitOf(end, bounds);
      const message = (reached: Limit) => `stopped at ${LIMITS[reached](bounds)} of '${this.#run.skill}'; raise it, or ask for less`;
      if (limit !== 'max_tool_calls') return outcomeOf(end, limit, message);
      const last = `tool_budget_exhausted: all ${bounds.max_tool_calls} tool calls are made. Answer with what you have.`;
      const policy: TurnPolicy = { allowTools: [] };
      const left = { ...spec.limits, time_budget_ms: Math.max(1, ends - clock.now()) };
      const final = await this.#turn({ ...spec, limits: left }, { input: last, key: `${this.#run.id}/final`, policy }, signal);
      const text = final.text === '' ? end.text : final.text;
      return outcomeOf({ ...final, text }, this.#limitOf(final, bounds), message);
    } catch (error) {
      if (codeOf(error, '') === 'database_failed') throw error; // it is tried again
      return { state: 'error', output: null, error: { code: codeOf(error, 'run_failed'), message: messageOf(error) } };
    }
  }

  /** What an earlier attempt sealed is opened, also where encryption was switched off since. */
  async #sealOf({ id, encryption_enabled }: SavedSkill): Promise<TurnSeal | null> {
    if (encryption_enabled) return this.executor.runs.seal.of(id);
    return this.#run.attempt === 1 ? null : this.executor.runs.seal.of(id).catch(() => null); // then nothing was sealed that could be opened
  }

  /** What earlier attempts did is neither counted nor shown again. */
  async #readCalls(): Promise<void> {
    if (this.#run.attempt === 1) return;
    let noted = 0;
    for (const { call, what } of await this.executor.runs.steps(this.#run)) {
      if (call === null) continue;
      noted += 1;
      this.#ofStep.add(`${call} ${what}`);
      this.#reactions.wasShown({ at: 'tool', tool: what.split(' ', 1)[0] ?? '' });
    }
    this.#calls = Math.max(this.#run.toolCalls, noted); // the row may lack those of the last step, and of many only the last are noted
    this.#reactions.wasShown({ at: 'start' });
  }

  /** Which limit of a run ended a turn; null: none of them. One that had ended before this attempt does not say: then what the run has used does. */
  #limitOf({ reason, error }: Pick<End, 'reason' | 'error'>, { max_iterations, max_tool_calls }: Bounds): Limit | null {
    if (reason !== 'limit') return null;
    if (error?.limit !== undefined) return isLimit(error.limit) ? error.limit : null;
    if (this.#calls >= max_tool_calls) return 'max_tool_calls';
    return this.#run.steps >= max_iterations ? 'max_turns' : 'time_budget_ms';
  }

  async finish(end: RunEnd): Promise<void> {
    const { text } = this;
    const { runs } = this.executor;
    const { run, job } = this.taken;
    if (end.error !== null && end.state === 'queued') await this.#did(this.#seal === null ? end.error.message : end.error.code); // it may wait for long
    if (end.state === 'waiting' || end.state === 'queued') return runs.pause(run.id, job, end.state);
    const delivers = (end.state === 'ok' || end.state === 'max_iterations') && isDelivered(run, text.version.snapshot.output_target);
    const output = this.#seal === null ? end.output : await runs.seal.sealed(run.skillId, end.output);
    await runs.finish(run.id, job, { ...end, output }, delivers);
    if (end.state === 'ok' || end.state === 'max_iterations') this.#reactions.show({ at: 'end' });
    else if (end.state === 'error' || end.state === 'timeout') this.#reactions.show({ at: 'error' });
  }

  async #turn(
    agent: AgentSpec,
    { input, key, policy }: { readonly input: string; readonly key: string; readonly policy?: TurnPolicy },
    signal: AbortSignal,
  ): Promise<End> {
    const { agents, logger } = this.executor.context;
    const { run } = this.taken;
    const { channelId } = run.origin;
    const request = {
      agent,
      input,
      key,
      threadId: threadOf(run.id),
      channelId: channelId ?? 'runs',
      userId: run.actsAs,
      policy: { ...policy, savedSkill: run.skill },
      ...(this.#seal === null ? {} : { seal: this.#seal }),
    };
    const isSealed = this.#seal !== null;
    for await (const event of agents.run(request, signal)) {
      if (event.type === 'turn-end') {
        this.#usedBefore = sum(this.#usedBefore, event.usage);
        await this.#progress({}, this.#usedBefore);
        return event;
      }
      if (event.type === 'tool-call') {
        const what = isSealed ? event.name : `${event.name} ${JSON.stringify(event.input)}`.slice(0, MOST_SAID);
        if (this.#ofStep.has(`${event.id} ${what}`)) continue;
        this.#ofStep.add(`${event.id} ${what}`);
        this.#calls += 1;
        this.#reactions.show({ at: 'tool', tool: event.name });
        await this.#did(what, event.id);
      } else if (event.type === 'tool-result' && !event.ok) {
        const { code = 'failed', message = '' } = event.error ?? {};
        if (code === 'denied') logger.warn('a tool was denied to a saved skill', { skill: run.skill, run: run.id, tool: event.name });
        await this.#did(`${event.name} ${code}${isSealed ? '' : `: ${message}`}`);
      } else if (event.type === 'notice') {
        await this.#did(isSealed ? event.code : event.message);
      } else if (event.type === 'step-end') {
        this.#ofStep.clear();
        await this.#progress({ steps: event.step + 1 }, sum(this.#usedBefore, event.usage));
      }
    }
    return { type: 'turn-end', reason: 'aborted', text: '', usage: { inputTokens: 0, outputTokens: 0 } };
  }

  /** The calls are counted in the row by the step's end. */
  async #did(what: string, call: string | null = null): Promise<void> {
    await this.taken.job.note({ what: what.slice(0, MOST_SAID), call });
  }

  async #progress(progress: { readonly steps?: number }, { inputTokens, outputTokens }: Run['usage']): Promise<void> {
    const used = { input_tokens: inputTokens, output_tokens: outputTokens };
    await this.executor.runs.progress(this.#run.id, this.taken.job, { ...progress, ...used, tool_calls: this.#calls });
  }
}

/** Versions of the extensions that these tools are of. */
async function extensionVersions(context: ExtensionContext, tools: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const known = await context.use(Permissions).tools();
  const named = known.filter(({ extensionId, name }) => tools.includes(`${extensionId}/${name}`));
  return Object.fromEntries(named.map(({ extensionId, version }) => [extensionId, version]));
}

/** Limits of its agent, as its turns name them, in the words of saved skills. */
const LIMITS = {
  max_turns: ({ max_iterations }: Bounds) => `max_iterations (${max_iterations})`,
  max_tool_calls: ({ max_tool_calls }: Bounds) => `max_tool_calls (${max_tool_calls})`,
  max_tokens: () => 'the tokens that a run may use',
  time_budget_ms: ({ max_runtime_seconds }: Bounds) => `max_runtime (${max_runtime_seconds}s)`,
};
type Limit = keyof typeof LIMITS;

const isLimit = (name: string): name is Limit => Object.hasOwn(LIMITS, name);

function outcomeOf(end: End, limit: Limit | null, message: (limit: Limit) => string): RunEnd {
  const { reason, text, error = null } = end;
  switch (reason) {
    case 'done':
      return { state: 'ok', output: text, error: null };
    case 'awaiting_approval':
      return { state: 'waiting', output: null, error: null };
    case 'aborted':
      return { state: 'cancelled', output: text === '' ? null : text, error: null };
    case 'error':
      if (error?.code === 'model_rate_limited') return { state: 'queued', output: null, error }; // that costs none of its own time
      return { state: 'error', output: text === '' ? null : text, error };
    case 'limit': {
      const state =
        limit === 'max_turns' ? 'max_iterations' : limit === 'time_budget_ms' ? 'timeout' : limit === 'max_tool_calls' ? 'ok' : 'error';
      if (state === 'ok' || error === null) return { state, output: text, error: null };
      return { state, output: text, error: limit === null ? error : { ...error, message: message(limit) } };
    }
  }
}

function sum(one: Run['usage'], other: Run['usage']): Run['usage'] {
  return { inputTokens: one.inputTokens + other.inputTokens, outputTokens: one.outputTokens + other.outputTokens };
}

/** What a run is told first: the skill's own message with the inputs in it, else the inputs themselves. */
export async function firstMessage(template: string, inputs: Inputs, names: readonly string[]): Promise<string> {
  if (template !== '') {
    const values = Object.fromEntries(names.map((name) => [name, Object.hasOwn(inputs, name) ? String(inputs[name]) : '']));
    return renderTemplate(template, values, []);
  }
  const given = Object.entries(inputs);
  return given.length === 0 ? 'Run.' : given.map(([name, value]) => `${name}: ${String(value)}`).join('\n');
}

/** Shows by emoji how far a run is, on the message that asked for it. What fails is logged and changes nothing. */
class Reactions {
  readonly #shown = new Set<string>();
  #last: Promise<void> = Promise.resolve();

  constructor(
    private readonly run: Pick<Run, 'id' | 'origin'>,
    private readonly skill: Pick<SavedSkill, 'default_emoji' | 'state_react_emoji'>,
    private readonly context: Pick<ExtensionContext, 'find' | 'logger'>,
  ) {}

  /** The same one is shown once, and each after the one before. */
  show(moment: ReactionMoment): void {
    const emoji = emojiOf(this.skill, moment);
    const { channelId, message } = this.run.origin;
    if (emoji === null || this.#shown.has(emoji) || message === null || channelId === null) return;
    this.#shown.add(emoji);
    this.#last = this.#last
      .then(() => this.#send(channelId, message, emoji))
      .catch((error: unknown) => this.context.logger.warn('a reaction was not shown', { run: this.run.id, reason: messageOf(error) }));
  }

  /** By an earlier attempt. */
  wasShown(moment: ReactionMoment): void {
    const emoji = emojiOf(this.skill, moment);
    if (emoji !== null) this.#shown.add(emoji);
  }

  async #send(channelId: string, message: string, emoji: string): Promise<void> {
    const channel = (await channelsOf(this.context)).find((each) => each.extensionId === channelId || each.kinds.includes(channelId));
    await channel?.react?.(message, emoji);
  }
}
