import type { Message, RunAgentInput } from '@ag-ui/core';
import { PithError } from 'pith';
import type { GivenMessage, ProgramRequest } from 'pith/program_turns';

type Content = Extract<Message, { role: 'user' | 'tool' }>['content'];

/** What a run is asked for. Throws `usage` for what cannot be sent. */
export function saidIn({ messages, tools, context, state }: RunAgentInput): Pick<ProgramRequest, 'messages' | 'tools'> {
  const known = context.map(({ description, value }) => `${description}: ${value}`);
  const hasState = typeof state === 'object' && state !== null && Object.keys(state).length > 0;
  const shown = hasState ? [...known, `The state of the user interface: ${JSON.stringify(state)}`] : known;
  return {
    messages: [...messages.flatMap(givenMessage), ...shown.map((text) => ({ role: 'system' as const, text }))],
    tools: tools.map(({ name, description, parameters }) => ({
      name,
      description,
      inputSchema: { type: 'object', properties: {}, ...parameters },
    })),
  };
}

/** What a model thought, and what a user interface shows beside messages, is not sent. */
function givenMessage(message: Message): readonly GivenMessage[] {
  switch (message.role) {
    case 'system':
    case 'developer':
      return [{ role: 'system', text: message.content }];
    case 'user':
      return [{ role: 'user', text: textOf(message.content), images: imagesIn(message.content) }];
    case 'assistant': {
      const calls = (message.toolCalls ?? []).map(({ id, function: { name, arguments: text } }) => ({ id, name, arguments: text }));
      return [{ role: 'assistant', text: message.content ?? '', calls }];
    }
    case 'tool':
      return [{ role: 'tool', callId: message.toolCallId, text: textOf(message.content) }];
    default:
      return [];
  }
}

function textOf(content: Content): string {
  return typeof content === 'string' ? content : content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

function imagesIn(content: Content) {
  if (typeof content === 'string') return [];
  return content.flatMap((part) => {
    if (part.type === 'text') return [];
    if (part.type === 'image' && part.source.type === 'data') return [{ mediaType: part.source.mimeType, data: part.source.value }];
    throw new PithError('usage', `a part of type '${part.type}' cannot be sent: only texts and images in base64 are`, {
      cure: 'send an image as a source of type data',
    });
  });
}
