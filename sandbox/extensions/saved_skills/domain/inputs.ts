import { once } from '@pith/promises';
import { PithError, z, type JsonValue } from 'pith';
import { didYouMean } from '@pith/plain-text';

export const INPUT_TYPES = ['string', 'int', 'float', 'bool', 'user', 'channel', 'url', 'file'] as const;

export const inputFieldSchema = once(() =>
  z.strictObject({
    name: z.string().regex(/^[a-z][a-z0-9_]{0,31}$/, 'must begin with a letter and have at most 32 lower-case letters, digits and _'),
    description: z.string().max(1024).default(''),
    type: z.enum(INPUT_TYPES).default('string'),
    required: z.boolean().default(false),
    /** As a person would type it; null: there is none. */
    default: z.union([z.string(), z.number(), z.boolean()]).transform(String).nullable().default(null),
    choices: z.array(z.union([z.string(), z.number(), z.boolean()]).transform(String)).default([]),
  }),
);

export type InputField = z.infer<ReturnType<typeof inputFieldSchema>>;
export type InputValue = string | number | boolean;
export type Inputs = Readonly<Record<string, InputValue>>;

/** The value, or why the text is none of its type. */
type Coerced = { readonly value: InputValue } | { readonly problem: string };

/** What callers give: texts of a command line, or values of JSON. Names that begin with `__` are the host's and are left alone. */
export type GivenInputs = Readonly<Record<string, JsonValue | undefined>>;

const MOST_CHARACTERS = 100_000;

