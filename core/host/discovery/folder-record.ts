import type { Declaration } from './declaration.ts';

/** What one folder declares, apart from all others: what the persisted index keeps of it. Plain data. */
export interface FolderRecord {
  /** `FolderStamp.stamps` of the state that was read. */
  readonly stamps: string;
  /** The stamp alone did not prove the state; the digest decides at the next look. */
  readonly fresh: boolean;
  readonly declaration: Omit<Declaration, 'shipped'>;
  /** Keys under `agent:` that an extension must own. */
  readonly extraAgentKeys: readonly string[];
  /** `agent_keys`, also of a manifest with errors elsewhere; null when the file could not be read at all. */
  readonly ownedAgentKeys: readonly string[] | null;
  /** What an AGENT.md leaves to be decided when all folders are known; null for a manifest. */
  readonly agentFile: { readonly allowSkills: boolean; readonly usesDefaultTools: boolean } | null;
}

/** What a reader of a manifest.yaml or AGENT.md finds out. */
export type FolderReading = Omit<FolderRecord, 'stamps' | 'fresh' | 'declaration'> & {
  readonly declaration: Pick<Declaration, 'file' | 'manifest' | 'diagnostics' | 'positions'>;
};

/** The parts of `positions` that later checks speak of. */
export function keptPositions(positions: NonNullable<Declaration['positions']>): NonNullable<Declaration['positions']> {
  return Object.fromEntries(Object.entries(positions).filter(([path]) => KEPT.has(path.split('.', 1)[0]!)));
}

const KEPT = new Set([
  'id',
  'agent',
  'config',
  'provides',
  'depends_on',
  'entrypoint',
  'commands',
  'isolation',
  'enabled',
  'secrets',
  'agent_keys',
  'models',
]);
