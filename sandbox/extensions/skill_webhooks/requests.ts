import { codeOf, messageOf, type Clock, type JsonValue, type Logger, type Remote } from 'pith';
import type { HttpRequest, HttpResponse } from 'pith/http';
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
const UNKNOWN: HttpResponse = { status: 404, body: 'not found' };

/** Answers requests that start runs: look-up, address, size, signature, rate, inputs. */
export class WebhookRequests {
  /** The new requests of the last minute by skill, with their times. */
  readonly #recent = new Map<string, ReadonlyMap<string, number>>();

  constructor(private readonly ports: RequestPorts) {}

  async answer(request: HttpRequest): Promise<HttpResponse> {
    const { skills, seen, clock, logger } = this.ports;
    if (request.method !== 'POST') return { status: 405, headers: { allow: 'POST' }, body: 'use POST' };
    const secret = request.path.startsWith(`${PREFIX}/`) ? request.path.slice(PREFIX.length + 1) : '';
    const webhook = /^[0-9a-f]{64}$/.test(secret) ? await skills.webhook(secret) : null;
    if (webhook === null) return UNKNOWN;
    const refuse = (status: number, why: string): HttpResponse => {
      logger.warn('a webhook was refused', { skill: webhook.skill, address: request.address, status, why });
      return { status, body: why };
    };
    if (!readAllowList(webhook.ipAllowlist).admits(request.address)) return refuse(403, 'this address is not admitted');
    if (request.tooLarge) return refuse(413, 'the body is longer than 128 KiB');
    const signature = this.#signature(request, webhook);
    if (signature === 'wrong') return refuse(401, 'the signature is missing, wrong or too old');
    const { skillId } = webhook;
    const { id } = signature;
    const newRun = ulid(clock.now());
    const known = id === null ? null : await seen.find(skillId, id);
    if (known === null && this.#isTooOften(skillId, id ?? newRun))
      return { ...refuse(429, 'too many requests'), headers: { 'retry-after': '60' } };
    const runId = known ?? (id === null ? newRun : await seen.add(skillId, id));
    const inputs = inputsIn(Buffer.from(request.body, 'base64'));
    if (inputs === null) return refuse(400, 'the body must be a JSON object');
    return this.#start(request, webhook, { runId, inputs, refuse });
  }

  async #start(
    { headers }: HttpRequest,
    { skillId, skill }: WebhookSettings,
    asked: {
      readonly runId: string;
      readonly inputs: Readonly<Record<string, JsonValue>>;
      readonly refuse: (status: number, why: string) => HttpResponse;
    },
  ): Promise<HttpResponse> {
    const { skills, logger } = this.ports;
    const { runId, inputs, refuse } = asked;
    const priority = this.#priority(headers);
    try {
      const isNew = await skills.startForOwner(skillId, { runId, inputs, ...(priority === null ? {} : { priority }) });
      if (!isNew) return refuse(401, 'this request has come before');
      logger.info('a webhook started a run', { skill, run: runId });
      return { status: 202, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ run: runId }) };
    } catch (error) {
      if (codeOf(error, '') === 'limit_reached') return { ...refuse(503, messageOf(error)), headers: { 'retry-after': '60' } };
      if (codeOf(error, '') !== 'input_invalid') throw error; // it may have started all the same: the same id gives the same run
      return refuse(400, messageOf(error));
    }
  }

  /** `wrong` where a required signature is missing or invalid; else the id that identifies a repeated request, if it has one. */
  #signature({ headers, body: text }: HttpRequest, webhook: WebhookSettings): 'wrong' | { readonly id: string | null } {
    const { signingKey: key, signatureRequired, legacySignature } = webhook;
    const { clock, config } = this.ports;
    const body = Buffer.from(text, 'base64');
    const isSigned = headers['webhook-signature'] !== undefined;
    const id = key === null ? null : signedId({ headers, body }, key, clock.now());
    if (id !== null) return { id };
    if (isSigned) return 'wrong'; // even where no signature is required
    if (legacySignature && key !== null && isLegacySigned(headers[config.legacy_header.toLowerCase()], body, key))
      return { id: `older ${sha256(body)}` }; // its signature covers nothing else
    return signatureRequired ? 'wrong' : { id: null };
  }

  #priority(headers: HttpRequest['headers']): number | null {
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
