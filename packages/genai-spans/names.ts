/** What the names below follow. The GenAI conventions are in development: a later state may rename them, and only this file changes then. */
export const CONVENTIONS = 'semantic-conventions-genai of September 2026 (commit 06ec68e), semantic-conventions 1.45.0 for the rest';

/** Each kind of span: `kind` as OpenTelemetry has it, `named` the attributes that follow the operation in its name, as far as they are set. */
export const SPANS = {
  invoke_agent: { kind: 'internal', named: ['gen_ai.agent.name'], says: 'a turn of an agent' },
  chat: { kind: 'client', named: ['gen_ai.request.model'], says: 'an answer of a model' },
  execute_tool: { kind: 'internal', named: ['gen_ai.tool.name', 'gen_ai.skill.name', 'gen_ai.skill.resource.name'], says: 'a tool call' },
  await_approval: { kind: 'internal', named: ['gen_ai.tool.name'], says: 'the wait for a person' },
  process: { kind: 'consumer', named: ['messaging.destination.name'], says: 'an attempt at a delivery or a job' },
} as const satisfies Record<string, { kind: 'internal' | 'client' | 'consumer'; named: readonly AttributeName[]; says: string }>;

export type Operation = keyof typeof SPANS;

/** Each attribute and the kind of its value. */
export const ATTRIBUTES = {
  'gen_ai.operation.name': 'string',
  'gen_ai.provider.name': 'string',
  'gen_ai.request.model': 'string',
  'gen_ai.request.stream': 'boolean',
  'gen_ai.response.id': 'id',
  'gen_ai.response.model': 'id',
  'gen_ai.response.finish_reasons': 'code[]',
  'gen_ai.usage.input_tokens': 'number',
  'gen_ai.usage.cache_read.input_tokens': 'number',
  'gen_ai.usage.cache_creation.input_tokens': 'number',
  'gen_ai.usage.output_tokens': 'number',
  'gen_ai.usage.reasoning.output_tokens': 'number',
  'gen_ai.agent.name': 'string',
  'gen_ai.conversation.id': 'id',
  'gen_ai.tool.name': 'string',
  'gen_ai.tool.call.id': 'id',
  'gen_ai.tool.type': 'string',
  'gen_ai.skill.name': 'string',
  'gen_ai.skill.source.uri': 'string',
  'gen_ai.skill.resource.name': 'string',
  'gen_ai.input.messages': 'text',
  'gen_ai.output.messages': 'text',
  'gen_ai.tool.call.arguments': 'text',
  'gen_ai.tool.call.result': 'text',
  'error.type': 'code',
  'exception.message': 'text',
  'messaging.system': 'string',
  'messaging.operation.name': 'string',
  'messaging.operation.type': 'string',
  'messaging.destination.name': 'string',
  'messaging.message.id': 'id',
  'process.exit.code': 'number',
  'pith.correlation_id': 'id',
  'pith.turn.id': 'id',
  'pith.turn.reason': 'string',
  'pith.extension': 'string',
  'pith.skill.id': 'string',
  'pith.skill.how': 'string',
  'pith.approval.answer': 'string',
  'pith.handler': 'string',
  'pith.attempt': 'number',
} as const;

export type AttributeName = keyof typeof ATTRIBUTES;

export interface Values {
  /** A declared name, or a word of ours. */
  readonly string: string;
  /** What a model, a server or a client chooses to know something by. */
  readonly id: string;
  /** What a tool, a handler or a model calls an outcome. */
  readonly code: string;
  readonly 'code[]': readonly string[];
  /** Of a conversation or a skill; made only where a person wants texts in spans. */
  readonly text: () => string;
  readonly number: number;
  readonly boolean: boolean;
}

/** Values by name; what is undefined is left out. */
export type Attributes = { readonly [Name in AttributeName]?: Values[(typeof ATTRIBUTES)[Name]] | undefined };

/** The conventions' names of providers that go by others here. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['xai', 'x_ai'],
  ['mistral', 'mistral_ai'],
  ['google', 'gcp.gemini'],
  ['vertex', 'gcp.vertex_ai'],
  ['bedrock', 'aws.bedrock'],
  ['azure', 'azure.ai.openai'],
]);

export function providerOf(name: string): string {
  return PROVIDERS.get(name) ?? name;
}

/** Where spans go, from the environment of the process; null: nowhere. */
export function endpointOf(env: Readonly<Record<string, string | undefined>>): string | null {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none') return null;
  return env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || env['OTEL_EXPORTER_OTLP_ENDPOINT'] || null;
}

/** Of `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`. `EVENT_ONLY` wants texts in events, which are not written. */
export function wantsContent(value: string | undefined): boolean {
  return ['true', 'span_only', 'span_and_event'].includes((value ?? '').trim().toLowerCase());
}
