import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { createSqliteThreads } from '../../../../core/agent/index.ts';
import { bundleProgram, exitOf, startProgram } from '../../store/child-process.ts';
import { manualClock } from '../../store/manual-clock.ts';
import { temporaryFolder, temporaryStore } from '../../store/temporary-store.ts';

it('K45 loses no acknowledged step to kill -9', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'pith.db');
  const program = await bundleProgram('child-writer', folder);
  for (const [round, after] of [3, 40, 150, 400].entries()) {
    const threadId = `thread-${round}`;
    const child = startProgram(program, file, threadId);
    let acknowledged = -1;
    for await (const line of createInterface({ input: child.stdout! })) {
      if (line !== 'ready') acknowledged = Number(line);
      if (acknowledged === after) child.kill('SIGKILL'); // lines that were written meanwhile are still read
    }
    if (child.exitCode === null && child.signalCode === null) await exitOf(child);
    expect(child.signalCode).toBe('SIGKILL');
    expect(acknowledged).toBeGreaterThanOrEqual(after);

    const store = temporaryStore(file);
    expect(store.get('PRAGMA integrity_check')).toMatchObject({ integrity_check: 'ok' });
    const threads = createSqliteThreads(store, manualClock());
    const messages = (await threads.load(threadId))?.messages ?? [];
    expect(messages.length).toBeGreaterThanOrEqual(acknowledged + 1);
    const unfinished = await threads.unfinished(threadId);
    expect(unfinished?.turn).toMatchObject({ state: 'running', steps: messages.length });
    // A step is there whole: its message and its call.
    expect(unfinished?.calls.map((call) => call.step)).toEqual(messages.map((_, step) => step));
    await store.close();
  }
});
