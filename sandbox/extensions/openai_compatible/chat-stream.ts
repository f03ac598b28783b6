import { readRest, serverEvents } from '@pith/server-answers';
import type { ModelPart } from 'pith';
import { AnswerParts, type Asked } from './answer-parts.ts';

/**
 * The parts of a chat completion, each as soon as it has arrived; also of an answer that was not streamed. Rejects when the connection
 * breaks. `cancel` closes it.
 */
export async function* chatStream(
  body: AsyncIterable<Uint8Array>,
  { warnings = [], ...asked }: Asked & { readonly warnings?: Extract<ModelPart, { type: 'stream-start' }>['warnings'] },
  cancel: () => void = () => undefined,
): AsyncGenerator<ModelPart> {
  const answer = new AnswerParts(asked);
  const batches = serverEvents(body);
  let isDone = false;
  let isRead = false;
  try {
    yield { type: 'stream-start', warnings };
    while (!isDone && !answer.failed) {
      const next = await batches.next();
      if (next.done === true) {
        isRead = true;
        break;
      }
      for (const { kind, data } of next.value) {
        isDone ||= data.length < LONGEST_DONE && DONE.test(data);
        if (isDone) continue;
        if (kind === 'data') answer.add(data);
        else if (kind === 'error') answer.fail(data);
        else answer.addStray(data);
      }
      yield* answer.take();
    }
    answer.end(isDone);
    yield* answer.take();
    if (isDone) isRead = await readRest(batches);
  } finally {
    if (!isRead) cancel();
  }
}

const LONGEST_DONE = 20;
const DONE = /^\s*"?\[DONE\]"?\s*$/;
