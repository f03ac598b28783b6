import type { Migration } from '@pith/database-queries';
import type { Field } from '../domain/saved-skill.ts';

type Text = string;
type Moment = number;
/** 0 or 1. */
type Flag = number;

/** A skill as it is kept: each field in a column of its own, lists and maps as JSON. */
export type SkillRow = { readonly [key in Field]: Text | number | null } & {
  /** One more with each write: who writes names the one that it read. */
  readonly revision: number;
};

export interface VersionRow {
  readonly id: Text;
  readonly skill_id: Text;
  /** 1 for the first of a skill. */
  readonly number: number;
  readonly version: Text;
  /** JSON: what a run is made of. */
  readonly snapshot: Text;
  /** JSON: the digest of each skill that it uses, by id. */
  readonly digests: Text;
  readonly authored_by: Text | null;
  readonly created_at: Moment;
}

/** Without columns that only an older Pith uses and that may be empty. */
export interface RunRow {
  readonly id: Text;
  readonly skill_id: Text;
  /** `owner/name` when it was asked for. */
  readonly skill: Text;
  readonly version_id: Text;
  readonly version: Text;
  /** It reads its skills as they were when the version was saved; else as they are. */
  readonly pinned: Flag;
  /** Whoever asked for it: lanes are fair between these. */
  readonly user_id: Text;
  /** As whom its tools run. */
  readonly acts_as: Text;
  /** `manual`, `tool`, `schedule`, `webhook` or `composed`. */
  readonly cause: Text;
  /** JSON. */
  readonly inputs: Text;
  /** JSON: thread and channel in which it was asked for. */
  readonly origin: Text;
  /** The run that composed it. */
  readonly parent_id: Text | null;
  readonly depth: number;
  readonly lane: Text;
  readonly priority: number;
  readonly preemptible: Flag;
  readonly state: Text;
  readonly attempt: number;
  readonly queued_at: Moment;
  /** Of its first attempt. */
  readonly started_at: Moment | null;
  readonly ended_at: Moment | null;
  /** Only an older Pith reads it. */
  readonly cancel_asked: Flag;
  readonly steps: number;
  readonly tool_calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly status_line: Text | null;
  readonly output: Text | null;
  readonly error_code: Text | null;
  readonly error_message: Text | null;
  /** JSON: extensions whose tools it may call, with their versions. */
  readonly extensions: Text | null;
  /** `none`, `waiting`, `delivered` or `failed`. */
  readonly delivery: Text;
  readonly delivery_attempts: number;
  readonly delivery_error: Text | null;
  /** How many parts of the result have arrived. */
  readonly parts_delivered: number;
  /** The job by which it is executed; null: it ended under an older Pith. */
  readonly job: Text | null;
}

/** What a run did, oldest first: for people who look at it. */
export interface StepRow {
  readonly run_id: Text;
  readonly number: number;
  readonly at: Moment;
  readonly what: Text;
  /** The id of the call that it is; null: it is what came of one, or was written before calls had ids here. */
  readonly call: Text | null;
}

export interface Tables {
  saved_skills__skills: SkillRow;
  saved_skills__versions: VersionRow;
  saved_skills__runs: RunRow;
  saved_skills__steps: StepRow;
}

