import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../server/api.ts';

interface Attempt {
  readonly error: ApiError | null;
  readonly isBusy: boolean;
  /** Does `work`, and keeps what the server refuses. True: it was done. */
  attempt(work: () => Promise<unknown>): Promise<boolean>;
}

/** For what a person asks the server to do. `again`: loads what it may have changed, whether it was done or refused. */
export function useAttempt(again?: () => Promise<unknown>): Attempt {
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const focused = useRef<Element | null>(null);
  useLayoutEffect(() => {
    if (isBusy || focused.current === null) return;
    // What is disabled loses the focus: whoever works by keyboard goes on where they were.
    if (document.activeElement === document.body && focused.current instanceof HTMLElement) focused.current.focus();
    focused.current = null;
  }, [isBusy]);
  const attempt = async (work: () => Promise<unknown>): Promise<boolean> => {
    focused.current = document.activeElement;
    setError(null);
    setBusy(true);
    try {
      await work();
      return true;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setError(error);
      return false;
    } finally {
      await again?.();
      setBusy(false);
    }
  };
  return { error, isBusy, attempt };
}
