import type { Message } from 'pith';

type ToolMessage = Extract<Message, { role: 'tool' }>;
type UserPart = Extract<Message, { role: 'user' }>['content'][number];

/**
 * Moves images of tool results into a user message that follows, since the chat-completions API accepts images from users only. Some
 * servers require an assistant message between a tool and the user.
 */
export function withResultImages(prompt: readonly Message[]): Message[] {
  return prompt.flatMap((message): Message[] => {
    if (message.role !== 'tool') return [message];
    const images = message.content.flatMap(imagesOf);
    if (images.length === 0) return [message];
    return [
      { ...message, content: message.content.map(textOnly) },
      { role: 'assistant', content: [{ type: 'text', text: '(an image follows)' }] },
      { role: 'user', content: images },
    ];
  });
}

function imagesOf(part: ToolMessage['content'][number]): readonly UserPart[] {
  if (part.type !== 'tool-result' || part.output.type !== 'content') return [];
  const images = part.output.value.flatMap((each): readonly UserPart[] =>
    each.type === 'image-data' ? [{ type: 'file', mediaType: each.mediaType, data: each.data }] : [],
  );
  return images.length === 0 ? [] : [{ type: 'text', text: `[the image that ${part.toolName} returned]` }, ...images];
}

function textOnly(part: ToolMessage['content'][number]): ToolMessage['content'][number] {
  if (part.type !== 'tool-result' || part.output.type !== 'content') return part;
  const texts = part.output.value.flatMap((each) => (each.type === 'text' ? [each.text] : []));
  return { ...part, output: { type: 'text', value: texts.join('\n') } };
}
