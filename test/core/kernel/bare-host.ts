import path from 'node:path';
import type { Clock, ExtensionContext, JsonValue } from '../../../core/contract/index.ts';
import { configOf, discover, enabledBy, loadSettings, packageRoot } from '../../../core/declarations/index.ts';
import { createEvents, createHost, type HostOptions } from '../../../core/kernel/index.ts';
import { systemClock } from '@pith/promises';
import { createLoader } from '../../../core/loader/index.ts';
import { folderWith } from '../../places.ts';
import { indexIn } from '../declarations/sandbox-folder.ts';

export interface BareOptions {
  readonly clock?: Clock;
  /** Awaited by each look at the folder, after it. */
  looks?(): Promise<void>;
  renewed?(): Promise<void>;
  /** The extensions lie where those that ship do; true: and the build had other files of them. */
  readonly isAltered?: boolean;
  readonly processes?: HostOptions['processes'];
}

/** The kernel alone over a sandbox, which a test kernel never is: without a database, processes, agents or durable events. */
export async function bareHost(files: Readonly<Record<string, string>>, options: BareOptions = {}) {
  const { clock = systemClock, looks, renewed = async () => undefined, isAltered, processes } = options;
  const directory = folderWith(files);
  const { settings } = await loadSettings({ sandbox: directory, env: {}, workingDirectory: directory });
  const index = indexIn(directory);
  const kv = memory();
  const events = createEvents();
  const source: HostOptions['source'] = {
    async discover(at) {
      const found = await discover({
        roots: [{ directory, shipped: isAltered !== undefined }],
        agentPaths: [],
        index,
        isEnabled: enabledBy(settings),
        at,
      });
      await looks?.();
      return found;
    },
    renewed,
    watched: [],
  };
  const made: HostOptions = {
    places: { sandbox: directory, dataDirectory: path.join(directory, 'data') },
    source,
    configOf: (declaration) => configOf(declaration, settings),
    index,
    clock,
    loader: {
      ...createLoader({ dataDirectory: path.join(directory, 'data'), packageRoot: packageRoot() }),
      isAltered: () => isAltered === true,
    },
    secrets: { env: {} },
    services: {
      events,
      keyValue: () => kv,
      database: absent,
      jobs: absent,
      agents: { list: absent, defaultId: absent, find: absent, check: absent, run: absent },
    },
    tierOf: () => 'in_process',
    ...(processes && { processes }),
  };
  const host = createHost(made, await source.discover(clock.now()));
  return { directory, events, host, index };
}

function memory(): ExtensionContext['kv'] {
  const values = new Map<string, JsonValue>();
  return {
    get: async (key) => values.get(key) ?? null,
    set: async (key, value) => void values.set(key, value),
    delete: async (key) => values.delete(key),
    keys: async (prefix = '') => [...values.keys()].filter((key) => key.startsWith(prefix)),
  };
}

const absent = () => {
  throw new Error('absent');
};
