import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { PithError } from 'pith';

const NONCE = 12;
const TAG = 16;
const KEY = 32;
/** The kind of a skill's key, which the master key opens. */
export const KEY_KIND = 'key';

/** The place that a sealed value belongs to: it opens nowhere else. */
export interface Place {
  readonly skillId: string;
  readonly kind: string;
  readonly name: string;
  readonly version: number;
}

/** AES-256-GCM with a fresh nonce: nonce, ciphertext and tag. */
export function seal(key: Uint8Array, place: Place, plain: Uint8Array): Uint8Array {
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG });
  cipher.setAAD(additional(place));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** The plain value, after its tag is verified. Throws `decrypt_failed` for a value that was changed, cut or moved. */
export function unseal(key: Uint8Array, place: Place, sealed: Uint8Array): Uint8Array {
  try {
    return decrypt(key, additional(place), sealed);
  } catch (error) {
    throw decryptFailed(place, error);
  }
}

/** Returns no plain text before the tag is verified. Throws where verification fails. */
export function decrypt(key: Uint8Array, additionalData: Uint8Array, sealed: Uint8Array): Uint8Array {
  if (sealed.length < NONCE + TAG) throw new RangeError('it is too short');
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE), { authTagLength: TAG });
  decipher.setAAD(additionalData);
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG));
  const plain = decipher.update(sealed.subarray(NONCE, sealed.length - TAG));
  return Buffer.concat([plain, decipher.final()]);
}

/** The error for values that only the master key opens or proves. */
export function keyFailed(cause?: unknown): PithError {
  const why = 'PITH_MASTER_KEY is not the key that it was encrypted with, or the record of its keys was changed';
  return new PithError('decrypt_failed', `what this skill keeps cannot be decrypted: ${why}`, {
    cause,
    cure: 'set the right key, or the former one as PITH_MASTER_KEY_OLD; if it is the right one, restore the database from a backup',
  });
}

export function decryptFailed({ kind, name }: Pick<Place, 'kind' | 'name'>, cause?: unknown): PithError {
  if (kind === KEY_KIND) return keyFailed(cause);
  return new PithError('decrypt_failed', `the ${kind} '${name}' cannot be decrypted: it was changed, moved or cut`, {
    cause,
    cure: 'restore it from a backup, or delete it',
  });
}

export function newKey(): Uint8Array {
  return randomBytes(KEY);
}

/** The master key from its secret: 32 bytes in base64 or hex; null: not set. Throws `key_unavailable` for another length. */
export function masterKeyOf(text: string | null, name: string): Uint8Array | null {
  if (text === null || text.trim() === '') return null;
  const bare = text.trim();
  const key = /^[0-9a-f]{64}$/i.test(bare) ? Buffer.from(bare, 'hex') : Buffer.from(bare, 'base64');
  if (key.length === KEY) return key;
  throw new PithError('key_unavailable', `${name} has ${key.length} bytes, not ${KEY}`, {
    cure: `set the right one, or take it away: pith secrets remove ${name}`,
  });
}

/** The error where a skill's rows were removed, added or restored from outside. */
export function stateFailed(): PithError {
  return new PithError(
    'decrypt_failed',
    'what this skill keeps was changed from outside: values are missing, added or older than they were',
    {
      cure: 'restore the database from a backup, or go on with what is there: pith saved rotate-key NAME --accept',
    },
  );
}

/** Proves that the writer has the master key. */
export function proofOf(master: Uint8Array, parts: readonly (string | number)[]): string {
  return createHmac('sha256', master).update(JSON.stringify(parts)).digest('hex');
}

function additional({ skillId, kind, name, version }: Place): Uint8Array {
  return Buffer.from(JSON.stringify([skillId, kind, name, version]));
}
