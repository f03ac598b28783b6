import { PithError, z } from '../contract/index.ts';
import { loadSettingsSchema } from '../declarations/index.ts';
import { issuesToDiagnostics } from '@pith/checked-yaml';
import { once } from '@pith/promises';
import type { PithOptions, RunOptions } from './options.ts';

/** Throws `settings_invalid` at the first option that is not known or not of its type, and where two options say the same. */
export async function checkOptions(options: PithOptions): Promise<void> {
  const { createPith, skill, agent, extension, tool } = schemas();
  check(createPith, options, 'createPith');
  const { skills = [], agents = [], extensions = [], tools = {}, settings, model } = options;
  for (const [at, given] of skills.entries()) if (typeof given !== 'string') check(skill, given, `skills[${at}]`);
  for (const [at, given] of agents.entries()) check(agent, given, `agents[${at}]`);
  for (const [at, given] of extensions.entries()) if (typeof given !== 'string') check(extension, given, `extensions[${at}]`);
  for (const [name, given] of Object.entries(tools)) check(tool, given, `tools.${name}`);
  if (settings === undefined) return;
  check((await loadSettingsSchema()).settingsSchema(), settings, 'settings');
  const { data_dir, models, skills: ofSkills } = settings as { data_dir?: string; models?: { default?: string }; skills?: object };
  if (data_dir !== undefined) throw saidTwice('data_dir', 'store');
  if (isObject(ofSkills) && 'sources' in ofSkills) throw saidTwice('skills.sources', 'skills');
  if (models?.default !== undefined && typeof model === 'string') throw saidTwice('models.default', 'model');
}

/** Throws as `checkOptions`. `what`: `run` or `resume`. */
export function checkRun(what: 'run' | 'resume', options: RunOptions): void {
  check(schemas()[what], options, what);
}

const schemas = once(() => {
  const text = z.string().min(1, 'must not be empty');
  const texts = z.array(z.string());
  const amount = z.number().positive();
  const callback = z.custom((given) => typeof given === 'function', 'must be a function');
  const object = z.custom((given) => typeof given === 'object' && given !== null, 'must be an object');
  const aModel = z.custom(
    (given) => isObject(given) || (typeof given === 'string' && given !== ''),
    'must be a model, or `provider/model`',
  );
  const anything = z.custom(isObject, 'must be an object or a function');
  const limits = z.strictObject({ steps: amount, toolCalls: amount, tokens: amount, ms: amount, cost: amount }).partial();
  const signal = z.custom((given) => isObject(given) && 'aborted' in given, 'must be an AbortSignal');
  const resume = { signal: signal.optional(), output: anything.optional() };
  return {
    createPith: z
      .strictObject({
        sandbox: text,
        project: text,
        skills: z.array(z.unknown()),
        extensions: z.array(z.unknown()),
        agents: z.array(z.unknown()),
        instructions: z.string(),
        tools: z.record(z.string(), z.unknown()),
        model: aModel,
        approve: callback,
        store: z.union([text, object]),
        limits,
        clock: object,
        settings: z.record(z.string(), z.unknown()),
        env: z.record(z.string(), z.string().optional()),
      })
      .partial(),
    skill: z.strictObject({ id: text, description: text, body: z.string(), files: z.record(z.string(), z.unknown()).optional() }),
    agent: z
      .strictObject({
        name: text,
        description: z.string(),
        model: text,
        effort: z.enum(['off', 'low', 'medium', 'high']),
        integrationMode: z.enum(['tool', 'none']),
        instructions: z.string(),
        prompt: z.string().nullable(),
        usesTools: texts,
        findsTools: texts,
        usesSkills: texts,
        delegatesTo: texts,
        limits: limits.omit({ cost: true }),
        keys: z.record(z.string(), z.unknown()),
      })
      .partial()
      .extend({ id: text }),
    extension: z.strictObject({
      id: text,
      provides: texts.optional(),
      manifest: z.record(z.string(), z.unknown()).optional(),
      extension: callback,
    }),
    tool: anything,
    run: z.strictObject({
      ...resume,
      thread: text.optional(),
      agent: text.optional(),
      model: text.optional(),
      limits: limits.optional(),
      userId: text.optional(),
    }),
    resume: z.strictObject(resume),
  };
});

function isObject(given: unknown): given is object {
  return typeof given === 'function' || (typeof given === 'object' && given !== null);
}

function check(schema: z.ZodType, value: unknown, where: string): void {
  const { error } = schema.safeParse(value);
  if (error === undefined) return;
  const [wrong] = issuesToDiagnostics(error.issues, schema, { file: where, positions: {}, code: 'settings_invalid', value });
  const message = (wrong?.message ?? error.message).replace(/^the file\b/u, 'it');
  throw new PithError('settings_invalid', `${where}: ${message}`, { cure: wrong?.cure ?? 'correct the name' });
}

function saidTwice(setting: string, option: string): PithError {
  return new PithError('settings_invalid', `settings.${setting}: the option \`${option}\` says that`, { cure: `use \`${option}\`` });
}
