import { useEffect, useRef } from 'preact/hooks';
import type { Conversation } from './conversation.ts';

/** Calls `act` whenever a turn of the conversation has ended, also where the page never saw it run. */
export function useAtRest({ isBusy: { value: isBusy }, chunks }: Pick<Conversation, 'isBusy' | 'chunks'>, act: () => void): void {
  const last = chunks.value.at(-1)?.at(-1)?.seq;
  const before = useRef({ isBusy: false, last });
  useEffect(() => {
    const was = before.current;
    before.current = { isBusy, last };
    if (!isBusy && (was.isBusy || (was.last !== undefined && was.last !== last))) act();
  }, [isBusy, last]);
}
