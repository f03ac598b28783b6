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
  /** Counts who has taken it: a write of an earlier attempt changes nothing. */
  readonly attempt: number;
  /** The process that has it. */
  readonly holder: Text | null;
  readonly lease_until: Moment | null;
  readonly queued_at: Moment;
  /** Of its first attempt. */
  readonly started_at: Moment | null;
  readonly ended_at: Moment | null;
  /** The run whose slot it is given. */
  readonly takes_over: Text | null;
  /** When it was asked to end for a more urgent one. */
  readonly preempted_at: Moment | null;
  readonly cancel_asked: Flag;
  /** A question of it was answered since it has its slot: it does not wait for that any more. */
  readonly answered: Flag;
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
  readonly deliver_at: Moment | null;
  readonly delivery_error: Text | null;
  /** How many parts of the result have arrived. */
  readonly parts_delivered: number;
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

export interface LaneRow {
  readonly name: Text;
  /** One more with each claim and each arrival: the lane's lock. */
  readonly turn: number;
}

/** When a user was served last in a lane, by the lane's turn. */
export interface ServedRow {
  readonly lane: Text;
  readonly user_id: Text;
  readonly turn: number;
}

export interface Tables {
  saved_skills__skills: SkillRow;
  saved_skills__versions: VersionRow;
  saved_skills__runs: RunRow;
  saved_skills__steps: StepRow;
  saved_skills__lanes: LaneRow;
  saved_skills__served: ServedRow;
}

