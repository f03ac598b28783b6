import { withCure } from '@pith/plain-text';
import type { FunctionTool, TurnDependencies, TurnPlan } from './running-turn.ts';
import { type AgentSpec, type Diagnostic, type Message, PithError, type TurnInfo } from '../../contract/index.ts';
import { LOCAL_USER } from '../../declarations/index.ts';
import type { ResolvedModel } from '../../models/index.ts';
import { untilAborted } from '@pith/promises';
import { countTokens } from '@pith/token-count';
import type { StoredMessage, TurnRecord } from '../threads/thread.ts';
import { type BoundSkill, instructionsOf, type NamedText } from '../prompt/instructions.ts';
import { contextSources, type Notice, fittingDocuments, gatherContext } from '../prompt/context.ts';
import { mayServe, narrowed, PLAN_MODE_TEXT } from '../tools/gate.ts';
import { providerSchema } from '../tools/sent-tools.ts';
import { sentHistory } from '../prompt/history.ts';
import { heldIn, textOf, userMessage, userTexts } from '../prompt/messages.ts';
import { ModelPrompt } from '../prompt/request.ts';
import type { OfferedTool } from '../tools/offered-tool.ts';
import { toolsOfTurn } from '../tools/turn-tools.ts';
import { ofDeclarer, withOwnModel } from './origin.ts';

export const UNKNOWN_CHANNEL = 'none';

/** What a plan is made for. */
interface PlanRequest {
  /** The turn as it is stored, or as it would be. */
  readonly turn: PlannedTurn;
  /** What admission found; each is said once per thread. */
  readonly notes: readonly Diagnostic[];
  readonly thread: { readonly date: string; readonly compactions: number; readonly history: readonly StoredMessage[] };
  /** The user's text; null when a turn is continued, whose message is in the history already. */
  readonly text: string | null;
}

type PlannedTurn = Omit<TurnRecord, 'state' | 'steps' | 'usage' | 'startedAt'>;

/** Everything that a turn sends beside the history. The same path serves real turns and previews; nothing is written. */
export async function planTurn(deps: TurnDependencies, request: PlanRequest, signal: AbortSignal): Promise<TurnPlan> {
  signal.throwIfAborted();
  return untilAborted(planned(deps, request, signal), signal);
}

async function planned(deps: TurnDependencies, request: PlanRequest, signal: AbortSignal): Promise<TurnPlan> {
  const { turn, thread, text } = request;
  const { agent: spec, policy, channelId, userId } = turn;
  const { host } = deps;
  const renewals = host.providers.tools.renewals.count;
  const resolving = deps.models.resolve(policy.model ?? spec.model);
  const ofTurn = async (own: readonly string[]) => {
    const info = infoOf(request, await resolving, own);
    await deps.hooks?.begin(info, policy);
    return info;
  };
  const [model, tools, skills, contexts] = await Promise.all([
    resolving,
    deps.registry.callees(spec).then((callees) => toolsOfTurn(deps, { spec, userId, policy, callees }, ofTurn, signal)),
    deps.skills.read(spec, signal),
    contextSources(host),
  ]);
  if (text !== null) refuseUnusable(spec, skills);
  const { tools: offered, all, own, reserved, providers, late } = tools;
  const bound = skills.flatMap(({ content }) => (content === null ? [] : { key: content.id, digest: content.sha256 }));
  const info: TurnInfo = { ...tools.info, bound };
  const named = Object.fromEntries(
    offered.map(({ modelName, extensionId, descriptor }) => [modelName, `${extensionId}/${descriptor.name}`]),
  );
  const variables = { tools: named, sandbox_dir: deps.sandboxDir, date: thread.date, channel: channelId, user: userId };
  // What a stranger begins is answered to the stranger: it learns nothing that other extensions say.
  const serving = contexts.filter(({ extensionId }) => mayServe(policy, extensionId));
  const [instructions, context] = await Promise.all([
    instructionsOf(spec, skills, variables, (id, prompt) => host.agents.renderPrompt(id, prompt, signal)),
    gatherContext(serving, info, signal),
  ]);
  const fitting = fittingDocuments(context.documents, model.contextWindow);
  const systemParts = [
    ...instructions,
    ...context.system.map(({ extensionId, text: part }) => ({ name: extensionId, extensionId, text: part })),
  ];
  const skillNotes = skills.flatMap(({ note }) => (note ? [note] : []));
  return {
    spec,
    info,
    limits: narrowed(spec.limits, policy.limits),
    policy,
    model,
    tools: { offered, all, functions: offered.map(functionTool), own, reserved, providers, late, renewals },
    system: systemParts.map((part) => part.text).join('\n\n'),
    systemParts,
    documents: fitting.documents,
    turnParts: [
      ...(policy.readOnly ? [{ name: 'plan mode', text: PLAN_MODE_TEXT }] : []),
      ...[...fitting.lines, ...context.turn].map(({ extensionId, text: part }) => ({ name: extensionId, extensionId, text: part })),
    ],
    notices: [
      ...[...request.notes, ...tools.notes, ...skillNotes].flatMap(noticeOf),
      ...tools.notices,
      ...context.notices,
      ...(text === null ? [] : fitting.notices),
    ],
  };
}

