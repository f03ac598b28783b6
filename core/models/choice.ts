import { messageOf, PithError } from '../contract/errors.ts';
import { followAlias, followDefault } from './reference.ts';
import type { DeclaredModel, RouterDependencies } from './declared-model.ts';

export interface Choice {
  /** `provider/model`. */
  readonly ref: string;
  readonly why: string;
}

/** Makes `provider/model`. */
export interface Completion {
  /** … of a reference that may be a prefix alone. */
  complete(target: string): Promise<string>;
  completeEntry(entry: DeclaredModel): Promise<string>;
}

/**
 * What `default` means: PITH_MODEL, else `models.default` of the settings, else, of what ships, the highest entry whose variables are all
 * set, else the highest whose port listens and has a model, else the lowest entry without conditions. What others offer is used where a
 * person names it, and chosen by nothing else: a conversation must not go to whoever says the highest rank.
 */
export async function chooseModel(dependencies: RouterDependencies, { complete, completeEntry }: Completion): Promise<Choice> {
  const { env, settings, probePort } = dependencies;
  const fromEnv = isSet(env.PITH_MODEL) ? followAlias(env.PITH_MODEL.trim(), settings.models).target : 'default';
  if (fromEnv !== 'default') return { ref: await complete(fromEnv), why: 'PITH_MODEL' };
  const fromSettings = followDefault(settings.models);
  if (fromSettings !== null) return { ref: await complete(fromSettings), why: 'settings models.default' };

  const entries = byRank(dependencies.declared().filter(({ shipped }) => shipped));
  const byVariables = entries.find((entry) => hasVariables(entry, env));
  if (byVariables !== undefined) {
    return {
      ref: await completeEntry(byVariables),
      why: `${byVariables.when_env.join(' and ')} ${byVariables.when_env.length > 1 ? 'are' : 'is'} set`,
    };
  }

  const tried: string[] = [];
  for (const entry of entries) {
    if (entry.when_port === undefined || !(await probePort(entry.when_port))) continue;
    try {
      return { ref: await completeEntry(entry), why: `a server listens on 127.0.0.1:${entry.when_port}` };
    } catch (error) {
      tried.push(`the server on 127.0.0.1:${entry.when_port} could not be used: ${messageOf(error)}`); // it may be another program, or have no model yet
    }
  }

  const last = entries.findLast(({ when_env, when_port }) => when_env.length === 0 && when_port === undefined);
  if (last === undefined) {
    throw new PithError('model_unknown', ['no model is set up', ...tried].join('; '), {
      cure: 'set models.default in the settings, or PITH_MODEL, to provider/model',
    });
  }
  return { ref: await completeEntry(last), why: ['no model is set up', ...tried].join('; ') };
}

/** Highest first. */
export function byRank(entries: readonly DeclaredModel[]): DeclaredModel[] {
  return [...entries].sort((a, b) => b.rank - a.rank);
}

/** True when the entry asks for variables and all of them are set. */
export function hasVariables(entry: DeclaredModel, env: RouterDependencies['env']): boolean {
  return entry.when_env.length > 0 && entry.when_env.every((name) => isSet(env[name]));
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value.trim() !== '';
}
