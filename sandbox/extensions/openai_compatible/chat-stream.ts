import { PithError, type ModelPart } from 'pith';
import { AnswerParts } from './answer-parts.ts';
import type { Chunk } from './chunk.ts';
import { serverEvents } from './server-events.ts';

type Warnings = Extract<ModelPart, { type: 'stream-start' }>['warnings'];

/** The parts of a streamed chat completion, each as soon as it has arrived. Rejects when the connection breaks. */
export async function* chatStream(body: AsyncIterable<Uint8Array>, warnings: Warnings): AsyncGenerator<ModelPart> {
  const answer = new AnswerParts();
  yield { type: 'stream-start', warnings };
  for await (const events of serverEvents(body)) {
    const parts: ModelPart[] = [];
    for (const data of events) {
      if (data === '[DONE]') continue;
      const chunk = parseChunk(data);
      if (chunk === null) answer.fail(new PithError('model_failed', 'the server sent something that is no JSON'), parts);
      else answer.add(chunk, parts);
    }
    yield* parts;
  }
  const last: ModelPart[] = [];
  answer.end(last);
  yield* last;
}

function parseChunk(data: string): Chunk | null {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null ? value : null;
  } catch {
    return null; // reported as a failed answer, without the text
  }
}
