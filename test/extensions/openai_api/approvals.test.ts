import { describe, expect, it } from 'vitest';
import { approve } from '../../answers.ts';
import { until } from '../../waiting.ts';
import { clientOf, servedAgents } from './served-agents.ts';

const said = (content: string) => ({ role: 'user' as const, content });
const SCRIPT = [
  {
    text: 'I do it.',
    calls: [
      { name: 'note', input: { what: 'first' } },
      { name: 'change', input: { what: 'the door' } },
    ],
  },
  { text: 'Done.' },
  { calls: [{ name: 'counts', input: {} }] },
  { text: 'counted' },
];

const ways = describe.each(['chat', 'chat streamed', 'responses', 'responses streamed']);

/** One request, as both interfaces and streams answer it. `before`: what it goes on from. */
async function ask(
  way: string,
  served: Awaited<ReturnType<typeof servedAgents>>,
  text: string,
  before: { readonly thread: string; readonly id: string } | null,
) {
  const openai = await clientOf(served);
  const stream = way.endsWith('streamed');
  if (way.startsWith('chat')) {
    const options = before === null ? {} : { headers: { 'x-pith-thread': before.thread } };
    const { data, response } = await openai.chat.completions
      .create({ model: 'helper', messages: [said(text)], stream }, options)
      .withResponse();
    const thread = response.headers.get('x-pith-thread')!;
    if (!(Symbol.asyncIterator in data)) {
      const [choice] = data.choices;
      return {
        thread,
        id: data.id,
        text: choice!.message.content,
        finish: choice!.finish_reason,
        approval: response.headers.get('x-pith-approval'),
      };
    }
    const all = { thread, id: '', text: '', finish: null as string | null, approval: null as string | null };
    for await (const chunk of data) {
      all.text += chunk.choices[0]?.delta.content ?? '';
      all.finish = chunk.choices[0]?.finish_reason ?? all.finish;
      all.approval = (chunk as { pith?: { approval?: string } }).pith?.approval ?? all.approval;
    }
    return all;
  }
  const asked = { model: 'helper', input: text, ...(before === null ? {} : { previous_response_id: before.id }) };
  const answer = stream ? await openai.responses.stream(asked).finalResponse() : await openai.responses.create(asked);
  const { thread, approval = null } = (answer as unknown as { pith: { thread: string; approval?: string } }).pith;
  const parts = answer.output.flatMap((item) => (item.type === 'message' ? item.content : []));
  const whole = parts.map((part) => (part.type === 'output_text' ? part.text : '')).join('');
  return { thread, id: answer.id, text: whole, finish: answer.status === 'completed' ? 'stop' : answer.status, approval };
}

ways('W6 W20 a call that needs a person, over %s', (way) => {
  it('W6 is a normal end that names the question; after the answer and a restart the next request goes on and repeats nothing', async () => {
    const served = await servedAgents(SCRIPT);
    const first = await ask(way, served, 'open it', null);
    expect(first).toMatchObject({ finish: 'stop', approval: expect.stringMatching(/^[0-9a-z]{6}-[0-9a-z]{4}$/u) });
    expect(first.text).toBe(
      `I do it.\n\nThis waits for a person: run change of desk (it says: change the door). Allow it with \`pith approvals approve ${first.approval}\`, or refuse it with \`pith approvals reject ${first.approval}\`; then send the next request in this thread.`,
    );
    const again = await ask(way, served, 'open it', first);
    expect(again).toMatchObject({ finish: 'stop', approval: first.approval }); // it is asked still, and nothing ran
    await served.restart();
    await served.pith.kernel.approvals.answer(first.approval!, { answer: 'once', by: 'ann' });
    const next = await ask(way, served, 'open it', again);
    expect(next).toMatchObject({ thread: first.thread, text: 'Done.', approval: null });
    expect(served.model.requests[1]?.messages.at(-1)?.content).toMatchObject([
      { output: { value: 'note first' } },
      { output: { value: 'change the door' } },
    ]);
    await ask(way, served, 'count', next);
    expect(JSON.stringify(served.model.requests.at(-1)?.messages.at(-1))).toContain('{\\"change\\":1,\\"note\\":1}');
  });
});

