import { codeOf, messageOf, type Clock, type JsonValue, type Logger, type Remote } from 'pith';
import type { RouteAnswer, RouteRequest } from 'pith/http';
import type { SavedSkills, WebhookSettings } from 'pith/saved_skills';
import { ulid } from 'ulid';
import { sha256 } from '@pith/plain-data';
import { readAllowList } from './allow-list.ts';
import type { Config } from './config.ts';
import type { SeenRequests } from './tables.ts';
import { isLegacySigned, signedId } from './signature.ts';

export const PREFIX = '/webhooks';

export interface RequestPorts {
  readonly skills: Remote<SavedSkills>;
  readonly seen: SeenRequests;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly config: Config;
}

/** The same answer for an unknown, malformed or disabled path. */
const UNKNOWN = failed(404, 'webhook_unknown', 'there is no such webhook');

/** Answers requests that start runs: look-up, address, size, signature, rate, inputs. */
export class WebhookRequests {
  /** The new requests of the last minute by skill, with their times. */
  readonly #recent = new Map<string, ReadonlyMap<string, number>>();

  constructor(private readonly ports: RequestPorts) {}

  async answer(request: RouteRequest): Promise<RouteAnswer> {
    const { skills, seen, clock, logger } = this.ports;
    const { secret = '' } = request.params;
    const webhook = /^[0-9a-f]{64}$/.test(secret) ? await skills.webhook(secret) : null;
    if (webhook === null) return UNKNOWN;
    const refuse: Refuse = (status, code, why) => {
      logger.warn('a webhook was refused', { skill: webhook.skill, address: request.address, status, why });
      return failed(status, code, why);
    };
    if (!readAllowList(webhook.ipAllowlist).admits(request.address)) return refuse(403, 'not_allowed', 'this address is not admitted');
    const signature = this.#signature(request, webhook);
    if (signature === 'wrong') return refuse(401, 'signature_invalid', 'the signature is missing, wrong or too old');
    const { skillId } = webhook;
    const { id } = signature;
    const newRun = ulid(clock.now());
    const known = id === null ? null : await seen.find(skillId, id);
    if (known === null && this.#isTooOften(skillId, id ?? newRun))
      return { ...refuse(429, 'limit_reached', 'too many requests'), headers: { 'retry-after': '60' } };
    const runId = known ?? (id === null ? newRun : await seen.add(skillId, id));
    const inputs = inputsIn(request.bytes);
    if (inputs === null) return refuse(400, 'body_invalid', 'the body must be a JSON object');
    return this.#start(request, webhook, { runId, inputs, refuse });
  }

  async #start(
    { headers }: RouteRequest,
    { skillId, skill }: WebhookSettings,
    asked: {
      readonly runId: string;
      readonly inputs: Readonly<Record<string, JsonValue>>;
      readonly refuse: Refuse;
    },
  ): Promise<RouteAnswer> {
    const { skills, logger } = this.ports;
    const { runId, inputs, refuse } = asked;
    const priority = this.#priority(headers);
    try {
      const isNew = await skills.startForOwner(skillId, { runId, inputs, ...(priority === null ? {} : { priority }) });
      logger.info(isNew ? 'a webhook started a run' : 'a webhook request came again', { skill, run: runId });
      return { status: 202, json: { run: runId } };
    } catch (error) {
      if (codeOf(error, '') === 'limit_reached')
        return { ...refuse(503, 'limit_reached', messageOf(error)), headers: { 'retry-after': '60' } };
      if (codeOf(error, '') !== 'input_invalid') throw error; // it may have started all the same: the same id gives the same run
      return refuse(400, 'input_invalid', messageOf(error));
    }
  }

  /** `wrong` where a required signature is missing or invalid; else the id that identifies a repeated request, if it has one. */
  #signature({ headers, bytes: body }: RouteRequest, webhook: WebhookSettings): 'wrong' | { readonly id: string | null } {
    const { signingKey: key, signatureRequired, legacySignature } = webhook;
    const { clock, config } = this.ports;
    const isSigned = headers['webhook-signature'] !== undefined;
    const id = key === null ? null : signedId({ headers, body }, key, clock.now());
    if (id !== null) return { id };
    if (isSigned) return 'wrong'; // even where no signature is required
    if (legacySignature && key !== null && isLegacySigned(headers[config.legacy_header.toLowerCase()], body, key))
      return { id: `older ${sha256(body)}` }; // its signature covers nothing else
    return signatureRequired ? 'wrong' : { id: null };
  }

  #priority(headers: RouteRequest['headers']): number | null {
    const names = ['x-pith-priority', ...this.ports.config.priority_headers.map((name) => name.toLowerCase())];
    const given = names.map((name) => headers[name]).find((value) => value !== undefined);
    return given !== undefined && /^[+-]?\d{1,6}$/.test(given.trim()) ? Number(given) : null;
  }

  /** A repeated request counts once, so that copies of a captured one cannot use up its sender's limit. */
  #isTooOften(skillId: string, request: string): boolean {
    const now = this.ports.clock.now();
    const recent = new Map([...(this.#recent.get(skillId) ?? [])].filter(([, at]) => now - at < 60_000));
    const isTooOften = !recent.has(request) && recent.size >= this.ports.config.most_per_minute;
    if (!isTooOften) recent.set(request, recent.get(request) ?? now);
    this.#recent.set(skillId, recent);
    return isTooOften;
  }
}

type Refuse = (status: number, code: string, why: string) => RouteAnswer;

function failed(status: number, code: string, message: string): RouteAnswer {
  return { status, json: { error: { code, message } } };
}

/** null: not a JSON object. */
function inputsIn(body: Uint8Array): Readonly<Record<string, JsonValue>> | null {
  if (body.length === 0) return {};
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Readonly<Record<string, JsonValue>>) : null;
  } catch {
    return null; // not JSON, or not text
  }
}
