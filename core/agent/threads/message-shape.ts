import { isPlainMap } from '@pith/plain-data';

/** Whether a value is a message: its parts are those that messages of its role have. */
export function isMessage(value: unknown): boolean {
  if (!isPlainMap(value) || !(value['providerOptions'] === undefined || isPlainMap(value['providerOptions']))) return false;
  const { role, content } = value;
  if (role === 'system') return typeof content === 'string';
  const isKnown = role === 'user' || role === 'assistant' || role === 'tool';
  return isKnown && Array.isArray(content) && content.every((part) => isPlainMap(part) && isPartOf(role, part));
}

function isPartOf(role: unknown, part: Readonly<Record<string, unknown>>): boolean {
  const { type, text, toolCallId, toolName, input, output, mediaType } = part;
  const isNamed = typeof toolCallId === 'string' && typeof toolName === 'string';
  if (role === 'tool') return type === 'tool-result' && isNamed && isPlainMap(output) && typeof output['type'] === 'string';
  if (role === 'user') return type === 'text' ? typeof text === 'string' : type === 'file' && typeof mediaType === 'string';
  return type === 'tool-call' ? isNamed && input !== undefined : (type === 'text' || type === 'reasoning') && typeof text === 'string';
}
