import { once } from '@pith/promises';
import { z, PithError } from 'pith';
import validVersion from 'semver/functions/valid.js';
import { inputFieldSchema } from './inputs.ts';

export const VISIBILITIES = ['private', 'shared', 'public'] as const;
const OUTPUT_KINDS = ['channel', 'dm', 'thread', 'webui_only', 'channel_with_summary'] as const;

/** A stored skill. Made on first use: whoever has none builds no schema. */
export const savedSkillSchema = once(() => {
  const list = z.array(z.string());
  const moment = z.int().nullable();
  const count = z.int().min(0).default(0);
  return z.strictObject({
    id: z.uuid(),
    /** null for a builtin, and only for one. */
    owner_id: z.string().nullable(),
    name: z.string().regex(NAME, 'must be 1 to 64 lower-case letters, digits, - and _'),
    description: z.string().max(1024).default(''),
    source: z.enum(['builtin', 'manual']),
    created_at: z.int(),
    updated_at: z.int(),
    /** Who saved it last. */
    authored_by: z.string().nullable(),
    version: z
      .string()
      .refine((text) => validVersion(text) === text && !text.includes('+'), 'must be a version such as 1.0.0')
      .default('1.0.0'),
    system_prompt: z.string().min(1).max(100_000),
    /** `extension/tool`, or a tool's name where one extension has it. */
    tools: list.default([]),
    uses_skills: list.default([]),
    /** `default`, `fast`, `standard`, `thinking` or `provider/model`. */
    model_tier: z
      .string()
      .regex(/^(?:default|fast|standard|thinking|[a-z][a-z0-9_-]*\/\S+)$/, 'must be default, fast, standard, thinking or provider/model')
      .default('default'),
    input_schema: z.array(inputFieldSchema()).max(32).default([]),
    output_target: z.strictObject({ kind: z.enum(OUTPUT_KINDS), target: z.string().default('') }).default({ kind: 'channel', target: '' }),
    /** Five fields of cron, or `@daily` and the like; null: none. */
    schedule: z.string().nullable().default(null),
    /** null: that of this machine. */
    time_zone: z.string().nullable().default(null),
    visibility: z.enum(VISIBILITIES).default('private'),
    shared_with: list.default([]),
    /** 0: the default of the settings. */
    max_iterations: count,
    max_tool_calls: count,
    max_runtime: z
      .string()
      .regex(/^\d{1,6}s$/, 'must be seconds such as 60s')
      .default('0s'),
    /** Rendered with the inputs, the first message of each run; empty: the inputs themselves. */
    initial_message: z.string().max(20_000).default(''),
    expose_as_chatbot_tool: z.boolean().default(false),
    /** Empty: the skill's own name. */
    chatbot_tool_name: z
      .string()
      .regex(/^[a-zA-Z0-9_-]{0,64}$/, 'must be at most 64 letters, digits, _ and -')
      .default(''),
    chatbot_tool_description: z.string().max(1024).default(''),
    /** A channel that is registered; empty: every one. */
    chatbot_channel_filter: z.string().default(''),
    /** Kept as it was imported; nothing looks at it. */
    pending_approval: z.boolean().default(false),
    pinned_version_id: z.uuid().nullable().default(null),
    pinned_at: moment.default(null),
    pinned_by: z.string().nullable().default(null),
    last_scheduled_run_at: moment.default(null),
    next_run_at: moment.default(null),
    extended_bounds: z.boolean().default(false),
    parallel_composition_allowed: z.boolean().default(false),
    /** Empty: `skill-default`. */
    execution_lane: z.string().default(''),
    webhook_secret: z.string().nullable().default(null),
    webhook_signing_key: z.string().nullable().default(null),
    webhook_signature_required: z.boolean().default(true),
    /** An administrator requires signatures: the owner cannot switch them off. */
    webhook_signature_forced: z.boolean().default(false),
    /** Addresses and CIDR ranges, one a line; blank: any. */
    webhook_ip_allowlist: z.string().max(20_000).default(''),
    webhook_legacy_signature: z.boolean().default(false),
    encryption_enabled: z.boolean().default(false),
    preemptible: z.boolean().default(false),
    default_priority: z.int().default(0),
    tags: list.default([]),
    /** The agent that took its place; set, the skill is retired. */
    deprecated_by_agent_id: z.string().nullable().default(null),
    default_emoji: z.string().max(64).default(''),
    /** By `__start__`, `__end__`, `__error__` or the name of a tool. */
    state_react_emoji: z.record(z.string(), z.string()).default({}),
  });
});

