import { cureParts, type CureParts } from '@pith/command-line';
import { isPlainMap } from '@pith/plain-data';
import type { JsonValue } from 'pith';
import type { Need, Refusal } from 'pith/http';
import { COMMAND_ROUTES, type CommandRoute } from './table.ts';

/** What cures a problem, with the request that is its command where a route is. */
export interface Cure extends CureParts {
  readonly request?: { readonly method: string; readonly path: string; readonly need: Need };
}

/** The body of a refusal below `/api`. */
export function refusedWith({ code, message, problems, cure }: Omit<Refusal, 'status'>): { readonly error: JsonValue } {
  return {
    error: {
      code,
      message,
      ...(cure === undefined ? {} : { cure: cureOf(cure) as JsonValue }),
      ...(problems === undefined ? {} : { problems: problems.map((problem) => ({ ...problem })) }),
    },
  };
}

export function cureOf(cure: string): Cure {
  const parts = cureParts(cure);
  const request = parts.command === undefined ? null : requestOf(parts.command);
  return { ...parts, ...(request === null ? {} : { request }) };
}

/** null: no route is this command with nothing but names of its path. */
function requestOf(command: string): Cure['request'] | null {
  const [, ...words] = command.split(' ');
  const routes = COMMAND_ROUTES.filter((route) => `${words.join(' ')} `.startsWith(`${route.command} `));
  for (const route of routes) {
    const path = pathFor(route, words.slice(route.command.split(' ').length));
    if (path !== null) return { method: route.method, path, need: route.need };
  }
  return null;
}

/** The path with these names in it; null: they are not its names. What a route asks for itself is not said by `--yes`. */
function pathFor({ path, asks, fixed }: CommandRoute, given: readonly string[]): string | null {
  const isAgreed = asks === true || fixed?.['yes'] === true;
  const names = isAgreed ? given.filter((word) => word !== '--yes') : given;
  const places = path.match(/\{\w+\}/gu) ?? [];
  const isWhole = names.length === places.length && names.every((name) => NAME.test(name));
  return isWhole ? places.reduce((whole, place, at) => whole.replace(place, encodeURIComponent(names[at] ?? '')), path) : null;
}

/** Neither an option nor a placeholder. */
const NAME = /^(?!-)[\w./@:-]+$/u;

/** The same with the cure of each finding, and of what is in a state for a reason, as data. */
export function withCures(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withCures);
  if (!isPlainMap(value)) return value;
  const whole = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withCures(each as JsonValue)]));
  const { cure, message, reason } = value as { readonly [key: string]: JsonValue };
  const isFinding = typeof cure === 'string' && typeof (message ?? reason) === 'string';
  return isFinding ? { ...whole, cure: cureOf(cure) as JsonValue } : whole;
}
