import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ExtensionContext } from '../../core/contract/index.ts';
import { type Manifest, manifestSchema } from '../../core/trust/index.ts';
import { constructClass, createHost, type HostOptions, type TierKernel, type Version } from '../../core/kernel/index.ts';
import { type Declaration, dependencyFailures } from '../../core/declarations/index.ts';
import { systemClock } from '@pith/promises';
import { createKernel } from '../../core/compose/index.ts';
import { inProcess } from '../fixtures/in-process.ts';
import { interleaved, timed, type Bench, type Row } from './measure.ts';
import { inFolder, put, settle } from './places.ts';

/** How fast a kernel stands, without and with folders. */
export const codeIndexing: Bench = async ({ runs, quick }) =>
  inFolder(async (folder) => {
    const rows: Row[] = [];
    for (const count of quick ? [100] : [10, 100, 1000]) {
      const judged = count === 100;
      const declarations = declarationsOf(count);
      const memory = await interleaved(runs * 3, {
        floor: () => timed(() => bareBoot(count)),
        measured: () => timed(() => boot(declarations, folder)),
      });
      rows.push({
        figure: `kernel boot, ${count} in-memory extensions with dependencies`,
        unit: 'ms',
        ...memory,
        ...(judged && { must: 10 }),
        note: 'order, host, construct, initialise, stop; classes at hand',
      });

      const sandbox = await extensionSandbox(path.join(folder, `boot-${count}`), count);
      await settle();
      const make = () => createKernel({ accepts: true, sandbox, env: {}, home: null, only: [] }, inProcess());
      for (let round = 0; round < 2; round++) await (await make()).stop();
      const kernels: { stop(): Promise<void> }[] = [];
      const folders = await interleaved(runs * 2, {
        floor: () => timed(() => verifiedRows(sandbox)),
        measured: () => timed(async () => void kernels.push(await make())),
        stop: async () => {
          for (const kernel of kernels.splice(0)) await kernel.stop();
          return 0;
        },
      });
      rows.push({
        figure: `boot of ${count} extension folders, index valid, no code needed`,
        unit: 'ms',
        measured: folders.measured,
        floor: folders.floor,
        ...(judged && { boundsAt: 0.7, must: 40 }),
      });
    }
    return rows;
  });

class Trivial {
  constructor(readonly context: ExtensionContext) {}
  async initialize(): Promise<void> {}
}

const nameOf = (at: number) => `part_${String(at).padStart(4, '0')}`;

function declarationsOf(count: number): ReadonlyMap<string, Declaration> {
  return new Map(
    Array.from({ length: count }, (_, at) => {
      const id = nameOf(at);
      const manifest = manifestSchema().parse({
        id,
        version: '1.0.0',
        entrypoint: 'main.ts',
        depends_on: at > 0 ? [nameOf((at * 7) % at)] : [],
      }) as Manifest;
      return [
        id,
        { id, directory: `/${id}`, file: `/${id}/manifest.yaml`, manifest, prompt: null, shipped: true, digest: id, diagnostics: [] },
      ];
    }),
  );
}

async function boot(declarations: ReadonlyMap<string, Declaration>, folder: string): Promise<void> {
  const discovery = { declarations, failures: dependencyFailures(declarations, () => true), diagnostics: [] };
  const nothing = () => {
    throw new Error('not asked for');
  };
  const services = {
    events: { publish: () => undefined, handle: () => () => undefined },
    keyValue: nothing,
    database: nothing,
    agents: {},
  };
  const options = {
    places: { sandbox: folder, dataDirectory: folder },
    source: { discover: async () => discovery, watched: [] },
    clock: systemClock,
    secrets: { env: {} },
    tierOf: () => 'process',
    processes: ({ runtime }: TierKernel) => ({
      construct: (version: Version, number: number) => constructClass(runtime, version, number, { Class: Trivial as never, shipped: true }),
    }),
    configOf: () => ({ enabled: true, config: {}, secrets: [], where: () => '' }),
    index: { surface: () => undefined, putSurface: () => undefined },
    loader: { isShipped: () => true, isAltered: () => false },
    services,
  } as unknown as HostOptions;
  const host = createHost(options, discovery);
  await host.extensions.activateAll();
  await host.stop();
}

/** Reads rows that it wrote before, each verified by the stamps of its two files. */
function verifiedRows(sandbox: string): number {
  const [root, index] = [path.join(sandbox, 'extensions'), path.join(sandbox, 'floor-index')];
  const stampOf = (id: string) => ['manifest.yaml', 'main.ts'].map((name) => statSync(path.join(root, id, name)).mtimeMs);
  if (!existsSync(index)) writeFileSync(index, JSON.stringify(readdirSync(root).map((id) => [id, ...stampOf(id)])));
  const rows = JSON.parse(readFileSync(index, 'utf8')) as [string, number, number][];
  return rows.filter(([id, ...stamps]) => stampOf(id).every((stamp, at) => stamp === stamps[at])).length;
}

/** Topological order of the same graph, then the same classes. */
async function bareBoot(count: number): Promise<void> {
  const done = new Map<string, Trivial>();
  const visit = async (at: number): Promise<void> => {
    if (done.has(nameOf(at))) return;
    if (at > 0) await visit((at * 7) % at);
    const made = new Trivial({} as ExtensionContext);
    await made.initialize();
    done.set(nameOf(at), made);
  };
  for (let at = 0; at < count; at++) await visit(at);
}

async function extensionSandbox(folder: string, count: number): Promise<string> {
  for (let at = 0; at < count; at++) {
    const directory = path.join(folder, 'sandbox', 'extensions', nameOf(at));
    const depends = at > 0 ? `[${nameOf((at * 7) % at)}]` : '[]';
    await put(
      path.join(directory, 'manifest.yaml'),
      `id: ${nameOf(at)}\nname: Part ${at}\nversion: 1.0.0\ndescription: One of many.\nentrypoint: main.ts\nprovides: [tool]\ndepends_on: ${depends}\n`,
    );
    await put(
      path.join(directory, 'main.ts'),
      `import { defineTool, z } from 'pith';\nexport default class { getTools() { return [defineTool({ name: 'tool_${at}', description: 'd', input: z.object({}), execute: () => ${at} })]; } }\n`,
    );
  }
  return path.join(folder, 'sandbox');
}
