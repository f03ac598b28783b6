import { messageOf, PithError, z } from '../contract/index.ts';
import { isPlainMap, type PlainMap } from '@pith/plain-data';
import { valueCheck } from '@pith/tool-schemas';

/** A schema as this module uses it: what a model is told, and the check of a value. */
export interface AnySchema {
  readonly json: PlainMap;
  /** The value as the schema makes it, or what is wrong with it. */
  check(value: unknown): Promise<{ readonly value: unknown } | { readonly problems: readonly string[] }>;
}

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

interface Standard {
  validate(value: unknown): StandardResult | Promise<StandardResult>;
  readonly jsonSchema?: Readonly<Record<'input' | 'output', (options: { readonly target: string }) => PlainMap>>;
}

interface SchemaParts {
  readonly '~standard'?: Standard;
  readonly jsonSchema?: unknown;
  readonly validate?: unknown;
}

type StandardResult = { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

/**
 * Of a Standard Schema that gives JSON Schema (zod 4 among them), of `{ jsonSchema, validate? }`, of a JSON Schema, or of a function that
 * gives one of these. Throws `settings_invalid`; so does a check that fails itself.
 */
export function schemaOf(given: unknown, what: string): AnySchema {
  try {
    const { json: said, check } = readSchema(given, what);
    const json: unknown = JSON.parse(JSON.stringify(said)); // a circle, or what answers no JSON, is a mistake of the program
    if (!isPlainMap(json)) throw unusable(what);
    const run = async (value: unknown) => check(value);
    return { json, check: (value) => run(value).catch((error: unknown) => failed(`${what}: its schema failed`, error)) };
  } catch (error) {
    return failed(`${what}: its schema cannot be used`, error);
  }
}

function readSchema(given: unknown, what: string): AnySchema {
  const { '~standard': standard, jsonSchema, validate } = (given ?? {}) as SchemaParts;
  if (standard !== undefined)
    return { json: jsonOf(given, standard, what), check: async (value) => checked(await standard.validate(value)) };
  if (typeof given === 'function') return readSchema((given as () => unknown)(), what);
  const json = jsonSchema ?? given;
  if (!isPlainMap(json)) throw unusable(what);
  if (typeof validate !== 'function') {
    const own = valueCheck(json);
    return { json, check: (value) => own.check(value) };
  }
  return {
    json,
    async check(value) {
      const result = (await validate(value)) as { readonly success: boolean; readonly value?: unknown; readonly error?: Error };
      return result.success ? { value: result.value } : { problems: [result.error?.message ?? 'it does not match'] };
    },
  };
}

/** Of zod by its own functions: they leave out what JSON Schema cannot say, such as a date. */
function jsonOf(given: unknown, { jsonSchema }: Standard, what: string): PlainMap {
  if (typeof given === 'object' && given !== null && '_zod' in given)
    return z.toJSONSchema(given as z.ZodType, { io: 'input', unrepresentable: 'any' }) as PlainMap;
  if (jsonSchema !== undefined) return jsonSchema.input({ target: 'draft-2020-12' });
  throw unusable(what);
}

function failed(what: string, cause: unknown): never {
  if (cause instanceof PithError) throw cause;
  throw new PithError('settings_invalid', `${what}: ${messageOf(cause)}`, {
    cause,
    cure: 'simplify it, or give `{ jsonSchema, validate }`',
  });
}

function checked(result: StandardResult): { readonly value: unknown } | { readonly problems: readonly string[] } {
  if (result.issues === undefined) return { value: result.value };
  return {
    problems: result.issues.map(({ message, path = [] }) => {
      const names = path.map((step) => String(typeof step === 'object' ? step.key : step));
      return names.length === 0 ? message : `${names.join('.')}: ${message}`;
    }),
  };
}

function unusable(what: string): PithError {
  return new PithError('settings_invalid', `${what}: this schema gives no JSON Schema`, {
    cure: 'give a schema of zod 4, or a JSON Schema',
  });
}
