import type { Message } from '../../contract/index.ts';
import { planTurn } from '../turn/plan.ts';
import { withOwnModel } from '../turn/foreign-turn.ts';
import { assemble, sentHistory, userMessage } from '../turn/messages.ts';
import { dayOf, LOCAL_USER, UNKNOWN_CHANNEL } from '../turn/open-turn.ts';
import { countTokens, textOf } from '../compaction/tokens.ts';
import type { FunctionTool, NamedText, TurnDependencies } from '../turn/turn-types.ts';

export interface PreviewRequest {
  readonly agent: string;
  readonly input: string;
  readonly threadId?: string;
  readonly channelId?: string;
  readonly userId?: string;
}

/** What the model would be sent, and what each part of it costs. */
export interface PromptPreview {
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly { readonly name: string; readonly description: string; readonly inputSchema: FunctionTool['inputSchema'] }[];
  readonly tokens: { readonly total: number; readonly parts: readonly { readonly name: string; readonly tokens: number }[] };
}

/** Exactly what a turn would send first, made by the same path. Nothing is written and no model is asked. */
export async function preview(
  deps: TurnDependencies,
  request: PreviewRequest,
  signal: AbortSignal = new AbortController().signal,
): Promise<PromptPreview> {
  const { threadId = 'preview', channelId = UNKNOWN_CHANNEL, userId = LOCAL_USER, input } = request;
  const { spec, notes } = await deps.registry.resolve(request.agent);
  const loaded = request.threadId === undefined ? null : await deps.threads.load(threadId);
  const history = sentHistory(loaded?.messages ?? []);
  const policy = withOwnModel(deps, spec, {}, null);
  const turn = { id: 'preview', threadId, agent: spec, channelId, userId, policy, correlationId: 'preview', depth: 0, key: null };
  const thread = { date: loaded?.thread.date ?? dayOf(deps.clock.now()), compactions: loaded?.thread.compactions ?? 0, history };
  const plan = await planTurn(deps, { turn, notes, thread, text: input }, signal);
  const past = history.map(({ message }) => message);
  const message = userMessage(
    plan.turnParts.map(({ text }) => text),
    input,
    plan.documents,
  );
  const tools = plan.tools.functions.map(({ name, description = '', inputSchema }) => ({ name, description, inputSchema }));
  const parts: readonly NamedText[] = [
    ...plan.systemParts,
    ...(past.length === 0 ? [] : [{ name: 'history', text: past.map(textOf).join('\n') }]),
    ...plan.documents.map(({ extensionId, key, text }) => ({ name: `${extensionId} ${key} (this message)`, text })),
    ...plan.turnParts.map(({ name, text }) => ({ name: `${name} (this message)`, text })),
    { name: 'message', text: input },
    ...(tools.length === 0 ? [] : [{ name: 'tools', text: JSON.stringify(tools) }]),
  ];
  const counts = await countTokens(parts.map(({ text }) => text));
  return {
    system: plan.system,
    messages: assemble('', [...past, message]),
    tools,
    tokens: {
      total: counts.reduce((total, tokens) => total + tokens, 0),
      parts: parts.map(({ name }, index) => ({ name, tokens: counts[index] ?? 0 })),
    },
  };
}
