import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { deflateRaw, inflateRawSync } from 'node:zlib';
import { reasonsOf } from '../catalog/scope.ts';
import { OVER_BUDGET, type Offer } from './offer.ts';

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

/** Exposures, each made once for as long as its offer stays the same: turns that have the same share it. */
export class Exposures {
  readonly #made = new WeakMap<object, Map<string, Promise<PackedExposure>>>();

  packed(offer: Offer): Promise<PackedExposure> {
    const made = this.#made.get(offer.key) ?? new Map<string, Promise<PackedExposure>>();
    this.#made.set(offer.key, made);
    let packed = made.get(offer.rest);
    if (packed === undefined) made.set(offer.rest, (packed = pack(exposureOf(offer))));
    return packed;
  }
}

export function exposureOf({ snapshot, scope, told, rest }: Offer): Exposure {
  const offered = new Set(told === 'all' ? scope.catalog : told);
  const catalog = new Set(scope.catalog);
  const reason = reasonsOf(scope.settings);
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

const deflate = promisify(deflateRaw);

async function pack(exposure: Exposure): Promise<PackedExposure> {
  const text = JSON.stringify(exposure);
  return { digest: createHash('sha256').update(text).digest('hex'), states: await deflate(text) };
}

export function unpack(states: Uint8Array): Exposure {
  return JSON.parse(inflateRawSync(states).toString('utf8')) as Exposure;
}
