import { PithError, z } from '../contract/index.ts';
import { isPlainMap, type PlainMap } from '@pith/plain-data';

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

type StandardResult = { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

/** Of a Standard Schema that gives JSON Schema (zod 4 among them), of `{ jsonSchema, validate? }`, or of a JSON Schema. Throws `settings_invalid`. */
export function schemaOf(given: unknown, what: string): AnySchema {
  const {
    '~standard': standard,
    jsonSchema,
    validate,
  } = (given ?? {}) as { '~standard'?: Standard; jsonSchema?: unknown; validate?: unknown };
  if (standard !== undefined)
    return { json: jsonOf(given, standard, what), check: async (value) => checked(await standard.validate(value)) };
  const json = jsonSchema ?? given;
  if (!isPlainMap(json)) throw unusable(what);
  const own = z.fromJSONSchema(json as never);
  return {
    json,
    async check(value) {
      if (typeof validate !== 'function') return checked(await own['~standard'].validate(value));
      const result = (await validate(value)) as { readonly success: boolean; readonly value?: unknown; readonly error?: Error };
      return result.success ? { value: result.value } : { problems: [result.error?.message ?? 'it does not match'] };
    },
  };
}

function jsonOf(given: unknown, { jsonSchema }: Standard, what: string): PlainMap {
  if (jsonSchema !== undefined) return jsonSchema.input({ target: 'draft-2020-12' });
  if (typeof given === 'object' && given !== null && '_zod' in given)
    return z.toJSONSchema(given as z.ZodType, { io: 'input', unrepresentable: 'any' }) as PlainMap;
  throw unusable(what);
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
