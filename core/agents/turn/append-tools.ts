import type { TurnEvent, TurnInfo } from '../../contract/index.ts';
import { countTokens } from '../compaction/tokens.ts';
import { toolIds, type OfferedTool } from '../tools/tools.ts';
import { withTurnTools } from '../tools/turn-tools.ts';
import { functionTool } from './plan.ts';
import type { DecidedCall } from './calls.ts';
import type { RunningTurn } from './turn-types.ts';
import { untilAborted } from '../../contract/promises.ts';

/** Those among the extensions with tools of one turn that a step called, or that were late with some. */
export function providersToAsk({ plan, offer }: RunningTurn, calls: readonly DecidedCall[]): readonly string[] {
  const { providers } = plan.tools;
  return providers.length === 0
    ? providers
    : providers.filter((id) => offer.late.includes(id) || calls.some(({ record }) => record.extensionId === id));
}

/** Asks `providers` again what they bring to this turn; what is new is offered from the next step. Returns what is to be said of it; never rejects. */
export async function appendTools(turn: RunningTurn, providers: readonly string[]): Promise<readonly TurnEvent[]> {
  const { deps, plan, signal, offer } = turn;
  const offered = [...offer.toolsByName.values()];
  const info: TurnInfo = { ...offer.info, tools: plan.tools.own };
  const { extensions } = deps;
  const { policy } = plan;
  const { reserved } = plan.tools;
  const question = { extensions, clock: deps.clock, providers, turn: info, policy, reserved, offered, mayRedescribe: false };
  const found = await untilAborted(withTurnTools(question, signal), signal).catch(() => null); // aborted: the loop says so
  if (found === null) return [];
  offer.late = [...offer.late.filter((id) => !providers.includes(id)), ...found.late];
  if (found.tools.length > offered.length) await append(turn, found.tools.slice(offered.length));
  return turn.notices.fresh(turn.record.threadId, found.notices);
}

async function append({ offer, conversation }: RunningTurn, added: readonly OfferedTool[]): Promise<void> {
  const functions = added.map(functionTool);
  offer.toolsByName = new Map([...offer.toolsByName, ...added.map((tool) => [tool.modelName, tool] as const)]);
  offer.functionTools = [...offer.functionTools, ...functions];
  offer.info = { ...offer.info, tools: toolIds([...offer.toolsByName.values()]) };
  // What has been measured covers the tools that there were.
  if (conversation.meter.counted > 0) conversation.meter.tokens += (await countTokens([JSON.stringify(functions)]))[0] ?? 0;
}
