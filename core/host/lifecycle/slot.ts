import { createHash } from 'node:crypto';
import type { Failure } from '../../contract/index.ts';
import type { Crashes } from './breaker.ts';
import { canonicalJson } from '../../contract/plain-data.ts';
import type { ExtensionConfig } from '../settings/config-of.ts';
import type { Declaration, Discovery } from '../discovery/declaration.ts';
import type { Generation } from './generation.ts';

/** The place of one extension: what is declared now, and which version runs. */
export interface Slot {
  readonly id: string;
  declaration: Declaration;
  config: ExtensionConfig;
  /** Why the declaration alone cannot run. */
  declared: Failure | null;
  /** The version that answers calls. */
  current: Generation | null;
  /** An activation or replacement under way; resolves to the version that runs then. */
  pending: Promise<Generation> | null;
  /** Why loading this declaration failed, until it changes or is reloaded by hand. */
  failure: Failure | null;
  crashes: Crashes;
  /** After a crash: when the next version may be begun. */
  notBefore: number;
  /** How often in a row the system had no room for it. */
  withoutRoom: number;
  /** How many versions were begun. */
  generations: number;
  readonly notes: Map<string, string>;
  /** Updates run one after the other. */
  updating: Promise<unknown>;
}

export function createSlot(declaration: Declaration, config: ExtensionConfig, declared: Failure | null): Slot {
  return {
    id: declaration.id,
    declaration,
    config,
    declared,
    current: null,
    pending: null,
    failure: null,
    crashes: [],
    notBefore: 0,
    withoutRoom: 0,
    generations: 0,
    notes: new Map(),
    updating: Promise.resolve(),
  };
}

const MOST_NOTES = 50;
const LONGEST_NOTE = 2000;

/** Keeps a finding among the last few, cut to what anybody reads. */
export function keepNote(notes: Map<string, string> | undefined, message: string, code: string): void {
  if (!notes) return;
  const text = message.length > LONGEST_NOTE ? `${message.slice(0, LONGEST_NOTE)}…` : message;
  notes.delete(text); // said again: it is the newest
  notes.set(text, code);
  for (const oldest of notes.keys()) {
    if (notes.size <= MOST_NOTES) break;
    notes.delete(oldest);
  }
}

/** Changes whenever sources or configuration do. */
export function slotKey({ declaration, config }: Pick<Slot, 'declaration' | 'config'>): string {
  return createHash('sha256').update(declaration.digest).update('\0').update(canonicalJson(config.config)).digest('hex').slice(0, 32);
}

/** True for a folder that is an extension; agents without code share the map of declarations. */
export function isExtension({ manifest, directory }: Declaration): boolean {
  if (manifest === null) return /[\\/]extensions[\\/][^\\/]+$/.test(directory);
  return (
    manifest.entrypoint !== undefined ||
    manifest.provides.length > 0 ||
    (manifest.agent === undefined && /[\\/]extensions[\\/][^\\/]+$/.test(directory))
  );
}

export function extensionsOf(discovery: Discovery): readonly Declaration[] {
  return [...discovery.declarations.values()].filter(isExtension);
}
