import { probeSandboxing } from '@pith/supervised-process';
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { JsonValue } from 'pith';
import { beforeEach, describe, expect, it } from 'vitest';
import { stateFolder } from '@pith/safe-files';
import { digestOf, readSources } from '../../../sandbox/extensions/extension_builder/sources.ts';
import { TURN } from '../../fixtures/agent-spec.ts';
import { askedTools } from '../asked-tools.ts';
import { bench, CITY_TIME, passed, toolSource, type Bench } from './bench.ts';

let made: Bench;
beforeEach(async () => void (made = await bench({ files: { 'agents/traveller/manifest.yaml': TRAVELLER } })));

const TRAVELLER = '# who travels\nid: traveller\nagent:\n  description: Travels.\n  uses_tools: [core_tools]\n';

const activate = async (more: object = {}) => made.call('activate_extension', { id: 'city_time', digest: await passed(made), ...more });
const askTime = () => askedTools(made.test, 'city_time').call('city_time', { city: 'Rome' });

// The kernel offers `extensions reload` to extensions in its own process only.
describe('the tools of the builder', () => {
  it('K72 stages from a template, checks it and says what a person must decide', async () => {
    const path = '.staging/extensions/my_dice';
    const staged = await made.call('stage_extension', { id: 'my_dice', kind: 'tool' });
    expect(staged).toMatchObject({ ok: true, output: { path, files: [`${path}/main.ts`, `${path}/manifest.yaml`] } });
    expect(await made.read(`${path}/manifest.yaml`)).toContain('id: my_dice');
    expect(await made.read(`${path}/main.ts`)).toContain('class MyDice');
    const result = await made.call('check_extension', { id: 'my_dice' });
    expect(result).toMatchObject({ ok: true, output: { ok: true, tools: [{ name: 'my_dice_greet' }] } });
    const { digest } = (result as unknown as { output: { digest: string } }).output;
    expect(await made.question('activate_extension', { id: 'my_dice', digest })).toMatchObject({
      summary: 'activate the new extension my_dice',
    });
  });

  it('K72 activates what was checked, and its tool can be used at once', async () => {
    await made.stage('city_time', CITY_TIME);
    const given = { version: 1, before: null, given_to: ['traveller'] };
    expect(await activate({ give_to: ['traveller'] })).toMatchObject({ ok: true, output: given });
    expect(await askTime()).toMatchObject({ ok: true, output: { city: 'Rome', time: '12:00' } });
    expect(await made.read('agents/traveller/manifest.yaml')).toBe(TRAVELLER.replace('[core_tools]', '[core_tools, city_time]'));
    expect((await readdir(path.join(made.test.sandbox, 'extensions'))).sort()).toEqual(['city_time']);
  });

  it('K72 refuses other bytes than those that were checked, and says so in its question', async () => {
    await made.stage('city_time', CITY_TIME);
    const digest = await passed(made);
    const asks = (input: JsonValue) => made.question('activate_extension', input);
    const question = await asks({ id: 'city_time', digest, give_to: ['traveller'] });
    expect(question).toMatchObject({
      once: true,
      summary: 'activate the new extension city_time',
      text: expect.stringMatching(/uses_tools will name it: traveller[\s\S]*\+\+\+ b\/main\.ts[\s\S]*\+export default class CityTime/),
    });
    await made.stage('city_time', { 'main.ts': toolSource("return 'other';") });
    expect(await asks({ id: 'city_time', digest })).toMatchObject({
      text: expect.stringContaining('will be refused: the staged files are not those with this digest'),
    });
    expect(await made.call('activate_extension', { id: 'city_time', digest })).toMatchObject({ ok: false, error: { code: 'not_checked' } });
    expect(existsSync(path.join(made.test.sandbox, 'extensions/city_time'))).toBe(false);
  });

  it('K72 takes back a version that does not load, and names the reason', async () => {
    await made.stage('city_time', CITY_TIME);
    await activate();
    const inTrials = "import fs from 'node:fs';\nif (!import.meta.url.includes('probes')) throw new Error('only in trials');";
    await made.stage('city_time', { 'main.ts': toolSource("return 'new';", inTrials) });
    const message = expect.stringMatching(/only in trials.*version 1 is active again/);
    expect(await activate()).toMatchObject({ ok: false, error: { code: 'activation_failed', message } });
    expect(await askTime()).toMatchObject({ ok: true, output: { time: '12:00' } });
    expect(await made.read('extensions/city_time/main.ts')).toBe(CITY_TIME['main.ts']);
  });

  it('K72 takes back by itself what fails while it is watched', async () => {
    await made.stage('city_time', CITY_TIME);
    await activate();
    await made.stage('city_time', { 'main.ts': toolSource("if (city === 'Rome') throw new Error('no Rome'); return { city };") });
    expect(await activate()).toMatchObject({ ok: true, output: { version: 2, before: 1 } });
    const back = new Promise((done) => made.test.kernel.events.handle('extension.reloaded', done));
    expect(await askTime()).toMatchObject({ ok: false, error: { code: 'tool_failed' } });
    await back;
    await expect.poll(() => made.read('extensions/city_time/main.ts')).toBe(CITY_TIME['main.ts']);
    await expect.poll(askTime).toMatchObject({ ok: true, output: { time: '12:00' } });
  });

  it('K72 rolls back to a version', async () => {
    for (let number = 1; number <= 2; number += 1) {
      await made.stage('city_time', { ...CITY_TIME, 'main.ts': toolSource(`return ${number};`) });
      expect(await activate()).toMatchObject({ ok: true, output: { version: number } });
    }
    const backTo = (more: object) => made.call('rollback_extension', { id: 'city_time', ...more });
    // A person agrees to a version, not to whichever it is then.
    expect(await backTo({})).toMatchObject({ ok: false, error: { code: 'tool_input_invalid' } });
    expect(await backTo({ version: 1 })).toMatchObject({ ok: true, output: { version: 1, before: 2 } });
    expect(await askTime()).toMatchObject({ ok: true, output: 1 });
    expect(await backTo({ version: 2 })).toMatchObject({ ok: true });
    expect(await askTime()).toMatchObject({ ok: true, output: 2 });
    const message = expect.stringContaining('choose one of 1, 2');
    expect(await backTo({ version: 3 })).toMatchObject({ ok: false, error: { code: 'not_found', message } });
  });

  it('K72 finishes after a kill what had begun: a half exchange ends with a whole version', async () => {
    await made.stage('city_time', CITY_TIME);
    await activate();
    const { sandbox, kernel } = made.test;
    const journal = path.join(kernel.settings.data_dir, 'extensions/extension_builder/switches/city_time.json');
    expect(existsSync(journal)).toBe(true); // still watched
    const half = { id: 'city_time', from: 1, to: 2, digest: 'x', agents: [], threadId: null, userId: null };
    await writeFile(journal, JSON.stringify(half));
    const [active, staged] = [path.join(sandbox, 'extensions/city_time'), path.join(sandbox, 'extensions/.staging/killed')];
    const change = { folder: 'city_time', id: '', from: 'city_time', entry: null, old: digestOf(await readSources(active)), next: 'x' };
    const exchanges = stateFolder(kernel.settings.data_dir, 'extensions', 'extension_builder', 'exchanges');
    await exchanges.write('killed.json', JSON.stringify({ root: path.join(sandbox, 'extensions'), changes: [change] }));
    mkdirSync(path.join(staged, 'old'), { recursive: true });
    renameSync(active, path.join(staged, 'old/0'));
    await made.test.restart();
    await made.test.kernel.start();
    await expect.poll(() => existsSync(journal)).toBe(false);
    expect(await made.read('extensions/city_time/main.ts')).toBe(CITY_TIME['main.ts']);
    expect(await readdir(path.join(sandbox, 'extensions'))).toEqual(['city_time']);
    expect(await askTime()).toMatchObject({ ok: true });
  });
});

