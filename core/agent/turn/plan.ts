import { messageOf, PithError } from '../../contract/errors.ts';
import type { AgentSpec, Diagnostic, TurnInfo, TurnPolicy } from '../../contract/index.ts';
import type { ResolvedModel } from '../../models/router.ts';
import { untilAborted } from '../../contract/promises.ts';
import type { StoredMessage, TurnRecord } from '../threads/index.ts';
import type { BoundSkill } from '../prompt/bound-skills.ts';
import { fittingDocuments } from '../prompt/documents.ts';
import { gatherContext } from '../prompt/context-pipeline.ts';
import { mayServe, narrowed } from '../tools/gate.ts';
import { instructionsOf } from '../prompt/instructions.ts';
import { userTexts } from './messages.ts';
import type { ContextSource } from '../../kernel/extensions-port.ts';
import { resolveTools, toolIds, type OfferedTool } from '../tools/tools.ts';
import { missingToolsets, withTurnTools } from '../tools/turn-tools.ts';
import type { FunctionTool, Notice, TurnPlan, TurnDependencies } from './turn-types.ts';

/** What a plan is made for. */
export interface PlanRequest {
  /** The turn as it is stored, or as it would be. */
  readonly turn: PlannedTurn;
  /** What admission found; each is said once per thread. */
  readonly notes: readonly Diagnostic[];
  readonly thread: { readonly date: string; readonly compactions: number; readonly history: readonly StoredMessage[] };
  /** The user's text; null when a turn is continued, whose message is in the history already. */
  readonly text: string | null;
}

export type PlannedTurn = Omit<TurnRecord, 'state' | 'steps' | 'usage' | 'startedAt'>;

/** Everything that a turn sends beside the history. The same path serves real turns and previews; nothing is written. */
export async function planTurn(deps: TurnDependencies, request: PlanRequest, signal: AbortSignal): Promise<TurnPlan> {
  signal.throwIfAborted();
  return untilAborted(planned(deps, request, signal), signal);
}

async function planned(deps: TurnDependencies, request: PlanRequest, signal: AbortSignal): Promise<TurnPlan> {
  const { turn, thread, text } = request;
  const { agent: spec, policy, channelId, userId } = turn;
  const { extensions } = deps;
  const [model, resolved, skills, gathered, providers] = await Promise.all([
    deps.models.resolve(policy.model ?? spec.model),
    resolveTools(spec, extensions, policy, deps.registry.callees(spec)),
    deps.skills.read(spec, signal),
    contextSources(deps, policy),
    turnToolProviders(deps, spec, policy),
  ]);
  if (text !== null) refuseUnusable(spec, skills);
  const { reserved } = resolved;
  const asked = infoOf(request, model, toolIds(resolved.tools));
  const question = {
    extensions,
    clock: deps.clock,
    providers,
    turn: asked,
    policy,
    reserved,
    offered: resolved.tools,
    mayRedescribe: true,
  };
  const variables = { sandbox_dir: deps.sandboxDir, date: thread.date, channel: channelId, user: userId };
  const instructing = instructionsOf(spec, skills, variables, (id, prompt) => extensions.renderPrompt(id, prompt, signal));
  instructing.catch(() => undefined); // awaited below
  const { tools, notices, late } =
    providers.length === 0 ? { tools: resolved.tools, notices: [], late: [] } : await withTurnTools(question, signal);
  const info: TurnInfo = tools === resolved.tools ? asked : { ...asked, tools: toolIds(tools) };
  const context = await gatherContext(gathered.sources, info.userTexts.at(-1) ?? '', info, signal);
  const instructions = await instructing;
  const fitting = await fittingDocuments(context.documents, model.contextWindow);
  const systemParts = [...instructions, ...context.system.map(({ extensionId, text: part }) => ({ name: extensionId, text: part }))];
  const skillNotes = skills.flatMap(({ note }) => (note ? [note] : []));
  const skipped = context.skipped.map(({ extensionId, code, message }): Notice => ({
    code,
    message: `'${extensionId}' adds nothing to this turn: ${message}`,
  }));
  return {
    spec,
    info,
    limits: narrowed(spec.limits, policy.limits),
    policy,
    model,
    tools: { offered: tools, functions: tools.map(functionTool), own: asked.tools, reserved, providers, late },
    system: systemParts.map((part) => part.text).join('\n\n'),
    systemParts,
    documents: fitting.documents,
    turnParts: [...fitting.lines, ...context.turn].map(({ extensionId, text: part }) => ({ name: extensionId, text: part })),
    notices: [
      ...[...request.notes, ...resolved.notes, ...skillNotes].flatMap(noticeOf),
      ...notices,
      ...missingToolsets(spec.usesTools, tools),
      ...skipped,
      ...gathered.notices,
      ...(text === null ? [] : fitting.notices),
    ],
  };
}

function infoOf({ turn, thread, text }: PlanRequest, model: ResolvedModel, tools: readonly string[]): TurnInfo {
  const { id, threadId, agent, channelId, userId, policy, correlationId, depth, key } = turn;
  const said = userTexts(thread.history, MOST_TEXTS);
  return {
    id,
    threadId,
    agent,
    channelId,
    userId,
    tools,
    model: { ref: model.ref, contextWindow: model.contextWindow },
    userTexts: text === null ? said : [...said, text].slice(-MOST_TEXTS),
    compactions: thread.compactions,
    correlationId,
    depth,
    ...(key === null ? {} : { key }),
    ...(Object.keys(policy).length === 0 ? {} : { policy }),
  };
}

const MOST_TEXTS = 5;

async function turnToolProviders({ extensions }: TurnDependencies, spec: AgentSpec, policy: TurnPolicy): Promise<readonly string[]> {
  return (await extensions.turnToolProviders(spec)).filter((id) => mayServe(policy, id));
}

/** What a stranger begins is answered to the stranger: it is told nothing that other extensions say. */
async function contextSources(
  deps: TurnDependencies,
  policy: TurnPolicy,
): Promise<{ sources: readonly ContextSource[]; notices: readonly Notice[] }> {
  try {
    const sources = await deps.extensions.contexts();
    return { sources: sources.filter(({ extensionId }) => mayServe(policy, extensionId)), notices: [] };
  } catch (error) {
    return { sources: [], notices: [{ code: 'provider_failed', message: `no context could be gathered: ${messageOf(error)}` }] };
  }
}

/** A skill may have become unusable after the agent was admitted. */
function refuseUnusable(spec: AgentSpec, skills: readonly BoundSkill[]): void {
  const broken = skills.find(({ note }) => note?.severity === 'error')?.note;
  if (broken)
    throw new PithError('agent_failed', `the agent '${spec.id}' cannot run: ${broken.message}`, {
      cure: broken.cure,
      where: spec.origin ?? undefined,
    });
}

export function functionTool({ modelName, descriptor }: OfferedTool): FunctionTool {
  return {
    type: 'function',
    name: modelName,
    description: descriptor.description,
    inputSchema: descriptor.inputSchema as FunctionTool['inputSchema'],
  };
}

function noticeOf({ severity, code, message, cure }: Diagnostic): readonly Notice[] {
  return severity === 'info' ? [] : [{ code, message: cure ? `${message}; ${cure}` : message }];
}
