import { type JsonValue, z } from 'pith';
import type { Route } from 'pith/http';

type Json = Readonly<Record<string, JsonValue>>;

const ERROR: Json = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: { code: { type: 'string' }, message: { type: 'string' }, cure: { type: 'string' } },
    },
  },
};

/** The routes as an OpenAPI 3.1 document, from the schemas that check their requests. */
export function openApiOf(routes: readonly Route[], version: string): JsonValue {
  const paths: Record<string, Record<string, JsonValue>> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operationOf(route);
  return {
    openapi: '3.1.0',
    info: { title: 'Pith', version, description: 'Each route needs a token (pith tokens new) unless it says otherwise.' },
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: ERROR },
    },
  };
}

function operationOf(route: Route): JsonValue {
  const { method, path, need, summary, body, query, result, upload } = route;
  const inPath = [...path.matchAll(/\{(\w+)(\.\.\.)?\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const content: Record<string, JsonValue> = {
    ...(body === undefined ? {} : { 'application/json': { schema: schemaOf(body) } }),
    ...Object.fromEntries((upload ?? []).map((type) => [type, { schema: { type: 'string', format: 'binary' } }])),
  };
  return {
    operationId: `${method.toLowerCase()}${path.replaceAll(/[^a-zA-Z0-9]+(\w?)/g, (_all, next: string) => next.toUpperCase())}`,
    summary,
    tags: [path.split('/')[2] ?? 'api'],
    ...(need === 'public' ? { security: [] } : { 'x-pith-needs': need }),
    parameters: [...inPath, ...inQuery(query)],
    ...(Object.keys(content).length === 0 ? {} : { requestBody: { content, required: body !== undefined } }),
    responses: {
      200: { description: 'Done', content: { 'application/json': { schema: result === undefined ? {} : schemaOf(result) } } },
      default: { description: 'An error', content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } },
    },
  };
}

function inQuery(query: z.ZodType | undefined): readonly JsonValue[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = schemaOf(query) as {
    readonly properties?: Readonly<Record<string, Json>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema,
  }));
}

/** OpenAPI 3.1 has the JSON Schema that zod writes. */
function schemaOf(schema: z.ZodType): JsonValue {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Json;
  return rest;
}
