import { createHmac, timingSafeEqual } from 'node:crypto';

/** How far a signature's time may be from now, in seconds. */
const SKEW_SECONDS = 300;
const PREFIX = 'whsec_';

export interface Signed {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/**
 * The id of a request with a valid and recent signature by Standard Webhooks; null: it has none.
 * https://github.com/standard-webhooks/standard-webhooks
 */
export function signedId({ headers, body }: Signed, key: string, now: number): string | null {
  const { 'webhook-id': id = '', 'webhook-timestamp': timestamp = '', 'webhook-signature': signatures = '' } = headers;
  if (id === '' || id.length > 256 || !/^\d{1,12}$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > SKEW_SECONDS) return null;
  const expected = digestOf(key, `${id}.${timestamp}.`, body);
  const isOne = signatures.split(' ').some((each) => each.startsWith('v1,') && isEqual(Buffer.from(each.slice(3), 'base64'), expected));
  return isOne ? id : null;
}

/** Whether `header` is `sha256=` and the hex HMAC of the body, with the same key's bytes. */
export function isLegacySigned(header: string | undefined, body: Uint8Array, key: string): boolean {
  const [, hex = ''] = /^sha256=([0-9a-f]{64})$/i.exec(header ?? '') ?? [];
  if (hex === '') return false;
  return isEqual(Buffer.from(hex, 'hex'), digestOf(key, '', body));
}

/** The headers of a message that is sent now, in the form that `signedId` verifies. */
export function signedHeaders(message: { readonly id: string; readonly body: Uint8Array }, key: string, now: number) {
  const { id, body } = message;
  const timestamp = String(Math.floor(now / 1000));
  const signature = `v1,${digestOf(key, `${id}.${timestamp}.`, body).toString('base64')}`;
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
}

/** A signing key in the form that people copy. */
export function newSigningKey(bytes: Uint8Array): string {
  return `${PREFIX}${Buffer.from(bytes).toString('base64')}`;
}

function digestOf(key: string, before: string, body: Uint8Array): Buffer {
  return createHmac('sha256', Buffer.from(key.replace(PREFIX, ''), 'base64'))
    .update(before)
    .update(body)
    .digest();
}

function isEqual(given: Uint8Array, expected: Uint8Array): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}
