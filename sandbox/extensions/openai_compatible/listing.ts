import { messageOf, z, type Clock, type Logger } from 'pith';
import type { Endpoint } from './endpoint.ts';

const TIMEOUT_MS = 3_000;
const response = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });

/** Names that `GET <base>/models` lists, in the server's order; empty, with a log line, when it cannot be asked. */
export async function listModels(endpoint: Endpoint, clock: Clock, logger: Logger, signal?: AbortSignal): Promise<readonly string[]> {
  const timeout = new AbortController();
  const cancel = clock.after(TIMEOUT_MS, () => timeout.abort(new Error(`no answer within ${TIMEOUT_MS} ms`)));
  try {
    const answer = await endpoint.fetch(`${endpoint.baseUrl}/models`, {
      headers: { ...authorization(endpoint), ...endpoint.headers },
      signal: signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]),
    });
    if (!answer.ok) {
      await answer.body?.cancel();
      throw new Error(`status ${answer.status}`);
    }
    return response.parse(JSON.parse(await answer.text())).data.map((model) => model.id);
  } catch (error) {
    signal?.throwIfAborted();
    logger.info('models could not be listed', { prefix: endpoint.prefix, reason: messageOf(error) });
    return [];
  } finally {
    cancel();
  }
}

function authorization(endpoint: Endpoint): Record<string, string> {
  return endpoint.apiKey === null ? {} : { authorization: `Bearer ${endpoint.apiKey}` };
}
