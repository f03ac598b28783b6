import {
  type PromptTemplate,
  type ProviderFacts,
  type Candidate,
  type Generation,
  checkConfig,
  jsonSchemaOf,
  constructClass,
  importInProcess,
  importCommands,
  type ImportedClass,
  type Loader,
  type Runtime,
  createCommandContext,
  renderPrompt,
  runAs,
  type Phase,
} from '../kernel/index.ts';
import { type Command, type ModelCallOptions, type ModelPart, PithError } from '../contract/index.ts';
import { commandData, runFor, type CommandCalls } from './command-bridge.ts';
import { errorToData, mapParts } from './crossing.ts';
import type { Incoming, Peer } from '@pith/process-rpc';
import type { Offer, Setup } from './setup.ts';
import { ChildEvents, createChildRuntime, Providers } from './child-runtime.ts';

/** The one extension of this process, through the phases that the kernel asks for. */
export class ChildExtension {
  readonly #events: ChildEvents;
  readonly #runtime: Runtime;
  readonly #providers: Providers;
  /** What was asked of its code last. */
  doing: Phase = 'import';
  #imported: ImportedClass | undefined;
  /** Of a command entry, which is all that its process runs. */
  #entry: readonly Command[] | undefined;
  #candidate: Candidate | undefined;
  #generation: Generation | undefined;

  constructor(
    importing: Loader['import'],
    private readonly peer: Peer,
    private readonly terminals: CommandCalls,
    private readonly setup: Setup,
  ) {
    this.#events = new ChildEvents(peer);
    this.#providers = new Providers(peer, setup.providers);
    this.#runtime = createChildRuntime(importing, { setup, peer, events: this.#events, providers: this.#providers });
  }

  serve(operation: string, args: readonly unknown[], incoming: Incoming): unknown {
    if (operation.startsWith('io.')) return this.terminals.serve(operation, args);
    const act = this.#acts[operation];
    if (act) return act(args, incoming);
    const generation = this.#running();
    const found = generation.surface.operations.get(operation);
    if (!found) throw new PithError('not_declared', `'${this.setup.declaration.id}' has no ${operation}`);
    this.doing = phaseOf(operation);
    return generation.run(this.doing, () => found(args, incoming.signal));
  }

  readonly #acts: Readonly<Record<string, (args: readonly unknown[], incoming: Incoming) => unknown>> = {
    'host.import': async () => void (this.#imported = await importInProcess(this.#runtime, this.setup.declaration, this.setup.number)),
    'host.entry': async ([, entry]) => {
      const make = await importCommands(this.#runtime, this.setup.declaration, String(entry));
      this.doing = 'call';
      this.#entry = await make(createCommandContext(this.#runtime, this.setup.declaration, this.setup.config.config));
    },
    'host.checkConfig': () => {
      const { declaration } = this.setup;
      checkConfig(this.#imported?.Class.config, this.#runtime.rights.configOf(declaration), declaration.file);
    },
    'host.settingsSchema': () => jsonSchemaOf(this.#imported?.Class.config),
    'host.construct': async () => {
      const { declaration, number } = this.setup;
      const version = { declaration, config: this.#runtime.rights.configOf(declaration) };
      this.#candidate = await constructClass(this.#runtime, version, number, this.#imported as ImportedClass);
    },
    'host.initialize': async (): Promise<Offer> => {
      this.#generation = await (this.#candidate as Candidate).initialize();
      const { descriptor, operations } = this.#generation.surface;
      return { descriptor, operations: [...operations.keys()] };
    },
    'host.start': ([withService]) => this.#running().start(withService === true),
    'host.stopService': () => this.#running().stopService(),
    'host.stop': async () => {
      await this.#generation?.stop();
      await printed();
    },
    event: ([topic, payload]) => this.#events.arrived(String(topic), payload as object),
    providers: ([facts]) => void (this.#providers.facts = facts as readonly ProviderFacts[]),
    'prompt.render': ([prompt]) => renderPrompt(prompt as PromptTemplate),
    agentKey: ([key, value]) => this.#running().checkAgentKey(String(key), value),
    'command.list': async () => commandData(await this.#commands()),
    'command.run': async (args, incoming) => {
      const commands = await this.#commands();
      return runAs(this.#runtime.owner(this.setup.declaration.id, 'call'), () => runFor(this.peer, commands, args, incoming));
    },
    'model.facts': async ([name, prefix]) => {
      const { model, contextWindow } = await this.#running().getModel(String(name), String(prefix));
      const { specificationVersion, provider, modelId } = model;
      return { specificationVersion, provider, modelId, contextWindow };
    },
    'model.stream': ([name, prefix, options], { signal }) =>
      this.#answer(String(name), String(prefix), { ...(options as ModelCallOptions), abortSignal: signal }),
  };

  #running(): Generation {
    if (this.#generation) return this.#generation;
    throw new PithError('stopped', `'${this.setup.declaration.id}' has not been initialised`);
  }

  async #commands(): Promise<readonly Command[]> {
    if (this.#entry) return this.#entry;
    const list = this.#running().surface.operations.get('command.getCommands');
    if (!list) throw new PithError('not_declared', `'${this.setup.declaration.id}' provides no commands`);
    return (await this.#running().run('call', () => list([], new AbortController().signal))) as readonly Command[];
  }

  async #answer(name: string, prefix: string, options: ModelCallOptions): Promise<AsyncIterable<ModelPart>> {
    const { model } = await this.#running().getModel(name, prefix);
    const { stream } = await this.#running().run('call', () => model.doStream(options));
    return mapParts(stream, (part) => (part.type === 'error' ? { ...part, error: errorToData(part.error) } : part));
  }
}

function phaseOf(operation: string): Phase {
  if (operation === 'context.getContext') return 'getContext';
  if (operation === 'tool.getTurnTools') return 'getTurnTools';
  if (operation.startsWith('handler.') || operation.startsWith('job.')) return 'background';
  return operation.startsWith('tool.') && operation !== 'tool.describe' ? 'tool call' : 'call';
}

/** Resolves when what was printed has gone out: the last words of an extension reach the log, and are counted with the rest. */
export async function printed(): Promise<void> {
  for (const stream of [process.stdout, process.stderr])
    if (stream.writableLength > 0) await new Promise<void>((resolve) => stream.write('', () => resolve()));
}
