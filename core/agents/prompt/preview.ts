import type { Message } from '../../contract/index.ts';
import { prepare } from '../turn/begin.ts';
import { withOwnModel } from '../turn/foreign-turn.ts';
import { sentHistory } from '../turn/history.ts';
import { assemble, userMessage } from '../turn/messages.ts';
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
  const loaded = request.threadId === undefined ? null : deps.threads.load(threadId);
  const history = sentHistory(loaded?.messages ?? []);
  const prepared = await prepare(
    deps,
    {
      turnId: 'preview',
      threadId,
      spec,
      notes,
      policy: withOwnModel(deps, spec, {}, null),
      channelId,
      userId,
      date: loaded?.thread.date ?? dayOf(deps.clock.now()),
      text: input,
      history,
      compactions: loaded?.thread.compactions ?? 0,
      correlationId: 'preview',
      depth: 0,
      key: null,
    },
    signal,
  );
  const past = history.map(({ message }) => message);
  const message = userMessage(
    prepared.turnParts.map(({ text }) => text),
    input,
    prepared.documents,
  );
  const tools = prepared.functionTools.map(({ name, description = '', inputSchema }) => ({ name, description, inputSchema }));
  const parts: readonly NamedText[] = [
    ...prepared.systemParts,
    ...(past.length === 0 ? [] : [{ name: 'history', text: past.map(textOf).join('\n') }]),
    ...prepared.documents.map(({ extensionId, key, text }) => ({ name: `${extensionId} ${key} (this message)`, text })),
    ...prepared.turnParts.map(({ name, text }) => ({ name: `${name} (this message)`, text })),
    { name: 'message', text: input },
    ...(tools.length === 0 ? [] : [{ name: 'tools', text: JSON.stringify(tools) }]),
  ];
  const counts = await countTokens(parts.map(({ text }) => text));
  return {
    system: prepared.system,
    messages: assemble('', [...past, message]),
    tools,
    tokens: {
      total: counts.reduce((total, tokens) => total + tokens, 0),
      parts: parts.map(({ name }, index) => ({ name, tokens: counts[index] ?? 0 })),
    },
  };
}
