import { address } from '../router.ts';
import { isAdministrator, person } from '../server/session.ts';

interface Link {
  readonly text: string;
  readonly href: string;
}

/** Where this person reads what was done in a thread: one's own as a conversation, as an administrator the times of anybody's. null: nowhere. */
export function threadLink(thread: string, owner: string): Link | null {
  if (owner === person.value?.userId) return { text: 'Conversation', href: address('chat', thread) };
  return isAdministrator() ? { text: 'Timeline', href: address('work/timeline', thread) } : null;
}

/** null: the log is for administrators. */
export function logLink(extension: string | null): Link | null {
  return extension !== null && isAdministrator() ? { text: 'Log', href: address('system/extensions', extension) } : null;
}