export const MIGRATIONS: readonly Migration[] = [
  [
    `CREATE TABLE saved_skills__skills (
       id text PRIMARY KEY, owner_id text, name text NOT NULL, description text NOT NULL, source text NOT NULL,
       created_at bigint NOT NULL, updated_at bigint NOT NULL, authored_by text, version text NOT NULL,
       system_prompt text NOT NULL, tools text NOT NULL, uses_skills text NOT NULL, model_tier text NOT NULL,
       input_schema text NOT NULL, output_target text NOT NULL,
       schedule text, time_zone text, visibility text NOT NULL, shared_with text NOT NULL,
       max_iterations integer NOT NULL, max_tool_calls integer NOT NULL, max_runtime text NOT NULL, initial_message text NOT NULL,
       expose_as_chatbot_tool integer NOT NULL, chatbot_tool_name text NOT NULL, chatbot_tool_description text NOT NULL,
       chatbot_channel_filter text NOT NULL, pending_approval integer NOT NULL,
       pinned_version_id text, pinned_at bigint, pinned_by text, last_scheduled_run_at bigint, next_run_at bigint,
       extended_bounds integer NOT NULL, parallel_composition_allowed integer NOT NULL, execution_lane text NOT NULL,
       webhook_secret text, webhook_signing_key text, webhook_signature_required integer NOT NULL,
       webhook_signature_forced integer NOT NULL, webhook_ip_allowlist text NOT NULL, webhook_legacy_signature integer NOT NULL,
       encryption_enabled integer NOT NULL, preemptible integer NOT NULL, default_priority integer NOT NULL, tags text NOT NULL,
       deprecated_by_agent_id text, default_emoji text NOT NULL, state_react_emoji text NOT NULL, revision integer NOT NULL
     )`,
    'CREATE UNIQUE INDEX saved_skills__names ON saved_skills__skills (owner_id, name)',
    'CREATE UNIQUE INDEX saved_skills__builtins ON saved_skills__skills (name) WHERE owner_id IS NULL',
    'CREATE INDEX saved_skills__due ON saved_skills__skills (next_run_at)',
    'CREATE UNIQUE INDEX saved_skills__webhook ON saved_skills__skills (webhook_secret)',
    `CREATE TABLE saved_skills__versions (
       id text PRIMARY KEY, skill_id text NOT NULL, number integer NOT NULL, version text NOT NULL, snapshot text NOT NULL,
       digests text NOT NULL, authored_by text, created_at bigint NOT NULL
     )`,
    'CREATE UNIQUE INDEX saved_skills__numbers ON saved_skills__versions (skill_id, number)',
    `CREATE TABLE saved_skills__runs (
       id text PRIMARY KEY, skill_id text NOT NULL, skill text NOT NULL, version_id text NOT NULL, version text NOT NULL,
       user_id text NOT NULL, acts_as text NOT NULL, cause text NOT NULL, inputs text NOT NULL, origin text NOT NULL,
       parent_id text, depth integer NOT NULL, lane text NOT NULL, priority integer NOT NULL, preemptible integer NOT NULL,
       state text NOT NULL, attempt integer NOT NULL, holder text, lease_until bigint,
       queued_at bigint NOT NULL, started_at bigint, ended_at bigint, takes_over text, preempted_at bigint, cancel_asked integer NOT NULL,
       steps integer NOT NULL, tool_calls integer NOT NULL, input_tokens bigint NOT NULL, output_tokens bigint NOT NULL,
       status_line text, output text, error_code text, error_message text, extensions text,
       delivery text NOT NULL, delivery_attempts integer NOT NULL, deliver_at bigint, delivery_error text
     )`,
    'CREATE INDEX saved_skills__queue ON saved_skills__runs (lane, state, user_id, priority, id)',
    'CREATE INDEX saved_skills__of_skill ON saved_skills__runs (skill_id, id)',
    'CREATE INDEX saved_skills__deliveries ON saved_skills__runs (delivery, deliver_at)',
    `CREATE TABLE saved_skills__steps (
       run_id text NOT NULL, number integer NOT NULL, at bigint NOT NULL, what text NOT NULL, PRIMARY KEY (run_id, number)
     )`,
    'CREATE TABLE saved_skills__lanes (name text PRIMARY KEY, turn bigint NOT NULL)',
    'CREATE TABLE saved_skills__served (lane text NOT NULL, user_id text NOT NULL, turn bigint NOT NULL, PRIMARY KEY (lane, user_id))',
  ],
  ['ALTER TABLE saved_skills__runs ADD COLUMN pinned integer DEFAULT 0 NOT NULL'],
  [
    'ALTER TABLE saved_skills__runs ADD COLUMN answered integer DEFAULT 0 NOT NULL',
    'ALTER TABLE saved_skills__runs ADD COLUMN parts_delivered integer DEFAULT 0 NOT NULL',
    'ALTER TABLE saved_skills__steps ADD COLUMN call text',
  ],
  [
    'ALTER TABLE saved_skills__runs ADD COLUMN job text',
    'DROP TABLE saved_skills__lanes', // a lock: without it an older Pith takes no run
  ],
];
