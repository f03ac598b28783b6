import { PithError } from '../contract/errors.ts';

/** Aliases that always mean something: one that is not set means `default`. */
export const ALIASES = ['default', 'fast', 'standard', 'thinking'] as const;

export interface ModelReference {
  readonly prefix: string;
  /** All after the first slash; may hold more of them. */
  readonly name: string;
}

/** null when it is not of the form `provider/model`. */
export function splitReference(text: string): ModelReference | null {
  const slash = text.indexOf('/');
  return slash <= 0 || slash === text.length - 1 ? null : { prefix: text.slice(0, slash), name: text.slice(slash + 1) };
}

export interface Followed {
  /** `default` (not set), `provider/model`, or a name that is no alias. */
  readonly target: string;
  /** Every name on the way, the target last. */
  readonly path: readonly string[];
}

/** Follows aliases of the settings to their end. Throws `settings_invalid` when they go in a circle. */
export function followAlias(name: string, models: Readonly<Record<string, string | undefined>>): Followed {
  const path = [name];
  for (let target = name; ; path.push(target)) {
    const next = Object.hasOwn(models, target) ? models[target] : undefined;
    if (next === undefined) return endOf(target, path, models);
    if (path.includes(next)) {
      throw new PithError('settings_invalid', `the model aliases go in a circle: ${[...path, next].join(' → ')}`, {
        where: `models.${name}`, cure: 'let one of them name a provider/model',
      });
    }
    target = next;
  }
}

function endOf(target: string, path: readonly string[], models: Readonly<Record<string, string | undefined>>): Followed {
  const isUnset = target !== 'default' && (ALIASES as readonly string[]).includes(target);
  if (!isUnset) return { target, path };
  const rest = path.includes('default') ? { target: 'default', path: ['default'] } : followAlias('default', models);
  return { target: rest.target, path: [...path, ...rest.path] };
}
