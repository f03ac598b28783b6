import { type JsonValue, z } from 'pith';
import { type ApiRoute, apiRoute, type DescribedRoute } from '../route.ts';

/** Of the interface: a change that breaks clients is a new first number. */
const VERSION = '1.0.0';

type Json = Readonly<Record<string, JsonValue>>;

const TEXT: Json = { type: 'string' };

const PROBLEM: Json = {
  type: 'object',
  required: ['path', 'message'],
  properties: { path: { type: 'array', items: { type: ['string', 'integer'] } }, message: TEXT },
};

const CURE: Json = {
  type: 'object',
  description: 'What to do about it; at least one of text and command',
  properties: {
    text: TEXT,
    command: { type: 'string', description: 'The command of a terminal that does it' },
    request: {
      type: 'object',
      description: 'The request that is this command',
      required: ['method', 'path', 'need'],
      properties: { method: TEXT, path: TEXT, need: { type: 'string', enum: ['user', 'approve', 'admin'] } },
    },
  },
};

const ERROR: Json = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: {
        code: TEXT,
        message: { type: 'string', description: 'All that is wrong, for people' },
        cure: CURE,
        problems: {
          type: 'array',
          description: 'Fields of what was sent that are wrong; in a text that is a document: fields of the document',
          items: PROBLEM,
        },
      },
    },
  },
};

const PENDING: Json = {
  type: 'object',
  required: ['ok', 'pending'],
  properties: { ok: { type: 'boolean' }, pending: { type: 'boolean' } },
};

const JSON_TYPE = 'application/json';

/** The description of all routes below /api. */
export function descriptionRoute(routes: () => Promise<readonly DescribedRoute[]>): ApiRoute {
  return apiRoute({ method: 'GET', path: '/api/openapi.json', need: 'user', summary: 'Describe these routes (OpenAPI 3.1)' }, async () => ({
    status: 200,
    json: openApiOf(await routes()),
  }));
}

/** The routes as an OpenAPI 3.1 document, from the schemas that check their requests. */
function openApiOf(routes: readonly DescribedRoute[]): JsonValue {
  const paths: Record<string, Record<string, JsonValue>> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operationOf(route);
  return {
    openapi: '3.1.0',
    info: { title: 'Pith', version: VERSION, description: 'Each route needs a token (pith tokens new) unless it says otherwise.' },
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: ERROR },
    },
  };
}

function operationOf(route: DescribedRoute): JsonValue {
  const { method, path, need, summary, body, query, upload } = route;
  const inPath = [...path.matchAll(/\{(\w+)(\.\.\.)?\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const content: Record<string, JsonValue> = {
    ...(body === undefined ? {} : { [JSON_TYPE]: { schema: schemaOf(body) } }),
    ...Object.fromEntries((upload ?? []).map((type) => [type, { schema: { type: 'string', format: 'binary' } }])),
  };
  return {
    operationId: `${method.toLowerCase()}${path.replaceAll(/[^a-zA-Z0-9]+(\w?)/g, (_all, next: string) => next.toUpperCase())}`,
    summary,
    tags: [path.split('/')[2] ?? 'api'],
    ...(need === 'public' ? { security: [] } : { 'x-pith-needs': need }),
    parameters: [...inPath, ...inQuery(query), ...inHeaders(route)],
    ...(Object.keys(content).length === 0 ? {} : { requestBody: { content, required: body?.safeParse(undefined).success !== true } }),
    responses: responsesOf(route),
  };
}

/** What a route answers, by status. */
export function responsesOf({
  status = 200,
  types = [JSON_TYPE],
  result,
  isTagged,
  asks,
  isPending,
}: DescribedRoute): Readonly<Record<string, Json>> {
  const schemas = types.map(
    (type) => [type, { schema: type !== JSON_TYPE ? TEXT : result === undefined ? {} : schemaOf(result, 'output') }] as const,
  );
  const done: Json = {
    description: 'Done',
    ...(status === 204 ? {} : { content: Object.fromEntries(schemas) }),
    ...(isTagged === true ? { headers: { ETag: { description: 'What is shown, for If-Match', schema: TEXT } } } : {}),
  };
  return {
    [status]: done,
    ...(isPending === true
      ? {
          202: {
            description: 'Begun: it replaces this interface, so it is answered before it is done',
            content: { [JSON_TYPE]: { schema: PENDING } },
          },
        }
      : {}),
    ...(asks === true ? { 409: { description: 'What is to be agreed to first', content: { [JSON_TYPE]: { schema: QUESTION } } } } : {}),
    default: { description: 'An error', content: { [JSON_TYPE]: { schema: { $ref: '#/components/schemas/Error' } } } },
  };
}

const QUESTION: Json = {
  ...ERROR,
  required: ['error', 'shown', 'serious', 'confirm'],
  properties: { ...Object(ERROR['properties']), shown: TEXT, serious: { type: 'array', items: TEXT }, confirm: TEXT },
};

const HEADERS = {
  'Idempotency-Key': 'The first request with it acts; for a day others get its answer, or 409 where that was to be shown once',
  'If-Match': 'Acts only while what it changes has this ETag',
  'Last-Event-ID': 'Goes on behind this event',
};

function inHeaders({ method, reads = [] }: DescribedRoute): readonly JsonValue[] {
  const names = [...(method === 'GET' ? [] : (['Idempotency-Key'] as const)), ...reads];
  return names.map((name) => ({ name, in: 'header', required: false, description: HEADERS[name], schema: TEXT }));
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

/** OpenAPI 3.1 has the JSON Schema that zod writes. The only schema that names itself is that of any JSON. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output' = 'input'): JsonValue {
  const { $schema: _, $defs: _any, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Json;
  return withoutReferences(rest);
}

function withoutReferences(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutReferences);
  if (typeof value !== 'object' || value === null) return value;
  if ('$ref' in value) return {};
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutReferences(each as JsonValue)]));
}
