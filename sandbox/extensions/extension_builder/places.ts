import { join } from 'node:path';
import { PithError } from 'pith';

export type Kind = 'extensions' | 'skills';

const IDS: Readonly<Record<Kind | 'agents', { readonly pattern: RegExp; readonly rule: string }>> = {
  extensions: { pattern: /^(?=.{1,63}$)[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/, rule: 'snake_case, such as city_time' },
  agents: { pattern: /^(?=.{1,63}$)[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/, rule: 'snake_case, such as travel_agent' },
  skills: { pattern: /^(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*$/, rule: 'lower-case words with hyphens, such as release-notes' },
};

/** Throws `usage` for what cannot be a folder's name of this kind, and so leads nowhere else. */
export function requireId(kind: Kind | 'agents', id: string): string {
  const { pattern, rule } = IDS[kind];
  if (pattern.test(id)) return id;
  throw new PithError('usage', `'${id}' cannot be the id of one of the ${kind}`, { cure: `write it in ${rule}` });
}

export function activeFolder(sandbox: string, kind: Kind | 'agents', id: string): string {
  return join(sandbox, kind, requireId(kind, id));
}
