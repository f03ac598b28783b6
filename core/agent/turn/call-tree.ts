import { counted } from '@pith/plain-text';
import { type AgentSpec, PithError, type TurnRequest } from '../../contract/index.ts';
import { costOf } from '../../models/index.ts';
import type { Charge, Usage } from '../threads/thread.ts';
import type { RunningTurn, TurnEnd } from './running-turn.ts';

/** Where a turn is among those that called it. */
export interface CallNode {
  /** The turn that called it, while that runs. */
  readonly parent: RunningTurn | null;
  readonly depth: number;
}

/** The turns that run now: who called whom. */
export interface CallTree {
  /** The place of a turn that begins or goes on. Throws `limit_reached`, or `thread_busy` where waiting would never end. */
  node(request: TurnRequest): CallNode;
  began(turn: RunningTurn): void;
  ended(turn: RunningTurn): void;
}

const MOST_DEPTH = 5;
const MOST_CHILDREN = 10;

export function createCallTree(): CallTree {
  const running = new Map<string, RunningTurn>();
  return {
    node({ parent: calling, threadId }) {
      if (calling === undefined) return { parent: null, depth: 0 };
      const parent = running.get(calling.id) ?? null;
      const depth = (parent?.record.depth ?? calling.depth) + 1;
      if (depth > MOST_DEPTH) throw limit(`agents call each other ${MOST_DEPTH} deep at most`);
      for (const turn of callers(parent)) {
        if (turn.record.threadId !== threadId) continue;
        throw new PithError('thread_busy', `thread '${threadId}' is in use by a turn that waits for this one`, {
          cure: 'give the called agent a separate thread',
        });
      }
      return { parent, depth };
    },
    began: (turn) => void running.set(turn.record.id, turn),
    ended: (turn) => void running.delete(turn.record.id),
  };
}

/** `turn`, the turn that called it, and so on. */
export function* callers(turn: RunningTurn | null): Generator<RunningTurn, void, undefined> {
  for (let each = turn; each !== null; each = each.parent) yield each;
}

/** Counts a turn that begins; one that goes on was counted when it began. Throws `limit_reached`. */
export function countCalled({ parent }: CallNode): void {
  if (parent === null) return;
  if (parent.progress.delegated.turns >= MOST_CHILDREN) throw limit(`one turn calls ${MOST_CHILDREN} agents at most`);
  parent.progress.delegated.turns += 1;
}

/** What all that called have used through the turn that they wait for. */
export function chargesOf(parent: RunningTurn | null): readonly Charge[] {
  return [...callers(parent)].map(({ record, progress, fence }) => ({
    turnId: record.id,
    delegated: progress.delegated,
    usage: progress.usage,
    fence,
  }));
}

/** What a turn uses, its callers have used. Returns it with what it costs. */
export function spendTokens(turn: RunningTurn, inputTokens: number, outputTokens: number): Usage {
  const tokens = { inputTokens, outputTokens };
  const used = withCost(tokens, costOf(tokens, turn.deps.models.price(turn.plan.model.ref)));
  turn.progress.unrecorded = sumOf(turn.progress.unrecorded, used);
  for (const { progress } of callers(turn)) progress.usage = sumOf(progress.usage, used);
  return used;
}

export const NO_USE: Usage = { inputTokens: 0, outputTokens: 0 };

/** null: it is not known. */
export function withCost(used: Usage, cost: number | null): Usage {
  const { inputTokens, outputTokens } = used;
  return cost === null ? { inputTokens, outputTokens } : { inputTokens, outputTokens, cost };
}

/** What is known of one part only is not known of the sum. */
export function sumOf(one: Usage, other: Usage): Usage {
  const [a, b] = [dollarsOf(one), dollarsOf(other)];
  const sum = { inputTokens: one.inputTokens + other.inputTokens, outputTokens: one.outputTokens + other.outputTokens };
  return sum.inputTokens + sum.outputTokens === 0 ? sum : withCost(sum, a === null || b === null ? null : a + b);
}

/** null: it is not known. */
function dollarsOf({ inputTokens, outputTokens, cost }: Usage): number | null {
  return cost ?? (inputTokens + outputTokens === 0 ? 0 : null);
}

/** Takes a step of the limits while the model is asked, so that turns side by side do not all ask for the last one. */
export function reserveStep(turn: RunningTurn): void {
  for (const { progress } of callers(turn)) progress.asking.add(turn.record.id);
}

/** Gives back a step that came to nothing. */
export function releaseStep(turn: RunningTurn): void {
  for (const { progress } of callers(turn)) progress.asking.delete(turn.record.id);
}

export function spendStep(turn: RunningTurn): void {
  releaseStep(turn);
  turn.progress.steps += 1;
  for (const caller of callers(turn.parent)) caller.progress.delegated.steps += 1;
}

export function spendCalls(turn: RunningTurn, calls: number): void {
  turn.progress.calls += calls;
  for (const caller of callers(turn.parent)) caller.progress.delegated.calls += calls;
}

