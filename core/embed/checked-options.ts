import { messageOf, PithError, z } from '../contract/index.ts';
import { loadSettingsSchema } from '../declarations/index.ts';
import { issuesToDiagnostics } from '@pith/checked-yaml';
import { isPlainMap } from '@pith/plain-data';
import { slipsOf } from '@pith/plain-text';
import { once } from '@pith/promises';
import { AN_ID, isId } from './checked-arguments.ts';
import type { ApproveAnswer, PithOptions, RunOptions } from './options.ts';

/** Throws `settings_invalid` at the first option that is not known or not of its type, and where two options say the same. */
export async function checkOptions(options: PithOptions): Promise<void> {
  const { createPith, skill, agent, extension, tool } = schemas();
  check(createPith, options, 'createPith');
  const { skills = [], agents = [], extensions = [], tools = {}, settings, model } = options;
  for (const [at, given] of skills.entries()) if (typeof given !== 'string') check(skill, given, `skills[${at}]`);
  for (const [at, given] of agents.entries()) check(agent, given, `agents[${at}]`);
  for (const [at, given] of extensions.entries()) if (typeof given !== 'string') check(extension, given, `extensions[${at}]`);
  for (const [name, given] of Object.entries(tools)) checkTool(tool, name, given);
  if (settings === undefined) return;
  check((await loadSettingsSchema()).settingsSchema(), settings, 'settings');
  const { data_dir, default_agent, models, skills: ofSkills } = settings as SettingsSaidTwice;
  if (default_agent !== undefined && agents.length > 0) throw saidTwice('default_agent', 'agents');
  if (data_dir !== undefined) throw saidTwice('data_dir', 'store');
  if (isObject(ofSkills) && 'sources' in ofSkills) throw saidTwice('skills.sources', 'skills');
  if (models?.default !== undefined && typeof model === 'string') throw saidTwice('models.default', 'model');
}

/** Settings that an option says. */
interface SettingsSaidTwice {
  readonly data_dir?: string;
  readonly default_agent?: string;
  readonly models?: { readonly default?: string };
  readonly skills?: object;
}

/** Throws as `checkOptions`. `what`: `run` or `resume`. */
export function checkRun(what: 'run' | 'resume', options: RunOptions): void {
  check(schemas()[what], options, what);
}

/** Throws as `checkOptions`: the answers that `resume` is given. */
export function checkAnswers(answers: unknown): void {
  check(schemas().answers, answers, 'resume', 'the answers');
}

/** Whether a program may answer a question so. */
export function isAnswer(given: unknown): given is ApproveAnswer {
  return ['yes', 'no', 'later', true, false].includes(given as never) || (isPlainMap(given) && typeof given['no'] === 'string');
}

/** What `isAnswer` takes, for messages. */
export const ANSWERS = "'yes', 'no', 'later', true, false or { no: reason }";

/** Tools of the AI SDK may have further keys; one that is nearly a known key is a slip, and what it asks for would be left out. */
function checkTool(schema: z.ZodObject, name: string, given: unknown): void {
  readable(`tools.${name}`, () => refuse(typeof given === 'function' ? z.unknown() : schema, given, `tools.${name}`));
  const known = Object.keys(schema.shape);
  for (const key of Object.keys(given as object)) {
    const [meant] = known.includes(key) || OF_AI_SDK.has(key) ? [] : slipsOf(key, known, 2);
    if (meant === undefined) continue;
    throw new PithError('settings_invalid', `tools.${name}: unknown key '${key}' (did you mean '${meant}'?)`, { cure: 'correct the name' });
  }
}

/** Keys of its tools that are near to keys that mean something here. */
const OF_AI_SDK: ReadonlySet<string> = new Set(['outputSchema']);

