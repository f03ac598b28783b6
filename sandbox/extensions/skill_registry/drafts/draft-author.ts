import { localTime } from '@pith/command-line';
import type { DraftOrigin } from '../contract.ts';

/** Who wrote it and when, as the end of a sentence. */
export function authorOf(origin: DraftOrigin | null): string {
  if (origin === null) return 'who wrote it is not recorded';
  return `written by the agent '${origin.agent}' in the conversation ${origin.threadId}, ${localTime(origin.at)}`;
}
