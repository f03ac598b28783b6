/** What the server says of saved skills and their runs. */

export interface InputField {
  readonly name: string;
  readonly description: string;
  readonly type: 'string' | 'int' | 'float' | 'bool' | 'user' | 'channel' | 'url' | 'file';
  readonly required: boolean;
  readonly default: string | null;
  readonly choices: readonly string[];
}

export interface SavedSkill {
  readonly id: string;
  readonly owner_id: string | null;
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly visibility: string;
  readonly tags: readonly string[];
  readonly input_schema: readonly InputField[];
  readonly schedule: string | null;
  readonly time_zone: string | null;
  readonly next_run_at: number | null;
  readonly pinned_version_id: string | null;
  readonly deprecated_by_agent_id: string | null;
  readonly webhook_enabled: boolean;
  readonly system_prompt: string;
}

export interface Run {
  readonly id: string;
  readonly skill: string;
  readonly state: string;
  readonly user: string;
  readonly cause: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly lane: string;
  readonly queued_at: number;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly steps: number;
  readonly tool_calls: number;
  readonly status: string | null;
  readonly output: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly history?: readonly { readonly at: number; readonly what: string }[];
  /** Where it works. */
  readonly thread: string;
}

/** `owner/name`, or the name of one that ships. */
export function referenceOf({ owner_id: owner, name }: Pick<SavedSkill, 'owner_id' | 'name'>): string {
  return owner === null ? name : `${owner}/${name}`;
}

export const hasEnded = ({ ended_at: at }: Pick<Run, 'ended_at'>): boolean => at !== null;
