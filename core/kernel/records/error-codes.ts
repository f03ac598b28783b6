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

/** Where in the life of an extension something went wrong. */
export type Phase =
  | 'discover'
  | 'validate'
  | 'order'
  | 'bundle'
  | 'import'
  | 'construct'
  | 'initialize'
  | 'start'
  | 'getContext'
  | 'getTurnTools'
  | 'tool call'
  | 'background'
  | 'stop'
  | 'reload'
  | 'call';
