// Run in a separate process: writes rows as fast as it can and tells each that was acknowledged.
import { writeSync } from 'node:fs';
import { systemClock } from '../../../core/kernel/index.ts';
import { openStore, sqliteLeaseRows } from '../../../core/store/index.ts';
import { createSqliteThreads, type TurnRecord } from '../../../core/agent/index.ts';

const [file = '', threadId = ''] = process.argv.slice(2);
const clock = systemClock;
const store = openStore(file, clock);
const fence = { name: `thread:${threadId}`, holder: `${process.pid}` };
await sqliteLeaseRows(store, clock).take(fence, 1e12);
const threads = createSqliteThreads(store, clock).writer(fence);
const usage = { inputTokens: 1, outputTokens: 1 };
const agent = { id: 'writer' } as TurnRecord['agent'];
const turn: TurnRecord = {
  id: `turn-${threadId}`,
  threadId,
  agent,
  channelId: 'cli',
  userId: 'u',
  policy: {},
  correlationId: 'c',
  depth: 0,
  state: 'running',
  steps: 0,
  usage,
  startedAt: clock.now(),
  key: null,
};
await threads.beginTurn({ thread: { id: threadId, agentId: 'writer', date: '2025-01-01', title: 'writing' }, turn, messages: [] });
writeSync(1, 'ready\n');
for (let step = 0; ; step += 1) {
  const call = {
    turnId: turn.id,
    step,
    index: 0,
    callId: `c${step}`,
    name: 't',
    extensionId: 'e',
    tool: 't',
    input: { step },
    effect: 'write',
    state: 'requested',
    result: null,
  } as const;
  await threads.recordStep(turn.id, {
    step,
    message: { role: 'assistant', content: [{ type: 'text', text: `step ${step} ${'x'.repeat(step % 3_000)}` }] },
    calls: [call],
    usage,
  });
  writeSync(1, `${step}\n`);
}
