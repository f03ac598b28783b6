import type { AgentSpec, JsonValue, Message, Retain, SqlRow, SqlValue, ToolEffect, ToolResult, TurnPolicy } from '../../contract/index.ts';
import { PithError } from '../../contract/errors.ts';
import type { CallRecord, CallState, StoredMessage, ThreadRecord, TurnRecord, TurnState } from './thread.ts';

/** Turns rows into records. A row that cannot be read is `database_failed` with its name; other rows are not touched by it. */
export function rowReader(file: string) {
  return {
    thread(row: SqlRow): ThreadRecord {
      return {
        id: text(row.id),
        agentId: text(row.agent),
        date: text(row.date),
        title: text(row.title),
        createdAt: Number(row.created),
        updatedAt: Number(row.updated),
        compactions: Number(row.compactions),
      };
    },

    message(threadId: string, row: SqlRow): StoredMessage {
      const what = `message ${String(row.seq)} of thread '${threadId}'`;
      return {
        seq: Number(row.seq),
        turnId: text(row.turn),
        message: json<Message>(file, what, row.message, isMessage),
        retain: row.retain === null ? {} : json<Record<string, Retain>>(file, `what ${what} retains`, row.retain, isObject),
      };
    },

    turn(row: SqlRow): TurnRecord {
      const what = `turn '${text(row.id)}' of thread '${text(row.thread)}'`;
      return {
        id: text(row.id),
        threadId: text(row.thread),
        agent: json<AgentSpec>(file, `the agent of ${what}`, row.agent, (value) => isObject(value) && typeof value.id === 'string'),
        policy: json<TurnPolicy>(file, `the policy of ${what}`, row.policy, isObject),
        channelId: text(row.channel),
        userId: text(row.user),
        correlationId: text(row.correlation),
        depth: Number(row.depth),
        state: text(row.state) as TurnState,
        steps: Number(row.steps),
        usage: { inputTokens: Number(row.input), outputTokens: Number(row.output) },
        startedAt: Number(row.started),
        key: row.key === null ? null : text(row.key),
      };
    },

    call(row: SqlRow): CallRecord {
      const what = `call ${String(row.step)}/${String(row.place)} of turn '${text(row.turn)}'`;
      return {
        turnId: text(row.turn),
        step: Number(row.step),
        index: Number(row.place),
        callId: text(row.call),
        name: text(row.name),
        extensionId: text(row.extension),
        tool: text(row.tool),
        effect: text(row.effect) as ToolEffect,
        state: text(row.state) as CallState,
        input: json<JsonValue>(file, `the input of ${what}`, row.input, () => true),
        result:
          row.result === null
            ? null
            : json<ToolResult>(file, `the result of ${what}`, row.result, (value) => isObject(value) && typeof value.ok === 'boolean'),
      };
    },
  };
}

const ROLES = new Set<unknown>(['system', 'user', 'assistant', 'tool']);

function isMessage(value: unknown): boolean {
  return (
    isObject(value) && ROLES.has(value.role) && (value.role === 'system' ? typeof value.content === 'string' : Array.isArray(value.content))
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function text(value: SqlValue | undefined): string {
  return String(value);
}

function json<T>(file: string, what: string, value: SqlValue | undefined, isValid: (value: unknown) => boolean): T {
  const { parsed, cause } = parse(String(value));
  if (cause === undefined && isValid(parsed)) return parsed as T;
  throw new PithError('database_failed', `${what} cannot be read: its row in ${file} is damaged`, {
    cause,
    where: file,
    cure: 'begin a new thread, or restore the file from a backup',
  });
}

function parse(value: string): { readonly parsed?: unknown; readonly cause?: unknown } {
  try {
    return { parsed: JSON.parse(value) };
  } catch (cause) {
    return { cause };
  }
}
