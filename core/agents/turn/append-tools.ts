import type { TurnInfo } from '../../contract/index.ts';
import { countTokens } from '../compaction/tokens.ts';
import { toolIds, type OfferedTool } from '../tools/tools.ts';
import { withTurnTools } from '../tools/turn-tools.ts';
import { functionTool } from './begin.ts';
import type { DecidedCall } from './calls.ts';
import { tell } from './noticer.ts';
import type { RunningTurn } from './turn-types.ts';
import { untilAborted } from './until-aborted.ts';

/** Those among the extensions with tools of one turn that a step called, or that were late with some. */
export function providersToAsk({ prepared, lateProviders }: RunningTurn, calls: readonly DecidedCall[]): readonly string[] {
  const { turnToolProviders: providers } = prepared;
  return providers.length === 0
    ? providers
    : providers.filter((id) => lateProviders.includes(id) || calls.some(({ record }) => record.extensionId === id));
}

/** Asks `providers` again what they bring to this turn; what is new is offered from the next step. Never rejects. */
export async function appendTools(turn: RunningTurn, providers: readonly string[]): Promise<void> {
  const { deps, prepared, signal } = turn;
  const offered = [...turn.toolsByName.values()];
  const info: TurnInfo = { ...turn.info, tools: prepared.ownTools };
  const { extensions } = deps;
  const { policy, reserved } = prepared;
  const question = { extensions, clock: deps.clock, providers, turn: info, policy, reserved, offered, mayRedescribe: false };
  const found = await untilAborted(withTurnTools(question, signal), signal).catch(() => null); // aborted: the loop says so
  if (found === null) return;
  turn.lateProviders = [...turn.lateProviders.filter((id) => !providers.includes(id)), ...found.late];
  tell(turn, found.notices);
  if (found.tools.length > offered.length) await append(turn, found.tools.slice(offered.length));
}

async function append(turn: RunningTurn, added: readonly OfferedTool[]): Promise<void> {
  const functions = added.map(functionTool);
  turn.toolsByName = new Map([...turn.toolsByName, ...added.map((tool) => [tool.modelName, tool] as const)]);
  turn.functionTools = [...turn.functionTools, ...functions];
  turn.info = { ...turn.info, tools: toolIds([...turn.toolsByName.values()]) };
  // What has been measured covers the tools that there were.
  if (turn.meter.counted > 0) turn.meter.tokens += (await countTokens([JSON.stringify(functions)]))[0] ?? 0;
}
