import {
  type Command,
  type CommandProvider,
  type Diagnostic,
  type ExtensionContext,
  type JsonValue,
  Places,
  type ToolGuard,
  type ToolResult,
  type TurnInfo,
} from 'pith';
import { config, type Hook, hooksOf, isAbout } from './config.ts';
import { listHooks } from './list-hooks.ts';
import { type Outcome, runHook } from './run-hook.ts';

type Call = Parameters<ToolGuard['beforeToolCall']>[0];
type EndReason = Parameters<NonNullable<ToolGuard['turnEnded']>>[1];

/** Room for the start and the end of its processes beside their own limit. */
const MARGIN_MS = 5000;
const MOST_MS = 600_000;
const NOBODYS = 'pith/doctor';

/** The person's own commands around tool calls. */
export default class Hooks implements ToolGuard, CommandProvider {
  static readonly config = config;

  readonly timeoutMs: number;
  readonly #hooks: readonly Hook[];
  /** Why the last run of a hook did not do what it is for, by its name. */
  readonly #problems = new Map<string, string>();

  constructor(private readonly context: ExtensionContext<Parameters<typeof hooksOf>[0]>) {
    this.#hooks = hooksOf(context.config);
    const together = (on: Hook['on']) => this.#of(on).reduce((sum, { timeout_ms: ms }) => sum + ms, MARGIN_MS);
    this.timeoutMs = Math.min(MOST_MS, Math.max(together('before_tool'), together('after_tool'), together('turn_end')));
  }

  async beforeToolCall(call: Call, signal?: AbortSignal) {
    let question: string | null = null;
    for (const hook of this.#of('before_tool', call.tool)) {
      const outcome = await this.#run(hook, call.turn, aboutCall(call), signal);
      if (outcome.kind === 'refused') return { deny: `${outcome.reason} (hook '${hook.name}')` };
      if (outcome.kind === 'failed' && call.effect !== 'read') return { deny: `${outcome.why}; a person can ${cureOf(hook)}` };
      const { decision, reason } = outcome.kind === 'passed' ? outcome.answer : {};
      const why = `${typeof reason === 'string' ? reason : 'it gave no reason'} (hook '${hook.name}')`;
      if (decision === 'deny' || decision === 'block') return { deny: why };
      if (decision === 'ask') question = question === null ? why : `${question}; ${why}`;
    }
    return question === null ? null : { ask: question };
  }

  async afterToolCall(call: Call, result: ToolResult, signal?: AbortSignal) {
    if (!result.ok) return null;
    const notes: string[] = [];
    for (const hook of this.#of('after_tool', call.tool)) {
      const outcome = await this.#run(hook, call.turn, { ...aboutCall(call), tool_response: result.output }, signal);
      if (outcome.kind === 'refused') notes.push(outcome.reason);
      if (outcome.kind === 'passed' && typeof outcome.answer.note === 'string') notes.push(outcome.answer.note);
    }
    return notes.length === 0 ? null : { note: notes.join('\n') };
  }

  async turnEnded(turn: TurnInfo, reason: EndReason, signal?: AbortSignal) {
    if (turn.depth > 0) return; // an agent that another one called
    for (const hook of this.#of('turn_end')) await this.#run(hook, turn, { agents: [turn.agent.id], reason }, signal);
  }

  findings(): readonly Diagnostic[] {
    return [...this.#problems].map(([name, message]) => ({ severity: 'warning', code: 'hook_failed', message, cure: cureOf({ name }) }));
  }

  getCommands(): readonly Command[] {
    return [listHooks(this.#hooks)];
  }

  /** In the order of the settings; `tool`: only those for it. */
  #of(on: Hook['on'], tool?: string): readonly Hook[] {
    return this.#hooks.filter((hook) => hook.on === on && (tool === undefined || (tool !== NOBODYS && isAbout(hook, tool))));
  }

  async #run(hook: Hook, turn: TurnInfo, about: Readonly<Record<string, JsonValue>>, signal?: AbortSignal): Promise<Outcome> {
    const { project, sandbox } = this.context.use(Places);
    const folder = project ?? sandbox;
    const { threadId, userId } = turn;
    const variables = {
      PITH_HOOK: hook.on,
      PITH_PROJECT: folder,
      PITH_THREAD: threadId,
      PITH_TOOL: typeof about['tool_name'] === 'string' ? about['tool_name'] : '',
    };
    const facts = { hook_event_name: hook.on, session_id: threadId, cwd: folder, user: userId };
    const outcome = await runHook(hook, { folder, about: { ...facts, ...about }, variables, clock: this.context.clock }, signal);
    await this.#report(hook, turn, outcome);
    return outcome;
  }

  /** A person hears once of a hook that does not do what it is for, until it does again. */
  async #report(hook: Hook, { threadId, userId }: TurnInfo, outcome: Outcome): Promise<void> {
    if (outcome.kind === 'passed' || outcome.kind === 'refused') return void this.#problems.delete(hook.name);
    const isKnown = this.#problems.has(hook.name);
    this.#problems.set(hook.name, outcome.why);
    this.context.logger.warn('a hook failed', { hook: hook.name, why: outcome.why });
    if (isKnown) return;
    const text = `Warning: ${outcome.why}; to end this, ${cureOf(hook)}`;
    const about = { kind: 'extension', id: this.context.id };
    await this.context.events.publish('notify', { v: 1, text, kind: 'hook', about, target: null, threadId, userId }, { key: threadId });
  }
}

function aboutCall({ tool, input, effect, agents }: Call): Readonly<Record<string, JsonValue>> {
  return { tool_name: tool.slice(tool.indexOf('/') + 1), tool_input: input, tool, effect, agents };
}

function cureOf({ name }: Pick<Hook, 'name'>): string {
  return `correct the hook, or take it out of the settings (extensions.hooks.${name})`;
}
