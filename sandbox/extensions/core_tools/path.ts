import { unavailable } from './refusal.ts';

const MAX_PATH_BYTES = 1_024;
const MAX_NAME_BYTES = 255;

/**
 * The names from the sandbox down to `path`; empty for the sandbox itself. Accepts an absolute path only when it begins
 * with the sandbox's own. Throws the one refusal for all that could lead elsewhere.
 */
export function segmentsOf(path: string, sandbox: string): readonly string[] {
  const local = path === sandbox ? '' : path.startsWith(`${sandbox}/`) ? path.slice(sandbox.length + 1) : path;
  // Backslashes and drive letters are separators elsewhere; control characters have no place in a name.
  if (/[\p{Cc}\\]/u.test(local) || /^(?:\/|~|[a-z]:)/i.test(local) || Buffer.byteLength(local) > MAX_PATH_BYTES) throw unavailable(path);
  const segments = local.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.some((segment) => segment === '..' || Buffer.byteLength(segment) > MAX_NAME_BYTES)) throw unavailable(path);
  return segments;
}
