import { codeOf, messageOf, PithError } from '../contract/index.ts';
import { didYouMean, nearest } from '@pith/plain-text';
import type { DeclaredModel, ModelParts, RoutedProvider } from '../kernel/index.ts';
import { type Price, priceIn, type Prices } from './prices.ts';
import { askServers, completedModel, type ModelServer, unlistedModel } from './servers.ts';
import { followAlias, isModelAlias, splitReference, ALIASES, followDefault, type ModelReference } from './reference.ts';

export interface RouterDependencies {
  /** Only a model that somebody named, or whose key is set, is chosen: nobody would see that it is another one. */
  readonly onlyNamed?: boolean;
  /** Read at each use; call `invalidate` after a change. */
  readonly settings: { readonly models: Readonly<Record<string, string | undefined>>; readonly prices?: Prices };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether Pith stores this variable of `env` as a secret: it was given for one address, which may differ from the present one. */
  isKept?(name: string): boolean;
  declared(): readonly DeclaredModel[];
  provider(extensionId: string): Promise<RoutedProvider>;
}

interface Choice {
  /** `provider/model`. */
  readonly ref: string;
  /** Why this model, for people. */
  readonly why: string;
}

/** The model of `default`. */
interface DefaultChoice extends Choice {
  /** That the environment has the address of another provider, which is not asked. */
  readonly unused?: string;
}

export interface ResolvedModel extends ModelParts, Choice {
  /** It is an object of the program in which this kernel runs. */
  readonly isOwn?: true;
}

export interface ModelRouter {
  /** The model of `default`. Loaded only where a stored key may belong to another address. Rejects `model_unknown` when there is none. */
  choose(): Promise<DefaultChoice>;
  /**
   * Takes an alias, a prefix, or `provider/model`. Rejects `model_unknown` with the nearest names, `settings_invalid` for aliases in a
   * circle.
   */
  resolve(refOrAlias: string): Promise<ResolvedModel>;
  /** The connected servers with their models. Asked once until `invalidate`, or again with `fresh`. Never rejects. */
  servers(fresh?: boolean): Promise<readonly ModelServer[]>;
  /** Why no message can be sent to the model (default: that of `default`), as its server says; null: it can. Asks that server alone. */
  problem(refOrAlias?: string): Promise<PithError | null>;
  /**
   * What a person means by this text: an alias, `provider/model`, or the name of a model that exactly one connected server has. Rejects
   * `model_unknown` with the nearest names, also where its server lists others only.
   */
  meant(text: string): Promise<string>;
  /** What the name leads to: `default`, a prefix or `provider/model`. Throws the error of `resolve` for the name alone. Asks and loads no provider. */
  check(refOrAlias: string): string;
  /** Whether the name is an alias, built-in or of the settings, so that a person decides its meaning. */
  isAlias(name: string): boolean;
  /** The extension that offers the model `provider/model` or the prefix; null for aliases, and where none offers it. Loads none. */
  providerOf(ref: string): string | null;
  /** What the model `provider/model` costs; null: nobody says it. */
  price(ref: string): Price | null;
  /** Clears the cache of resolved models, after a change of a provider or the settings. */
  invalidate(): void;
}