export const MIGRATIONS: readonly Migration[] = [
  (db) => [
    db.schema
      .createTable('saved_skills__skills')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('owner_id', 'text')
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('description', 'text', (column) => column.notNull())
      .addColumn('source', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .addColumn('authored_by', 'text')
      .addColumn('version', 'text', (column) => column.notNull())
      .addColumn('system_prompt', 'text', (column) => column.notNull())
      .addColumn('tools', 'text', (column) => column.notNull())
      .addColumn('uses_skills', 'text', (column) => column.notNull())
      .addColumn('model_tier', 'text', (column) => column.notNull())
      .addColumn('input_schema', 'text', (column) => column.notNull())
      .addColumn('output_target', 'text', (column) => column.notNull())
      .addColumn('schedule', 'text')
      .addColumn('time_zone', 'text')
      .addColumn('visibility', 'text', (column) => column.notNull())
      .addColumn('shared_with', 'text', (column) => column.notNull())
      .addColumn('max_iterations', 'integer', (column) => column.notNull())
      .addColumn('max_tool_calls', 'integer', (column) => column.notNull())
      .addColumn('max_runtime', 'text', (column) => column.notNull())
      .addColumn('initial_message', 'text', (column) => column.notNull())
      .addColumn('expose_as_chatbot_tool', 'integer', (column) => column.notNull())
      .addColumn('chatbot_tool_name', 'text', (column) => column.notNull())
      .addColumn('chatbot_tool_description', 'text', (column) => column.notNull())
      .addColumn('chatbot_channel_filter', 'text', (column) => column.notNull())
      .addColumn('pending_approval', 'integer', (column) => column.notNull())
      .addColumn('pinned_version_id', 'text')
      .addColumn('pinned_at', 'bigint')
      .addColumn('pinned_by', 'text')
      .addColumn('last_scheduled_run_at', 'bigint')
      .addColumn('next_run_at', 'bigint')
      .addColumn('extended_bounds', 'integer', (column) => column.notNull())
      .addColumn('parallel_composition_allowed', 'integer', (column) => column.notNull())
      .addColumn('execution_lane', 'text', (column) => column.notNull())
      .addColumn('webhook_secret', 'text')
      .addColumn('webhook_signing_key', 'text')
      .addColumn('webhook_signature_required', 'integer', (column) => column.notNull())
      .addColumn('webhook_signature_forced', 'integer', (column) => column.notNull())
      .addColumn('webhook_ip_allowlist', 'text', (column) => column.notNull())
      .addColumn('webhook_legacy_signature', 'integer', (column) => column.notNull())
      .addColumn('encryption_enabled', 'integer', (column) => column.notNull())
      .addColumn('preemptible', 'integer', (column) => column.notNull())
      .addColumn('default_priority', 'integer', (column) => column.notNull())
      .addColumn('tags', 'text', (column) => column.notNull())
      .addColumn('deprecated_by_agent_id', 'text')
      .addColumn('default_emoji', 'text', (column) => column.notNull())
      .addColumn('state_react_emoji', 'text', (column) => column.notNull())
      .addColumn('revision', 'integer', (column) => column.notNull()),
    db.schema.createIndex('saved_skills__names').unique().on('saved_skills__skills').columns(['owner_id', 'name']),
    db.schema
      .createIndex('saved_skills__builtins')
      .unique()
      .on('saved_skills__skills')
      .column('name')
      .where('owner_id' as never, 'is', null),
    db.schema.createIndex('saved_skills__due').on('saved_skills__skills').column('next_run_at'),
    db.schema.createIndex('saved_skills__webhook').unique().on('saved_skills__skills').column('webhook_secret'),
    db.schema
      .createTable('saved_skills__versions')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('skill_id', 'text', (column) => column.notNull())
      .addColumn('number', 'integer', (column) => column.notNull())
      .addColumn('version', 'text', (column) => column.notNull())
      .addColumn('snapshot', 'text', (column) => column.notNull())
      .addColumn('digests', 'text', (column) => column.notNull())
      .addColumn('authored_by', 'text')
      .addColumn('created_at', 'bigint', (column) => column.notNull()),
    db.schema.createIndex('saved_skills__numbers').unique().on('saved_skills__versions').columns(['skill_id', 'number']),
    db.schema
      .createTable('saved_skills__runs')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('skill_id', 'text', (column) => column.notNull())
      .addColumn('skill', 'text', (column) => column.notNull())
      .addColumn('version_id', 'text', (column) => column.notNull())
      .addColumn('version', 'text', (column) => column.notNull())
      .addColumn('user_id', 'text', (column) => column.notNull())
      .addColumn('acts_as', 'text', (column) => column.notNull())
      .addColumn('cause', 'text', (column) => column.notNull())
      .addColumn('inputs', 'text', (column) => column.notNull())
      .addColumn('origin', 'text', (column) => column.notNull())
      .addColumn('parent_id', 'text')
      .addColumn('depth', 'integer', (column) => column.notNull())
      .addColumn('lane', 'text', (column) => column.notNull())
      .addColumn('priority', 'integer', (column) => column.notNull())
      .addColumn('preemptible', 'integer', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('attempt', 'integer', (column) => column.notNull())
      .addColumn('holder', 'text')
      .addColumn('lease_until', 'bigint')
      .addColumn('queued_at', 'bigint', (column) => column.notNull())
      .addColumn('started_at', 'bigint')
      .addColumn('ended_at', 'bigint')
      .addColumn('takes_over', 'text')
      .addColumn('preempted_at', 'bigint')
      .addColumn('cancel_asked', 'integer', (column) => column.notNull())
      .addColumn('steps', 'integer', (column) => column.notNull())
      .addColumn('tool_calls', 'integer', (column) => column.notNull())
      .addColumn('input_tokens', 'bigint', (column) => column.notNull())
      .addColumn('output_tokens', 'bigint', (column) => column.notNull())
      .addColumn('status_line', 'text')
      .addColumn('output', 'text')
      .addColumn('error_code', 'text')
      .addColumn('error_message', 'text')
      .addColumn('extensions', 'text')
      .addColumn('delivery', 'text', (column) => column.notNull())
      .addColumn('delivery_attempts', 'integer', (column) => column.notNull())
      .addColumn('deliver_at', 'bigint')
      .addColumn('delivery_error', 'text'),
    db.schema.createIndex('saved_skills__queue').on('saved_skills__runs').columns(['lane', 'state', 'user_id', 'priority', 'id']),
    db.schema.createIndex('saved_skills__of_skill').on('saved_skills__runs').columns(['skill_id', 'id']),
    db.schema.createIndex('saved_skills__deliveries').on('saved_skills__runs').columns(['delivery', 'deliver_at']),
    db.schema
      .createTable('saved_skills__steps')
      .addColumn('run_id', 'text', (column) => column.notNull())
      .addColumn('number', 'integer', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('what', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('saved_skills__step', ['run_id', 'number']),
    db.schema
      .createTable('saved_skills__lanes')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('turn', 'bigint', (column) => column.notNull()),
    db.schema
      .createTable('saved_skills__served')
      .addColumn('lane', 'text', (column) => column.notNull())
      .addColumn('user_id', 'text', (column) => column.notNull())
      .addColumn('turn', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('saved_skills__served_user', ['lane', 'user_id']),
  ],
  (db) => [db.schema.alterTable('saved_skills__runs').addColumn('pinned', 'integer', (column) => column.notNull().defaultTo(0))],
  (db) => [
    db.schema.alterTable('saved_skills__runs').addColumn('answered', 'integer', (column) => column.notNull().defaultTo(0)),
    db.schema.alterTable('saved_skills__runs').addColumn('parts_delivered', 'integer', (column) => column.notNull().defaultTo(0)),
    db.schema.alterTable('saved_skills__steps').addColumn('call', 'text'),
  ],
];
