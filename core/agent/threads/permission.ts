/** What a person need not be asked any more. */
export interface Permission {
  readonly scope: 'project' | 'conversation';
  /** The conversation in which it counts; null: all of the project. */
  readonly threadId: string | null;
  /** `extension/tool`. */
  readonly tool: string;
  /** What names the calls that it covers, and the digest of the extension's sources that it is for, as in a `Question`. */
  readonly always: string;
  readonly source: string | null;
  /** The calls that it covers, in words. */
  readonly covers: string;
  /** When it was given. */
  readonly at: number;
}

/** What is kept of a permission for a project. */
export type ProjectPermission = Omit<Permission, 'scope' | 'threadId'>;

/** Where the permissions of a project are kept: outside of the project. */
export interface ProjectPermissions {
  list(): readonly ProjectPermission[];
  /** Throws `trust_failed` while they cannot be read. */
  check(): void;
  /** Throws `trust_failed` where it cannot be written. */
  add(permission: ProjectPermission): void;
  /** False: there is none like it. Throws `trust_failed`. */
  remove(permission: ProjectPermission): boolean;
}

/** Names what a permission covers: of two with the same one is enough. */
export function permissionKey({
  tool,
  always,
  source,
}: {
  readonly tool: string;
  readonly always: string | null;
  readonly source: string | null;
}): string {
  return JSON.stringify([tool, always, source]);
}
