import { codeOf, type JsonValue, PithError, type z } from 'pith';
import type { Refusal, RouteAnswer } from 'pith/http';
import type { ProgramEnd } from 'pith/program_turns';

/** An error in the shape of this interface. `param`: where in the request. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly about: { readonly code?: string; readonly param?: string; readonly retryAfterMs?: number } = {},
  ) {
    super(message);
  }

  get body() {
    const { code = null, param = null } = this.about;
    const type = this.status === 429 ? 'rate_limit_error' : this.status < 500 ? 'invalid_request_error' : 'server_error';
    return { message: this.message, type, param, code };
  }
}

/** What the listener refuses, as this interface says it. */
export function refusal({ status, code, message, cure }: Refusal): JsonValue {
  return { error: new ApiError(status, cure === undefined ? message : `${message}; ${cure}`, { code }).body };
}

/** A request that cannot be kept as it is. */
export function refused(param: string, why: string, cure: string): ApiError {
  return new ApiError(400, `${param}: ${why}; ${cure}`, { param, code: 'unsupported_value' });
}

/** `messages[0].content`, as clients write it. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : text === '' ? String(key) : `${text}.${String(key)}`),
    '',
  );
}

/** What `schema` makes of a body. Throws `ApiError` with the place of what is wrong. */
export function parsed<T extends z.ZodType>(schema: T, body: unknown): z.infer<T> {
  const { success, data, error } = schema.safeParse(body);
  if (success) return data;
  const [issue] = error.issues;
  const param = pathText(issue?.path ?? []);
  throw new ApiError(400, `${param === '' ? 'the body' : param}: ${issue?.message ?? 'is not valid'}`, { param, code: 'invalid_type' });
}

/** By the code of an error: the status and, where clients know one, their code. Others are 500, without a message. */
const KNOWN: Readonly<Record<string, readonly [status: number, code?: string, param?: string]>> = {
  agent_unknown: [404, 'model_not_found', 'model'],
  thread_unknown: [404],
  usage: [400],
  settings_invalid: [400, 'invalid_json_schema'],
  not_allowed: [403],
  thread_busy: [409],
  model_rate_limited: [429, 'rate_limit_exceeded'],
  model_context_too_long: [400, 'context_length_exceeded'],
  model_unreachable: [503],
  model_auth: [502],
  model_not_found: [502],
  model_failed: [502],
  output_invalid: [502],
  model_unknown: [422],
  database_failed: [422],
};

export function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const cure = error instanceof PithError && error.cure !== undefined ? `; ${error.cure}` : '';
  const message = error instanceof PithError ? `${error.message}${cure}` : '';
  return known(codeOf(error, 'internal'), message);
}

/** Of a turn that failed; its message ends with the cure. */
export function apiErrorOfEnd({ error }: Pick<ProgramEnd, 'error'>): ApiError {
  return known(error?.code ?? 'internal', error?.message ?? '', error?.retryAfterMs);
}

function known(code: string, message: string, retryAfterMs?: number): ApiError {
  const [status, name = code, param] = KNOWN[code] ?? [500];
  const after = retryAfterMs === undefined ? {} : { retryAfterMs };
  return new ApiError(status, status === 500 ? 'something went wrong; the log of Pith says what' : message, {
    code: name,
    ...(param && { param }),
    ...after,
  });
}

export function errorAnswer(error: unknown): RouteAnswer {
  const failure = apiErrorOf(error);
  const { retryAfterMs } = failure.about;
  const headers: RouteAnswer['headers'] = retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) };
  return { status: failure.status, headers, json: { error: failure.body } };
}
