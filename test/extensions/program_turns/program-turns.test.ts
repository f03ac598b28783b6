import { fakeClock, scriptedModel, type TestKernel } from 'pith/testing';
import { type ProgramEvent, type ProgramRequest, ProgramTurns } from 'pith/program_turns';
import { expect, it } from 'vitest';
import { kernelOf } from '../../places.ts';
import { gate, passed, passing, until } from '../../waiting.ts';
import { FILES } from '../openai_api/served-agents.ts';

const OPEN: ProgramRequest = {
  by: { userId: 'ada', role: 'user' },
  agent: 'helper',
  channelId: 'test',
  threadId: null,
  messages: [{ role: 'user', text: 'open it', images: [] }],
  tools: [],
};

async function asked({ kernel }: TestKernel, request: ProgramRequest, seen: ProgramEvent[] = []): Promise<readonly ProgramEvent[]> {
  for await (const event of kernel.host.providers.remote('program_turns', ProgramTurns)!.run(request)) seen.push(event);
  return seen;
}

it('W6 a request waits while another process goes on with its turn, however long that takes, and is told its answer', async () => {
  const clock = fakeClock();
  const model = scriptedModel([{ calls: [{ name: 'change', input: { what: 'the door' } }] }]);
  const pith = await kernelOf({ only: ['program_turns'], files: FILES, model, clock });
  const [thread, ...rest] = await asked(pith, OPEN);
  const { threadId } = thread as Extract<ProgramEvent, { type: 'thread' }>;
  const { questions } = rest.at(-1) as Extract<ProgramEvent, { type: 'end' }>;

  const answer = gate();
  const slow = scriptedModel([async () => (await answer.opened, { text: 'Done.' })]);
  const other = await kernelOf({ sandbox: pith.sandbox, only: ['program_turns'], model: slow, clock });
  await other.kernel.approvals.answer(questions[0]!.id, { answer: 'once', by: 'ann' });
  const goingOn = other.run('', { agent: 'helper', input: undefined, resume: true, threadId, userId: 'ada' });
  await until(() => slow.requests.length === 1);

  const seen: ProgramEvent[] = [];
  const next = asked(pith, { ...OPEN, threadId }, seen);
  await until(() => seen.length > 0);
  const since = clock.now();
  await passing(clock, () => clock.now() - since > 30_000);
  expect(seen).toEqual([{ type: 'thread', threadId }]);
  answer.open();
  expect((await goingOn).text).toBe('Done.');
  expect(await passed(clock, next)).toMatchObject([
    { type: 'thread' },
    {},
    { type: 'text-delta', text: 'Done.' },
    { type: 'end', reason: 'done' },
  ]);
});

it('W6 a turn to whose question nobody returned is kept for 30 days, beside any number of others', async () => {
  const clock = fakeClock();
  const question = { calls: [{ name: 'change', input: { what: 'the door' } }] };
  const model = scriptedModel([question, question, { text: 'Done.' }, { text: 'Done too.' }, { text: 'New.' }]);
  const files = { ...FILES, 'pith.yaml': 'quotas: { keys: 1 }\n' };
  const pith = await kernelOf({ only: ['program_turns'], files, model, clock });
  const opened = async () => {
    const events = await asked(pith, OPEN);
    const { threadId } = events[0] as Extract<ProgramEvent, { type: 'thread' }>;
    const { questions } = events.at(-1) as Extract<ProgramEvent, { type: 'end' }>;
    return { threadId, id: questions[0]!.id };
  };
  const texts = async (threadId: string) =>
    (await asked(pith, { ...OPEN, threadId })).flatMap((event) => (event.type === 'text-delta' ? [event.text] : []));
  const turns = [await opened(), await opened()];
  for (const { threadId, id } of turns) {
    await pith.kernel.approvals.answer(id, { answer: 'once', by: 'ann' });
    await pith.run('', { agent: 'helper', input: undefined, resume: true, threadId, userId: 'ada' });
  }
  expect(await texts(turns[0]!.threadId)).toEqual(['Done.']); // told, and no request of the model
  expect(model.requests).toHaveLength(4);
  await clock.advance(31 * 24 * 3_600_000);
  expect(await texts(turns[1]!.threadId)).toEqual(['New.']); // the message is a new one
  expect(model.requests).toHaveLength(5);
});
