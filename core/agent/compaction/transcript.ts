import type { Message } from '../../contract/index.ts';
import { documentOf } from '../prompt/messages.ts';
import { headAndTail } from '../prompt/tokens.ts';

const LONGEST_PART = 2000;

/** A conversation as text, for the one who summarises it. */
export function transcriptOf(messages: readonly Message[]): string {
  return messages.flatMap(linesOf).join('\n');
}

/** What is left when nobody can summarise: the beginning of each line, and of all the first and the last. */
export function extract(transcript: string): string {
  const lines = transcript.split('\n').map((line) => (line.length > 240 ? `${line.slice(0, 240)}…` : line));
  return headAndTail(lines.join('\n'), 1500, 4500);
}

function linesOf(message: Message): readonly string[] {
  if (message.role === 'system') return [];
  return message.content.flatMap((part): readonly string[] => {
    const document = message.role === 'user' && part.type === 'text' ? documentOf(part) : null;
    if (document !== null) return [`Beside it the assistant was given the whole text of '${document.key}'.`];
    switch (part.type) {
      case 'text':
        return [`${message.role === 'user' ? 'User' : 'Assistant'}: ${shown(part.text)}`];
      case 'tool-call':
        return [`Assistant called ${part.toolName}(${shown(JSON.stringify(part.input))})`];
      case 'tool-result':
        return [
          `${part.toolName} answered: ${shown('value' in part.output ? (typeof part.output.value === 'string' ? part.output.value : JSON.stringify(part.output.value)) : part.output.type)}`,
        ];
      default:
        return [];
    }
  });
}

function shown(text: string): string {
  return headAndTail(text, LONGEST_PART - 500, 500);
}
