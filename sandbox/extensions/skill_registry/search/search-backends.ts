import { messageOf, type CommandContext, type Diagnostic, type Events, type ExtensionContext, type Remote } from 'pith';
import { within } from '@pith/promises';
import { EmbeddingProvider } from 'pith/embedding';
import { RankerProvider } from '../contract.ts';
import { modelOf } from '../meaning/embedding-model.ts';
import type { EmbeddingClient } from '../meaning/embedding-client.ts';
import type { Meaning } from '../meaning/meaning.ts';
import type { Skill, Snapshot } from '../skill.ts';
import type { Learned } from './learned-examples.ts';
import type { OtherRanker } from './other-ranker.ts';

export interface SearchBackendsOptions {
  readonly context: CommandContext & Pick<ExtensionContext, 'find'> & { readonly events: Pick<Events, 'handle'> };
  readBody(skill: Skill): Promise<string | null>;
  readonly learned: Pick<Learned, 'of'>;
}

/** Whether an extension gives vectors is looked up so often, at most. */
const LOOK_EVERY_MS = 1000;
/** A command waits so long for what is set up. */
const READY_MS = 2000;

/** What may rank beside or instead of the words: an embedding model, another extension's ranker. Both come and go while Pith runs, and nothing of them is loaded before. */
export class SearchBackends {
  readonly #options: SearchBackendsOptions;
  readonly #off: readonly (() => void)[];
  #closing: Promise<unknown> = Promise.resolve();
  #client: EmbeddingClient | null = null;
  #meaning: Meaning | null = null;
  #ranker: OtherRanker | null = null;
  #snapshot: Snapshot | null = null;
  #lookedAt = -Infinity;
  #loading: Promise<void> | null = null;
  #closed = false;

  constructor(options: SearchBackendsOptions) {
    this.#options = options;
    const { events } = options.context;
    const changed = ({ extensionId }: { readonly extensionId: string }): void => {
      this.#lookedAt = -Infinity;
      if (extensionId === this.#ranker?.id) this.#ranker.forgets();
    };
    this.#off = [
      events.handle('extension.activated', changed),
      events.handle('extension.reloaded', changed),
      events.handle('extension.stopped', changed),
    ];
  }

