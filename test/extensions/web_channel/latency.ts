/** Up to so many milliseconds, chosen at random, that a request, its answer and each part of a stream are late: `300,300,200`. */
const { PITH_TEST_LATENCY: asked } = process.env;

/**
 * Run in the page before its own code, it makes what the page asks for late. Tests and views that trust the order of answers and events fail
 * then each time, and not once in a hundred runs; so do those few whose subject is time, which says nothing. null: nothing is late.
 */
export const LATENCY =
  asked === undefined
    ? null
    : `{
  const [before = 0, after = 0, between = 0] = ${JSON.stringify(asked.split(',').map(Number))};
  const sleep = (most) => most > 0 && new Promise((resolve) => setTimeout(resolve, Math.random() * most));
  const { fetch } = globalThis;
  const late = () => new TransformStream({ transform: async (part, to) => (await sleep(between), to.enqueue(part)) });
  globalThis.fetch = async (path, init) => {
    const isStream = String(path).endsWith('/api/events') || String(init?.headers?.accept).includes('event-stream');
    await sleep(before);
    const answer = await fetch(path, init);
    if (!isStream) await sleep(after);
    return isStream && answer.body !== null ? new Response(answer.body.pipeThrough(late()), answer) : answer;
  };
}`;
