import { createHash } from 'node:crypto';
import { canonicalJson } from '../../contract/plain-data.ts';
import type { AgentLimits, JsonValue, TurnPolicy } from '../../contract/index.ts';

/** `ask`: a person decides. */
export type Decision = 'allow' | 'ask' | { readonly code: 'limit_reached' | 'not_allowed'; readonly message: string };

export interface GateQuestion {
  readonly extensionId: string;
  readonly tool: string;
  /** What the tool itself says of this input, or the settings of the tool. */
  readonly needsApproval: boolean;
  /** Calls of this turn so far, this one not included. */
  readonly callsBefore: number;
  readonly mostCalls: number;
  readonly policy: TurnPolicy;
}

/** The one gate before every tool call: limits, then policy, then approval. Pure. */
export function decide(question: GateQuestion): Decision {
  const { extensionId, tool, mostCalls, policy, callsBefore } = question;
  if (callsBefore >= mostCalls) {
    return {
      code: 'limit_reached',
      message: `not run: this turn may make ${mostCalls} tool calls (max_tool_calls), and has made them`,
    };
  }
  if (!permits(policy, extensionId, tool)) {
    return { code: 'not_allowed', message: `not run: '${extensionId}/${tool}' is not allowed in this turn` };
  }
  return question.needsApproval ? 'ask' : 'allow';
}

/** A denial wins. */
export function permits(policy: TurnPolicy, extensionId: string, tool: string): boolean {
  if (!mayServe(policy, extensionId)) return false;
  if (policy.denyTools && isNamed(policy.denyTools, extensionId, tool)) return false;
  return policy.allowTools === undefined || isNamed(policy.allowTools, extensionId, tool);
}

/** Whether an extension may bring anything to the turn: to one that a stranger began, only the stranger itself. */
export function mayServe({ startedBy = [] }: TurnPolicy, extensionId: string): boolean {
  return startedBy.every((starter) => !starter.ownOnly || starter.extensionId === extensionId);
}

/** Whether one of `entries` is the tool's extension, `extension/tool` or `*`. */
export function isNamed(entries: readonly string[], extensionId: string, tool: string): boolean {
  return entries.some((entry) => entry === '*' || entry === extensionId || entry === `${extensionId}/${tool}`);
}

/** Limits only shrink. */
export function narrowed(limits: AgentLimits, by: Partial<AgentLimits> | undefined): AgentLimits {
  if (by === undefined) return limits;
  const least = (key: keyof AgentLimits) => Math.min(limits[key], by[key] ?? Infinity);
  return {
    max_turns: least('max_turns'),
    max_tool_calls: least('max_tool_calls'),
    max_tokens: least('max_tokens'),
    time_budget_ms: least('time_budget_ms'),
  };
}

/** Names exact arguments: the same for equal values whatever the order of their keys. */
export function digestOf(input: JsonValue): string {
  return createHash('sha256').update(canonicalJson(input)).digest('hex');
}
