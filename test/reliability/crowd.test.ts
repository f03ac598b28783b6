import { randomUUID } from 'node:crypto';
import { expectNoLeaks, scriptedModel, testKernel, type ModelRequest, type ScriptedReply } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { kernelOf } from '../places.ts';
import { extensionFiles, toolExtension } from '../journeys/sandbox-files.ts';

const isLong = process.env['PITH_TEST_LONG'] === '1';
const CHATS = isLong ? 1000 : 100;
/** So many that those which only wait for the lease of the thread, and not for their turn, wait too long. */
const MESSAGES = isLong ? 100 : 20;
/** What ships and keeps something of a chat. */
const REMEMBER = ['compaction', 'kv', 'orchestrator', 'skill_registry', 'skill_search', 'skill_stats', 'task_engine'];
const NONCE = /nonce-[0-9a-f-]{36}/gu;

const ECHO = extensionFiles('echo', {
  provides: ['tool'],
  main: "import { defineTool, z } from 'pith';\nexport default class {\n  getTools() { return [defineTool({ name: 'echo', description: 'Repeats.', input: z.object({ text: z.string() }), effect: 'read', execute: async ({ text }) => { await new Promise(setImmediate); return 'echo of ' + text; } })]; }\n}\n",
});

describe('a crowd', () => {
  it(`${CHATS} chats at once: no error, and no word of one in another`, async () => {
    const model = scriptedModel(Array.from({ length: CHATS * 2 }, () => answer));
    const pith = await kernelOf({ model, only: REMEMBER, files: ECHO });
    const nonces = Array.from({ length: CHATS }, () => `nonce-${randomUUID()}`);
    const turns = await Promise.all(
      nonces.map((nonce, index) => pith.run(`say ${nonce}`, { threadId: `thread-${index}`, userId: `user-${index}` })),
    );
    const wrong = turns.flatMap((turn, index) =>
      turn.reason === 'done' && turn.text === `heard echo of ${nonces[index]}`
        ? []
        : [`${index}: ${turn.reason} ${turn.text} ${JSON.stringify(turn.error)}`],
    );
    expect(wrong).toEqual([]);
    for (const [index, turn] of turns.entries())
      expect(new Set(JSON.stringify(turn.events).match(NONCE))).toEqual(new Set([nonces[index]]));
    expect(model.requests).toHaveLength(CHATS * 2);
    for (const request of model.requests) expect(new Set(JSON.stringify(request.messages).match(NONCE)).size).toBe(1);
    for (const [index, nonce] of nonces.entries()) {
      const stored = JSON.stringify((await pith.kernel.threads.load(`thread-${index}`))?.messages);
      expect(new Set(stored.match(NONCE))).toEqual(new Set([nonce]));
    }
  });

  it(`${MESSAGES} messages at once in one thread are answered one after the other, each seeing all before it`, async () => {
    const model = scriptedModel(Array.from({ length: MESSAGES }, () => ({ text: 'ok' })));
    const pith = await kernelOf({ model, only: REMEMBER });
    const turns = await Promise.all(Array.from({ length: MESSAGES }, (_, index) => pith.run(`message ${index}`)));
    expect(turns.map(({ reason }) => reason)).toEqual(turns.map(() => 'done'));
    expect(model.requests.map(({ messages }) => messages.length)).toEqual(Array.from({ length: MESSAGES }, (_, index) => index * 2 + 1));
  });

  it('messages at once in one thread: who waits is served before who comes when the thread becomes free', async () => {
    const model = scriptedModel(Array.from({ length: MESSAGES }, () => ({ text: 'ok' })));
    const pith = await kernelOf({ model, only: REMEMBER });
    let current = pith.run('message 0');
    for (let at = 1; at < MESSAGES; at++) {
      const waiting = pith.run(`message ${at}`);
      await current;
      current = waiting;
    }
    await current;
    const said = model.requests.map(({ messages }) => /message \d+/u.exec(JSON.stringify(messages.at(-1)))?.[0]);
    expect(said).toEqual(Array.from({ length: MESSAGES }, (_, at) => `message ${at}`));
  });

  it('boot, services, a turn with a tool, a reload and stop leave nothing behind', async () => {
    const once = async () => {
      const pith = await testKernel({
        model: scriptedModel([{ calls: [{ name: 'chime', input: {} }] }, { text: 'ok' }]),
        files: toolExtension('bells', 'chime', "'ding'"),
      });
      await pith.kernel.start();
      expect((await pith.run('hello')).results[0]).toMatchObject({ ok: true });
      await pith.kernel.host.extensions.reload('bells');
      await pith.stop();
    };
    await once(); // what is loaded once stays
    await expectNoLeaks(once);
  });
});

function answer(request: ModelRequest): ScriptedReply {
  const last = request.messages.at(-1);
  const [nonce] = JSON.stringify(last).match(NONCE) ?? [];
  if (last?.role === 'user') return { calls: [{ name: 'echo', input: { text: nonce ?? 'nothing' } }] };
  return { text: [`heard echo of ${nonce}`] };
}
