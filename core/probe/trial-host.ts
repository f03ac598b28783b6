import path from 'node:path';
import { PithError } from '../contract/errors.ts';
import type { TurnEvent } from '../contract/index.ts';
import { stateFolder } from '@pith/safe-files';
import { createEvents, createListenerFailures } from '../kernel/events/bus.ts';
import { createJournal } from '../durable/journal.ts';
import { createDatabase } from '../store/extension-database.ts';
import { createKeyValue } from '../store/key-value.ts';
import { openStore, type Store } from '../store/store.ts';
import type { Declaration, Discovery } from '../kernel/discovery/declaration.ts';
import { openIndex } from '../kernel/discovery/index-file.ts';
import { orderOf } from '../kernel/discovery/order.ts';
import { createLoader } from '../loader/bundle-store.ts';
import { createProcessTier } from '../process/tier.ts';
import { ExtensionHost } from '../kernel/host.ts';
import { systemClock } from '../kernel/system-clock.ts';
import type { ProbeOptions } from './probe.ts';

/** A host over one extension and what it depends on, apart from the one that runs. */
export async function openTrial(options: ProbeOptions, declaration: Declaration, dataDirectory: string): Promise<Trial> {
  const clock = systemClock;
  const trial = unprivileged(declaration);
  let store: Store | undefined;
  const open = (): Store => (store ??= openStore(path.join(dataDirectory, 'pith.db'), clock));
  const events = createEvents({
    ...createListenerFailures(),
    journal: () => createJournal({ store: open(), clock, handlers: () => [], written: (written) => events.announce(written) }),
  });
  const host = await ExtensionHost.create({
    sandbox: options.sandbox,
    home: options.home,
    dataDirectory,
    packageRoot: options.packageRoot,
    loader: createLoader({ dataDirectory, packageRoot: options.packageRoot }),
    processes: (kernel) =>
      createProcessTier(kernel, {
        packageRoot: options.packageRoot,
        env: {},
        sandboxing: options.sandboxing,
        trialOf: options.dataDirectory,
      }),
    confined: options.confined,
    discover: async (at) => discoveryOf(trial, options.discovery, at),
    configOf: (each) => ({ ...options.configOf(each), enabled: true, ...(each === trial ? { isolation: 'process', secrets: [] } : {}) }),
    watched: [],
    index: openIndex(stateFolder(dataDirectory)),
    clock,
    events,
    env: {},
    keyValue: (extensionId) => createKeyValue(open(), extensionId),
    database: (extensionId) => createDatabase(open(), extensionId),
    agents: { list: async () => [], find: noAgent, check: async () => [], run: noAgents },
    renderPrompt: noAgent,
  });
  const close = async () => {
    await host.stop();
    await store?.close();
  };
  return { host, close };
}

export interface Trial {
  readonly host: ExtensionHost;
  close(): Promise<void>;
}

/** What it asks for beyond its own folders is given when a person has agreed, and not before. */
function unprivileged(declaration: Declaration): Declaration {
  const { manifest } = declaration;
  if (manifest === null) return declaration;
  return { ...declaration, manifest: { ...manifest, secrets: [], permissions: { network: false, read: [], write: [], agents: [] } } };
}

/** The extension and what it depends on; a version of it that runs is not among them. */
function discoveryOf(trial: Declaration, live: Discovery, at: number): Discovery {
  const declarations = new Map([[trial.id, trial]]);
  for (const { manifest } of declarations.values()) {
    for (const id of [...(manifest?.depends_on ?? []), ...(manifest?.optional_depends_on ?? [])]) {
      const found = live.declarations.get(id);
      if (found !== undefined && !declarations.has(id)) declarations.set(id, found); // the loop comes to it as well
    }
  }
  return { declarations, ...orderOf(declarations, () => true, at), diagnostics: [] };
}

const USAGE = { inputTokens: 0, outputTokens: 0 };

const noAgent = () => Promise.reject(new PithError('agent_unknown', 'no agent is known while an extension is loaded for trial'));

async function* noAgents(): AsyncGenerator<TurnEvent> {
  yield {
    type: 'turn-end',
    reason: 'error',
    text: '',
    usage: USAGE,
    error: { code: 'not_allowed', message: 'no agent is run while an extension is loaded for trial' },
  };
}