function infoOf({ turn, thread, text }: PlanRequest, model: ResolvedModel, tools: readonly string[]): TurnInfo {
  const { id, threadId, agent, channelId, messageId, userId, policy, correlationId, depth, key } = turn;
  const said = userTexts(thread.history, MOST_TEXTS);
  return {
    id,
    threadId,
    agent,
    channelId,
    ...(messageId === undefined ? {} : { messageId }),
    userId,
    tools,
    model: { ref: model.ref, contextWindow: model.contextWindow },
    userTexts: text === null ? said : [...said, text].slice(-MOST_TEXTS),
    compactions: thread.compactions,
    held: heldIn(thread.history),
    bound: [],
    correlationId,
    depth,
    ...(key === null ? {} : { key }),
    ...(Object.keys(policy).length === 0 ? {} : { policy }),
  };
}

const MOST_TEXTS = 5;

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
    inputSchema: providerSchema(descriptor) as FunctionTool['inputSchema'],
  };
}

function noticeOf({ severity, code, message, cure }: Diagnostic): readonly Notice[] {
  return severity === 'info' ? [] : [{ code, message: withCure(message, cure) }];
}

export interface PreviewRequest {
  readonly agent: string;
  readonly input: string;
  readonly threadId?: string;
  readonly channelId?: string;
  readonly userId?: string;
  /** Instead of the agent's. */
  readonly model?: string;
}

/** What the model would be sent, and what each part of it costs. */
export interface PromptPreview {
  /** `contextWindow`: the tokens that it takes; null: not known. */
  readonly model: { readonly ref: string; readonly contextWindow: number | null };
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly { readonly name: string; readonly description: string; readonly inputSchema: FunctionTool['inputSchema'] }[];
  readonly tokens: { readonly total: number; readonly parts: readonly PreviewedPart[] };
}

interface PreviewedPart {
  readonly name: string;
  /** Whose it is; null: the agent's, the conversation's or the kernel's. */
  readonly extensionId: string | null;
  /** Whether it goes with this message alone. */
  readonly isOfMessage: boolean;
  readonly tokens: number;
}

/** Exactly what a turn would send first, made by the same path. Nothing is written and no model is asked. */
export async function preview(
  deps: TurnDependencies,
  request: PreviewRequest,
  signal: AbortSignal = new AbortController().signal,
): Promise<PromptPreview> {
  const { threadId = 'preview', channelId = UNKNOWN_CHANNEL, userId = LOCAL_USER, input, model } = request;
  const { spec, notes } = await deps.registry.resolve(request.agent);
  const loaded = request.threadId === undefined ? null : await deps.threads.load(threadId);
  const history = sentHistory(loaded?.messages ?? []);
  const policy = withOwnModel(deps, spec, { ...ofDeclarer(spec), ...(model === undefined ? {} : { model }) }, null);
  const turn = { id: 'preview', threadId, agent: spec, channelId, userId, policy, correlationId: 'preview', depth: 0, key: null };
  const thread = { date: loaded?.thread.date ?? dayOf(deps.clock.now()), compactions: loaded?.thread.compactions ?? 0, history };
  const plan = await planTurn(deps, { turn, notes, thread, text: input }, signal);
  const past = history.map(({ message }) => message);
  const message = userMessage(
    plan.turnParts.map(({ text }) => text),
    input,
    { documents: plan.documents },
  );
  const tools = plan.tools.functions.map(({ name, description = '', inputSchema }) => ({ name, description, inputSchema }));
  const parts: readonly (NamedText & { readonly isOfMessage?: true })[] = [
    ...plan.systemParts,
    ...(past.length === 0 ? [] : [{ name: 'history', text: past.map(textOf).join('\n') }]),
    ...plan.documents.map(({ extensionId, key, text }) => ({
      name: `${extensionId} ${key} (this message)`,
      extensionId,
      isOfMessage: true as const,
      text,
    })),
    ...plan.turnParts.map((part) => ({ ...part, name: `${part.name} (this message)`, isOfMessage: true as const })),
    { name: 'message', text: input },
    ...(tools.length === 0 ? [] : [{ name: 'tools', text: JSON.stringify(tools) }]),
  ];
  const counts = parts.map(({ text }) => countTokens(text));
  return {
    model: { ref: plan.model.ref, contextWindow: plan.model.contextWindow },
    system: plan.system,
    messages: new ModelPrompt('', [...past, message], plan.model).sent(),
    tools,
    tokens: {
      total: counts.reduce((total, tokens) => total + tokens, 0),
      parts: parts.map(({ name, extensionId = null, isOfMessage = false }, index) => ({
        name,
        extensionId,
        isOfMessage,
        tokens: counts[index] ?? 0,
      })),
    },
  };
}

export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
