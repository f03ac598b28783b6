import { defineProtocol, method } from './protocol.ts';
import type { ToolPermission } from './tool.ts';

/** A tool that an extension has registered, and what it asks of those who name it. */
export interface RegisteredTool {
  readonly extensionId: string;
  /** Of the extension. */
  readonly version: string;
  readonly name: string;
  readonly description: string;
  readonly permission: ToolPermission;
}

/** Who may do what is kept for administrators, and which tools there are. The kernel answers it inside its process. */
export interface Permissions {
  /** Whether the settings name this user under `admins`; where they name nobody, it is the user `local`. */
  isAdmin(userId: string): Promise<boolean>;
  /** The tools of every extension that can run, loading those that are not known. What an extension that failed would have is not among them. */
  tools(): Promise<readonly RegisteredTool[]>;
}

export const Permissions = defineProtocol<Permissions>(
  'permissions',
  {
    isAdmin: method(),
    tools: method({ timeoutMs: 30_000 }),
  },
  { inProcessOnly: true },
);
