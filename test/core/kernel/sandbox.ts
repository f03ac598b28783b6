import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Clock, TopicMap } from '../../../core/contract/index.ts';
import {
  configOf,
  createEvents,
  createHost,
  discover,
  enabledBy,
  type Host,
  loadSettings,
  openIndex,
  packageRoot,
  systemClock,
  type Tier,
} from '../../../core/kernel/index.ts';
import { createSqliteJournal } from '../../../core/durable/index.ts';
import { stateFolder } from '@pith/safe-files';
import { createLoader } from '../../../core/loader/index.ts';
import { createProcessTier } from '../../../core/process/index.ts';
import { createDatabase, createKeyValue, openStore, type Store } from '../../../core/store/index.ts';

export interface HostSetup {
  readonly wire?: boolean;
  /** Default `in_process`, for speed. */
  readonly isolation?: Tier | 'granted';
  readonly clock?: Clock;
  readonly sandboxing?: Parameters<typeof createProcessTier>[1]['sandboxing'];
  readonly env?: Readonly<Record<string, string>>;
}

/** A real sandbox in a temporary folder and hosts over it. */
export interface TestSandbox {
  readonly directory: string;
  readonly failures: TopicMap['extension.failed'][];
  readonly storeOpened: () => boolean;
  write(file: string, text: string): Promise<void>;
  remove(file: string): Promise<void>;
  /** `extensions/<id>/manifest.yaml` and `main.ts`. `manifest` is added to id and entrypoint. */
  extension(id: string, provides: string, body: string, manifest?: string): Promise<void>;
  host(setup?: HostSetup): Promise<Host>;
  close(): Promise<void>;
}

export async function testSandbox(): Promise<TestSandbox> {
  const root = await realpath(await mkdtemp(path.join(os.tmpdir(), 'pith-host-')));
  const directory = path.join(root, 'sandbox');
  await mkdir(directory, { recursive: true });
  const hosts: Host[] = [];
  const stores: Store[] = [];
  const failures: TopicMap['extension.failed'][] = [];

  const sandbox: TestSandbox = {
    directory,
    failures,
    storeOpened: () => stores.length > 0,
    async write(file, text) {
      await mkdir(path.dirname(path.join(directory, file)), { recursive: true });
      await writeFile(path.join(directory, file), text);
    },
    remove: (file) => rm(path.join(directory, file), { recursive: true, force: true }),
    async extension(id, provides, body, manifest = '') {
      await sandbox.write(`extensions/${id}/manifest.yaml`, `id: ${id}\nentrypoint: main.ts\nprovides: [${provides}]\n${manifest}\n`);
      await sandbox.write(`extensions/${id}/main.ts`, `import { defineTool, toolError, toolResult, z, PithError } from 'pith';\n${body}\n`);
    },
    async host({ wire = false, isolation = 'in_process', clock = systemClock, env = {}, sandboxing = async () => null } = {}) {
      const dataDirectory = path.join(directory, 'data');
      const index = openIndex(stateFolder(dataDirectory, '.cache'));
      const { settings } = await loadSettings({ sandbox: directory, env, workingDirectory: directory });
      const events = createEvents({
        onListenerError: () => undefined,
        journal: () => createSqliteJournal({ store: open(), clock, handlers: () => [], written: events.announce }),
      });
      events.handle('extension.failed', (failure) => void failures.push(failure));
      let store: Store | undefined;
      const open = () => {
        if (!store) stores.push((store = openStore(path.join(dataDirectory, 'pith.db'), systemClock)));
        return store;
      };
      const host = await createHost({
        places: { sandbox: directory, dataDirectory },
        index,
        clock,
        secrets: { env },
        loader: createLoader({ dataDirectory, packageRoot: packageRoot() }),
        processes: (kernel) => createProcessTier(kernel, { packageRoot: packageRoot(), env, sandboxing }),
        calls: { wire, isolation },
        source: {
          discover: async (at) => {
            const found = await discover({
              roots: [{ directory, shipped: false }],
              agentPaths: [],
              index,
              isEnabled: enabledBy(settings),
              at,
            });
            return found;
          },
          watched: [path.join(directory, 'extensions'), path.join(directory, 'agents')],
        },
        configOf: (declaration) => configOf(declaration, settings),
        services: {
          events,
          keyValue: (id) => createKeyValue(open(), id),
          database: (id) => createDatabase(open(), id),
          agents: {
            list: () => Promise.resolve([]),
            find: (id) => Promise.reject(new Error(`no agent '${id}'`)),
            check: () => Promise.resolve([]),
            run: () => {
              throw new Error('no agents here');
            },
          },
        },
      });
      const stop = async () => {
        await host.stop();
        await index.save();
      };
      hosts.push({ ...host, stop });
      return hosts.at(-1) as Host;
    },
    async close() {
      for (const host of hosts) await host.stop();
      for (const store of stores) await store.close();
      await rm(root, { recursive: true, force: true });
    },
  };
  return sandbox;
}

export { CALL, NEVER, TURN } from './extensions.ts';
