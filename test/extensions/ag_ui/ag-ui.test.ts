import { type AGUIEvent, EventType, type RunAgentInput } from '@ag-ui/core';
import { EventSchemas } from '@ag-ui/core/schemas';
import { describe, expect, it } from 'vitest';
import { png } from '../../fixtures/images.ts';
import { until } from '../../waiting.ts';
import { servedAgents, textsOf } from '../openai_api/served-agents.ts';

type Served = Awaited<ReturnType<typeof servedAgents>>;

const said = (content: string, id = content) => ({ id, role: 'user' as const, content });
const CHANGE = [{ text: 'I do it.', calls: [{ name: 'change', input: { what: 'the door' } }] }, { text: 'Done.' }];

/** The events of one run, each as the package's own schema takes it. */
async function runOf(served: Served, token: string, input: Partial<RunAgentInput>, agent = 'helper') {
  const json = { threadId: 'mine', runId: 'run', state: {}, messages: [], tools: [], context: [], forwardedProps: {}, ...input };
  const answer = await served.request(`/ag-ui/${agent}`, { method: 'POST', token, json: json as never });
  if (answer.status !== 200) return { status: answer.status, error: answer.json as unknown, events: [], types: [] };
  const events = answer.text
    .split('\n\n')
    .filter(Boolean)
    .map((each) => EventSchemas.parse(JSON.parse(each.replace(/^data: /u, ''))) as AGUIEvent);
  return { status: 200, error: null, events, types: events.map(({ type }) => type) };
}