const schemas = once(() => {
  const text = z.string().min(1, 'must not be empty');
  const texts = z.array(z.string());
  const id = z.custom((given) => typeof given === 'string' && isId(given), `must be ${AN_ID}`);
  const amount = z.number().positive();
  const callback = z.custom((given) => typeof given === 'function', 'must be a function');
  const fileText = z.custom((given) => typeof given === 'string' || given instanceof Uint8Array, 'must be a string or a Uint8Array');
  const aModel = z.custom(
    (given) => isObject(given) || (typeof given === 'string' && given !== ''),
    'must be a model, or `provider/model`',
  );
  const map = z.custom(isPlainMap, 'must be a plain object');
  const variables = z.record(z.string(), z.string().optional());
  const anything = z.custom(isObject, 'must be an object or a function');
  const limits = z.strictObject({ steps: amount, toolCalls: amount, tokens: amount, ms: amount, cost: amount }).partial();
  const signal = z.custom((given) => isFunctionOf(given, 'addEventListener') && 'aborted' in (given as object), 'must be an AbortSignal');
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
        tools: map,
        model: aModel,
        approve: callback,
        store: z.custom(
          (given) => (typeof given === 'string' ? given !== '' : LOG.every((name) => isFunctionOf(given, name))),
          `must be 'memory', a folder, or a ThreadLog with the functions ${LOG.join(', ')}`,
        ),
        limits,
        clock: z.custom(
          (given) => CLOCK.every((name) => isFunctionOf(given, name)),
          `must be a clock with the functions ${CLOCK.join(', ')}`,
        ),
        settings: map,
        env: z.preprocess(
          (given) => (isPlainMap(given) && Object.prototype.toString.call(given) === '[object Object]' ? { ...given } : given),
          variables,
        ), // process.env has a prototype of its own
      })
      .partial(),
    skill: z.strictObject({ id: text, description: text, body: z.string(), files: z.record(z.string(), fileText).optional() }),
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
        keys: map,
      })
      .partial()
      .extend({ id: text }),
    extension: z.strictObject({
      id: text,
      provides: texts.optional(),
      manifest: map.optional(),
      extension: callback,
    }),
    tool: z
      .looseObject({
        description: z.string(),
        input: anything,
        inputSchema: anything,
        needsApproval: z.custom(
          (given) => given === undefined || typeof given === 'boolean' || typeof given === 'function',
          'must be true, false or a function',
        ),
        effect: z.enum(['read', 'idempotent', 'write']),
        timeoutMs: amount,
        optIn: z.boolean(),
        runsAgent: z.boolean(),
        agentTools: z.boolean(),
        overridable: z.boolean(),
        permission: anything,
        present: callback,
        toModelOutput: callback,
        execute: callback,
      })
      .partial(),
    run: z.strictObject({
      ...resume,
      thread: text.optional(),
      agent: id.optional(),
      model: text.optional(),
      limits: limits.optional(),
      userId: id.optional(),
    }),
    resume: z.strictObject(resume),
    answers: z.record(z.string(), z.custom(isAnswer, `must be ${ANSWERS}`)),
  };
});

/** The functions of a `ThreadLog` and of a `Clock`. */
const LOG = ['read', 'append', 'list', 'remove'];
const CLOCK = ['now', 'sleep', 'after'];

function isFunctionOf(given: unknown, name: string): boolean {
  return isObject(given) && typeof Reflect.get(given, name) === 'function';
}

function isObject(given: unknown): given is object {
  return typeof given === 'function' || (typeof given === 'object' && given !== null);
}

/** Neither an instance of a class nor made from another object: what a prototype has would be left out. */
function isPlain(given: object): boolean {
  for (const key in given) if (!Object.hasOwn(given, key)) return false;
  return z.record(z.string(), z.unknown()).safeParse(given).success;
}

/** Where a map in the options is not a plain one: of a `Map`, or by a prototype, values would be left out. null: nowhere. */
function notPlainIn(value: unknown, path: readonly string[] = []): readonly string[] | null {
  if (!isPlainMap(value) || path.length > 20) return null; // a schema refuses a circle
  if (!isPlain(value)) return path;
  for (const [key, below] of Object.entries(value)) {
    if (path.length === 0 && !MAPS.includes(key)) continue;
    const found = path[0] === 'tools' ? null : notPlainIn(below, [...path, key]);
    if (found !== null) return found;
  }
  return null;
}

/** Options that are maps; other objects, and tools, may be of a class. */
const MAPS = ['limits', 'tools', 'keys', 'settings', 'manifest'];

/** `root`: what the value itself is in messages. */
function check(schema: z.ZodType, value: unknown, where: string, root = 'it'): void {
  readable(where, () => {
    const path = notPlainIn(value);
    if (path === null) return refuse(schema, value, where, root);
    const what = path.length === 0 ? root : `'${path.join('.')}'`;
    throw new PithError('settings_invalid', `${where}: ${what} must be a plain object`, { cure: 'write it as { … }' });
  });
}

/** Values that throw where they are read are a mistake of the program, too. */
function readable(where: string, read: () => void): void {
  try {
    read();
  } catch (error) {
    if (error instanceof PithError) throw error;
    const message = `${where}: it cannot be read: ${messageOf(error)}`;
    throw new PithError('settings_invalid', message, { cause: error, cure: 'give plain values' });
  }
}

function refuse(schema: z.ZodType, value: unknown, where: string, root = 'it'): void {
  const { error } = schema.safeParse(value);
  if (error === undefined) return;
  const [wrong] = issuesToDiagnostics(error.issues, schema, { file: where, positions: {}, code: 'settings_invalid', value });
  const message = (wrong?.message ?? error.message).replace(/^the file\b/u, root).replace(/, not empty$/u, ', not null');
  throw new PithError('settings_invalid', `${where}: ${message}`, { cure: wrong?.cure ?? 'correct the name' });
}

function saidTwice(setting: string, option: string): PithError {
  return new PithError('settings_invalid', `settings.${setting}: the option \`${option}\` says that`, { cure: `use \`${option}\`` });
}
