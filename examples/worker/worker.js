import { parentPort } from 'node:worker_threads';
import { createPith } from 'pith/embed';

const { MODEL = 'offline/librarian', OPENAI_API_KEY, OPENAI_BASE_URL } = process.env;
const pith = await createPith({ skills: ['skills'], model: MODEL, env: { OPENAI_API_KEY, OPENAI_BASE_URL } });

/** @type {Map<string, { leaving: AbortController, done: Promise<void> }>} */
const running = new Map();

parentPort?.on('message', async (message) => {
  if (message === 'stop' || message === 'finish') {
    if (message === 'stop') for (const { leaving } of running.values()) leaving.abort();
    await Promise.all([...running.values()].map(({ done }) => done));
    await pith.close();
    parentPort?.close();
  } else if (message.cancel) running.get(message.id)?.leaving.abort();
  else {
    const leaving = new AbortController();
    const done = work(message, leaving.signal).finally(() => running.delete(message.id));
    running.set(message.id, { leaving, done });
  }
});

/**
 * @param {{ id: string, session: string, text: string }} job
 * @param {AbortSignal} signal
 */
async function work({ id, session, text }, signal) {
  try {
    const run = pith.run(text, { thread: session, signal });
    for await (const piece of run.text) parentPort?.postMessage({ id, text: piece });
    const { status } = await run.result;
    parentPort?.postMessage({ id, status });
  } catch (/** @type {any} */ error) {
    parentPort?.postMessage({ id, status: 'failed', code: error.code, message: error.message, cure: error.cure });
  }
}
