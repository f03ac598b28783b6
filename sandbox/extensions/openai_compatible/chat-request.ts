import { PithError, type Message, type ModelCallOptions, type ModelPart } from 'pith';
import { withResultImages } from './result-images.ts';

type Warning = Extract<ModelPart, { type: 'stream-start' }>['warnings'][number];
type Part<Role extends Message['role']> = Exclude<Extract<Message, { role: Role }>['content'], string>[number];
type File = Extract<Part<'user'>, { type: 'file' }>;

/** The request body for one call, and the call's parts that the chat-completions API cannot express. `official`: OpenAI's own service. */
export function chatRequest(
  model: string,
  options: ModelCallOptions,
  official: boolean,
): { readonly body: Readonly<Record<string, unknown>>; readonly warnings: Warning[] } {
  const { tools = [], toolChoice, maxOutputTokens, temperature, topP, topK, frequencyPenalty, presencePenalty, seed } = options;
  const functions = tools.flatMap((tool) => (tool.type === 'function' ? [tool] : []));
  const effort = options.providerOptions?.['pith']?.['effort'];
  const limit = official ? 'max_completion_tokens' : 'max_tokens'; // OpenAI's newer models refuse the old name; other servers know no other
  const body = {
    model,
    [limit]: maxOutputTokens,
    temperature,
    top_p: topP,
    frequency_penalty: frequencyPenalty,
    presence_penalty: presencePenalty,
    response_format: options.responseFormat?.type === 'json' ? { type: 'json_object' } : undefined,
    stop: options.stopSequences,
    seed,
    reasoning_effort: effort === 'off' ? 'none' : effort,
    messages: withResultImages(options.prompt).flatMap(messagesOf),
    ...(functions.length > 0 && {
      tools: functions.map(({ name, description, inputSchema, strict }) => ({
        type: 'function',
        function: { name, description, parameters: inputSchema, strict },
      })),
      tool_choice: toolChoice?.type === 'tool' ? { type: 'function', function: { name: toolChoice.toolName } } : toolChoice?.type,
    }),
    stream: true,
    stream_options: { include_usage: true },
  };
  const unsupported = [
    ...(topK === undefined ? [] : ['topK']),
    ...tools.flatMap((tool) => (tool.type === 'provider' ? [`provider-defined tool ${tool.id}`] : [])),
  ];
  return { body, warnings: unsupported.map((feature) => ({ type: 'unsupported', feature })) };
}

function messagesOf(message: Message): readonly object[] {
  switch (message.role) {
    case 'system':
      return [{ role: 'system', content: message.content }];
    case 'user': {
      const [first, ...others] = message.content;
      return [{ role: 'user', content: others.length === 0 && first?.type === 'text' ? first.text : message.content.map(userPart) }];
    }
    case 'assistant':
      return [assistantMessage(message.content)];
    case 'tool':
      return message.content.flatMap((part) =>
        part.type === 'tool-result' ? [{ role: 'tool', tool_call_id: part.toolCallId, content: resultText(part.output) }] : [],
      );
  }
}

function assistantMessage(parts: readonly Part<'assistant'>[]): object {
  const textOf = (type: 'text' | 'reasoning') => parts.map((part) => (part.type === type ? part.text : '')).join('');
  const calls = parts.flatMap((part) => (part.type === 'tool-call' ? [part] : []));
  const text = textOf('text');
  return {
    role: 'assistant',
    content: calls.length > 0 ? text || null : text,
    reasoning_content: textOf('reasoning') || undefined,
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ toolCallId: id, toolName: name, input, providerOptions }) => {
        const signature = providerOptions?.['google']?.['thoughtSignature'];
        return {
          id,
          type: 'function',
          function: { name, arguments: JSON.stringify(input) },
          ...(signature ? { extra_content: { google: { thought_signature: signature } } } : {}),
        };
      }),
    }),
  };
}

function resultText(output: Extract<Part<'tool'>, { type: 'tool-result' }>['output']): string {
  if (output.type === 'text' || output.type === 'error-text') return output.value;
  if (output.type === 'execution-denied') return output.reason ?? 'Tool call execution denied.';
  return JSON.stringify(output.value);
}

function userPart(part: Part<'user'>): object {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const { mediaType, data, filename = 'document.pdf' } = part;
  if (mediaType.startsWith('image/')) {
    const url = data instanceof URL ? data.href : `data:${mediaType === 'image/*' ? 'image/jpeg' : mediaType};base64,${base64Of(part)}`;
    return { type: 'image_url', image_url: { url } };
  }
  const format = AUDIO.get(mediaType);
  if (format !== undefined) return { type: 'input_audio', input_audio: { data: base64Of(part), format } };
  if (mediaType === 'application/pdf')
    return { type: 'file', file: { filename, file_data: `data:application/pdf;base64,${base64Of(part)}` } };
  if (mediaType.startsWith('text/'))
    return { type: 'text', text: data instanceof URL ? data.href : Buffer.from(base64Of(part), 'base64').toString() };
  throw new PithError('model_failed', `the chat-completions API takes no files of type ${mediaType}`, { cure: 'send it as text' });
}

const AUDIO: ReadonlyMap<string, string> = new Map([
  ['audio/wav', 'wav'],
  ['audio/mp3', 'mp3'],
  ['audio/mpeg', 'mp3'],
]);

function base64Of({ data, mediaType }: File): string {
  if (data instanceof URL)
    throw new PithError('model_failed', `the chat-completions API takes no addresses of files of type ${mediaType}`, {
      cure: 'send the file itself',
    });
  return typeof data === 'string' ? data : Buffer.from(data).toString('base64');
}
