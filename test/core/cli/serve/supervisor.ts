import { onTestFinished } from 'vitest';

/** This process has a supervisor until the test ends, which takes every message. */
export function superviseHere(): void {
  const { send } = process;
  onTestFinished(() => void (process.send = send));
  process.send = (...given: readonly unknown[]) => {
    const done = given.at(-1);
    if (typeof done === 'function') done();
    return true;
  };
}
