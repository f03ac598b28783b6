import type { ProjectPermission } from '../../trust/index.ts';

/** What a person need not be asked any more. */
export interface Permission extends ProjectPermission {
  readonly scope: 'project' | 'conversation';
  /** The conversation in which it counts; null: all of the project. */
  readonly threadId: string | null;
}

/** Names what a permission covers: of two with the same one is enough. */
export function permissionKey({
  tool,
  always,
  source,
}: Pick<ProjectPermission, 'tool' | 'source'> & { readonly always: string | null }): string {
  return JSON.stringify([tool, always, source]);
}
