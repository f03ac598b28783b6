import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startOpenAiServer, type OpenAiServer } from '../fixtures/openai-server.ts';
import { agentFile, bare } from './sandbox-files.ts';
import { pithHere } from './pith-here.ts';
import { linesOf, projectFolder, runPith, startPith, type Folder } from './pith-process.ts';

let server: OpenAiServer;
let folder: Folder;

beforeEach(async () => {
  server = await startOpenAiServer();
  folder = await projectFolder({
    ...bare(['cli_channel', 'openai_compatible'], { default_agent: 'keeper', approvals: { tools: ['kv/kv_set'] }, extensions: { kv: {} } }),
    'agents/keeper/manifest.yaml': agentFile('keeper', { uses_tools: ['kv'] }),
  });
});
afterEach(async () => {
  await server.close();
  await folder.remove();
});

const options = () => ({ cwd: folder.path, env: { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'sk-test', PITH_MODEL: 'openai/test' } });
const pith = (...argv: string[]) => pithHere(argv, options());
const json = async (...argv: string[]) =>
  JSON.parse((await pith(...argv, '--json')).out) as Record<string, unknown> & Record<string, unknown>[];
const set = (value: string) => ({ calls: [{ name: 'kv_set', input: { key: 'colour', value } }] });
const say = (text: string, ...more: string[]) => pith('chat', '-p', text, '--thread', 'talk', ...more);
const bodies = () => server.requests.filter(({ method }) => method === 'POST').map(({ body }) => body);

describe('approvals from any terminal', () => {
  it('K50 U13 a question is kept, listed with its shape, answered by another process, and the turn goes on there', async () => {
    server.script(set('blue'), { text: 'It is blue now.' });
    const asked = await say('make it blue', '--json');
    expect(asked.code, asked.err).toBe(1);
    const events = linesOf(asked.out);
    expect(events.at(-1)).toMatchObject({ type: 'turn-end', reason: 'awaiting_approval' });
    const question = events.find(({ type }) => type === 'approval-request')!;

    const [open] = await json('approvals');
    expect(open).toEqual({
      number: 1,
      id: question['id'],
      tool: 'kv/kv_set',
      input: { key: 'colour', value: 'blue' },
      digest: question['digest'],
      agents: ['keeper'],
      thread: 'talk',
      summary: 'run kv_set of kv',
      covers: 'every call of kv_set',
      expiresAt: expect.any(Number),
      ships: true,
      answers: ['once', 'always', 'no'], // the home folder is no project
    });
    const shown = await pith('approvals', '1');
    expect(shown.out).toMatch(/run kv_set of kv\n.*value: "blue"\n  always covers: every call of kv_set\n  question 1 \(/su);

    const approved = await runPith(['approvals', 'approve', '1'], options());
    expect(approved.code, approved.err).toBe(0);
    expect(approved.out).toMatch(/Run kv_set of kv: allowed once.*It is blue now\./su);
    expect(await json('approvals')).toEqual([]);
    expect(JSON.stringify(bodies().at(-1)!.messages)).toContain('colour');

    const again = await pith('approvals', 'reject', String(open!['id']));
    expect(again.code).toBe(1);
    expect(again.err).toMatch(/no longer open: answered by local: once/u);
  });

  it('K50 kill -9 while a turn waits loses nothing: it is answered and goes on afterwards', async () => {
    server.script(set('green'), { text: 'never heard', stallAfter: 1 });
    const chat = startPith(['chat', '--lines', '--json', '--thread', 'talk'], { ...options(), input: null });
    chat.child.stdin.write('make it green\n');
    await expect.poll(() => chat.out()).toContain('awaiting_approval');
    chat.child.kill('SIGKILL');
    await chat.ended;
    const [open] = await json('approvals');
    const first = startPith(['approvals', 'approve', String(open!['id'])], options());
    await expect.poll(() => bodies().length).toBe(2);
    first.child.kill('SIGKILL'); // in the middle of going on
    await first.ended;
    server.script({ text: 'It is green.' });
    const resumed = await pith('chat', '--thread', 'talk', '--resume', '--json');
    expect(linesOf(resumed.out).at(-1)).toMatchObject({ reason: 'done', text: expect.stringContaining('It is green.') });
    expect((await pith('tools', 'call', 'kv_get', '--input', '{"key":"colour"}')).out).toContain('green');
  });

  it('K50 tools call asks on a terminal only: elsewhere it is refused with the cure', async () => {
    const call = ['tools', 'call', 'kv_set', '--input', '{"key":"a","value":"b"}'];
    const refused = await pith(...call);
    expect([refused.code, refused.err]).toEqual([1, expect.stringMatching(/'kv\/kv_set' needs your approval.*--approve/u)]);
    expect((await pith(...call, '--approve')).code).toBe(0);
  });
});
