import { z } from 'zod';
import type { AgentSpec } from '../contract/index.ts';
import { once } from '@pith/promises';

export const DEFAULT_LIMITS: AgentSpec['limits'] = { max_turns: 20, max_tool_calls: 60, max_tokens: 200_000, time_budget_ms: 300_000 };

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;

/** Other names that are imported as `pith/<name>`. */
export const RESERVED_IDS: readonly string[] = ['pith', 'testing', 'embed', 'sandbox'];

/** `.meta` of a switch: an unreadable one counts as off; one that narrows stays on. */
export const ENABLED = { safeguard: true, narrowest: false, and: 'switches no guard off' };

/**
 * The strict schema of `manifest.yaml`. Built on first use: a start from a valid index never needs it. `agent` accepts unknown keys,
 * because extensions own them (`agent_keys`); the host checks that each has an owner. An invalid key is dropped, except a `safeguard`,
 * whose default would allow more.
 */
export const manifestSchema = once(() => {
  const id = z
    .string()
    // Two underscores separate an id from what follows it in names of tables and tools.
    .regex(
      /^(?=.{1,63}$)[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/,
      'must be snake_case with single underscores, begin with a letter and have at most 63 characters',
    );
  const text = z.string();
  const names = z.array(z.string().min(1)).default([]);
  const waitMs = z.int().min(0).max(DAY_MS);
  // The dot separates an id from the kernel's own names, which are one word.
  const definedId = z
    .string()
    .regex(
      /^(?=.{1,100}$)[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+$/,
      'must be words in lower case joined by dots, such as acme.ranker, of at most 100 characters',
    );
  const envName = z.string().regex(/^[A-Z][A-Z0-9_]*$/, 'must look like OPENAI_API_KEY');

  const limits = z.strictObject({
    max_turns: z.int().min(1).default(DEFAULT_LIMITS.max_turns),
    max_tool_calls: z.int().min(0).default(DEFAULT_LIMITS.max_tool_calls),
    max_tokens: z.int().min(1).default(DEFAULT_LIMITS.max_tokens),
    time_budget_ms: z.int().min(1).default(DEFAULT_LIMITS.time_budget_ms),
  });

  const agent = z.looseObject({
    description: text.default(''),
    model: z.string().min(1).default('default'),
    effort: z.enum(['off', 'low', 'medium', 'high']).optional(),
    integration_mode: z.enum(['tool', 'none']).default('none'),
    instructions: text.default(''),
    uses_tools: names,
    finds_tools: names,
    uses_skills: names,
    delegates_to: names,
    limits: limits.prefault({}).meta({ safeguard: true }),
  });

  return z
    .strictObject({
      id,
      name: z.string().min(1).optional(),
      version: z
        .string()
        .regex(/^\d+\.\d+\.\d+(?:[-+].+)?$/, 'must be a semantic version such as 1.0.0')
        .default('0.0.0'),
      description: text.default(''),
      entrypoint: z.string().min(1).optional(),
      provides: names,
      defines: z
        .strictObject({
          protocols: z.record(definedId, z.array(z.string().min(1)).min(1)).default({}),
          topics: z.record(definedId, z.strictObject({ durable: z.boolean().default(false) })).default({}),
        })
        .prefault({}),
      depends_on: z.array(id).default([]),
      optional_depends_on: z.array(id).default([]),
      isolation: z.enum(['in_process', 'process']).default('process'),
      permissions: z.strictObject({ network: z.boolean().default(false), read: names, write: names, agents: names }).prefault({}),
      enabled: z
        .boolean()
        .default(true)
        .meta({ ...ENABLED }),
      config: z.record(z.string(), z.unknown()).default({}),
      secrets: z.array(envName).default([]),
      commands: z
        .array(
          z.strictObject({
            path: z.string().regex(/^[a-z][a-z0-9-]*(?: [a-z][a-z0-9-]*)*$/, 'must be words in lower case'),
            needs: z.enum(['index', 'initialized', 'started', 'served']).default('initialized'),
            entry: z.string().min(1).optional(),
            description: text.default(''),
            /** Its position in the short help; for shipped commands. */
            first: z.int().min(1).optional(),
            /** Left out of the help. */
            hidden: z.boolean().default(false),
            /** A line for people at the start of a chat on a terminal; for shipped commands. */
            opening: text.default(''),
          }),
        )
        .default([]),
      switches: z
        .array(
          z.strictObject({
            name: z.string().regex(/^[a-z][a-z0-9-]*$/, 'must be words in lower case with hyphens'),
            description: text.default(''),
            /** Settings of the extension for one command line, which override all others. */
            config: z.record(z.string(), z.unknown()).default({}),
          }),
        )
        .default([]),
      models: z
        .array(
          z.strictObject({
            prefix: z.string().regex(/^[a-z][a-z0-9_-]*$/),
            /** Without settings, the prefix is chosen when all of these are set. */
            when_env: z.array(envName).default([]),
            /** … or, if none is, when the extension's `findLocal` finds a server with a model. */
            when_local: z.boolean().default(false),
            /** Higher wins. */
            rank: z.int().default(0),
            /** The model used when the prefix is chosen without settings; absent: the first that the server lists. */
            default: z.string().optional(),
            /** The extension also offers models under each prefix that only the settings' `providers` name; for shipped extensions. */
            named_servers: z.boolean().default(false),
          }),
        )
        .default([]),
      agent_keys: z.array(z.string().min(1)).default([]),
      /** Settings of the block `skills` that this extension checks and gets. Ignored for extensions that do not ship. */
      claims: z.array(z.string().regex(/^skills\.[a-z][a-z0-9_]*$/, 'must be a setting such as skills.scripts')).default([]),
      agent_files: z.array(z.string().regex(/^[A-Za-z][\w-]*\.[A-Za-z]\w*$/, 'must be a file name such as AGENT.md')).default([]),
      events: z
        .strictObject({
          publishes: names,
          handles: z.array(z.strictObject({ topic: z.string().min(1), handler: z.string().min(1) })).default([]),
        })
        .prefault({}),
      /** Durable work that the class does: see `context.jobs`. */
      jobs: z
        .array(
          z.strictObject({
            name: z.string().regex(/^(?=.{1,63}$)[a-z][a-z0-9_]*$/, 'must be snake_case and have at most 63 characters'),
            /** How many run at once in the whole sandbox. Default 16; with `lanes` as many as those give slots to. */
            concurrency: z.int().min(1).optional(),
            /** Failures before it is dead. */
            attempts: z.int().min(1).max(1000).default(8),
            backoff: z
              .strictObject({ first_ms: waitMs.default(1000), most_ms: waitMs.default(300_000) })
              .refine(({ first_ms, most_ms }) => first_ms <= most_ms, { path: ['most_ms'], error: 'must not be less than first_ms' })
              .prefault({}),
            /** Of one attempt; absent: none. */
            timeout_ms: z.int().min(1).max(WEEK_MS).optional(),
            /** Of the payload. */
            version: z.int().min(1).default(1),
            /** `jobs.define` is given a policy for its lanes. */
            lanes: z.boolean().default(false),
            /** The command, such as `tasks retry`, that starts an ended one again in place of `pith jobs retry`. */
            retry_with: z.string().min(1).optional(),
          }),
        )
        .default([]),
      /** Each calls a method, or adds a job. */
      schedules: z
        .array(
          z.strictObject({
            name: z.string().min(1),
            cron: z.string().min(1),
            handler: z.string().min(1).optional(),
            job: z.string().min(1).optional(),
          }),
        )
        .default([]),
      setup_instructions: text.default(''),
      agent: agent.optional(),
    })
    .transform((manifest) => ({ ...manifest, name: manifest.name ?? manifest.id }));
});

/** The prefixes that these manifests declare. */
export function declaredPrefixes(manifests: Iterable<{ readonly manifest: Manifest | null }>): ReadonlySet<string> {
  return new Set([...manifests].flatMap(({ manifest }) => manifest?.models.map(({ prefix }) => prefix) ?? []));
}

/** Whether the extension takes the servers that only the settings name. A stranger would get their keys. */
export function takesNamedServers({ manifest, shipped }: { readonly manifest: Manifest | null; readonly shipped: boolean }): boolean {
  return shipped && (manifest?.models.some((model) => model.named_servers) ?? false);
}

/** The validated value of a `manifest.yaml`; the only declaration of an extension or agent. */
export type Manifest = Omit<z.output<ReturnType<typeof manifestSchema>>, 'enabled'> & {
  /** null: it cannot be read. */
  readonly enabled: boolean | null;
};