it('T13 F3 K60 K72: a person is asked before a check where nothing holds the code that it runs, once for each conversation and extension', async () => {
  const { test, stage } = await bench({ files: { 'pith.yaml': 'extensions_sandbox: off\n' } });
  /** What the gate would show a person of that conversation; false: it asks nothing. */
  const question = (id: string, threadId = 'a', kernel = test.kernel) =>
    kernel.host.providers.tools.needsApproval('extension_builder', 'check_extension', { id }, { ...TURN, threadId });
  const check = (id: string, threadId: string) =>
    askedTools(test, 'extension_builder', { ...TURN, threadId }).approved('check_extension', { id });
  for (const id of ['first', 'second']) await stage(id, { 'manifest.yaml': `id: ${id}\n`, 'main.ts': CITY_TIME['main.ts'] });
  const asked = await question('first');
  expect(asked).toMatch(/runs the code and the tests in \.staging\/extensions\/first as you, .*because nothing confines it here/);
  expect(asked).toMatch(/the settings say extensions_sandbox: off/);
  expect(await question('first')).toMatch(/as you/); // a question is no answer
  expect(await check('first', 'a')).toMatchObject({ ok: true });
  expect(await question('first')).toBe(false);
  expect(await question('second')).toMatch(/second as you/);
  expect(await question('first', 'b')).toMatch(/first as you/);
  await test.remove('.staging/extensions/first'); // an answer holds, whatever the check then says
  expect(await check('first', 'b')).toMatchObject({ ok: false });
  expect(await question('first', 'b')).toBe(false);
  expect(await question('second', 'b')).toMatch(/second as you/);
  const { available } = await probeSandboxing();
  expect((await question('first', 'c', made.test.kernel)) === false).toBe(available);
});
