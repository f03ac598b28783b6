import * as contract from 'pith';
import { ERROR_CODES, PROTOCOL_IDS, TOPICS } from 'pith';
import * as testing from 'pith/testing';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { manifestKeys } from './manifest-keys.ts';
import { read } from './repository.ts';
import { membersOf } from './skill-text.ts';

// Whatever stands here is used by people's extensions. A change of it needs an ADR, and a line in the extension pages.
const CONTRACT_VALUES = [
  'ChannelProvider',
  'CommandProvider',
  'ContextProvider',
  'DEFAULT_LIMITS',
  'ERROR_CODES',
  'ModelProvider',
  'PROTOCOL_IDS',
  'PithError',
  'ServiceProvider',
  'SkillProvider',
  'TOPICS',
  'Tool',
  'ToolProvider',
  'codeOf',
  'commandUsage',
  'defineTool',
  'didYouMean',
  'isToolResult',
  'manifestSchema',
  'matchCommand',
  'messageOf',
  'nearest',
  'optionUsage',
  'parseCommandInput',
  'shippedSandbox',
  'splitWords',
  'toolError',
  'toolResult',
  'z',
];
const CONTRACT_TYPES = [
  'AgentLimits',
  'AgentSpec',
  'AgentsApi',
  'ChannelMessage',
  'Clock',
  'Command',
  'CommandArgument',
  'CommandContext',
  'CommandIO',
  'CommandInput',
  'CommandOption',
  'CommandShape',
  'ContextParts',
  'Database',
  'Diagnostic',
  'ErrorCode',
  'Events',
  'Extension',
  'ExtensionContext',
  'Failure',
  'JsonValue',
  'KeyValue',
  'LanguageModel',
  'Logger',
  'Manifest',
  'Member',
  'Message',
  'ModelCallOptions',
  'ModelInfo',
  'ModelPart',
  'Off',
  'Phase',
  'PithErrorOptions',
  'Protocol',
  'ProtocolId',
  'Remote',
  'Retain',
  'SkillContent',
  'SkillState',
  'SkillSummary',
  'SqlRow',
  'SqlValue',
  'ToolCall',
  'ToolDefinition',
  'ToolDescriptor',
  'ToolEffect',
  'ToolPermission',
  'ToolResult',
  'ToolResultOptions',
  'Topic',
  'TopicMap',
  'TurnEndReason',
  'TurnEvent',
  'TurnInfo',
  'TurnPolicy',
  'TurnRequest',
  'Usage',
];
const TESTING_VALUES = ['expectNoLeaks', 'fakeClock', 'recordEvents', 'scriptedModel', 'testKernel'];
const TESTING_TYPES = [
  'EventRecord',
  'FakeClock',
  'ModelRequest',
  'RecordedEvent',
  'ScriptedModel',
  'ScriptedReply',
  'ScriptedStep',
  'TestKernel',
  'TestKernelOptions',
  'TurnOutcome',
];
const CODES = [
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
  'bundle_failed',
  'import_failed',
  'construct_failed',
  'initialize_failed',
  'start_failed',
  'stop_failed',
  'background_failed',
  'breaker_open',
  'phase_timeout',
  'phase_slow',
  'exit_refused',
  'stray_error',
  'import_forbidden',
  'disabled',
  'isolation_in_process',
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
  'approval_unavailable',
  'aborted',
  'skill_not_found',
  'skills_disabled',
  'skill_not_offered',
  'agent_unknown',
  'agent_failed',
  'prompt_invalid',
  'prompt_symbol_unknown',
  'model_unknown',
  'model_auth',
  'model_unreachable',
  'model_rate_limited',
  'model_context_too_long',
  'model_failed',
  'model_script',
  'database_failed',
  'parameter_invalid',
  'thread_unknown',
  'thread_busy',
  'usage',
  'command_unknown',
  'not_found',
  'internal',
];
const TOPIC_NAMES = [
  'extension.activated',
  'extension.failed',
  'extension.reloaded',
  'extension.stopped',
  'agent.changed',
  'skills.changed',
  'turn.started',
  'turn.ended',
  'tool.called',
  'thread.compacted',
];
const CONTEXT_MEMBERS = [
  'id',
  'directory',
  'dataDirectory',
  'sandbox',
  'config',
  'logger',
  'clock',
  'events',
  'kv',
  'database',
  'agents',
  'getSecret',
  'use',
  'find',
  'own',
];
const MANIFEST_KEYS = [
  'id',
  'name',
  'version',
  'description',
  'entrypoint',
  'provides',
  'depends_on',
  'optional_depends_on',
  'isolation',
  'permissions',
  'permissions.network',
  'permissions.read',
  'permissions.write',
  'enabled',
  'config',
  'secrets',
  'commands',
  'commands[].path',
  'commands[].needs',
  'commands[].entry',
  'commands[].description',
  'models',
  'models[].prefix',
  'models[].when_env',
  'models[].when_port',
  'models[].rank',
  'models[].default',
  'agent_keys',
  'events',
  'events.publishes',
  'events.handles',
  'events.handles[].topic',
  'events.handles[].handler',
  'schedules',
  'schedules[].name',
  'schedules[].cron',
  'schedules[].handler',
  'setup_instructions',
  'agent',
  'agent.description',
  'agent.model',
  'agent.integration_mode',
  'agent.instructions',
  'agent.uses_tools',
  'agent.uses_skills',
  'agent.delegates_to',
  'agent.limits',
  'agent.limits.max_turns',
  'agent.limits.max_tool_calls',
  'agent.limits.max_tokens',
  'agent.limits.time_budget_ms',
];

describe('the public surface', () => {
  it('of pith', () => {
    expect(Object.keys(contract).sort()).toEqual(CONTRACT_VALUES);
    expect(typesOf('core/contract/index.ts')).toEqual(CONTRACT_TYPES);
  });

  it('of pith/testing', () => {
    expect(Object.keys(testing).sort()).toEqual(TESTING_VALUES);
    expect(typesOf('core/testing/index.ts')).toEqual(TESTING_TYPES);
  });

  it('error codes', () => expect([...ERROR_CODES]).toEqual(CODES));

  it('topics', () => expect([...TOPICS]).toEqual(TOPIC_NAMES));

  it('protocols', () => expect([...PROTOCOL_IDS]).toEqual(['tool', 'context', 'service', 'skill', 'model', 'command', 'channel']));

  it('members of the context', () => expect(membersOf('core/contract/extension.ts', 'ExtensionContext')).toEqual(CONTEXT_MEMBERS));

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
