import { didYouMean, PithError, toolError, type JsonValue, type ToolResult, type TurnInfo } from '../contract/index.ts';
import { decide } from './gate.ts';
import { newId } from './new-id.ts';
import { LOCAL_USER, UNKNOWN_CHANNEL } from './open-turn.ts';
import { resolveTools, type OfferedTool } from './tools.ts';
import type { TurnDependencies } from './turn-types.ts';

/** The tools that an agent would be offered now. Rejects `agent_unknown` or `agent_failed`. */
export async function toolsOf(deps: TurnDependencies, agentId: string): Promise<readonly OfferedTool[]> {
  const { spec } = await deps.registry.resolve(agentId);
  return (await resolveTools(spec, deps.extensions)).tools;
}

/** Calls one tool as that agent would, through the gate, without a model. `name` as the model sees it, or `extension/tool`. */
export async function callToolAs(deps: TurnDependencies, agentId: string, name: string, input: JsonValue, signal: AbortSignal = new AbortController().signal): Promise<ToolResult> {
  const { spec } = await deps.registry.resolve(agentId);
  const { tools } = await resolveTools(spec, deps.extensions);
  const found = tools.find(({ modelName, extensionId, descriptor }) => modelName === name || `${extensionId}/${descriptor.name}` === name);
  if (found === undefined) {
    return toolError('tool_unknown', `the agent '${spec.id}' has no tool '${name}'${didYouMean(name, tools.map(({ modelName }) => modelName))}`);
  }
  const { extensionId, descriptor } = found;
  const needsApproval = descriptor.needsApproval === 'always' || (descriptor.needsApproval === 'maybe' && (await asks(deps, found, input)));
  const decision = decide({ extensionId, tool: descriptor.name, needsApproval, callsBefore: 0, limits: spec.limits, policy: {} });
  if (decision.kind === 'refuse') return toolError(decision.code, decision.message);
  if (decision.kind === 'ask') return toolError('approval_unavailable', `not run: ${decision.reason}, and nobody can be asked here`);
  const id = newId(deps.clock);
  const info: TurnInfo = {
    id, threadId: `call/${id}`, agent: spec, channelId: UNKNOWN_CHANNEL, userId: LOCAL_USER,
    tools: tools.map((tool) => `${tool.extensionId}/${tool.descriptor.name}`),
    model: await modelOf(deps, spec.model), userTexts: [], compactions: 0, correlationId: id, depth: 0,
  };
  return deps.extensions.callTool(extensionId, descriptor.name, input, { turn: info, idempotencyKey: `${id}/0/0` }, signal);
}

async function asks(deps: TurnDependencies, { extensionId, descriptor }: OfferedTool, input: JsonValue): Promise<boolean> {
  try {
    return await deps.extensions.needsApproval(extensionId, descriptor.name, input);
  } catch {
    return true; // who cannot say gets asked about
  }
}

/** A tool can be called while no model can: it is only told that there is none. */
async function modelOf(deps: TurnDependencies, reference: string): Promise<TurnInfo['model']> {
  try {
    const { ref, contextWindow } = await deps.models.resolve(reference);
    return { ref, contextWindow };
  } catch (error) {
    if (!(error instanceof PithError)) throw error;
    return { ref: 'none', contextWindow: null };
  }
}
