import { codeOf, messageOf, PithError } from 'pith';
import { printableLine } from '@pith/plain-text';

const LONGEST = 400;

/** Why a server is not connected or a call of it failed, in a person's words: one printable line. */
export function reasonOf(error: unknown): string {
  const text = error instanceof PithError && error.cure !== undefined ? `${messageOf(error)}; ${error.cure}` : messageOf(error);
  return printableLine(wordsFor(error, text), LONGEST);
}

function wordsFor(error: unknown, text: string): string {
  const version = /protocol version is not supported: (.*)/u.exec(text)?.[1];
  if (version !== undefined) return `it speaks version '${version}' of the protocol, which Pith does not know; update the server or Pith`;
  const type = /^Unexpected content type: (.*)/u.exec(text)?.[1];
  if (type !== undefined)
    return `it answers with ${type === 'null' ? 'nothing that says its type' : type}, and not with a message; correct url`;
  if (text.startsWith('Invalid result for initialize')) return 'its answer to the first message is no answer of an MCP server';
  const code = codeOf(error, '');
  if (code === 'CONNECTION_CLOSED' || text === 'Connection closed') return 'it ended';
  return text;
}

/** True: it has not answered in time. */
export function isLate(error: unknown): boolean {
  return codeOf(error, '') === 'REQUEST_TIMEOUT';
}
