import { messageOf, type ExtensionContext, type TurnInfo } from 'pith';
import type { ScriptsConfig } from '../config.ts';

const WHAT = 'scripts of skills run without a sandbox (skills.scripts.sandbox: none): they can do all that you can';

/** What `pith doctor` says, in red, where a person chose to run scripts without a sandbox. */
export function unconfinedNotes({ scripts }: ScriptsConfig): readonly { readonly code: string; readonly message: string }[] {
  return scripts.sandbox === 'none' ? [{ code: 'unconfined', message: WHAT }] : [];
}

/** Warns the person in the conversation, the first time that a script runs. */
export function unconfinedWarning({ events, logger }: Pick<ExtensionContext, 'events' | 'logger'>): (turn: TurnInfo) => void {
  let isWarned = false;
  return ({ threadId, userId }) => {
    if (isWarned) return;
    isWarned = true;
    const notice = { v: 1, text: `Warning: ${WHAT}.`, kind: 'warning', target: null, threadId, userId } as const;
    events
      .publish('notify', notice, { key: threadId })
      .catch((error: unknown) => logger.warn(`${WHAT}; the warning could not be sent: ${messageOf(error)}`));
  };
}
