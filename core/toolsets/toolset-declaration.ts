import { createHash } from 'node:crypto';
import path from 'node:path';
import type { Manifest } from '../trust/index.ts';
import type { Toolset } from '../contract/index.ts';
import { TOOLSET_PREFIX } from '../kernel/records/extension-data.ts';
import type { Declaration } from '../kernel/discovery/declaration.ts';

/** What declares a toolset, as a folder declares an extension: it asks for nothing. `directory` is a real path. */
export function toolsetDeclaration({ id, modules }: Toolset, directory: string, digest: string): Declaration {
  return {
    id: TOOLSET_PREFIX + id,
    directory,
    file: path.join(directory, 'SKILL.md'),
    manifest: { ...MANIFEST, id: TOOLSET_PREFIX + id, name: TOOLSET_PREFIX + id },
    prompt: null,
    shipped: false,
    digest,
    diagnostics: [],
    toolset: modules,
  };
}

/** Names what the modules that are named were made into. */
export function toolsetDigest(modules: readonly string[], text: string): string {
  return createHash('sha256').update(JSON.stringify(modules)).update(text).digest('hex');
}

export const TOOLSET_ENTRY = 'toolset';

const MANIFEST: Omit<Manifest, 'id' | 'name'> = {
  version: '0.0.0',
  description: '',
  entrypoint: TOOLSET_ENTRY,
  provides: ['tool'],
  defines: { protocols: {}, topics: {} },
  depends_on: [],
  optional_depends_on: [],
  isolation: 'process',
  permissions: { network: false, read: [], write: [], agents: [] },
  enabled: true,
  config: {},
  secrets: [],
  commands: [],
  models: [],
  agent_keys: [],
  agent_files: [],
  events: { publishes: [], handles: [] },
  schedules: [],
  setup_instructions: '',
};

/** The code of what is told of a module that brings nothing, or less than it names. */
export const TOOLSET_INVALID = 'toolset_invalid';

/** Whether a folder can be named so, which is what a skill's id is. */
export function isToolsetId(id: string): boolean {
  return id !== '' && id !== '.' && id !== '..' && !/[/\\\0]/.test(id) && Buffer.byteLength(id) <= MOST_BYTES;
}

const MOST_BYTES = 255;
