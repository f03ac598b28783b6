import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { answerFirst } from '../../answers.ts';
import { main, manifest } from '../../core/process/extension.ts';
import { ONLY, saveAs, savedKernel, type SavedKernel } from '../saved_skills/saved-kernel.ts';

const KEY = randomBytes(32).toString('base64');
const CANARY = 'canary-8842-quokka';
const OTHER = 'wombat-3317-told';
const set = { calls: [{ name: 'skill_data_set', input: { name: 'last', content: CANARY } }] };
const get = { calls: [{ name: 'skill_data_get', input: { name: 'last' } }] };

/** Every form in which a text may stand in a file. */
const forms = (text: string) =>
  [0, 1, 2]
    .map((at) =>
      Buffer.from(' '.repeat(at) + text)
        .toString('base64')
        .slice(at === 0 ? 0 : 4, -4),
    )
    .concat(text, Buffer.from(text).toString('hex'), [...text].reverse().join(''));

/** The files below a folder in which a text stands. */
function filesWith(folder: string, text: string): readonly string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => forms(text).some((form) => readFileSync(file).includes(form)))
    .map((file) => path.relative(folder, file));
}

const FIRST = [set, get, { text: `It is ${OTHER}.` }];
const AGAIN = [get, { text: `Again ${OTHER}.` }];

async function kept(env: Readonly<Record<string, string>>, script: Parameters<typeof savedKernel>[0], isEncrypted = true) {
  const kernel = await savedKernel(script, {
    only: [...ONLY, 'skill_vault'],
    env,
  });
  await saveAs(kernel, 'ada', 'memo', { system_prompt: 'x', tools: ['skill_data_set', 'skill_data_get'] });
  if (isEncrypted) await kernel.as('ada', 'saved encrypt memo on --yes');
  const ran = await kernel.as('ada', 'run memo');
  return { kernel, ran, data: path.join(kernel.pith.sandbox, 'data') };
}
const runId = ({ json }: Awaited<ReturnType<SavedKernel['as']>>) => (json as { id: string }).id;

describe('what is written down of runs of an encrypted skill', () => {
  it('S4 no file has what such a run wrote, read or said, in any form; where the skill is plain, the database has', async () => {
    const plain = await kept({}, FIRST, false);
    for (const text of [CANARY, OTHER]) expect(filesWith(plain.data, text).join()).toMatch(/pith\.db/u);
    const { kernel, ran, data } = await kept({ PITH_MASTER_KEY: KEY, PITH_LOG: 'debug' }, [...FIRST, ...AGAIN]);
    expect(ran.json).toMatchObject({ state: 'ok', output: `It is ${OTHER}.` });
    expect(JSON.stringify(kernel.model.requests.at(-1)?.messages)).toContain(CANARY);
    await kernel.as('ada', 'run memo');
    for (const text of [CANARY, OTHER]) expect(filesWith(data, text)).toEqual([]);
    await kernel.pith.kernel.stop();
    for (const text of [CANARY, OTHER]) expect(filesWith(data, text)).toEqual([]);
  });

  it('S4 runs show tells the result with the key, also a new one, and nothing of it without', async () => {
    const { kernel, ran } = await kept({ PITH_MASTER_KEY: KEY }, [...FIRST, ...AGAIN]);
    const id = runId(ran);
    expect((await kernel.as('ada', 'saved rotate-key memo')).code).toBe(0);
    expect((await kernel.as('ada', `runs show ${id}`)).json).toMatchObject({ output: `It is ${OTHER}.` });
    await kernel.as('ada', 'run memo');
    const thread = (await kernel.pith.kernel.threads.load(`runs/${id}`))?.messages ?? [];
    expect(thread.map(({ message }) => message.role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant']);
    expect(JSON.stringify(thread)).not.toMatch(new RegExp(`${CANARY}|${OTHER}`, 'u'));
    await kernel.pith.kernel.stop();
    const locked = await savedKernel([], { only: [...ONLY, 'skill_vault'], sandbox: kernel.pith.sandbox, env: {} });
    const { text, json } = await locked.as('ada', `runs show ${id}`);
    expect(json).toMatchObject({ state: 'ok', output: null, sealed: expect.stringContaining('PITH_MASTER_KEY is not set') });
    expect(JSON.stringify([text, json, (await locked.as('ada', 'runs list')).json])).not.toMatch(new RegExp(`${CANARY}|${OTHER}`, 'u'));
    const refused = await locked.as('ada', 'run memo');
    expect(refused.json).toMatchObject({ state: 'error', error: { code: 'key_unavailable' } });
  });

  it('S4 saved rotate-key says first what is wrong with the words, then with the skill, then with the key', async () => {
    const kernel = await savedKernel([], { only: [...ONLY, 'skill_vault'], env: {} });
    await saveAs(kernel, 'ada', 'memo', { system_prompt: 'x' });
    for (const [words, error, said] of [
      ['', 'usage', 'the skill is missing'],
      [' --accept', 'usage', 'the skill is missing'],
      [' memo --master', 'usage', '--master is for all skills, and one is named'],
      [' --master --accept', 'usage', '--accept is for one skill'],
      [' meno', 'not_found', "there is no saved skill 'meno'"],
      [' memo', 'key_unavailable', 'nothing can be encrypted: PITH_MASTER_KEY is not set'],
    ] as const)
      expect(await kernel.as('ada', `saved rotate-key${words}`)).toMatchObject({ error, message: expect.stringContaining(said) });
  });

  it('S4 such a run that waits for an answer goes on with what it read, also over a restart; the question alone is plain', async () => {
    const ask = `getTools() { return [defineTool({ name: 'pay', description: 'd', input: z.object({}), permission: { authoring: 'anyone' }, needsApproval: true, execute: () => 'paid' })]; }`;
    const files = { ...manifest('asks', { provides: ['tool'], isolation: 'in_process' }), ...main('asks', ask) };
    const script = [set, get, { calls: [{ name: 'pay', input: {} }] }, { text: OTHER }];
    const kernel = await savedKernel(script, { only: [...ONLY, 'skill_vault'], env: { PITH_MASTER_KEY: KEY }, files });
    await saveAs(kernel, 'ada', 'buy', { system_prompt: 'x', tools: ['skill_data_set', 'skill_data_get', 'asks/pay'] });
    await kernel.as('ada', 'saved encrypt buy on --yes');
    const id = runId(await kernel.as('ada', 'run buy --background'));
    const shown = async () => (await kernel.as('ada', `runs show ${id}`)).json;
    await expect.poll(shown).toMatchObject({ state: 'waiting' });
    await kernel.restart();
    await answerFirst(kernel.pith, 'once');
    await expect.poll(shown).toMatchObject({ state: 'ok', output: OTHER });
    expect(JSON.stringify(kernel.model.requests.at(-1)?.messages)).toContain(CANARY);
    for (const text of [CANARY, OTHER]) expect(filesWith(path.join(kernel.pith.sandbox, 'data'), text)).toEqual([]);
  });
});