/** One value by its type. A number or boolean of JSON counts as its text. */
export function coerce(type: InputField['type'], given: JsonValue): Coerced {
  if (typeof given === 'object') return { problem: 'is neither a text nor a number nor true or false' };
  const text = String(given);
  if (text.length > MOST_CHARACTERS) return { problem: `is longer than ${MOST_CHARACTERS} characters` };
  const bare = text.trim();
  switch (type) {
    case 'string':
      return { value: text };
    case 'int':
      return /^[+-]?\d+$/.test(bare) && Number.isSafeInteger(Number(bare))
        ? { value: Number(bare) }
        : { problem: `'${shown(text)}' is not a whole number of at most 16 digits` };
    case 'float':
      return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(bare) && Number.isFinite(Number(bare))
        ? { value: Number(bare) }
        : { problem: `'${shown(text)}' is not a finite number` };
    case 'bool': {
      const word = bare.toLowerCase();
      if (['true', '1', 'yes', 'on'].includes(word)) return { value: true };
      if (['false', '0', 'no', 'off'].includes(word)) return { value: false };
      return { problem: `'${shown(text)}' is not true, false, yes, no, on, off, 1 or 0` };
    }
    case 'user':
      return mention(/^(?:<@!?([^\s<>]+)>|([^\s<>@!#]+))$/, bare, 'user');
    case 'channel':
      return mention(/^(?:<#([^\s<>]+)>|([^\s<>@!#]+))$/, bare, 'channel');
    case 'url':
      return urlOf(bare);
    case 'file':
      return bare === '' || /[\0\n]/.test(bare) ? { problem: `'${shown(text)}' is not the path of a file` } : { value: bare };
  }
}

function mention(pattern: RegExp, text: string, what: string): Coerced {
  const [, marked, bare] = pattern.exec(text) ?? [];
  const id = marked ?? bare;
  return id === undefined ? { problem: `'${shown(text)}' does not name a ${what}` } : { value: id };
}

function urlOf(text: string): Coerced {
  const isAbsolute = /^https?:\/\/[^/?#]/i.test(text);
  const url = isAbsolute && URL.canParse(text) ? new URL(text) : null;
  return url === null || url.hostname === '' ? { problem: `'${shown(text)}' is not an http(s) address with a host` } : { value: text };
}

function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** What is wrong with a field of a skill. */
export interface WrongField {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** What is wrong with a skill's inputs; empty when nothing is. */
export function inputSchemaProblems(fields: readonly InputField[]): readonly WrongField[] {
  const names = fields.map(({ name }) => name);
  const at = (index: number, key: keyof InputField, message: string): WrongField => ({ path: ['input_schema', index, key], message });
  return fields.flatMap((field, index) => {
    const twice = names.indexOf(field.name) === index ? [] : [at(index, 'name', `input '${field.name}' is there twice`)];
    const choices = field.choices.flatMap((choice) => {
      const read = coerce(field.type, choice);
      return 'problem' in read ? [at(index, 'choices', `choice of input '${field.name}' ${read.problem}`)] : [];
    });
    if (choices.length > 0 || field.default === null) return [...twice, ...choices];
    const read = checked(field, field.default);
    return 'problem' in read ? [...twice, at(index, 'default', `default of input '${field.name}' ${read.problem}`)] : twice;
  });
}

function checked(field: InputField, given: JsonValue): Coerced {
  const read = coerce(field.type, given);
  if ('problem' in read || field.choices.length === 0) return read;
  const allowed = field.choices.map((choice) => coerce(field.type, choice));
  return allowed.some((choice) => 'value' in choice && choice.value === read.value)
    ? read
    : { problem: `'${shown(String(given))}' is not one of ${field.choices.join(', ')}` };
}

/** The conversation that the host names for the result; undefined: none. Throws `input_invalid` for what is no name. */
export function namedThread({ __thread_id__: given }: GivenInputs): string | undefined {
  if (given === undefined || given === null || given === '') return undefined;
  if (typeof given === 'string' && given.length <= 200) return given;
  throw new PithError('input_invalid', "input '__thread_id__' is not the name of a conversation", { cure: 'give a text, or leave it out' });
}

/** What a model gives: names of the host are not its to give. */
export function withoutNamesOfHost(given: GivenInputs): GivenInputs {
  return Object.fromEntries(Object.entries(given).filter(([name]) => !name.startsWith('__')));
}

/** The same typed values, whoever asks and however. Throws `input_invalid` with all that is missing or wrong. */
export function readInputs(fields: readonly InputField[], given: GivenInputs): Inputs {
  const inputs = new Map<string, InputValue>();
  const problems: string[] = [];
  const missing: string[] = [];
  const wrong: WrongField[] = [];
  const names = fields.map(({ name }) => name);
  for (const name of Object.keys(given)) {
    if (name.startsWith('__') || names.includes(name)) continue;
    problems.push(`there is no input '${shown(name)}'${didYouMean(name, names)}`);
    wrong.push({ path: [name], message: `is unknown${didYouMean(name, names)}` });
  }
  for (const field of fields) {
    const own = Object.hasOwn(given, field.name) ? given[field.name] : undefined;
    const said = own === undefined || own === null ? field.default : own;
    if (said === null) {
      if (!field.required) continue;
      missing.push(field.name);
      wrong.push({ path: [field.name], message: 'is missing' });
      continue;
    }
    const read = checked(field, said);
    if ('value' in read) {
      inputs.set(field.name, read.value);
      continue;
    }
    problems.push(`input '${field.name}': ${read.problem}`);
    wrong.push({ path: [field.name], message: read.problem });
  }
  if (missing.length > 0)
    problems.unshift(`${missing.map((name) => `'${name}'`).join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing`);
  if (problems.length > 0)
    throw new PithError('input_invalid', problems.join('; '), {
      cure: fields.length === 0 ? 'leave inputs out' : `give: ${usageOf(fields)}`,
      problems: wrong,
    });
  return Object.fromEntries(inputs);
}

/** `url:url city:string=Rome [limit:int]` */
export function usageOf(fields: readonly InputField[]): string {
  return fields
    .map(({ name, type, required, default: value, choices }) => {
      const kind = choices.length > 0 ? choices.join('|') : type;
      const word = `${name}:${kind}${value === null ? '' : `=${value}`}`;
      return required && value === null ? word : `[${word}]`;
    })
    .join(' ');
}

/** The positional words of a command line by the names of the fields. Throws `input_invalid` for more words than inputs, and for a name in them. */
export function positionalInputs(fields: readonly InputField[], words: readonly string[]): GivenInputs {
  const free = fields.map(({ name }) => name);
  if (words.length > free.length)
    throw new PithError(
      'input_invalid',
      `${words.length} values were given, and there ${free.length === 1 ? 'is 1 input' : `are ${free.length} inputs`}`,
      {
        cure: free.length === 0 ? 'leave them out' : `give: ${usageOf(fields)}`,
      },
    );
  for (const word of words) {
    const [, name] = /^([a-z][a-z0-9_]*)=/.exec(word) ?? [];
    if (name === undefined || (!free.includes(name) && didYouMean(name, free) === '')) continue;
    throw new PithError('input_invalid', `'${shown(word)}' looks like an input by its name, and values alone are taken in their order`, {
      cure: `write: --input ${shown(word)}`,
    });
  }
  return Object.fromEntries(words.map((word, index) => [free[index] as string, word]));
}

/** As the parameters of a tool. */
export function inputJsonSchema(fields: readonly InputField[]): Readonly<Record<string, JsonValue>> {
  const types = { int: 'integer', float: 'number', bool: 'boolean' } as const;
  const properties = fields.map(({ name, description, type, default: value, choices }) => {
    const known = choices.map((choice) => coerce(type, choice)).flatMap((choice) => ('value' in choice ? [choice.value] : []));
    const preset = value === null ? null : coerce(type, value);
    return [
      name,
      {
        type: types[type as keyof typeof types] ?? 'string',
        ...(description === '' ? {} : { description }),
        ...(known.length === 0 ? {} : { enum: known }),
        ...(preset !== null && 'value' in preset ? { default: preset.value } : {}),
        ...(type === 'url' ? { format: 'uri' } : {}),
      },
    ] as const;
  });
  const required = fields.filter((field) => field.required && field.default === null).map(({ name }) => name);
  return { type: 'object', properties: Object.fromEntries(properties), required, additionalProperties: false };
}
