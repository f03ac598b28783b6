import { probeSandboxing } from '@pith/supervised-process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { JsonValue } from 'pith';
import { scriptedModel, type ScriptedStep } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { answered, answerFirst } from '../../answers.ts';
import { bench, CITY_TIME, passed, type Bench } from './bench.ts';

const call =
  (name: string, input: () => Readonly<Record<string, JsonValue>>): ScriptedStep =>
  () => ({ calls: [{ name, input: input() }] });

const isActive = ({ test }: Bench, id: string) => existsSync(path.join(test.sandbox, 'extensions', id));
const EVIL = {
  'manifest.yaml':
    'id: second\nversion: 1.0.0\nentrypoint: main.ts\nprovides: [tool]\nsecrets: [AWS_SECRET_ACCESS_KEY]\npermissions: { network: true, read: ["~/.ssh"], write: ["~/"] }\n',
  'main.ts': CITY_TIME['main.ts'],
};

/** What a person reads of it: where nothing confines it, what it asks for is no limit. */
const { available } = await probeSandboxing();
const ASKED = available
  ? /secrets: AWS_SECRET_ACCESS_KEY\nnetwork: everything[^\n]*\nreads: ~\/\.ssh\nwrites: ~\//
  : /^It will run not sandboxed[^\n]*\nnetwork and files: not limited here[^\n]*\nsecrets: AWS_SECRET_ACCESS_KEY\n/;

describe('a yes to an activation is for those very files', () => {
  it('T18 F12: always is refused, and a second activation that asks for network and keys is asked about', async () => {
    const digests = new Map<string, string>();
    const activate = (id: string) => call('activate_extension', () => ({ id, digest: digests.get(id) ?? '' }));
    const made = await bench({ model: scriptedModel([activate('city_time'), activate('second')]) });
    await made.stage('city_time', CITY_TIME);
    await made.stage('second', EVIL);
    for (const id of ['city_time', 'second']) digests.set(id, await passed(made, id));
    const first = await made.test.run('go', { agent: 'builder_agent' });
    expect(first.events).toContainEqual(expect.objectContaining({ type: 'approval-request', once: true }));
    await expect(answerFirst(made.test, 'always')).rejects.toMatchObject({ code: 'not_allowed' });
    expect(isActive(made, 'city_time')).toBe(false);
    expect((await answered(made.test, 'once', { agent: 'builder_agent' })).reason).toBe('awaiting_approval');
    expect([isActive(made, 'city_time'), isActive(made, 'second')]).toEqual([true, false]);
    expect(await made.test.kernel.approvals.list()).toMatchObject([{ always: null, details: expect.stringMatching(ASKED) }]);
  });

  it('T18 F14: what stands in the place by the time of the call is part of it', async () => {
    const made = await bench({ model: scriptedModel([]) });
    await made.stage('city_time', CITY_TIME);
    const input = { id: 'city_time', digest: await passed(made) };
    const question = await made.question('activate_extension', input);
    await made.test.write('extensions/city_time/manifest.yaml', 'id: city_time\n');
    const subject = question?.subject;
    expect(subject).toMatch(/^[0-9a-f]{64}$/);
    const late = await made.approved('activate_extension', input, subject);
    expect(late).toMatchObject({ ok: false, error: { code: 'approval_needed' } });
    expect(existsSync(path.join(made.test.sandbox, 'extensions/city_time/main.ts'))).toBe(false);
  });

  it('T18 F12: changing settings of an extension is never for always', async () => {
    const model = scriptedModel([call('configure_extension', () => ({ extension_id: 'kv', values: { mode: 'x' } }))]);
    const files = { 'agents/main/manifest.yaml': 'id: main\nagent:\n  description: Works.\n  uses_tools: [core_tools]\n' };
    const made = await bench({ model, files });
    await made.test.run('go', { agent: 'main' });
    expect(await made.test.kernel.approvals.list()).toMatchObject([{ tool: 'core_tools/configure_extension', always: null }]);
    await expect(answerFirst(made.test, 'always')).rejects.toMatchObject({ code: 'not_allowed' });
  });

  it('T18 F13: a source with a NUL is found by the check, with file and place, refused by the bundler, and never activated', async () => {
    const made = await bench({
      files: {
        'extensions/dropped/manifest.yaml': 'id: dropped\nentrypoint: main.ts\nprovides: [tool]\n',
        'extensions/dropped/main.ts': `// \0\n${CITY_TIME['main.ts']}`,
      },
    });
    await made.stage('city_time', { ...CITY_TIME, 'main.ts': `// \0\n${CITY_TIME['main.ts']}`, 'notes.txt': 'bad \0' });
    const result = await made.call('check_extension', { id: 'city_time' });
    expect(result).toMatchObject({ ok: true, output: { ok: false } });
    const text = JSON.stringify(result);
    expect(text).toMatch(/is not text at byte 3[^}]*city_time\/main\.ts/);
    expect(text).toMatch(/is not text at byte 4[^}]*city_time\/notes\.txt/);
    expect(text).toMatch(/main\.ts:1: is not text at byte 3; write it as UTF-8/);
    const digest = await passed(made); // as if it had passed
    expect(await made.call('activate_extension', { id: 'city_time', digest })).toMatchObject({
      ok: false,
      error: { code: 'not_allowed', message: expect.stringContaining("'main.ts' is not text at byte 3") },
    });
    expect(isActive(made, 'city_time')).toBe(false);
    await expect(made.test.kernel.host.providers.tools.of('dropped')).rejects.toThrow(/main\.ts:1: is not text at byte 3/);
  });
});
