import { PithError } from '../contract/index.ts';
import type { ErrorCode } from '../kernel/index.ts';
import { hideKeys, printableLine } from '@pith/plain-text';
import { askedDelay, isBrokenConnection, isConnectionLoss, isOverload, mayPass, readFault, type ModelFault } from './fault.ts';
import { splitReference } from './reference.ts';

const MAX_MESSAGE = 300;

const CONTEXT_TOO_LONG =
  /context[ _-]?(?:length|window|size)|n_ctx|maximum context|prompt is too long|input is too long|too many (?:input )?tokens|exceeds? the (?:maximum|model'?s?)[^.]*(?:tokens|context)|reduce the length/i;
const MODEL_UNKNOWN =
  /model[_ ]not[_ ]found|no such model|model\b[^.\n]{0,120}\b(?:does not exist|not found|is not available|not supported)|unknown model/i;
const QUOTA_EXCEEDED = /insufficient[_ ]quota|exceeded your current quota/i;

/**
 * The error of a failed model call, as text for people: what, where, why, cure. Contains no secret and not the error of a provider.
 * `answering`: part of the answer had arrived. `now`: by which the server's time to try again is read. `isOwn`: the
 * model is an object of who asks, to whom its error is of use as the cause.
 */
export function modelFailure(
  error: unknown,
  ref: string,
  {
    answering = false,
    now,
    isOwn = false,
  }: { readonly answering?: boolean; readonly now?: number; readonly isOwn?: boolean | undefined } = {},
): PithError {
  if (error instanceof PithError) return error;
  const fault = readFault(error);
  const { code, why, cure } = explain(fault, ref, answering);
  const options: NonNullable<ConstructorParameters<typeof PithError>[2]> = {
    ...(isOwn ? { cause: error } : {}),
    where: ref,
    cure,
    retryable: mayPass(fault),
    statusCode: fault.statusCode ?? undefined,
    retryAfterMs: now === undefined ? undefined : (askedDelay(fault, now) ?? undefined),
  };
  return new PithError(code, `model ${ref}: ${why}`, options);
}

type Explanation = { readonly code: ErrorCode; readonly why: string; readonly cure?: string | undefined };

function explain(fault: ModelFault, ref: string, answering: boolean): Explanation {
  const { statusCode, text } = fault;
  const prefix = splitReference(ref)?.prefix ?? ref;
  if (fault.isAbort) return { code: 'aborted', why: 'the call was stopped' };
  // The provider's words on a wrong key are left out, since they tend to repeat it; those on why access is forbidden are shown.
  if (statusCode === 401 || statusCode === 403) {
    const variable = `${prefix.toUpperCase().replace(/\W/g, '_')}_API_KEY`;
    return {
      code: 'model_auth',
      why: `${fault.address ?? 'the provider'} refused the key (${statusCode})${statusCode === 403 ? `: ${short(fault.message)}` : ''}`,
      cure: `set a valid key in the provider's variable, such as ${variable}`,
    };
  }
  if (statusCode === 413 || (isRefusedInput(statusCode) && (fault.codes.has('context_length_exceeded') || CONTEXT_TOO_LONG.test(text)))) {
    return {
      code: 'model_context_too_long',
      why: fault.isSilent
        ? `the request is larger than the server takes${status(statusCode)}`
        : 'the conversation is longer than the model can take',
      cure: 'compact the thread (/compact), begin a new one, or use a model with a larger context',
    };
  }
  if (statusCode === 429 || statusCode === 529 || (statusCode === null && (isOverload(fault) || QUOTA_EXCEEDED.test(text)))) {
    return {
      code: 'model_rate_limited',
      why: `the provider limits requests${status(statusCode)}: ${short(fault.message)}`,
      cure: 'wait a little, check the quota, or use another model',
    };
  }
  if (fault.codes.has('model_not_found') || (isRefusedInput(statusCode) && MODEL_UNKNOWN.test(text)) || statusCode === 404) {
    return {
      code: 'model_unknown',
      why: `the provider does not know this model${status(statusCode)}: ${short(fault.message)}`,
      cure: `check its name and the provider's address; list what there is, then set ${prefix}/MODEL`,
    };
  }
  const place = fault.address === null ? '' : ` to ${fault.address}`;
  if ((statusCode === null || statusCode < 300) && (answering ? isConnectionLoss(fault) : isBrokenConnection(fault))) {
    return {
      code: 'model_unreachable',
      why: `the connection${place} broke${answering ? ' while it answered' : ''} (${reasonOf(fault)})`,
      cure: answering ? 'send the message again' : "send the message again; if it stays so, look at the server's log",
    };
  }
  if (statusCode === null && isConnectionLoss(fault)) {
    return {
      code: 'model_unreachable',
      why: `no connection${place} (${reasonOf(fault)})`,
      cure: 'start the server or check its address and the network',
    };
  }
  const why = `${short(fault.message)}${status(statusCode)}`;
  if (statusCode === null || statusCode < 500)
    return { code: 'model_failed', why, cure: mayPass(fault) ? 'send the message again' : undefined };
  const cure = `the error is on the side of ${fault.address ?? 'the server'}: send the message again later, look at its log, or use another model`;
  return { code: 'model_failed', why, cure };
}

function isRefusedInput(statusCode: number | null): boolean {
  return statusCode === null || (statusCode >= 400 && statusCode < 500);
}

function reasonOf(fault: ModelFault): string {
  return [...fault.codes].find((code) => /^(?:E[A-Z]|UND_ERR)/.test(code)) ?? short(fault.message);
}

function status(statusCode: number | null): string {
  return statusCode === null ? '' : ` (${statusCode})`;
}

function short(message: string): string {
  return printableLine(hideKeys(message).replace(/\s+/g, ' ').trim(), MAX_MESSAGE);
}

/** What servers call the parts of a request that they cannot take. */
const IMAGE = /\bimages?\b|image_url|multi-?modal|\bvision\b|mmproj|\bmedia[ _]types?\b/i;
const CALL_ID = /\btool[ _-]?(?:calls?|use|results?)\b[^\n]{0,60}\bids?\b|call_id|tool_use_id/i;
const EFFORT = /\b(?:reasoning|thinking|effort)(?:\b|_)/i;
/** The statuses with which a server refuses the request itself. */
const OF_THE_REQUEST = new Set([400, 413, 422]);
/** llama.cpp sends it with 500, OpenRouter with 404. */
const NO_IMAGES = /image input is not supported|support image input/i;

/**
 * The part of a request that the server refused, by its words: the request may succeed without it, or with another form of it. Where the
 * words name no known part, images are likeliest: a request without them shows it. null: nothing that a change would help, such as an
 * overload that mentions images. `hasEffort`: the request named a thinking effort.
 */
export function refusedPart(error: unknown, hasEffort = false): 'image' | 'call id' | 'effort' | null {
  const fault = readFault(error);
  const { statusCode, text, isSilent } = fault;
  if (fault.isAbort) return null;
  if ((statusCode === 404 || statusCode === 500) && NO_IMAGES.test(text)) return 'image';
  if (statusCode === null || statusCode < 300 ? mayPass(fault) : !OF_THE_REQUEST.has(statusCode)) return null;
  if (isSilent || IMAGE.test(text)) return 'image';
  if (CALL_ID.test(text)) return 'call id';
  const { code } = explain(fault, '', false);
  if (hasEffort && EFFORT.test(text) && code !== 'model_context_too_long') return 'effort';
  return statusCode !== null && statusCode >= 300 && code === 'model_failed' ? 'image' : null;
}
