import { codeOf, messageOf, PithError, type ChannelMessage, type Clock, type Remote } from 'pith';
import type { SavedSkills } from 'pith/saved_skills';
import { guardedFetch, type GuardedFetch } from '@pith/guarded-fetch';
import type { ResultKeys } from './tables.ts';
import { signedHeaders } from './signature.ts';

export interface ResultPorts {
  readonly skills: Remote<SavedSkills>;
  readonly keys: ResultKeys;
  readonly clock: Clock;
  /** Origins that may be outside of the public internet. */
  readonly privateOrigins: readonly string[];
  /** Aborts when Pith ends. */
  readonly stopped: AbortSignal;
}

/** Shorter than the time limit of a channel call, so that people see this message. */
const TIMEOUT_MS = 8_000;
const MOST_BYTES = 1024 * 1024;

/**
 * Posts signed results of runs to their targets. Sends only the text that saved skills have for the target, whatever the caller passes: any
 * extension may ask a channel to deliver, and none may use this one to send or sign a text.
 */
export class Results {
  readonly #fetch: GuardedFetch;

  constructor(private readonly ports: ResultPorts) {
    this.#fetch = guardedFetch({ allow: ports.privateOrigins });
  }

  /** Rejects with the host and the reason, never with the address, which may contain a secret. */
  async deliver({ key }: ChannelMessage, target: string): Promise<string> {
    const { skills, keys, clock } = this.ports;
    const result = key === undefined ? null : await skills.dueResult(key, target);
    if (key === undefined || result === null)
      throw new PithError('not_allowed', 'a webhook is sent results of saved skills that are due there, and nothing else', {
        cure: 'name the address as the output_target of a saved skill',
      });
    const { skillId, skill, state, text, endedAt } = result;
    const run = key.split('/', 1)[0] ?? key; // the second part of a result has a key like run/1
    const data = { run, skill, state, text };
    const body = Buffer.from(JSON.stringify({ type: 'run.finished', timestamp: new Date(endedAt).toISOString(), data }));
    const { host, origin } = new URL(target);
    if (body.length > MOST_BYTES)
      throw new PithError('limit_reached', `the webhook at ${host} was not sent the result: it has more than ${MOST_BYTES} bytes`, {
        cure: `read it with: pith runs show ${run}`,
      });
    const signed = signedHeaders({ id: key, body }, await keys.of(skillId), clock.now());
    const headers = { 'content-type': 'application/json', ...signed };
    const status = await this.#post(target, { headers, body }).catch((error: unknown) => {
      if (codeOf(error, '') === 'address_refused')
        throw new PithError('address_refused', `the webhook at ${host} was not sent the result: ${messageOf(error)}`, {
          cure: `if it is meant, add ${origin} to extensions.skill_webhooks.private_origins`,
        });
      throw error instanceof PithError ? error : unreached(host, error);
    });
    if (status >= 200 && status < 300) return key;
    throw new PithError('provider_failed', `the webhook at ${host} answered ${status}`, {
      cure: 'it must answer with a status from 200 to 299',
      statusCode: status,
      retryable: true,
    });
  }

  /** The status. Reads nothing of the answer and follows no redirect, which would lose the body or carry it to somebody else. */
  async #post(
    target: string,
    { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body: Buffer },
  ): Promise<number> {
    const { clock, stopped } = this.ports;
    const late = new AbortController();
    const { host } = new URL(target);
    const cancel = clock.after(TIMEOUT_MS, () =>
      late.abort(
        new PithError('limit_reached', `the webhook at ${host} did not answer within ${TIMEOUT_MS / 1000} s`, {
          cure: 'let it answer first and work afterwards',
          retryable: true,
        }),
      ),
    );
    try {
      const signal = AbortSignal.any([late.signal, stopped]);
      const answer = await this.#fetch(target, { method: 'POST', redirect: 'manual', headers, body: new Uint8Array(body), signal });
      await answer.body?.cancel();
      return answer.status;
    } finally {
      cancel();
    }
  }
}

function unreached(host: string, error: unknown): PithError {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return new PithError('provider_failed', `the webhook at ${host} was not reached: ${messageOf(cause)}`, { cause: error, retryable: true });
}