describe('W23 AG-UI', () => {
  it('W23 a run tells its start, state, text, calls and end in order, by the schemas of the package', async () => {
    const served = await servedAgents([
      { text: ['I ', 'look.'], calls: [{ name: 'look', input: { what: 'x' }, id: 'c1' }], usage: { inputTokens: 4, outputTokens: 2 } },
      { text: 'Found.', usage: { inputTokens: 5, outputTokens: 1 } },
    ]);
    const state = { page: 7 };
    const { events, types } = await runOf(served, await served.token({ userId: 'ada' }), { messages: [said('find')], state });
    expect(types).toEqual([
      EventType.RUN_STARTED,
      EventType.STATE_SNAPSHOT,
      EventType.TEXT_MESSAGE_START,
      EventType.TEXT_MESSAGE_CONTENT,
      EventType.TEXT_MESSAGE_CONTENT,
      EventType.TEXT_MESSAGE_END,
      EventType.TOOL_CALL_START,
      EventType.TOOL_CALL_ARGS,
      EventType.TOOL_CALL_END,
      EventType.TOOL_CALL_RESULT,
      EventType.TEXT_MESSAGE_START,
      EventType.TEXT_MESSAGE_CONTENT,
      EventType.TEXT_MESSAGE_END,
      EventType.RUN_FINISHED,
    ]);
    expect(events[0]).toMatchObject({ threadId: 'mine', runId: 'run' });
    expect(events[1]).toMatchObject({ snapshot: { page: 7, pith: { thread: expect.stringMatching(/^agui-/u) } } });
    expect(events[9]).toMatchObject({ toolCallId: 'c1', content: 'look x' });
    expect(events.at(-1)).toMatchObject({ outcome: { type: 'success' }, usage: [{ inputTokens: 9, outputTokens: 3 }] });
    expect(served.model.requests[0]?.system).toContain('{"page":7}');
  });

  it('W23 a thread goes on by its name with the last message alone, for each user on their own; images are sent', async () => {
    const served = await servedAgents([{ text: 'Hello.' }, { text: 'Ada.' }, { text: 'Hello.' }]);
    const [ada, bob] = [await served.token({ userId: 'ada' }), await served.token({ userId: 'bob' })];
    await runOf(served, ada, { messages: [said('I am Ada')] });
    const source = { type: 'data' as const, value: png().toString('base64'), mimeType: 'image/png' };
    const who = {
      id: '3',
      role: 'user' as const,
      content: [
        { type: 'text' as const, text: 'Who?' },
        { type: 'image' as const, source },
      ],
    };
    await runOf(served, ada, { messages: [said('I am Ada'), { id: '2', role: 'assistant', content: 'Hello.' }, who] });
    await runOf(served, bob, { messages: [said('Who?')] });
    const conversation = [
      ['user', 'I am Ada'],
      ['assistant', 'Hello.'],
      ['user', 'Who?'],
    ];
    expect(served.model.requests.map(textsOf)).toEqual([conversation.slice(0, 1), conversation, conversation.slice(2)]);
    expect(JSON.stringify(served.model.requests[1]?.messages)).toContain('image/png');
    const url = {
      id: '4',
      role: 'user' as const,
      content: [{ type: 'image' as const, source: { type: 'url' as const, value: 'https://example.com/a.png' } }],
    };
    expect(await runOf(served, bob, { messages: [url] })).toMatchObject({ status: 400, error: { error: { code: 'usage' } } });
  });

  it("W23 calls of the user interface's own tools are left to it, and the next run brings their results", async () => {
    const served = await servedAgents([{ calls: [{ name: 'confirm', input: { what: 'x' } }] }, { text: 'Thanks.' }]);
    const token = await served.token({ userId: 'ada' });
    const tools = [{ name: 'confirm', description: 'Ask.', parameters: { type: 'object', properties: { what: { type: 'string' } } } }];
    const first = await runOf(served, token, { messages: [said('go')], tools });
    const start = first.events.find(({ type }) => type === EventType.TOOL_CALL_START) as { toolCallId: string };
    expect(first.types).not.toContain(EventType.TOOL_CALL_RESULT);
    expect(first.events.at(-1)).toMatchObject({ outcome: { type: 'success', pendingToolCallIds: [start.toolCallId] } });
    const call = { id: start.toolCallId, type: 'function' as const, function: { name: 'confirm', arguments: '{"what":"x"}' } };
    const result = { id: 'r', role: 'tool' as const, toolCallId: call.id, content: 'agreed' };
    const next = await runOf(served, token, { messages: [said('go'), { id: 'a', role: 'assistant', toolCalls: [call] }, result], tools });
    expect(next.events.at(-1)).toMatchObject({ outcome: { type: 'success' } });
    expect(JSON.stringify(served.model.requests[1]?.messages.at(-1))).toContain('agreed');
  });

  it('W6 W23 an approval is an interrupt, which a token that may answers by resuming; a chat token and another user cannot', async () => {
    const served = await servedAgents([...CHANGE, CHANGE[0]!, { text: 'Then not.' }]);
    const chat = await served.token({ userId: 'ada' });
    const first = await runOf(served, chat, { messages: [said('open it')] });
    const { outcome } = first.events.at(-1) as { outcome: { interrupts: readonly { id: string; message: string }[] } };
    expect(outcome).toMatchObject({
      type: 'interrupt',
      interrupts: [{ reason: 'approval', metadata: { tool: 'desk/change', input: { what: 'the door' } } }],
    });
    const { id } = outcome.interrupts[0]!;
    const resume = [{ interruptId: id, status: 'resolved' as const, payload: { approved: true } }];
    expect(await runOf(served, chat, { messages: [said('open it')], resume })).toMatchObject({ status: 403 });
    const bob = await served.token({ userId: 'bob', may: 'approve' });
    const theirs = await runOf(served, bob, { messages: [said('x')], resume });
    const unknown = await runOf(served, bob, { messages: [said('x')], resume: [{ ...resume[0]!, interruptId: 'none' }] });
    expect(theirs.status).toBe(404);
    expect(JSON.stringify(theirs.error)).toBe(JSON.stringify(unknown.error).replace('none', id));
    const ada = await served.token({ userId: 'ada', may: 'approve' });
    const next = await runOf(served, ada, { messages: [said('open it')], resume });
    expect(next.events).toContainEqual(expect.objectContaining({ type: EventType.TOOL_CALL_RESULT, content: 'change the door' }));
    expect(next.events.at(-1)).toMatchObject({ outcome: { type: 'success' } });

    const again = await runOf(served, ada, { threadId: 'other', messages: [said('open it')] });
    const asked = (again.events.at(-1) as unknown as { outcome: { interrupts: readonly { id: string }[] } }).outcome.interrupts[0]!;
    const cancelled = [{ interruptId: asked.id, status: 'cancelled' as const }];
    await runOf(served, ada, { threadId: 'other', messages: [said('open it')], resume: cancelled });
    expect(JSON.stringify(served.model.requests.at(-1)?.messages)).toContain('a person did not approve it');
  });

  it('W6 W23 where the answer came from elsewhere and the turn has gone on, the next run is told its answer, and nothing runs again', async () => {
    const served = await servedAgents(CHANGE, { only: ['http', 'rest_api', 'program_turns', 'ag_ui'] });
    const token = await served.token({ userId: 'ada', may: 'approve' });
    const first = await runOf(served, token, { messages: [said('open it')] });
    const { id } = (first.events.at(-1) as unknown as { outcome: { interrupts: readonly { id: string }[] } }).outcome.interrupts[0]!;
    await served.request(`/api/approvals/${id}`, { method: 'POST', token, json: { answer: 'once' } });
    await until(() => served.model.requests.length === 2);
    const resume = [{ interruptId: id, status: 'resolved' as const, payload: { approved: true } }];
    const next = await runOf(served, token, { messages: [said('open it')], resume });
    expect(next.events).toContainEqual(
      expect.objectContaining({ type: EventType.TEXT_MESSAGE_CONTENT, delta: expect.stringContaining('Done.') }),
    );
    expect(next.events.at(-1)).toMatchObject({ outcome: { type: 'success' } });
  });

  it('W23 what cannot begin has a status, what fails on the way an event, and a reader that leaves ends the run', async () => {
    const served = await servedAgents([{ error: new Error('broken') }, { text: ['I am'], hang: true }]);
    const token = await served.token({ userId: 'ada' });
    expect(await runOf(served, token, { messages: [said('x')] }, 'nobody')).toMatchObject({ status: 404 });
    expect(await runOf(served, token, { messages: 'x' as never })).toMatchObject({ status: 400 });
    const failed = await runOf(served, token, { messages: [said('x')] });
    expect(failed.events.at(-1)).toMatchObject({ type: EventType.RUN_ERROR, code: 'model_failed' });
    await until(async () => /ag_ui.*model_failed.*broken.*a turn failed/u.test(await served.log()));
    const ended: string[] = [];
    served.pith.kernel.events.handle('turn.ended', ({ reason }) => void ended.push(reason));
    const json = { threadId: 't', runId: 'r', state: {}, messages: [said('x')], tools: [], context: [], forwardedProps: {} };
    const open = await served.open('/ag-ui/helper', { method: 'POST', token, json });
    let text = '';
    while (!text.includes('I am')) text += (await open.parts.next()).value as string;
    open.leave();
    await until(() => ended.length === 1);
    expect(ended).toEqual(['aborted']);
  });

  it('W23 what fails once the run has begun ends its stream with an error of the run', async () => {
    const served = await servedAgents([{ text: 'Hello.' }]);
    const token = await served.token({ userId: 'ada' });
    const { events: first } = await runOf(served, token, { messages: [said('hello')] });
    const { snapshot } = first[1] as { readonly snapshot?: { readonly pith: { readonly thread: string } } };
    const result = { id: 'r', role: 'tool' as const, toolCallId: 'nothing-asked', content: 'x' };
    const { status, events } = await runOf(served, token, { threadId: snapshot?.pith.thread ?? '', messages: [result] });
    expect([status, events.at(-1)]).toMatchObject([200, { type: EventType.RUN_ERROR, code: 'usage' }]);
    await until(async () => /POST \/ag-ui\/\{agent\}|a turn failed/u.test(await served.log()));
  });
});
