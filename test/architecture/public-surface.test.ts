import * as contract from 'pith';
import { ERROR_CODES } from '../../core/kernel/records/error-codes.ts';
import { KERNEL_PROTOCOLS, KERNEL_TOPICS } from '../../core/declarations/index.ts';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { manifestKeys } from './manifest-keys.ts';
import { filesBelow, read } from './repository.ts';
import { membersOf } from './skill-text.ts';
import { words } from '../words.ts';

// Whatever stands here and in public-surface/ is used by people's extensions. A change of it needs an ADR, and a line in the extension pages.
const CODES = words(`
  manifest_invalid manifest_missing unknown_key id_mismatch duplicate_id dependency_cycle dependency_missing
  dependency_failed name_unknown provider_unavailable settings_invalid config_invalid provides_mismatch agent_key_unowned
  entrypoint_missing bundle_failed import_failed construct_failed initialize_failed start_failed stop_failed
  background_failed handler_failed breaker_open quarantined phase_timeout phase_slow exit_refused stray_error
  import_forbidden disabled isolation_in_process process_ended process_not_started process_limit sandbox_unavailable
  not_supported_yet trust_failed restricted not_agreed not_as_shipped safeguard_loosened state_unknown provider_failed guard_failed provider_timeout
  not_serialisable not_declared stopped tool_failed tool_gone tool_timeout tool_unknown tool_input_invalid tool_name_invalid
  interrupted limit_reached not_allowed denied approval_needed approval_denied plan_mode approval_unknown approval_answered
  awaiting_approval aborted address_refused proxy_failed secret_not_given skill_not_found skills_disabled skill_not_offered agent_unknown
  agent_failed prompt_invalid prompt_symbol_unknown model_unknown address_unused exporter_missing model_auth model_unreachable model_rate_limited
  model_context_too_long model_failed model_script cancelled preempted lease_lost job_exists job_outdated job_timeout job_unknown database_failed state_refused quota_exceeded parameter_invalid
  thread_unknown thread_busy nothing_to_resume output_invalid write_conflict usage command_unknown not_found internal
`);
const TOPIC_NAMES = words(`
  extension.activated extension.failed extension.reloaded extension.stopped problem.found agent.changed
  provider.changed turn.started turn.ended tool.called tool.progressed thread.compacted service.ready service.refused channel.opened user.message
  schedule.due approval.requested approval.answered thread.removed notify notice.settled
`);
const MANIFEST_KEYS = words(`
  id name version description entrypoint provides defines defines.protocols defines.topics defines.topics.<name>.durable depends_on optional_depends_on isolation permissions permissions.network
  permissions.read permissions.write permissions.agents enabled config secrets commands commands[].path commands[].needs
  commands[].entry commands[].description commands[].first commands[].hidden commands[].opening switches switches[].name switches[].description switches[].config models models[].prefix models[].when_env models[].when_local models[].rank
  models[].default models[].named_servers agent_keys claims agent_files events events.publishes events.handles events.handles[].topic events.handles[].handler
  jobs jobs[].name jobs[].concurrency jobs[].attempts jobs[].backoff jobs[].backoff.first_ms jobs[].backoff.most_ms jobs[].timeout_ms jobs[].version jobs[].lanes jobs[].retry_with
  schedules schedules[].name schedules[].cron schedules[].handler schedules[].job setup_instructions agent agent.description agent.model agent.effort
  agent.integration_mode agent.instructions agent.uses_tools agent.finds_tools agent.uses_skills agent.delegates_to agent.limits
  agent.limits.max_turns agent.limits.max_tool_calls agent.limits.max_tokens agent.limits.time_budget_ms
`);

describe('the public surface', () => {
  it('of pith is small: at most 70 names and 1,658 lines', () => {
    expect(Object.keys(contract).length + typesOf('core/contract/index.ts').length).toBeLessThanOrEqual(70);
    expect(filesBelow('core/contract', '.ts').flatMap((file) => read(file).trimEnd().split('\n')).length).toBeLessThanOrEqual(1658);
  });

  it('error codes', () => expect([...ERROR_CODES]).toEqual(CODES));

  it('topics', () => expect([...KERNEL_TOPICS.keys()].sort()).toEqual([...TOPIC_NAMES].sort()));

  it('protocols', () =>
    expect([...KERNEL_PROTOCOLS.keys()]).toEqual(
      words(`
      tool context turn guard compaction service declarations skill model command channel setup agents
    `),
    ));

  it('protocols that code in separate processes may call', () => {
    const open = [...KERNEL_PROTOCOLS.values()].filter(({ inProcessOnly }) => !inProcessOnly).map(({ id }) => id);
    expect(open).toEqual(['skill', 'model', 'channel']);
  });

  it('members of the context (at most 16), of a command and of where it speaks (14)', () => {
    expect(membersOf('core/contract/extension.ts', 'ExtensionContext').length).toBeLessThanOrEqual(16);
    for (const name of ['Command', 'CommandIO']) expect(membersOf('core/contract/command.ts', name).length).toBeLessThanOrEqual(14);
  });

  it('manifest keys', () => expect(manifestKeys()).toEqual(MANIFEST_KEYS));
});

/** Names that a file exports as types only. */
function typesOf(file: string): readonly string[] {
  const { statements } = ts.createSourceFile(file, read(file), ts.ScriptTarget.ES2022);
  return statements
    .flatMap((statement) => {
      if (!ts.isExportDeclaration(statement) || statement.exportClause === undefined || !ts.isNamedExports(statement.exportClause))
        return [];
      return statement.exportClause.elements.filter(({ isTypeOnly }) => isTypeOnly || statement.isTypeOnly).map(({ name }) => name.text);
    })
    .sort();
}
