import { PithError } from '../contract/index.ts';

/** The built-in aliases: one that is not set means `default`. */
export const ALIASES = ['default', 'fast', 'standard', 'thinking'] as const;

export interface ModelReference {
  readonly prefix: string;
  /** All after the first slash; may contain more slashes. */
  readonly name: string;
}

/** null when it is not of the form `provider/model`. */
export function splitReference(text: string): ModelReference | null {
  const slash = text.indexOf('/');
  return slash <= 0 || slash === text.length - 1 ? null : { prefix: text.slice(0, slash), name: text.slice(slash + 1) };
}

type Aliases = Readonly<Record<string, string | undefined>>;

/** Follows aliases of the settings to `default`, `provider/model` or a name that is no alias; `path`: every name on the way, the target last. Throws `settings_invalid` when they go in a circle. */
export function followAlias(name: string, models: Aliases): { readonly target: string; readonly path: readonly string[] } {
  const path = [name];
  for (let target = name; target !== 'default';) {
    const next = nextOf(target, models);
    if (next === undefined) return { target, path };
    path.push(next);
    if (path.indexOf(next) < path.length - 1) throw circle(path);
    target = next;
  }
  return { target: 'default', path };
}

/** The target of `models.default` in the settings; null when it is not set. */
export function followDefault(models: Aliases): string | null {
  if (models.default === undefined) return null;
  const { target, path } = followAlias(models.default, models);
  if (target === 'default') throw circle(['default', ...path]);
  return target;
}

/** Whether the name is an alias, built-in or of the settings, so that a person decides its meaning. */
export function isModelAlias(name: string, models: Aliases): boolean {
  return (ALIASES as readonly string[]).includes(name) || models[name] !== undefined;
}

function nextOf(name: string, models: Aliases): string | undefined {
  const next = Object.hasOwn(models, name) ? models[name] : undefined;
  return next ?? ((ALIASES as readonly string[]).includes(name) ? 'default' : undefined);
}

function circle(path: readonly string[]): PithError {
  return new PithError('settings_invalid', `the model aliases go in a circle: ${path.join(' → ')}`, {
    where: `models.${path[0]}`,
    cure: 'let one of them name a provider/model',
  });
}
