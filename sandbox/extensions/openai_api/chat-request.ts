import { z } from 'pith';
import type { GivenMessage, ProgramRequest } from 'pith/program_turns';
import { functionSchema, imageIn, outputOf, toolsOf } from './content.ts';
import { parsed, refused } from './errors.ts';

/** What a request of either interface asks for. */
export interface AskedTurn extends Omit<ProgramRequest, 'by' | 'channelId' | 'threadId'> {
  readonly stream: boolean;
  /** The program takes one call at a time. */
  readonly oneCall: boolean;
}

export interface AskedChat extends AskedTurn {
  readonly includesUsage: boolean;
}

/** Throws `ApiError`. */
export function readChat(body: unknown): AskedChat {
  const asked = parsed(chatSchema(), body);
  if ((asked.n ?? 1) !== 1) throw refused('n', 'an agent gives one answer', 'leave it out');
  const { response_format: format } = asked;
  const schema = format?.type === 'json_schema' ? { type: format.type, schema: format.json_schema?.schema } : format;
  return {
    agent: asked.model,
    messages: asked.messages.map(messageOf),
    tools: toolsOf(
      (asked.tools ?? []).map((tool) => tool.function),
      asked.tool_choice,
    ),
    output: outputOf(schema, 'response_format'),
    oneCall: asked.parallel_tool_calls === false,
    stream: asked.stream === true,
    includesUsage: asked.stream_options?.include_usage === true,
  };
}

function messageOf(message: ChatMessage, at: number): GivenMessage {
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', text: textOf(message.content) };
    case 'user': {
      const images = message.content.flatMap((part, place) =>
        part.type === 'image_url' ? [imageIn(part.image_url.url, ['messages', at, 'content', place, 'image_url', 'url'])] : [],
      );
      return { role: 'user', text: textOf(message.content), images };
    }
    case 'assistant': {
      const calls = (message.tool_calls ?? []).map(({ id, function: { name, arguments: text } }) => ({ id, name, arguments: text }));
      return { role: 'assistant', text: textOf(message.content ?? []), calls };
    }
    case 'tool':
      return { role: 'tool', callId: message.tool_call_id, text: textOf(message.content) };
  }
}

function textOf(parts: readonly { readonly type: string; readonly text?: unknown; readonly refusal?: unknown }[]): string {
  return parts.flatMap(({ text, refusal }) => text ?? refusal ?? []).join('\n');
}

type ChatMessage = z.infer<ReturnType<typeof chatSchema>>['messages'][number];

/** What this interface reads of a request; other keys are ignored. */
function chatSchema() {
  const textPart = z.looseObject({ type: z.literal('text'), text: z.string() });
  const text = partsOf(textPart, saidText);
  const image = z.looseObject({ type: z.literal('image_url'), image_url: z.looseObject({ url: z.string() }) });
  const said = z.looseObject({ type: z.enum(['text', 'refusal']), text: z.string().optional(), refusal: z.string().optional() });
  const call = z.looseObject({
    id: z.string(),
    type: z.literal('function'),
    function: z.looseObject({ name: z.string(), arguments: z.string() }),
  });
  const message = z.discriminatedUnion('role', [
    z.looseObject({ role: z.enum(['system', 'developer']), content: text }),
    z.looseObject({ role: z.literal('user'), content: partsOf(z.discriminatedUnion('type', [textPart, image]), saidText) }),
    z.looseObject({ role: z.literal('assistant'), content: partsOf(said, saidText).nullish(), tool_calls: z.array(call).nullish() }),
    z.looseObject({ role: z.literal('tool'), tool_call_id: z.string(), content: text }),
  ]);
  return z.looseObject({
    model: z.string().min(1),
    messages: z.array(message).min(1),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
    tools: z.array(z.looseObject({ type: z.literal('function'), function: functionSchema() })).nullish(),
    tool_choice: z.unknown().optional(),
    parallel_tool_calls: z.boolean().nullish(),
    n: z.number().nullish(),
    response_format: z
      .looseObject({ type: z.string(), json_schema: z.looseObject({ schema: z.record(z.string(), z.unknown()) }).optional() })
      .nullish(),
  });
}

function saidText(text: string) {
  return { type: 'text', text };
}

/** A list of parts, or a text in its place; what is wrong with a part is said at its place. */
export function partsOf<Part extends z.ZodType>(part: Part, ofText: (text: string) => unknown) {
  return z.preprocess((given) => (typeof given === 'string' ? [ofText(given)] : given), z.array(part, 'must be a text or a list of parts'));
}