export function createRouter(dependencies: RouterDependencies): ModelRouter {
  let chosen: Promise<DefaultChoice> | undefined;
  let listed: Promise<readonly ModelServer[]> | undefined;
  const resolved = new Map<string, Promise<ResolvedModel>>();

  function choose(): Promise<DefaultChoice> {
    const choice = (chosen ??= chooseModel().then(withUnused));
    choice.catch(() => {
      if (chosen === choice) chosen = undefined;
    });
    return choice;
  }

  /**
   * Chooses the model of `default`: PITH_MODEL; else `models.default` of the settings; else, among shipped entries, the highest whose
   * variables are all set; else the highest whose extension finds a local server with a model; else the lowest entry without conditions.
   * Other extensions' entries are used only where a person names them, since a conversation must not go to whoever claims the highest rank.
   */
  async function chooseModel(): Promise<Choice> {
    const { env, settings, provider } = dependencies;
    const fromEnv = isSet(env.PITH_MODEL) ? followAlias(env.PITH_MODEL.trim(), settings.models).target : 'default';
    if (fromEnv !== 'default') return { ref: await complete(fromEnv), why: 'PITH_MODEL' };
    const fromSettings = followDefault(settings.models);
    if (fromSettings !== null) return { ref: await complete(fromSettings), why: 'settings models.default' };

    const entries = byRank(dependencies.declared().filter(({ shipped }) => shipped));
    const tried: string[] = [];
    for (const entry of entries.filter((each) => hasVariables(each, env))) {
      const { when_env: names } = entry;
      try {
        const ref = await completeEntry(entry);
        if (names.some((name) => dependencies.isKept?.(name))) await load(ref, 'named');
        return { ref, why: `${names.join(' and ')} ${names.length > 1 ? 'are' : 'is'} set` };
      } catch (error) {
        if (codeOf(error, '') !== 'secret_not_given') throw error;
        const reason = messageOf(error);
        if (!tried.includes(reason)) tried.push(reason);
      }
    }

    for (const entry of dependencies.onlyNamed ? [] : entries.filter(({ when_local }) => when_local)) {
      let place: string | null = null;
      try {
        place = (await (await provider(entry.extensionId)).findLocal?.(entry.prefix)) ?? null;
        if (place !== null) return { ref: await completeEntry(entry), why: `a server listens on ${place}` };
      } catch (error) {
        // It may be another program, or a server without a model.
        tried.push(`${place === null ? `a server of '${entry.prefix}'` : `the server on ${place}`} could not be used: ${messageOf(error)}`);
      }
    }

    const last = entries.findLast(({ when_env, when_local }) => when_env.length === 0 && !when_local);
    if (last === undefined || dependencies.onlyNamed) {
      const offline = last === undefined ? '' : `, or \`model: '${await completeEntry(last)}'\``;
      throw new PithError('model_unknown', ['no model is set up', ...tried].join('; '), {
        cure: dependencies.onlyNamed
          ? `give \`model\`, with its key in \`env\`${offline}`
          : 'set models.default in the settings, or PITH_MODEL, to provider/model',
      });
    }
    return { ref: await completeEntry(last), why: ['no model is set up', ...tried].join('; ') };
  }

  /** A person who set an address may think that it is asked. */
  function withUnused(choice: Choice): DefaultChoice {
    const { env, declared } = dependencies;
    const [own] = choice.ref.split('/', 1);
    const variables = (entries: readonly DeclaredModel[]) => entries.filter(({ shipped }) => shipped).flatMap((entry) => entry.when_env);
    const used = variables(declared().filter(({ prefix }) => prefix === own));
    const other = variables(declared()).find((name) => !used.includes(name) && /^https?:/iu.test(env[name]?.trim() ?? ''));
    return other === undefined ? choice : { ...choice, unused: `${other} is set but not used: ${choice.ref} is from another provider` };
  }

  async function resolve(refOrAlias: string): Promise<ResolvedModel> {
    const { target, path } = followAlias(refOrAlias, dependencies.settings.models);
    if (target === 'default') {
      const choice = await choose();
      return load(choice.ref, choice.why);
    }
    const ref = await complete(target);
    return load(ref, path.length > 1 ? `settings models.${path.at(-2)}` : 'named');
  }

  /** `provider/model` for a reference that may be a prefix alone. */
  async function complete(target: string): Promise<string> {
    const entry = entryOf(splitReference(target)?.prefix ?? target, target);
    return splitReference(target) === null ? completeEntry(entry) : target;
  }

  async function completeEntry({ extensionId, prefix, default: name }: DeclaredModel): Promise<string> {
    return `${prefix}/${name ?? (await firstModel(extensionId, prefix))}`;
  }

  async function firstModel(extensionId: string, prefix: string): Promise<string> {
    const [first] = await (await dependencies.provider(extensionId)).models(prefix);
    if (first !== undefined) return first.name;
    throw new PithError('model_unknown', `model provider '${prefix}' lists no model`, {
      cure: `install one, or name it as ${prefix}/MODEL`,
    });
  }

  function check(refOrAlias: string): string {
    const { target } = followAlias(refOrAlias, dependencies.settings.models);
    if (target !== 'default') entryOf(splitReference(target)?.prefix ?? target, target);
    return target;
  }

  function servers(fresh = false): Promise<readonly ModelServer[]> {
    if (fresh || listed === undefined) {
      const prefixes = [...new Set(dependencies.declared().map(({ prefix }) => prefix))];
      const connected = prefixes.flatMap((prefix) => candidatesOf(prefix)[0] ?? []);
      listed = askServers(byRank(connected), dependencies.provider);
    }
    return listed;
  }

  async function problem(refOrAlias = 'default'): Promise<PithError | null> {
    try {
      const { ref } = await resolve(refOrAlias);
      const [prefix = ''] = ref.split('/', 1);
      const asked = await askServers(candidatesOf(prefix).slice(0, 1), dependencies.provider);
      const [server] = asked;
      if (server === undefined) throw new PithError('model_unreachable', `nothing answers for '${prefix}'`, { cure: 'start its server' });
      if (server.problem !== null) throw server.problem;
      return unlistedModel(ref, asked);
    } catch (error) {
      return error instanceof PithError ? error : new PithError(codeOf(error, 'model_unreachable'), messageOf(error), { cause: error });
    }
  }

  async function meant(text: string): Promise<string> {
    const { target } = followAlias(text, dependencies.settings.models);
    const [prefix = ''] = target.split('/', 1);
    if (target === 'default') return text;
    if (candidatesOf(prefix).length === 0) {
      const isName = target.includes('/') ? (await servers()).some(({ models }) => models.includes(target)) : target === text;
      return isName ? completedModel(target, await servers()) : text; // `resolve` says what is wrong
    }
    if (target === prefix) return text;
    const unlisted = unlistedModel(target, await servers()) && unlistedModel(target, await servers(true)); // it may be new there
    if (unlisted !== null) throw unlisted;
    return text;
  }

  const isAlias = (name: string): boolean => isModelAlias(name, dependencies.settings.models);

  function providerOf(ref: string): string | null {
    if (isAlias(ref)) return null;
    return candidatesOf(splitReference(ref)?.prefix ?? ref)[0]?.extensionId ?? null;
  }

  /** The entries of a prefix, best first. A foreign entry under a shipped prefix is never reached. */
  function candidatesOf(prefix: string): readonly DeclaredModel[] {
    const all = byRank(dependencies.declared()).filter((entry) => entry.prefix === prefix);
    const candidates = all.some(({ shipped }) => shipped) ? all.filter(({ shipped }) => shipped) : all;
    return [...candidates].sort((a, b) => Number(hasVariables(b, dependencies.env)) - Number(hasVariables(a, dependencies.env)));
  }

  function load(ref: string, why: string): Promise<ResolvedModel> {
    let model = resolved.get(ref);
    if (model === undefined) {
      model = fetchModel(ref, why);
      resolved.set(ref, model);
      model.catch(() => resolved.delete(ref));
    }
    return model.then((found) => (found.why === why ? found : { ...found, why }));
  }

  async function fetchModel(ref: string, why: string): Promise<ResolvedModel> {
    const { prefix, name } = splitReference(ref) as ModelReference;
    const provider = await dependencies.provider(entryOf(prefix, ref).extensionId);
    const { model, contextWindow } = await provider.getModel(name, prefix);
    return { ref, why, model, contextWindow };
  }

  function entryOf(prefix: string, ref: string): DeclaredModel {
    const [entry] = candidatesOf(prefix);
    if (entry !== undefined) return entry;
    const prefixes = [...new Set(dependencies.declared().map((candidate) => candidate.prefix))].sort();
    const known = prefixes.length === 0 ? 'no extension offers models' : `providers: ${prefixes.join(', ')}`;
    if (ref === prefix) {
      const aliases = [...new Set([...ALIASES, ...Object.keys(dependencies.settings.models)])];
      // A short word is similar to everything: it is rather a model's name without its provider.
      const guess = ref.length > 4 ? didYouMean(ref, new Set([...aliases, ...prefixes])) : '';
      throw new PithError('model_unknown', `'${ref}' does not name a model${guess} (aliases: ${aliases.join(', ')}; ${known})`, {
        cure: `write provider/model, such as ${prefixes.includes('openai') ? 'openai' : (prefixes[0] ?? 'provider')}/${ref}`,
      });
    }
    const meant = nearest(prefix, prefixes, 1).map((near) => ` (did you mean '${near}${ref.slice(prefix.length)}'?)`);
    throw new PithError('model_unknown', `model '${ref}' is unknown: there is no provider '${prefix}'${meant.join('')}`, {
      where: ref,
      cure: `name it as provider/model, or use an alias from the settings (${known})`,
    });
  }

  return {
    choose,
    resolve,
    servers,
    problem,
    meant,
    check,
    isAlias,
    providerOf,
    price: (ref) => priceIn(dependencies.settings.prices ?? {}, ref),
    invalidate() {
      chosen = undefined;
      listed = undefined;
      resolved.clear();
    },
  };
}

/** Highest first. */
function byRank(entries: readonly DeclaredModel[]): DeclaredModel[] {
  return [...entries].sort((a, b) => b.rank - a.rank);
}

/** True when the entry names variables and all of them are set. */
function hasVariables(entry: DeclaredModel, env: RouterDependencies['env']): boolean {
  return entry.when_env.length > 0 && entry.when_env.every((name) => isSet(env[name]));
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value.trim() !== '';
}
