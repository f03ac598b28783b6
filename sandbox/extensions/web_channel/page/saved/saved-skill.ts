/** What the server says of saved skills and their runs. */
import { isAdministrator, type Person } from '../server/session.ts';

export const INPUT_TYPES = ['string', 'int', 'float', 'bool', 'user', 'channel', 'url', 'file'] as const;

export const OUTPUT_KINDS = [
  ['channel', 'where it was asked for'],
  ['dm', 'a direct message'],
  ['thread', 'a conversation'],
  ['webui_only', 'this page alone'],
  ['channel_with_summary', 'a channel, and a summary where it was asked for'],
] as const;

export interface InputField {
  readonly name: string;
  readonly description: string;
  readonly type: (typeof INPUT_TYPES)[number];
  readonly required: boolean;
  readonly default: string | null;
  readonly choices: readonly string[];
}

/** What a person writes of it. */
interface SkillDocument {
  readonly name: string;
  readonly description: string;
  readonly system_prompt: string;
  readonly tags: readonly string[];
  readonly tools: readonly string[];
  readonly input_schema: readonly InputField[];
  readonly output_target: { readonly kind: string; readonly target: string };
}

/** Whose it is, who else runs it, and which version they run. */
interface SkillSharing {
  readonly owner_id: string | null;
  readonly visibility: string;
  readonly shared_with: readonly string[];
  readonly pinned_version_id: string | null;
  /** What took its place, in words; null: it is not retired. */
  readonly successor: string | null;
}

/** When it runs by itself. */
interface SkillTimetable {
  readonly schedule: string | null;
  readonly time_zone: string | null;
  readonly next_run_at: number | null;
}

/** How other systems run it. */
interface SkillWebhook {
  readonly webhook_enabled: boolean;
  readonly webhook_signature_required: boolean;
  readonly webhook_signature_forced: boolean;
  readonly webhook_ip_allowlist: string;
}

/** A skill as the server shows it: with each key of its document. */
export interface SavedSkill extends SkillDocument, SkillSharing, SkillTimetable, SkillWebhook {
  readonly [key: string]: unknown;
  readonly id: string;
  readonly version: string;
}

interface Version {
  readonly id: string;
  readonly number: number;
  readonly version: string;
  readonly created_at: number;
  /** null: it ships. */
  readonly authored_by: string | null;
}

export interface WholeSavedSkill extends SavedSkill {
  /** The first times at which it runs by itself. */
  readonly next_runs: readonly number[];
  /** Inputs of the version that this person runs; null: they cannot run it. */
  readonly run_inputs: readonly InputField[] | null;
  readonly versions: readonly Version[];
}

interface RunTimes {
  readonly queued_at: number;
  readonly started_at: number | null;
  readonly ended_at: number | null;
}

interface RunResult {
  readonly status: string | null;
  readonly output: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly steps: number;
  readonly tool_calls: number;
  readonly delivery: string;
  readonly delivery_error: string | null;
}

interface RunDelivery {
  readonly delivery: string;
  readonly delivery_error: string | null;
}

export interface Run extends RunTimes, RunResult, RunDelivery {
  readonly id: string;
  readonly skill: string;
  readonly state: string;
  readonly user: string;
  readonly cause: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly lane: string;
  readonly history?: readonly { readonly at: number; readonly what: string }[];
  /** Where it works. */
  readonly thread: string;
}

/** `owner/name`, or the name of one that ships. */
export function referenceOf({ owner_id: owner, name }: Pick<SavedSkill, 'owner_id' | 'name'>): string {
  return owner === null ? name : `${owner}/${name}`;
}

/** Whether they decide about it: its owner, and administrators. */
export function isGovernedBy({ owner_id: owner }: Pick<SkillSharing, 'owner_id'>, person: Person | null | undefined): boolean {
  return person !== null && person !== undefined && (isAdministrator() || owner === person.userId);
}

export const hasEnded = ({ ended_at: at }: Pick<RunTimes, 'ended_at'>): boolean => at !== null;
