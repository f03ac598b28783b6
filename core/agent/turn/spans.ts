import { type Attributes, providerOf, type Span, startSpan } from '@pith/genai-spans';
import { codeOf, type JsonValue, messageOf, type ToolResult, type TurnEvent } from '../../contract/index.ts';
import { modelFailure } from '../../models/index.ts';
import type { Approval } from '../threads/approval.ts';
import type { CallRecord } from '../threads/thread.ts';
import type { RunningTurn } from './running-turn.ts';
import type { StepOutcome } from './answer.ts';

type SentMessage = ReturnType<RunningTurn['conversation']['prompt']['sent']>[number];

/** A span under way; `Outcome` is what it ends with. */
interface Traced<Outcome> extends Pick<Span, 'run'> {
  end(outcome: Outcome): void;
}

/** Of a turn that goes on: in the trace that it began in. */
export function turnSpan({ plan, record, parent }: Pick<RunningTurn, 'plan' | 'record' | 'parent'>): Span {
  const { ref } = plan.model;
  return startSpan({
    operation: 'invoke_agent',
    correlationId: record.correlationId,
    attributes: {
      'gen_ai.agent.name': plan.spec.id,
      'gen_ai.conversation.id': record.threadId,
      ...modelOf(ref),
      'pith.turn.id': record.id,
    },
    caller: parent?.span ?? record.traceparent,
  });
}

export function endTurnSpan({ span }: RunningTurn, { reason, usage, error }: Extract<TurnEvent, { type: 'turn-end' }>): void {
  span.end({
    'pith.turn.reason': reason,
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'error.type': error?.code,
  });
}

/** One answer of the model. */
export function stepSpan(turn: RunningTurn): Traced<StepOutcome> {
  const { plan, record, conversation, span: parent } = turn;
  const span = startSpan({
    operation: 'chat',
    correlationId: record.correlationId,
    attributes: {
      ...modelOf(plan.model.ref),
      'gen_ai.request.stream': true,
      'gen_ai.agent.name': plan.spec.id,
      'gen_ai.conversation.id': record.threadId,
      'gen_ai.input.messages': textOf(turn, () => conversation.prompt.sent().map(messageOfSpan)),
    },
    texts: turn.deps.exportsTexts,
    parent,
  });
  return {
    run: (work) => span.run(work),
    end(outcome) {
      const { usage, response, finish, cut } = outcome;
      span.end({
        'gen_ai.response.id': response.id,
        'gen_ai.response.model': response.model,
        'gen_ai.response.finish_reasons': [finish],
        'gen_ai.usage.input_tokens': usage.inputTokens,
        'gen_ai.usage.cache_read.input_tokens': usage.cacheRead,
        'gen_ai.usage.cache_creation.input_tokens': usage.cacheWrite,
        'gen_ai.usage.output_tokens': usage.outputTokens,
        'gen_ai.usage.reasoning.output_tokens': usage.reasoning,
        'gen_ai.output.messages': textOf(turn, () => [answerOfSpan(outcome)]),
        ...(cut === null
          ? {}
          : cut.kind !== 'failed'
            ? { 'error.type': cut.kind }
            : failureOf(turn, codeOf(modelFailure(cut.error, plan.model.ref), 'model_failed'), messageOf(cut.error))),
      });
    },
  };
}

export function callSpan(turn: RunningTurn, { name, callId, extensionId, input }: CallRecord): Traced<ToolResult> {
  const span = startSpan({
    operation: 'execute_tool',
    correlationId: turn.record.correlationId,
    attributes: {
      'gen_ai.tool.name': name,
      'gen_ai.tool.call.id': callId,
      'gen_ai.tool.type': 'function',
      'pith.extension': extensionId,
      'gen_ai.tool.call.arguments': textOf(turn, () => input),
    },
    texts: turn.deps.exportsTexts,
    parent: turn.span,
  });
  return {
    run: (work) => span.run(work),
    end: (result) =>
      span.end(
        result.ok
          ? { 'gen_ai.tool.call.result': textOf(turn, () => result.output) }
          : failureOf(turn, result.error.code, result.error.message),
      ),
  };
}

/** The wait for a person's answer, once it is there: also where it began in a process that has ended. */
export function waitSpan(turn: RunningTurn, { name, callId }: CallRecord, { answer, createdAt, answeredAt }: Approval): void {
  startSpan({
    operation: 'await_approval',
    correlationId: turn.record.correlationId,
    attributes: { 'gen_ai.tool.name': name, 'gen_ai.tool.call.id': callId, 'pith.approval.answer': answer ?? undefined },
    parent: turn.span,
    at: createdAt,
  }).end({}, answeredAt ?? undefined);
}

function modelOf(ref: string): Attributes {
  const slash = ref.indexOf('/');
  return { 'gen_ai.provider.name': providerOf(ref.slice(0, Math.max(slash, 0))), 'gen_ai.request.model': ref.slice(slash + 1) };
}

/** What an error says may quote what was said, so that it counts as a text. */
function failureOf(turn: RunningTurn, code: string, message: string): Attributes {
  return { 'error.type': code, 'exception.message': textOf(turn, () => message) };
}

/** A text of the conversation for its span, without secrets. */
function textOf({ deps }: RunningTurn, value: () => unknown): () => string {
  return () => {
    const clean = deps.host.secrets.redactJson(value() as JsonValue);
    return typeof clean === 'string' ? clean : JSON.stringify(clean);
  };
}

/** A message in the form of the conventions. */
function messageOfSpan({ role, content }: SentMessage): JsonValue {
  const parts = typeof content === 'string' ? [{ type: 'text', content }] : content.map(partOfSpan);
  return { role, parts } as JsonValue;
}

function partOfSpan(part: Exclude<SentMessage['content'], string>[number]) {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: part.type, content: part.text };
    case 'tool-call':
      return { type: 'tool_call', id: part.toolCallId, name: part.toolName, arguments: part.input };
    case 'tool-result':
      return { type: 'tool_call_response', id: part.toolCallId, response: part.output };
    case 'file':
      return { type: 'file', mime_type: part.mediaType };
    default:
      return { type: part.type };
  }
}

function answerOfSpan({ spoken, calls, finish }: StepOutcome): JsonValue {
  const asked = calls.map(({ callId: id, name, input }) => ({ type: 'tool_call', id, name, arguments: input }));
  return { role: 'assistant', parts: [...spoken.map(partOfSpan), ...asked], finish_reason: finish } as JsonValue;
}
