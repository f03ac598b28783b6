import type { ModelFault } from './fault.ts';

const LOST = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'ENOTFOUND',
  'ENETUNREACH',
  'ENETDOWN',
  'EHOSTUNREACH',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);
const LOST_TEXT = /^(?:fetch failed|terminated|socket hang up|network error|other side closed)$/im;

const BROKEN = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_BODY_TIMEOUT']);
const BROKEN_TEXT = /^(?:terminated|socket hang up|other side closed)$/im;

/** There was a connection, and it broke: the server runs. */
export function isBrokenConnection(fault: ModelFault): boolean {
  return [...fault.codes].some((code) => BROKEN.has(code)) || BROKEN_TEXT.test(fault.text);
}

/** The provider could not be reached, or the connection broke. */
export function isConnectionLoss(fault: ModelFault): boolean {
  return [...fault.codes].some((code) => LOST.has(code)) || LOST_TEXT.test(fault.text);
}
