import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testKernel, type TestKernel } from 'pith/testing';
import { startAnthropicServer, type AnthropicServer } from '../../fixtures/anthropic-server.ts';

let server: AnthropicServer;
let kernel: TestKernel;
beforeEach(async () => {
  server = await startAnthropicServer();
  kernel = await testKernel({
    env: { ANTHROPIC_API_KEY: 'key-canary-123456', ANTHROPIC_BASE_URL: server.url, OPENAI_API_KEY: 'sk-other-123456' },
  });
});
afterEach(async () => {
  await kernel.stop();
  await server.close();
});

describe('a turn with a Claude model behind HTTP', () => {
  it('is chosen first among keys, runs parallel calls, and sends a system part whose bytes stay the same', async () => {
    server.script(
      {
        text: 'Looking. ',
        calls: [
          { id: 'a', name: 'list_skills', input: {} },
          { id: 'b', name: 'read_skill', input: { skill_id: 'code-review' } },
        ],
      },
      { text: 'Done.' },
      { text: 'Again.' },
    );
    expect(await kernel.run('What is there?')).toMatchObject({ reason: 'done', text: expect.stringContaining('Done.') });
    expect(await kernel.run('And now?')).toMatchObject({ reason: 'done', text: 'Again.' });
    const bodies = server.requests.map((request) => request.body);
    expect(bodies.map((body) => body.model)).toEqual(['claude-sonnet-4-5', 'claude-sonnet-4-5', 'claude-sonnet-4-5']);
    expect(new Set(bodies.map((body) => JSON.stringify([body.system, body.tools]))).size).toBe(1);
    expect(bodies[0]?.system?.at(-1)).toMatchObject({ cache_control: { type: 'ephemeral' } });
    const results = bodies[1]?.messages.at(-1)?.content ?? [];
    expect(results.map((part) => [part['type'], part['tool_use_id']])).toEqual([
      ['tool_result', 'a'],
      ['tool_result', 'b'],
    ]);
  });

  it('K61 ends with a clear error, without the key, when the key is refused', async () => {
    server.script({ status: 401, error: { message: 'invalid x-api-key key-canary-123456' } });
    const turn = await kernel.run('Hello');
    expect(turn).toMatchObject({ reason: 'error', error: { code: 'model_auth' } });
    expect(JSON.stringify(turn.events)).not.toContain('canary');
  });
});
