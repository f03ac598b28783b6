import path from 'node:path';
import { canonicalJson, sha256 } from '@pith/plain-data';
import { didYouMean } from '@pith/plain-text';
import { AgentProvider, type AgentSpec, PithError, type Tool, ToolGuard, ToolProvider } from '../contract/index.ts';
import type { Declaration, FolderRecord } from '../declarations/index.ts';
import type { Loader } from '../kernel/index.ts';
import { type Manifest, manifestSchema } from '../trust/index.ts';
import type { EmbeddedExtension } from './options.ts';
import { isShipped } from './shipped.ts';

/** The extension that has the tools and agents of the program. */
export const EMBEDDED = 'embedded';

/** An extension of the program's own code: nothing of it is on disk. */
export interface ObjectExtension {
  readonly manifest: Manifest;
  readonly extension: EmbeddedExtension['extension'];
  /** The same in another process of the same program, where a question about a tool may be answered. */
  readonly digest: string;
}

/** Where its agents come from, in messages. */
const AGENTS = 'agents of createPith';

/** The extension with the tools and agents that a program gives. */
export function programExtension(tools: readonly Tool[], agents: readonly AgentSpec[]): ObjectExtension {
  const provides = [ToolProvider.id, ...(agents.length === 0 ? [] : [AgentProvider.id])];
  const described = tools.map(({ name, description, inputSchema = null }) => ({ name, description, inputSchema }));
  const listed = agents.map((spec) => ({ id: spec.id, spec: { ...spec, origin: AGENTS }, diagnostics: [], file: AGENTS }));
  return {
    manifest: { ...BARE_MANIFEST, id: EMBEDDED, name: 'Tools and agents of the program', provides },
    extension: class implements ToolProvider, AgentProvider {
      getTools(): readonly Tool[] {
        return tools;
      }

      async listAgents() {
        return listed;
      }
    },
    digest: sha256(canonicalJson(described)),
  };
}

/** Throws `settings_invalid` where its manifest cannot be used. */
export function objectExtension({ id, provides = [], manifest = {}, extension }: EmbeddedExtension): ObjectExtension {
  const given = { ...manifest, id, provides: [...provides], entrypoint: ENTRYPOINT, isolation: 'in_process' };
  if (isShipped(id))
    throw new PithError('settings_invalid', `extensions.${id}: an extension of this id comes with Pith`, { cure: 'use another id' });
  const { data, error } = manifestSchema().safeParse(given);
  if (error !== undefined || id === EMBEDDED) {
    const [issue] = error?.issues ?? [];
    const where = ['extensions', id, ...(issue?.path ?? [])].filter((part, at, all) => part !== all[at - 1]).join('.');
    const [unknown] = issue?.code === 'unrecognized_keys' ? issue.keys : [];
    const slip = unknown === undefined ? undefined : `unknown key '${unknown}'${didYouMean(unknown, Object.keys(BARE_MANIFEST))}`;
    const why = slip ?? issue?.message ?? 'this id is that of your tools';
    const cure = slip !== undefined ? 'correct the name' : issue === undefined || issue.path[0] === 'id' ? 'use another id' : 'correct it';
    throw new PithError('settings_invalid', `${where}: ${why}`, { cure });
  }
  return { manifest: data, extension, digest: sha256(canonicalJson([manifest, [...provides], String(extension)])) };
}

/** What discovery is given of them: as if each were a folder of `sandbox`. */
export function recordsOf(objects: readonly ObjectExtension[], sandbox: string): readonly FolderRecord[] {
  return objects.map(({ manifest, digest }) => {
    const directory = path.join(sandbox, 'extensions', manifest.id);
    const file = path.join(directory, 'manifest.yaml');
    const guard = manifest.provides.includes(ToolGuard.id) ? ({ guard: 'named' } as const) : {};
    const declaration = { id: manifest.id, directory, file, manifest, prompt: null, digest, diagnostics: [], ...guard };
    return { stamps: '', fresh: false, declaration, extraAgentKeys: [], ownedAgentKeys: manifest.agent_keys };
  });
}

/** A loader that has their classes. */
export function loaderOf(loader: Loader, objects: readonly ObjectExtension[]): Loader {
  const classes = new Map(objects.map(({ manifest, extension }) => [moduleOf(manifest.id), extension]));
  const has = ({ id }: Pick<Declaration, 'id'>) => classes.has(moduleOf(id));
  return {
    ...loader,
    bundle: async (declaration, entry) =>
      has(declaration) ? { file: moduleOf(declaration.id), shipped: true } : loader.bundle(declaration, entry),
    isShipped: (declaration) => has(declaration) || loader.isShipped(declaration),
    isAltered: (declaration) => !has(declaration) && loader.isAltered(declaration),
    import: async (file, generation) => (classes.has(file) ? { default: classes.get(file) } : loader.import(file, generation)),
  };
}

function moduleOf(id: string): string {
  return `embedded:${id}`;
}

const ENTRYPOINT = 'main.ts';

/** What a manifest without further keys says, as its schema has it: a start needs no schema. */
const BARE_MANIFEST: Omit<Manifest, 'id' | 'name' | 'provides'> = {
  version: '1.0.0',
  description: '',
  entrypoint: ENTRYPOINT,
  defines: { protocols: {}, topics: {} },
  depends_on: [],
  optional_depends_on: [],
  isolation: 'in_process',
  permissions: { network: false, read: [], write: [], agents: [] },
  enabled: true,
  config: {},
  secrets: [],
  commands: [],
  switches: [],
  models: [],
  agent_keys: [],
  claims: [],
  agent_files: [],
  events: { publishes: [], handles: [] },
  jobs: [],
  schedules: [],
  setup_instructions: '',
};