/** Throws `settings_invalid` where the cost is limited, of the turn or of one that called it, and its model has no price. */
export function refuseUnpriced({ deps, plan, parent }: Pick<RunningTurn, 'deps' | 'plan' | 'parent'>): void {
  const { ref } = plan.model;
  const isLimited = [plan, ...[...callers(parent)].map((caller) => caller.plan)].some(({ policy }) => policy.maxCost !== undefined);
  if (!isLimited || deps.models.price(ref) !== null) return;
  throw new PithError('settings_invalid', `the cost of this turn is limited, and the price of '${ref}' is not known`, {
    where: ref,
    cure: `write it into the settings: prices: { ${ref}: { input: 2.5, output: 10 } }, in dollars for a million tokens`,
  });
}

function limit(why: string): PithError {
  return new PithError('limit_reached', `not run: ${why}`, { cure: 'do it in this turn, or tell the user what remains' });
}

/** What the time budget of `turn` aborts it and all that it called with. */
export class TimeBudgetSpent extends Error {
  constructor(readonly turn: RunningTurn) {
    super('the time budget of the turn is spent');
    this.name = 'TimeBudgetSpent';
  }
}

/** A limit, and whose it is: the turn's own or that of a turn which called it. */
export interface ReachedLimit {
  readonly limit: keyof AgentSpec['limits'] | 'cost';
  readonly of: RunningTurn;
}

/** The limit that forbids another model step, or null. */
export function limitReached(turn: RunningTurn): ReachedLimit | null {
  for (const of of callers(turn)) {
    const { limits, policy } = of.plan;
    const { steps, asking, delegated, usage } = of.progress;
    if (steps + asking.size + delegated.steps >= limits.max_turns) return { limit: 'max_turns', of };
    if (usage.inputTokens + usage.outputTokens >= limits.max_tokens) return { limit: 'max_tokens', of };
    if (policy.maxCost !== undefined && (dollarsOf(usage) ?? Infinity) >= policy.maxCost) return { limit: 'cost', of };
  }
  return timeSpent(turn.signal);
}

/** Whose time budget aborted, or null. */
export function timeSpent({ aborted, reason }: AbortSignal): ReachedLimit | null {
  return aborted && reason instanceof TimeBudgetSpent ? { limit: 'time_budget_ms', of: reason.turn } : null;
}

/** How many calls may still be made, and whose limit says so. */
export function callsLeft(turn: RunningTurn): ReachedLimit & { readonly calls: number } {
  let least = { limit: 'max_tool_calls' as const, of: turn, calls: Infinity };
  for (const of of callers(turn)) {
    const calls = Math.max(0, of.plan.limits.max_tool_calls - of.progress.calls - of.progress.delegated.calls);
    if (calls < least.calls) least = { ...least, of, calls };
  }
  return least;
}

/** How many tokens an answer may have, and whose limit says so. */
export function tokensLeft(turn: RunningTurn): ReachedLimit & { readonly tokens: number } {
  const price = turn.deps.models.price(turn.plan.model.ref);
  const each = [...callers(turn)].flatMap((of) => {
    const { limits, policy } = of.plan;
    const { usage } = of.progress;
    const tokens = limits.max_tokens - usage.inputTokens - usage.outputTokens;
    const dollars = (policy.maxCost ?? Infinity) - (dollarsOf(usage) ?? 0);
    return [
      { limit: 'max_tokens' as const, of, tokens },
      { limit: 'cost' as const, of, tokens: price ? (dollars / price.output) * 1_000_000 : Infinity },
    ];
  });
  return each.reduce((least, next) => (next.tokens < least.tokens ? next : least));
}

/** Says which limit ended the turn and what was done so far. */
export function limitEnd(turn: RunningTurn, { limit, of }: ReachedLimit): TurnEnd {
  const used = turn.progress.usage.inputTokens + turn.progress.usage.outputTokens;
  const { id } = of.plan.spec;
  const whose = of === turn ? '' : ` of '${id}', which called this agent`;
  const done = [counted(turn.progress.steps, 'model step'), calls(turn), ...delegated(turn), counted(used, 'token')].join(', ');
  const [reached, more] =
    limit === 'cost'
      ? [`a cost of ${of.plan.policy.maxCost} dollars`, 'allow more']
      : [`${limit} (${of.plan.limits[limit]})`, `raise limits.${limit} of '${id}'`];
  const message = `stopped at ${reached}${whose}; so far: ${done}; send another message to go on, or ${more}`;
  return { reason: 'limit', error: { code: 'limit_reached', message, limit } };
}

function calls(turn: RunningTurn): string {
  const each = [...turn.progress.called].map(([name, times]) => (times === 1 ? name : `${name} × ${times}`));
  return each.length === 0
    ? counted(turn.progress.calls, 'tool call')
    : `${counted(turn.progress.calls, 'tool call')} (${each.join(', ')})`;
}

function delegated({ progress }: RunningTurn): readonly string[] {
  const { turns, steps, calls: made } = progress.delegated;
  return turns === 0 ? [] : [`${counted(turns, 'delegated turn')} (${counted(steps, 'model step')}, ${counted(made, 'tool call')})`];
}