export const NAME = /^[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$/;

export type SavedSkill = z.infer<ReturnType<typeof savedSkillSchema>>;
export type Field = keyof SavedSkill;

/** What a run is made of: a pin keeps these as they were. */
export const PINNED_FIELDS = [
  'system_prompt',
  'tools',
  'uses_skills',
  'model_tier',
  'input_schema',
  'output_target',
  'max_iterations',
  'max_tool_calls',
  'max_runtime',
  'initial_message',
  'default_emoji',
  'state_react_emoji',
] as const satisfies readonly Field[];

/** Fields whose change makes a version. Of a skill that ships they are its file's; people decide about all others. */
export const VERSIONED_FIELDS = [...PINNED_FIELDS, 'name', 'description', 'version'] as const satisfies readonly Field[];

/** What nobody writes in a file: what Pith keeps, and what a command checks or asks about. */
const KEPT_FIELDS = [
  'owner_id',
  'source',
  'created_at',
  'updated_at',
  'authored_by',
  'pinned_version_id',
  'pinned_at',
  'pinned_by',
  'last_scheduled_run_at',
  'next_run_at',
  'webhook_secret',
  'webhook_signing_key',
  'webhook_signature_required',
  'webhook_signature_forced',
  'encryption_enabled',
  'preemptible',
] as const satisfies readonly Field[];

/** Keys of a `skill.yml`. */
export type SkillFile = Partial<Omit<SavedSkill, (typeof KEPT_FIELDS)[number]>>;

const A_TIME = 'must be a time such as 60s';

/** What a person writes: every key may be missing, and those that Pith keeps are none of it. */
export const skillFileSchema = once(() => {
  const { shape } = savedSkillSchema();
  const kept: readonly string[] = KEPT_FIELDS;
  const seconds = z
    .union([z.int().min(0).max(999_999), z.string().regex(/^\d{1,6}\s*(?:s|m|h)?$/, A_TIME)], A_TIME)
    .transform((given) => `${secondsIn(String(given))}s`);
  const open = Object.entries(shape).filter(([key]) => !kept.includes(key));
  const optional = open.map(([key, field]) => [key, withoutDefault(key === 'max_runtime' ? seconds : field).optional()]);
  return z.strictObject(Object.fromEntries(optional)) as unknown as z.ZodType<SkillFile>;
});

/** A key that is missing says nothing; a default would say that it is to be reset. */
export function withoutDefault(field: z.ZodType): z.ZodType {
  return field instanceof z.ZodDefault ? (field.unwrap() as z.ZodType) : field;
}

/** `90`, `90s`, `2m`, `1h` as seconds. */
export function secondsIn(text: string): number {
  const { number = '0', unit = 's' } = /^(?<number>\d+)\s*(?<unit>[smh])?$/.exec(text.trim())?.groups ?? {};
  return Number(number) * ({ s: 1, m: 60, h: 3600 }[unit] ?? 1);
}

/** How people and other skills name it: `owner/name`, or the name alone of one that ships. */
export function referenceOf({ owner_id, name }: Pick<SavedSkill, 'owner_id' | 'name'>): string {
  return owner_id === null ? name : `${owner_id}/${name}`;
}

/** When a reaction may be shown. */
export type ReactionMoment = { readonly at: 'start' | 'end' | 'error' } | { readonly at: 'tool'; readonly tool: string };

/** The emoji of a moment; null: none. The default one is for the start alone. */
export function emojiOf(
  { default_emoji, state_react_emoji }: Pick<SavedSkill, 'default_emoji' | 'state_react_emoji'>,
  moment: ReactionMoment,
): string | null {
  const key = moment.at === 'tool' ? moment.tool : `__${moment.at}__`;
  const own = Object.hasOwn(state_react_emoji, key) ? state_react_emoji[key] : undefined;
  const emoji = own ?? (moment.at === 'start' ? default_emoji : '');
  return emoji === '' ? null : emoji;
}

const MOST_TAGS = 16;
const LONGEST = 32;

/** Trimmed, in lower case, each once. Throws `tags_invalid` for more than 16, or one of more than 32 characters. */
export function cleanTags(given: readonly string[]): readonly string[] {
  const tags = [...new Set(given.map((tag) => tag.trim().toLowerCase()).filter((tag) => tag !== ''))];
  const long = tags.find((tag) => [...tag].length > LONGEST);
  if (long !== undefined)
    throw new PithError('tags_invalid', `tag '${long.slice(0, LONGEST)}…' is longer than ${LONGEST} characters`, { cure: 'shorten it' });
  if (tags.length > MOST_TAGS)
    throw new PithError('tags_invalid', `${tags.length} tags are more than ${MOST_TAGS}`, { cure: 'leave some out' });
  return tags;
}
