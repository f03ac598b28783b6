import { refusedWith } from './commands/cures.ts';
import { sha256 } from '@pith/plain-data';
import type { JsonValue } from 'pith';
import type { RouteAnswer } from 'pith/http';

/** Names a state of what two people may change at once: the same for the same content. */
export function tagOf(shown: JsonValue | undefined): string {
  return `"${sha256(JSON.stringify(shown ?? null)).slice(0, 16)}"`;
}

/** The `If-Match` of a request names another state. */
export function preconditionFailed(): RouteAnswer {
  return { status: 412, json: refusedWith({ code: 'write_conflict', message: 'it has changed since you read it', cure: 'read it again' }) };
}
