import type { Clock } from 'pith';

/** What `work` resolves to; null where it takes longer, and then it goes on by itself. */
export async function withTimeout<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | null> {
  let cancel = () => {};
  const late = new Promise<null>((resolve) => {
    cancel = clock.after(ms, () => resolve(null));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    cancel();
  }
}
