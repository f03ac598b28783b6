import type { Manifest } from '../trust/index.ts';
import type { Declaration, Discovery } from '../declarations/index.ts';
import type { HostOptions, Loader } from '../kernel/index.ts';
import type { Tool, ToolProvider } from '../contract/index.ts';
import path from 'node:path';
import { canonicalJson, sha256 } from '@pith/plain-data';

/** The extension that has the tools of the program. */
export const EMBEDDED = 'embedded';

/** With the program's tools as an extension beside those that were found. */
export function withEmbedded(source: HostOptions['source'], sandbox: string, tools: readonly Tool[]): HostOptions['source'] {
  const declaration = declarationIn(sandbox, digestOf(tools));
  const added = (found: Discovery): Discovery => ({ ...found, declarations: new Map([...found.declarations, [EMBEDDED, declaration]]) });
  return { ...source, discover: async (at, polls) => added(await source.discover(at, polls)) };
}

/** A loader that has its class; nothing of it is on disk. */
export function loaderOf(loader: Loader, tools: readonly Tool[]): Loader {
  class Embedded implements ToolProvider {
    getTools(): readonly Tool[] {
      return tools;
    }
  }
  return {
    ...loader,
    bundle: async (declaration, entry) =>
      declaration.id === EMBEDDED ? { file: EMBEDDED, shipped: true } : loader.bundle(declaration, entry),
    isShipped: (declaration) => declaration.id === EMBEDDED || loader.isShipped(declaration),
    isAltered: (declaration) => declaration.id !== EMBEDDED && loader.isAltered(declaration),
    import: async (file, generation) => (file === EMBEDDED ? { default: Embedded } : loader.import(file, generation)),
  };
}

/** The same in another process with the same tools, where a question about one may be answered. */
function digestOf(tools: readonly Tool[]): string {
  return sha256(canonicalJson(tools.map(({ name, description, inputSchema = null }) => ({ name, description, inputSchema }))));
}

function declarationIn(sandbox: string, digest: string): Declaration {
  const directory = path.join(sandbox, 'extensions', EMBEDDED);
  const file = path.join(directory, 'manifest.yaml');
  return { id: EMBEDDED, directory, file, manifest: MANIFEST, prompt: null, shipped: true, digest, diagnostics: [] };
}

/** As the schema of manifests would give it, which no start needs to make. */
const MANIFEST: Manifest = {
  id: EMBEDDED,
  name: 'Tools of the program',
  version: '1.0.0',
  description: '',
  entrypoint: 'main.ts',
  provides: ['tool'],
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