  /** The ranker that the settings name, once it is loaded; null where they name none. */
  ranker(snapshot: Snapshot): OtherRanker | null {
    const { context } = this.#options;
    const id = context.config['ranker'];
    if (typeof id !== 'string' || this.#closed) return null;
    this.#snapshot = snapshot;
    if (this.#ranker === null) this.#load(() => this.#loadRanker(id));
    this.#ranker?.sync(snapshot);
    return this.#ranker;
  }

  /** The meaning of skills as one model sees it; null where there is no model, or none yet. */
  meaning(snapshot: Snapshot): Meaning | null {
    this.#snapshot = snapshot;
    this.#look();
    this.#meaning?.sync(snapshot);
    return this.#meaning?.usable === true ? this.#meaning : null;
  }

  /** Keeps what is there in step with the snapshot; loads what is known to be set up. */
  sync(snapshot: Snapshot): void {
    this.ranker(snapshot);
    if (this.#modelNow() !== null) this.meaning(snapshot);
  }

  /** What was learned of some skills has changed. */
  relearn(snapshot: Snapshot): void {
    this.#meaning?.sync(snapshot, true);
    this.#ranker?.sync(snapshot, true);
  }

  /** For who has time, a command: resolves when all that is set up is loaded and knows the snapshot. */
  async settle(snapshot: Snapshot): Promise<void> {
    this.ranker(snapshot);
    await this.#loading;
    this.#ranker?.sync(snapshot);
    await this.#ranker?.settled();
    await this.#loadMeaning();
    this.#meaning?.sync(snapshot);
    await this.#meaning?.settled();
  }

  /** The same for one query, as long as a person waits: also its vector is there then. What is not by then is not used. */
  async ready(snapshot: Snapshot, query: string): Promise<void> {
    const { context } = this.#options;
    const models = this.#rule === 'off' ? [] : context.find(EmbeddingProvider);
    if (typeof context.config['ranker'] !== 'string' && models.every(({ embeddingModel }) => embeddingModel === null)) return;
    const all = async (): Promise<void> => {
      await this.settle(snapshot);
      await this.meaning(snapshot)?.queries.of(query, READY_MS);
    };
    const done = all().catch((error: unknown) => context.logger.warn(`the search for skills: ${messageOf(error)}`));
    await within(context.clock, READY_MS, done);
  }

  /** Why the answer is not by what the settings name; null where it is. */
  instead(by: string): string | null {
    const named = this.#options.context.config['ranker'];
    if (typeof named === 'string') {
      const other = by === 'fused' ? 'words and meaning' : 'words';
      return by === named ? null : `ranked by ${other}: the ranker '${named}' did not answer; see pith doctor`;
    }
    const model = this.#modelNow();
    if (model === null || by === 'fused') return null;
    const why = this.#meaning?.refused === true ? 'makes the order worse and is not used' : 'gave no vectors in time';
    return `ranked by words alone: the embedding model ${model} ${why}; see pith doctor`;
  }

  /** The model, also one that is not used. */
  get model(): Meaning | null {
    return this.#meaning;
  }

  get client(): EmbeddingClient | null {
    return this.#client;
  }

  /** For `pith doctor`. A model that is set up is asked for one vector, unless it has just given some. */
  async findings(snapshot: Snapshot): Promise<readonly Diagnostic[]> {
    const { context } = this.#options;
    const { dataDirectory, logger } = context;
    const rule = this.#rule;
    const model = this.#modelNow();
    const found: Diagnostic[] = [];
    if (model !== null && rule !== 'off') {
      const { meaningFindings } = await import('../meaning/meaning.ts');
      const { failureFinding } = await import('../meaning/verdict.ts');
      const failure = await (await this.#clientOf()).check(READY_MS);
      if (failure !== null) found.push(failureFinding(failure));
      if (failure?.purpose === 'document') this.#meaning?.sync(snapshot, true); // the server answers again: not only after the rest
      found.push(...(await meaningFindings(model, { dataDirectory, logger, rule, snapshot })));
    }
    const named = context.config['ranker'];
    const rankers = typeof named === 'string' ? context.find(RankerProvider).map(({ extensionId }) => extensionId) : [];
    if (typeof named === 'string' && !rankers.includes(named)) {
      const others = rankers.length === 0 ? 'no extension provides one' : `there is ${rankers.join(', ')}`;
      const message = `skills.ranker names '${named}', and no extension of that id ranks now: the default ranker answers; ${others}`;
      found.push({ severity: 'warning', code: 'ranker_unknown', message, cure: 'correct skills.ranker, or remove it' });
    }
    return found;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const off of this.#off) off();
    await this.#loading;
    await Promise.all([this.#meaning?.close(), this.#ranker?.close(), this.#closing]);
  }

  get #rule(): 'measured' | 'always' | 'off' {
    const rule = this.#options.context.config['embedding'];
    return rule === 'always' || rule === 'off' ? rule : 'measured';
  }

  /** null where none is known to be set up. */
  #modelNow(): string | null {
    return this.#rule === 'off' ? null : modelOf(this.#options.context.find(EmbeddingProvider));
  }

  #look(): void {
    const { clock } = this.#options.context;
    const now = clock.now();
    if (this.#closed || (now >= this.#lookedAt && now - this.#lookedAt < LOOK_EVERY_MS)) return;
    this.#lookedAt = now;
    const providers = this.#rule === 'off' ? [] : this.#options.context.find(EmbeddingProvider);
    const model = modelOf(providers);
    const unknown = providers.some(({ embeddingModel }) => embeddingModel === undefined);
    if (model !== (this.#meaning?.model ?? null)) this.#drop();
    if (unknown || (model !== null && this.#meaning === null)) this.#load(() => this.#loadMeaning());
  }

  #drop(): void {
    const dropped = this.#meaning;
    this.#meaning = null;
    if (dropped !== null) this.#closing = this.#closing.then(() => dropped.close());
  }

  #load(load: () => Promise<void>): void {
    this.#loading ??= load()
      .catch((error: unknown) => this.#options.context.logger.warn(`the search for skills: ${messageOf(error)}`))
      .finally(() => {
        this.#loading = null;
      });
  }

  async #loadMeaning(): Promise<void> {
    const rule = this.#rule;
    if (rule === 'off' || this.#closed) return;
    const { context, readBody, learned } = this.#options;
    const { clock, logger, dataDirectory } = context;
    const client = await this.#clientOf();
    await client.wake();
    const model = client.model();
    if (model === null || this.#closed || this.#meaning?.model === model) return;
    const { Meaning } = await import('../meaning/meaning.ts');
    if (this.#closed || this.#meaning?.model === model) return;
    this.#drop();
    this.#meaning = new Meaning({ client, model, dataDirectory, rule, readBody, learned, clock, logger });
    if (this.#snapshot !== null) this.#meaning.sync(this.#snapshot);
  }

  async #clientOf(): Promise<EmbeddingClient> {
    const { context } = this.#options;
    const { EmbeddingClient } = await import('../meaning/embedding-client.ts');
    return (this.#client ??= new EmbeddingClient({
      clock: context.clock,
      logger: context.logger,
      find: () => context.find(EmbeddingProvider),
    }));
  }

  async #loadRanker(id: string): Promise<void> {
    const { context, readBody, learned } = this.#options;
    const { clock, logger } = context;
    const { OtherRanker } = await import('./other-ranker.ts');
    const find = (): Remote<RankerProvider> | null => context.find(RankerProvider).find(({ extensionId }) => extensionId === id) ?? null;
    if (this.#closed) return;
    this.#ranker ??= new OtherRanker({ id, find, readBody, learned, clock, logger });
    if (this.#snapshot !== null) this.#ranker.sync(this.#snapshot);
  }
}
