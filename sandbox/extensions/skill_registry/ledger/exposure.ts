import { createHash } from 'node:crypto';
import { setImmediate as breathe } from 'node:timers/promises';
import { promisify } from 'node:util';
import { deflateRaw, inflateRawSync } from 'node:zlib';
import { type Offer, OVER_BUDGET, reasonsOf } from '../catalog/scope.ts';

/** The state that each skill had for a turn before it was used: every id stands in one place. */
export interface Exposure {
  readonly offered: readonly string[];
  readonly overBudget: readonly string[];
  /** Ids by what filtered them. */
  readonly filtered: Readonly<Record<string, readonly string[]>>;
}

export interface PackedExposure {
  readonly digest: string;
  readonly states: Uint8Array;
}

export function exposureOf({ snapshot, scope, told, rest }: Offer): Exposure {
  const offered = new Set(told === 'all' ? scope.catalog : told);
  const catalog = new Set(scope.catalog);
  const reason = reasonsOf(scope);
  const overBudget: string[] = [];
  const filtered = new Map<string, string[]>();
  for (const skill of snapshot.skills.values()) {
    if (offered.has(skill) || (scope.bound.has(skill.id) && skill.state === 'offered')) continue;
    const why = catalog.has(skill) ? rest : reason(skill);
    const ids = why === OVER_BUDGET ? overBudget : filtered.get(why);
    if (ids === undefined) filtered.set(why, [skill.id]);
    else ids.push(skill.id);
  }
  return { offered: [...offered].map(({ id }) => id), overBudget, filtered: Object.fromEntries(filtered) };
}

export async function packed(offer: Offer): Promise<PackedExposure> {
  const isLarge = offer.snapshot.skills.size > MANY;
  if (isLarge) await breathe();
  const exposure = exposureOf(offer);
  if (isLarge) await breathe();
  const text = Buffer.from(JSON.stringify(exposure));
  return { digest: createHash('sha256').update(text).digest('hex'), states: await promisify(deflateRaw)(text) };
}

/** With more skills than this, others may work between the steps. */
const MANY = 1000;

export function unpack(states: Uint8Array): Exposure {
  return JSON.parse(inflateRawSync(states).toString('utf8')) as Exposure;
}
