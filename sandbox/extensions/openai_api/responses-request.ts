import { z } from 'pith';
import type { GivenMessage } from 'pith/program_turns';
import { type AskedTurn, partsOf } from './chat-request.ts';
import { functionSchema, imageIn, outputOf, toolsOf } from './content.ts';
import { parsed, refused } from './errors.ts';

export interface AskedResponse extends AskedTurn {
  readonly previous: string | null;
  /** Ids of items that the server keeps, in the place of messages. */
  readonly references: readonly string[];
  readonly store: boolean;
  /** What the response repeats of the request. */
  readonly repeated: Readonly<Record<string, unknown>>;
}

/** Throws `ApiError`. */
export function readResponse(body: unknown): AskedResponse {
  const asked = parsed(responseSchema(), body);
  if (asked.background === true) throw refused('background', 'an answer is made while the request is open', 'leave it out');
  const { input: items } = asked;
  const format = asked.text?.format;
  const functions = (asked.tools ?? []).map((tool, at) => {
    if (tool.type === 'function') return parsed(functionSchema(), tool);
    throw refused(`tools[${at}].type`, `'${tool.type}' is no tool of a program`, "use 'function'");
  });
  return {
    agent: asked.model,
    messages: [...(asked.instructions ? [{ role: 'system' as const, text: asked.instructions }] : []), ...items.flatMap(messagesOf)],
    tools: toolsOf(functions, asked.tool_choice),
    output: outputOf(format, 'text.format'),
    oneCall: asked.parallel_tool_calls === false,
    stream: asked.stream === true,
    previous: asked.previous_response_id ?? null,
    references: items.flatMap((item) => (item.type === 'item_reference' ? [item.id] : [])),
    store: asked.store !== false,
    repeated: {
      instructions: asked.instructions ?? null,
      metadata: asked.metadata ?? {},
      tools: asked.tools ?? [],
      tool_choice: asked.tool_choice ?? 'auto',
      parallel_tool_calls: asked.parallel_tool_calls !== false,
      previous_response_id: asked.previous_response_id ?? null,
      text: { format: format ?? { type: 'text' } },
      store: asked.store !== false,
    },
  };
}

type Item = z.infer<ReturnType<typeof responseSchema>>['input'][number];

function messagesOf(item: Item, at: number): readonly GivenMessage[] {
  switch (item.type) {
    case 'function_call':
      return [{ role: 'assistant', text: '', calls: [{ id: item.call_id, name: item.name, arguments: item.arguments }] }];
    case 'function_call_output':
      return [{ role: 'tool', callId: item.call_id, text: item.output.map(({ text = '' }) => text).join('\n') }];
    case 'message':
      return [saidBy(item, at)];
    default:
      return []; // what a model thought is its own, and what is kept here need not be said again
  }
}

function saidBy({ role, content }: Extract<Item, { type: 'message' }>, at: number): GivenMessage {
  const text = content.flatMap((part) => ('text' in part ? [part.text] : 'refusal' in part ? [part.refusal] : [])).join('\n');
  if (role === 'assistant') return { role, text, calls: [] };
  if (role !== 'user') return { role: 'system', text };
  const images = content.flatMap((part, place) =>
    part.type === 'input_image' ? [imageIn(part.image_url ?? '', ['input', at, 'content', place, 'image_url'])] : [],
  );
  return { role, text, images };
}

function saidText(text: string) {
  return { type: 'input_text', text };
}

/** What this interface reads of a request; other keys are ignored. */
function responseSchema() {
  const part = z.discriminatedUnion('type', [
    z.looseObject({ type: z.enum(['input_text', 'output_text']), text: z.string() }),
    z.looseObject({ type: z.literal('refusal'), refusal: z.string() }),
    z.looseObject({ type: z.literal('input_image'), image_url: z.string().nullish() }),
  ]);
  const item = z.discriminatedUnion('type', [
    z.looseObject({
      type: z.literal('message'),
      role: z.enum(['user', 'assistant', 'system', 'developer']),
      content: partsOf(part, saidText),
    }),
    z.looseObject({ type: z.literal('function_call'), call_id: z.string(), name: z.string(), arguments: z.string() }),
    z.looseObject({
      type: z.literal('function_call_output'),
      call_id: z.string(),
      output: partsOf(z.looseObject({ text: z.string().optional() }), (text) => ({ text })),
    }),
    z.looseObject({ type: z.literal('item_reference'), id: z.string() }),
    z.looseObject({ type: z.literal('reasoning') }),
  ]);
  /** A message may leave its type out. */
  const typed = z.preprocess(
    (given) =>
      typeof given === 'object' && given !== null && 'role' in given && !('type' in given) ? { type: 'message', ...given } : given,
    item,
  );
  return z.looseObject({
    model: z.string().min(1),
    input: partsOf(typed, (text) => ({ role: 'user', content: text })),
    instructions: z.string().nullish(),
    previous_response_id: z.string().nullish(),
    store: z.boolean().nullish(),
    stream: z.boolean().nullish(),
    background: z.boolean().nullish(),
    metadata: z.record(z.string(), z.unknown()).nullish(),
    tools: z.array(z.looseObject({ type: z.string() })).nullish(),
    tool_choice: z.unknown().optional(),
    parallel_tool_calls: z.boolean().nullish(),
    text: z.looseObject({ format: z.looseObject({ type: z.string(), schema: z.unknown().optional() }).nullish() }).nullish(),
  });
}
