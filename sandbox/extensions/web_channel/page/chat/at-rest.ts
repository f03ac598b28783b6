import { useEffect, useRef } from 'preact/hooks';
import type { Conversation } from './conversation.ts';

/** Calls `act` each time that nothing is done in the conversation any more. */
export function useAtRest({ isBusy: { value } }: Pick<Conversation, 'isBusy'>, act: () => void): void {
  const wasBusy = useRef(false);
  useEffect(() => {
    const hasEnded = wasBusy.current && !value;
    wasBusy.current = value;
    if (hasEnded) act();
  }, [value]);
}
