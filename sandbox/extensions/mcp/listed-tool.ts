import { isPlainMap } from '@pith/plain-data';
import { z } from 'pith';

/** A tool as a server lists it, as far as it is used. */
export interface ServerTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>> & { readonly type: 'object' };
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, unknown>>;
}

/** A page of `tools/list`. Each tool is read by itself: what one says costs the others nothing. */
export const page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

const schema = z.record(z.string(), z.unknown());
const listed = z.looseObject({
  name: z.string().min(1),
  description: z.string().optional(),
  inputSchema: schema.refine(({ type }) => type === 'object', 'its type must be "object"'),
  outputSchema: schema.optional(),
  annotations: schema.optional(),
});

/** The tool, or why it cannot be offered. */
export function readTool(given: unknown): ServerTool | string {
  const read = listed.safeParse(given);
  if (!read.success) {
    const [issue] = read.error.issues;
    return issue === undefined ? 'it cannot be read' : `${issue.path.join('.') || 'it'}: ${issue.message}`;
  }
  return schemaProblem(read.data.inputSchema, 'inputSchema', 0) ?? (read.data as unknown as ServerTool);
}

const TYPES = new Set<unknown>(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);
const SCHEMAS = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'];
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const MAPS = ['properties', 'patternProperties', '$defs', 'definitions'];
const DEEPEST = 64;

/** What is no JSON Schema in it: a model's server refuses a whole request for that. null: nothing was found. */
function schemaProblem(given: unknown, at: string, depth: number): string | null {
  if (typeof given === 'boolean') return null;
  if (!isPlainMap(given)) return `${at} is no schema`;
  if (depth > DEEPEST) return `${at} is nested more than ${DEEPEST} deep`;
  const { type, required } = given;
  if (type !== undefined && !(Array.isArray(type) ? type : [type]).every((each) => TYPES.has(each))) return `${at}.type is unknown`;
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === 'string')))
    return `${at}.required is no list of names`;
  for (const [key, value] of Object.entries(given)) {
    if (LISTS.includes(key) && !Array.isArray(value)) return `${at}.${key} is no list`;
    if (MAPS.includes(key) && !isPlainMap(value)) return `${at}.${key} is no map`;
    const isSchemas = LISTS.includes(key) || MAPS.includes(key) || (key === 'items' && Array.isArray(value));
    const below = isSchemas ? Object.entries(value as object) : SCHEMAS.includes(key) ? [['', value] as const] : [];
    for (const [name, each] of below) {
      const problem = schemaProblem(each, [at, key, name].filter(Boolean).join('.'), depth + 1);
      if (problem !== null) return problem;
    }
  }
  return null;
}
