import { effect, signal } from '@preact/signals';
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
  effect(() => {
    document.title = openQuestions.value > 0 ? `(${openQuestions.value}) Pith` : 'Pith';
  });
  effect(() => {
    if (person.value) void count();
  });
  onEvent(({ type, data }) => {
    if (type === 'reset' || type === 'ready' || data['kind'] === 'approval') void count();
    if (type === 'turn' && (data['event'] as { readonly type?: string } | undefined)?.type === 'turn-end') notify('Pith has answered');
  });
}

async function count(): Promise<void> {
  const before = openQuestions.peek();
  const found = await read<{ readonly approvals: readonly unknown[] }>('/api/approvals').catch(() => null); // it is asked again with the next event
  if (found === null) return;
  openQuestions.value = found.approvals.length;
  if (openQuestions.value > before) notify('Pith asks you something');
}

function notify(text: string): void {
  if (!mayNotify.value || document.visibilityState !== 'hidden') return;
  try {
    const shown = new Notification(text, { tag: 'pith' });
    shown.addEventListener('click', () => globalThis.focus());
  } catch {
    // browsers of phones only let workers notify; the title counts all the same
  }
}
