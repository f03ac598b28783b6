import { refusedWith } from './commands/cures.ts';
import { canonicalJson, sha256 } from '@pith/plain-data';
import { KeyedQueue } from '@pith/promises';
import type { Clock } from 'pith';
import type { RouteAnswer } from 'pith/http';
import { type ApiTables, DAY_MS } from './conversations/tables.ts';
import type { ApiAnswer, ApiRequest } from './route.ts';

/**
 * Changes with an `Idempotency-Key`: within a day a repeated one gets the answer of the first, and nothing is done again. An answer that has
 * a secret is not kept: a repeated request is told that it was given.
 */
export class RepeatedRequests {
  readonly #queue = new KeyedQueue();

  constructor(
    private readonly tables: ApiTables,
    private readonly clock: Clock,
    private readonly isShownOnce: (route: string) => boolean,
  ) {}

  async answer(request: ApiRequest, act: (request: ApiRequest) => Promise<ApiAnswer>): Promise<RouteAnswer> {
    const { route, path, body, bytes, headers, caller } = request;
    const key = headers['idempotency-key'];
    // A turn has its key in its thread, and is watched again.
    if (key === undefined || route.startsWith('GET ') || route.endsWith('/messages')) return split(await act(request)).answer;
    const name = sha256(`${caller.userId}\0${key}`);
    const digest = sha256(canonicalJson([route, path, body ?? null, sha256(bytes)]));
    return this.#queue.run(name, async () => {
      const since = this.clock.now() - DAY_MS;
      const known = await this.tables.first((db) =>
        db.selectFrom('rest_api__answers').select(['digest', 'answer']).where('request', '=', name).where('at', '>=', since),
      );
      if (known !== null) return known.digest === digest ? (JSON.parse(known.answer) as RouteAnswer) : KEY_USED;
      const { answer, thread } = split(await act(request));
      if (answer.status >= 400 || answer.body !== undefined) return answer;
      const kept = JSON.stringify(this.isShownOnce(route) ? SHOWN_BEFORE : answer);
      const row = { request: name, digest, answer: kept, at: this.clock.now(), thread };
      await this.tables.write((db) => [
        db.deleteFrom('rest_api__answers').where('at', '<', since),
        db
          .insertInto('rest_api__answers')
          .values(row)
          .onConflict((each) => each.doNothing()),
      ]);
      return answer;
    });
  }
}

function split({ thread = null, ...answer }: ApiAnswer): { readonly answer: RouteAnswer; readonly thread: string | null } {
  return { answer, thread };
}

const SHOWN_BEFORE: RouteAnswer = {
  status: 409,
  json: refusedWith({
    code: 'shown_before',
    message: 'this was done already, and its secret is shown only once',
    cure: 'if the answer was lost, make another with a new key, and revoke the one that nobody saw',
  }),
};

export const KEY_USED: RouteAnswer = {
  status: 422,
  json: refusedWith({ code: 'key_used', message: 'this Idempotency-Key was used for another request', cure: 'take a new one' }),
};