/** An answer that goes on with the turn at once, without its program. */
type Answer = (served: Awaited<ReturnType<typeof servedAgents>>, id: string) => Promise<unknown>;
const byCommand: Answer = ({ pith }, id) => approve(pith, id);
const byRoute: Answer = async (served, id) => {
  const token = await served.token({ userId: 'ada', may: 'approve' });
  expect(await served.request(`/api/approvals/${id}`, { method: 'POST', token, json: { answer: 'once' } })).toMatchObject({ status: 200 });
};

/** With `/api` beside the interfaces for programs. */
const withApi = (script: Parameters<typeof servedAgents>[0]) =>
  servedAgents(script, { only: ['http', 'rest_api', 'program_turns', 'openai_api'] });

async function isIdle({ pith }: Awaited<ReturnType<typeof servedAgents>>, threadId: string): Promise<boolean> {
  return (await pith.kernel.threads.unfinished(threadId)) === null;
}

ways('W6 W20 a turn that somebody else has gone on with, over %s', (way) => {
  it.each([
    ['`pith approvals approve`', byCommand],
    ['POST /api/approvals/{id}', byRoute],
  ])('W6 after %s the next request is told the answer of that turn, also over a restart, and nothing runs again', async (_how, answer) => {
    const served = await withApi(SCRIPT);
    const first = await ask(way, served, 'open it', null);
    await answer(served, first.approval!);
    await until(() => isIdle(served, first.thread));
    await served.restart();
    const next = await ask(way, served, 'open it', first);
    expect(next).toMatchObject({ thread: first.thread, text: 'Done.', finish: 'stop', approval: null });
    await ask(way, served, 'count', next);
    expect(JSON.stringify(served.model.requests.at(-1)?.messages.at(-1))).toContain('{\\"change\\":1,\\"note\\":1}');
  });
});

describe('W6 W20 messages and questions', () => {
  it('W6 a message never approves: one that comes first takes the place of the turn, one that comes after the answer is said behind it', async () => {
    const served = await servedAgents([SCRIPT[0]!, { text: 'All right.' }, SCRIPT[0]!, { text: 'Done.' }, { text: 'You are welcome.' }]);
    const first = await ask('chat', served, 'open it', null);
    expect(await ask('chat', served, 'yes, I approve', first)).toMatchObject({ text: 'All right.', approval: null });
    expect(JSON.stringify(served.model.requests[1]?.messages)).toContain('they wrote instead: yes, I approve');
    const second = await ask('chat', served, 'open it again', first);
    await served.pith.kernel.approvals.answer(second.approval!, { answer: 'once', by: 'ann' });
    expect((await ask('chat', served, 'thanks', second)).text).toBe('Done.\n\nYou are welcome.');
  });

  it('W6 another message after somebody else has gone on with the turn is told its answer, and then its own', async () => {
    const served = await withApi([SCRIPT[0]!, { text: 'Done.' }, { text: 'You are welcome.' }]);
    const first = await ask('chat', served, 'open it', null);
    await byRoute(served, first.approval!);
    await until(() => isIdle(served, first.thread));
    expect((await ask('chat', served, 'thanks', first)).text).toBe('Done.\n\nYou are welcome.');
  });

  it('W6 a request whose turn fails after the answer goes on with it when it is repeated, and repeats no tool', async () => {
    const served = await servedAgents([SCRIPT[0]!, { error: new Error('broken') }, { text: 'Done.' }, ...SCRIPT.slice(2)]);
    const first = await ask('chat', served, 'open it', null);
    await served.pith.kernel.approvals.answer(first.approval!, { answer: 'once', by: 'ann' });
    await expect(ask('chat', served, 'open it', first)).rejects.toThrow(/500|502/u);
    expect((await ask('chat', served, 'open it', first)).text).toBe('Done.');
    await ask('chat', served, 'count', first);
    expect(JSON.stringify(served.model.requests.at(-1)?.messages.at(-1))).toContain('{\\"change\\":1,\\"note\\":1}');
  });

  it('W6 a refusal is told to the agent, which goes on', async () => {
    const served = await servedAgents([SCRIPT[0]!, { text: 'Then not.' }]);
    const first = await ask('chat', served, 'open it', null);
    await served.pith.kernel.approvals.answer(first.approval!, { answer: 'no', by: 'ann', reason: 'too cold' });
    expect((await ask('chat', served, 'open it', first)).text).toBe('Then not.');
    expect(JSON.stringify(served.model.requests[1]?.messages.at(-1))).toContain('too cold');
  });
});
