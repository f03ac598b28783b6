import { z } from 'pith';

const json = () => z.json();

export const threadShape = () =>
  z.strictObject({
    id: z.string(),
    userId: z.string(),
    agentId: z.string().nullable(),
    title: z.string(),
    state: z.enum(['idle', 'running', 'awaiting_approval', 'cut_off']),
    createdAt: z.number().nullable(),
    updatedAt: z.number().nullable(),
    branchOf: z.string().nullable(),
  });

const messageShape = () =>
  z.strictObject({
    seq: z.int(),
    turnId: z.string(),
    role: z.enum(['user', 'assistant', 'tool', 'summary', 'sealed', 'unreadable']),
    text: z.string(),
    attachments: z.array(z.strictObject({ name: z.string(), mediaType: z.string().nullable() })),
    documents: z.array(z.string()),
    calls: z.array(z.strictObject({ id: z.string(), name: z.string(), input: json() })),
    results: z.array(
      z.strictObject({
        id: z.string(),
        name: z.string(),
        ok: z.boolean(),
        title: z.string().nullable(),
        retained: z.boolean(),
        output: json(),
      }),
    ),
  });

export const questionShape = () =>
  z.strictObject({
    id: z.string(),
    number: z.int(),
    threadId: z.string(),
    userId: z.string(),
    tool: z.string(),
    input: json(),
    digest: z.string(),
    agents: z.array(z.string()),
    startedBy: z.array(z.string()),
    summary: z.string(),
    details: z.string().nullable(),
    enforced: z.string().nullable(),
    covers: z.string().nullable(),
    answers: z.array(z.enum(['once', 'always', 'project', 'no'])),
    createdAt: z.number(),
    expiresAt: z.number(),
    answered: z
      .strictObject({ answer: z.enum(['once', 'always', 'project', 'no']), by: z.string().nullable(), reason: z.string().nullable() })
      .nullable(),
  });

export const threadListShape = () => z.strictObject({ threads: z.array(threadShape()), cursor: z.string().nullable() });

/**
 * `older`: whether there are messages before these. `live`: what is not in `messages` yet; `n` numbers its events as `/api/events` does. `waiting`: messages behind it. `end`: of the last turn,
 * where it gave no answer.
 */
export const openThreadShape = () =>
  z.strictObject({
    thread: threadShape(),
    messages: z.array(messageShape()),
    older: z.boolean(),
    live: z
      .strictObject({
        turn: z.string().nullable(),
        state: z.enum(['queued', 'running']),
        n: z.int(),
        events: z.array(z.looseObject({ type: z.string() })),
        waiting: z.int(),
      })
      .nullable(),
    end: z.strictObject({ turn: z.string(), reason: z.enum(['limit', 'aborted', 'error']), error: turnError() }).nullable(),
  });

const turnError = () => z.looseObject({ code: z.string(), message: z.string() }).nullable();

export const turnResultShape = () =>
  z.strictObject({
    thread: z.string(),
    turn: z.string().nullable(),
    reason: z.enum(['done', 'limit', 'aborted', 'error', 'awaiting_approval']),
    text: z.string(),
    usage: z.looseObject({ inputTokens: z.number(), outputTokens: z.number() }),
    error: turnError(),
    questions: z.array(questionShape()),
  });

const time = () => z.number().nullable();

const turnHeadShape = () =>
  z.strictObject({
    id: z.string(),
    threadId: z.string(),
    agentId: z.string(),
    correlationId: z.string(),
    state: z.string(),
    began: z.number(),
    ended: time(),
    inputTokens: z.number(),
    outputTokens: z.number(),
  });

/** Of a call: turns that it called are as deep as they went. */
const stepShape = () =>
  z.strictObject({
    step: z.int(),
    model: z.string().nullable(),
    began: time(),
    ended: time(),
    inputTokens: z.number().nullable(),
    outputTokens: z.number().nullable(),
    calls: z.array(
      z.looseObject({
        id: z.string(),
        name: z.string(),
        extensionId: z.string(),
        state: z.string(),
        began: time(),
        ended: time(),
        ok: z.boolean().nullable(),
        error: z.string().nullable(),
        title: z.string().nullable(),
        approvals: z.array(z.strictObject({ asked: z.number(), answered: time(), answer: z.string().nullable() })),
        turns: z.array(z.looseObject({ id: z.string() })),
      }),
    ),
  });

/** `earlier`: other turns of the conversation, the oldest first. Times are milliseconds. */
export const traceShape = () =>
  turnHeadShape().extend({
    steps: z.array(stepShape()),
    turns: z.array(z.looseObject({ id: z.string() })),
    earlier: z.array(turnHeadShape()).optional(),
  });

/** By model, with what agents used that it called. `cost`: dollars; absent where nothing says what the model costs. `model`, `effort`: chosen for the last turn. */
export const usageShape = () =>
  z.strictObject({
    model: z.string().nullable(),
    effort: effort().nullable(),
    used: z.array(
      z.strictObject({
        model: z.string().nullable(),
        inputTokens: z.number(),
        outputTokens: z.number(),
        cost: z.number().optional(),
      }),
    ),
  });

/** Of a query: texts. */
export const flag = () =>
  z
    .enum(['true', 'false'])
    .default('false')
    .transform((value) => value === 'true');
export const count = (most: number, otherwise: number) => z.coerce.number().int().min(1).max(most).default(otherwise);

/** What a page before this one gave. */
export const cursor = () => z.string().optional();

const effort = () => z.enum(['off', 'low', 'medium', 'high']);
const image = () => z.strictObject({ mediaType: z.string(), data: z.base64() });

export const choiceShape = () => z.strictObject({ model: z.string().min(1).optional(), effort: effort().optional() });

const attachments = () =>
  z.array(z.union([z.strictObject({ name: z.string(), text: z.string() }), z.strictObject({ name: z.string(), image: image() })]));

/** A message that waited, as it was sent. */
export const takenBackShape = () => z.strictObject({ text: z.string(), attachments: attachments() });

export const messageBody = () =>
  choiceShape().extend({
    text: z.string().min(1),
    agent: z.string().min(1).optional(),
    attachments: attachments().max(20).optional(),
    /** Names the turn in its thread: a repeated request is the same turn. Default: the Idempotency-Key. */
    key: z.string().min(1).max(200).optional(),
  });
