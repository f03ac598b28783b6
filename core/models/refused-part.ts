import { modelFailure } from './failure.ts';
import { mayPass, readFault } from './fault.ts';

/** Words of servers for what of a request they cannot take. */
const IMAGE = /\bimages?\b|image_url|multi-?modal|\bvision\b|mmproj|\bmedia[ _]types?\b/i;
const CALL_ID = /\btool[ _-]?(?:calls?|use|results?)\b[^\n]{0,60}\bids?\b|call_id|tool_use_id/i;
/** With these a server speaks of the request. */
const OF_THE_REQUEST = new Set([400, 413, 422]);
/** llama.cpp says it with 500, OpenRouter with 404. */
const NO_IMAGES = /image input is not supported|support image input/i;

/**
 * What of a request a server refused, as far as its words say: without it, or written otherwise, it may take the rest. Where they name nothing
 * that is known, images are the likeliest: whether it was they shows when it is asked without. null: nothing that could be changed, as an
 * overload that speaks of images.
 */
export function refusedPart(error: unknown): 'image' | 'call id' | null {
  const fault = readFault(error);
  const { statusCode, text, isSilent } = fault;
  if (fault.isAbort) return null;
  if ((statusCode === 404 || statusCode === 500) && NO_IMAGES.test(text)) return 'image';
  if (statusCode === null || statusCode < 300 ? mayPass(fault) : !OF_THE_REQUEST.has(statusCode)) return null;
  if (isSilent || IMAGE.test(text)) return 'image';
  if (CALL_ID.test(text)) return 'call id';
  return statusCode !== null && statusCode >= 300 && modelFailure(error, '').code === 'model_failed' ? 'image' : null;
}
