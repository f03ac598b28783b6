import { codeOf, PithError } from '../contract/index.ts';
import { enumerated, nearest, someOf } from '@pith/plain-text';
import type { DeclaredModel, RoutedProvider } from '../kernel/index.ts';
import { splitReference } from './reference.ts';

/** A connected server of models: one that has what it needs, such as its key. */
export interface ModelServer {
  readonly prefix: string;
  /** In the server's order; empty where it does not say. */
  readonly models: readonly string[];
  /** Why it does not say which models it has; null: it does. */
  readonly problem: unknown;
}

/** The servers of these entries, one for each prefix, all asked at once. Left out: one without a key, and a local one that nobody set up and that does not run. */
export async function askServers(
  entries: readonly DeclaredModel[],
  provider: (extensionId: string) => Promise<RoutedProvider>,
): Promise<readonly ModelServer[]> {
  const asked = entries.map(async ({ extensionId, prefix, when_local, default: name = 'any' }): Promise<readonly ModelServer[]> => {
    try {
      const { models, getModel } = await provider(extensionId);
      const missing = await getModel(name, prefix).then(
        () => null,
        (error: unknown) => codeOf(error, ''),
      );
      if (missing === 'model_auth' || missing === 'secret_not_given') return []; // it is not connected: whoever names it learns why
      return [{ prefix, models: (await models(prefix)).map((model) => model.name), problem: null }];
    } catch (problem) {
      return when_local && codeOf(problem, '') === 'model_unreachable' ? [] : [{ prefix, models: [], problem }];
    }
  });
  return (await Promise.all(asked)).flat();
}

/** The error for a model that its server does not list; null: it lists it, or nobody knows. */
export function unlistedModel(ref: string, servers: readonly ModelServer[]): PithError | null {
  const { prefix, name } = splitReference(ref) ?? {};
  const server = servers.find((each) => each.prefix === prefix);
  if (name === undefined || server === undefined || server.models.length === 0 || server.models.includes(name)) return null;
  return new PithError('model_unknown', `'${prefix}' has no model '${name}'${meant(name, server.models)}`, {
    where: ref,
    cure: `use ${shown(refsOf(server))}`,
  });
}

/** `provider/model` for a name without its provider, where exactly one server has it. Throws `model_unknown`. */
export function completedModel(name: string, servers: readonly ModelServer[]): string {
  const refs = servers.filter(({ models }) => models.includes(name)).map(({ prefix }) => `${prefix}/${name}`);
  if (refs[0] !== undefined && refs.length === 1) return refs[0];
  const all = servers.flatMap(({ models }) => models);
  const silent = refs.length > 0 ? [] : servers.filter(({ problem }) => problem !== null).map(({ prefix }) => prefix);
  const none = `no connected server ${silent.length > 0 ? 'lists' : 'has'} a model '${name}'${meant(name, all)}`;
  const unsaid = silent.length > 0 ? `, and ${enumerated(silent.map((prefix) => `'${prefix}'`))} did not list any` : '';
  const known = servers.flatMap(refsOf);
  const exact = [...refs, ...silent.map((prefix) => `${prefix}/${name}`)];
  const ways = [
    ...(exact.length > 0 ? [`write ${exact.join(' or ')}`] : []),
    ...(refs.length === 0 && known.length > 0 ? [`use ${shown(known)}`] : []),
    ...(refs.length === 0 ? ['connect a server: pith setup'] : []),
  ];
  throw new PithError('model_unknown', refs.length > 0 ? `several servers have '${name}'` : none + unsaid, { cure: ways.join('; or ') });
}

function refsOf({ prefix, models }: ModelServer): readonly string[] {
  return models.map((each) => `${prefix}/${each}`);
}

const MOST_NEAR = 3;
const MOST_SHOWN = 5;

function shown(refs: readonly string[]): string {
  return `${refs.length > 1 ? 'one of ' : ''}${someOf(refs, MOST_SHOWN)}`;
}

function meant(name: string, names: readonly string[]): string {
  const near = [...new Set([...nearest(name, names, MOST_NEAR), ...names.filter((each) => each.includes(name))])].slice(0, MOST_NEAR);
  return near.length === 0 ? '' : ` (did you mean ${near.map((each) => `'${each}'`).join(' or ')}?)`;
}
