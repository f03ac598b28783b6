import { createHash } from 'node:crypto';
import { setImmediate as breathe } from 'node:timers/promises';
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
    if (packed === undefined) made.set(offer.rest, (packed = pack(offer)));
    return packed;
  }
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

async function pack(offer: Offer): Promise<PackedExposure> {
  const isLarge = offer.snapshot.skills.size > MANY;
  if (isLarge) await breathe();
  const exposure = exposureOf(offer);
  if (isLarge) await breathe();
  const text = Buffer.from(JSON.stringify(exposure));
  const states = text.length <= SMALL ? stored(text) : await promisify(deflateRaw)(text);
  return { digest: createHash('sha256').update(text).digest('hex'), states };
}

/** With more skills than this, others may work between the steps. */
const MANY = 1000;
/** What is shorter gains little, and a process of one turn would load zlib for it. */
const SMALL = 1024;

/** As deflate has what it does not compress: one last block, its length, and that inverted. */
function stored(text: Buffer): Buffer {
  const head = Buffer.from([1, 0, 0, 0, 0]);
  head.writeUInt16LE(text.length, 1);
  head.writeUInt16LE(text.length ^ 0xffff, 3);
  return Buffer.concat([head, text]);
}

export function unpack(states: Uint8Array): Exposure {
  return JSON.parse(inflateRawSync(states).toString('utf8')) as Exposure;
}
