/** Every code that a `PithError`, a diagnostic or a tool error of the kernel can carry. Extensions add codes of their own. */
export const ERROR_CODES = [
  // declarations
  'manifest_invalid',
  'manifest_missing',
  'unknown_key',
  'id_mismatch',
  'duplicate_id',
  'dependency_cycle',
  'dependency_missing',
  'dependency_failed',
  'name_unknown',
  'provider_unavailable',
  'settings_invalid',
  'config_invalid',
  'provides_mismatch',
  'agent_key_unowned',
  'entrypoint_missing',
  // lifecycle
  'bundle_failed',
  'import_failed',
  'construct_failed',
  'initialize_failed',
  'start_failed',
  'stop_failed',
  'background_failed',
  'handler_failed',
  'breaker_open',
  'quarantined',
  'phase_timeout',
  'phase_slow',
  'exit_refused',
  'stray_error',
  'import_forbidden',
  'disabled',
  'isolation_in_process',
  'process_ended',
  'process_not_started',
  'process_limit',
  'sandbox_unavailable',
  'not_supported_yet',
  // trust
  'trust_failed',
  'restricted',
  'not_agreed',
  'safeguard_loosened',
  'state_unknown',
  // calls
  'provider_failed',
  'provider_timeout',
  'not_serialisable',
  'not_declared',
  'stopped',
  'tool_failed',
  'tool_gone',
  'tool_timeout',
  'tool_unknown',
  'tool_input_invalid',
  'tool_name_invalid',
  'toolset_invalid',
  'interrupted',
  'limit_reached',
  'not_allowed',
  'approval_needed',
  'approval_denied',
  'approval_unknown',
  'approval_answered',
  'awaiting_approval',
  'aborted',
  // what leaves this machine
  'address_refused',
  'secret_not_given',
  // skills, as the kernel knows them
  'skill_not_found',
  'skills_disabled',
  'skill_not_offered',
  // agents and prompts
  'agent_unknown',
  'agent_failed',
  'prompt_invalid',
  'prompt_symbol_unknown',
  // models
  'model_unknown',
  'model_auth',
  'model_unreachable',
  'model_rate_limited',
  'model_context_too_long',
  'model_failed',
  'model_script',
  // storage, threads, command line
  'database_failed',
  'state_refused',
  'quota_exceeded',
  'parameter_invalid',
  'thread_unknown',
  'thread_busy',
  'usage',
  'command_unknown',
  'not_found',
  'internal',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

export interface PithErrorOptions {
  readonly cause?: unknown;
  /** What to do about it, as an imperative without a full stop. */
  readonly cure?: string;
  /** Where: a file, `file:line`, a settings path or an id. */
  readonly where?: string;
  readonly retryable?: boolean;
  readonly statusCode?: number;
}

/**
 * Misuse or a failure that its caller must see. `message` says who and what; `cure` what to do. Any error with a `code` and `retryable`
 * is an instance, so that packages that know nothing of Pith can throw one.
 */
export class PithError extends Error {
  readonly code: string;
  readonly cure: string | undefined;
  readonly where: string | undefined;
  readonly retryable: boolean;
  readonly statusCode: number | undefined;

  constructor(code: ErrorCode | (string & {}), message: string, options: PithErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'PithError';
    this.code = code;
    this.cure = options.cure;
    this.where = options.where;
    this.retryable = options.retryable ?? false;
    this.statusCode = options.statusCode;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== PithError) return Function.prototype[Symbol.hasInstance].call(this, value);
    return value instanceof Error && 'code' in value && typeof value.code === 'string' && 'retryable' in value;
  }
}

/** The text of anything thrown, without a stack. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  return typeof error === 'string' ? error : `thrown: ${describe(error)}`;
}

/** The code of anything thrown that carries one, else `fallback`. */
export function codeOf(error: unknown, fallback: string): string {
  if (typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string') return error.code;
  return fallback;
}

function describe(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value); // a cycle or a throwing toJSON
  }
}
