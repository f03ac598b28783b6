import { effect, signal } from '@preact/signals';
import { isSeen, reportSeen } from './seen.ts';
import { read } from './server/api.ts';
import { onEvent } from './server/events.ts';
import { person } from './server/session.ts';

/** How many questions wait for this person, in all conversations. */
export const openQuestions = signal(0);
/** Whether the browser may say that something waits or has ended. */
export const mayNotify = signal('Notification' in globalThis && Notification.permission === 'granted');

/** Asks the browser, which asks the person. */
export async function allowNotifications(): Promise<void> {
  mayNotify.value = (await Notification.requestPermission()) === 'granted';
}

/** Counts open questions in the title, and notifies, without content, of questions and ends while nobody looks at the page. */
export function watchAttention(): void {
  reportSeen();
  effect(() => {
    document.title = openQuestions.value > 0 ? `(${openQuestions.value}) Pith` : 'Pith';
  });
  effect(() => {
    if (person.value) void count();
  });
  onEvent(({ type, data }) => {
    if (type === 'reset' || type === 'ready' || data['kind'] === 'approval') void count();
    const { type: said, reason = '' } = (data['event'] ?? {}) as { readonly type?: string; readonly reason?: string };
    const end = type === 'turn' && said === 'turn-end' ? ENDS.get(reason) : undefined;
    if (end !== undefined) void notify(end);
  });
}

/** What is told of the end of a turn, by its reason. A question is told by itself, and who stopped a turn knows. */
const ENDS: ReadonlyMap<string, string> = new Map([
  ['done', 'Pith has answered'],
  ['error', 'Pith could not answer'],
  ['limit', 'Pith stopped at a limit'],
]);

/** So often the questions have been counted: of answers that cross each other, the newest counts. */
let counts = 0;

async function count(): Promise<void> {
  const mine = (counts += 1);
  const found = await read<{ readonly approvals: readonly unknown[] }>('/api/approvals').catch(() => null); // it is asked again with the next event
  if (found === null || mine !== counts) return;
  const before = openQuestions.peek();
  openQuestions.value = found.approvals.length;
  if (openQuestions.value > before) void notify('Pith has a question for you');
}

async function notify(text: string): Promise<void> {
  if (!mayNotify.value || (await isSeen())) return;
  try {
    const shown = new Notification(text, { tag: 'pith' });
    shown.addEventListener('click', () => globalThis.focus());
  } catch {
    // browsers of phones only let workers notify; the title counts all the same
  }
}
