import { address } from './router.ts';
import { isAdministrator } from './server/session.ts';

/** Something of the server, as notices name what they tell of. */
export interface Thing {
  readonly kind: string;
  readonly id: string;
}

interface Place {
  readonly path: string;
  /** What the page calls it. */
  readonly name: string;
  readonly isForAdmins?: true;
}

const PLACES: ReadonlyMap<string, Place> = new Map<string, Place>([
  ['thread', { path: 'chat', name: 'conversation' }],
  ['task', { path: 'work/tasks', name: 'task' }],
  ['run', { path: 'saved/runs', name: 'run' }],
  ['saved', { path: 'saved/skill', name: 'saved skill' }],
  ['skill', { path: 'skills/skill', name: 'skill' }],
  ['proposal', { path: 'skills/proposals', name: 'proposal', isForAdmins: true }],
  ['extension', { path: 'system/extensions', name: 'extension', isForAdmins: true }],
]);

/** Where the page shows it, and what to call it; null: this person is shown it nowhere. */
export function placeOf({ kind, id }: Thing): { readonly href: string; readonly name: string } | null {
  const place = PLACES.get(kind);
  if (place === undefined || (place.isForAdmins === true && !isAdministrator())) return null;
  return { href: address(place.path, id), name: place.name };
}
