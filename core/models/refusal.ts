import { isConnectionLoss, readFault } from './fault.ts';

/** Words of servers for what of a request they cannot take. */
const IMAGE = /\bimages?\b|image_url|multi-?modal|\bvision\b|mmproj|\bmedia[ _]types?\b/i;
const CALL_ID = /\btool[ _-]?(?:calls?|use|results?)\b[^\n]{0,60}\bids?\b|call_id|tool_use_id/i;
/** Of keys, time and limits. */
const NOT_THE_REQUEST = new Set([401, 403, 408, 429]);

/** What of a request a server refused, as far as its words say: without it, or written otherwise, it may take the rest. null: nothing that could be changed. */
export function refusedPart(error: unknown): 'image' | 'call id' | null {
  const fault = readFault(error);
  if (fault.isAbort || NOT_THE_REQUEST.has(fault.statusCode ?? 0) || isConnectionLoss(fault)) return null;
  if (IMAGE.test(fault.text)) return 'image';
  return CALL_ID.test(fault.text) ? 'call id' : null;
}
