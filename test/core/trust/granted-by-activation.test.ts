import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { openTrustFile, trustSandbox } from '../../../core/trust/index.ts';
import { askedTools } from '../../extensions/asked-tools.ts';
import { bench, CITY_TIME, passed, type Bench } from '../../extensions/extension_builder/bench.ts';
import { folderWith } from '../../places.ts';

let root: string;
let home: string;
let sandbox: string;
let made: Bench;

beforeEach(() => {
  root = folderWith({ 'home/.keep': '', 'project/sandbox/.keep': '' });
  home = path.join(root, 'home');
  sandbox = path.join(root, 'project/sandbox');
  trustSandbox(openTrustFile(home), sandbox);
});

const asking = { ...CITY_TIME, 'manifest.yaml': `${CITY_TIME['manifest.yaml']}secrets: [CITY_KEY]\npermissions: { network: true }\n` };
const open = (id: string) =>
  made.test.kernel.host.extensions
    .show(id)
    ?.asks.filter(({ withheld }) => withheld)
    .map(({ ask }) => ask);

describe('what a person agreed to', () => {
  it('T10: what an activation showed is given; the same files that were dropped in wait for pith extensions allow', async () => {
    made = await bench({ sandbox, home, accepts: false });
    await made.stage('city_time', asking);
    const activated = await made.call('activate_extension', { id: 'city_time', digest: await passed(made) });
    expect(activated).toMatchObject({ ok: true });
    expect(open('city_time')).toEqual([]);

    const { extensions } = made.test.kernel.host;
    await made.test.write('extensions/dropped/manifest.yaml', asking['manifest.yaml'].replaceAll('city_time', 'dropped'));
    await made.test.write('extensions/dropped/main.ts', asking['main.ts']);
    await extensions.refresh();
    expect(open('dropped')).toEqual(['network', 'secret CITY_KEY']);
    const status = extensions.show('dropped');
    expect(status).toMatchObject({ state: 'idle', manifest: { secrets: [], permissions: { network: false } } });
    expect(status?.notes).toContainEqual(
      expect.objectContaining({ code: 'not_agreed', message: expect.stringMatching(/^asks to .*pith extensions allow dropped/u) }),
    );

    made.test.kernel.trust.allow('dropped', ['network', 'secret CITY_KEY']);
    await extensions.refresh();
    expect(open('dropped')).toEqual([]);
    expect(extensions.show('dropped')?.manifest?.secrets).toEqual(['CITY_KEY']);
  });

  it('A3 a new guard that does not load is taken back with what was agreed to: it refuses nothing afterwards', async () => {
    made = await bench({ sandbox, home, accepts: false });
    await made.stage('city_time', {
      'manifest.yaml': CITY_TIME['manifest.yaml'].replace('tool', 'guard'),
      'main.ts': `if (!import.meta.url.includes('probes')) throw new Error('only in trials');
export default class { beforeToolCall() { return null; } }`,
    });
    const result = await made.call('activate_extension', { id: 'city_time', digest: await passed(made) });
    expect(result).toMatchObject({ ok: false, error: { message: expect.stringContaining('it was removed again') } });
    expect(openTrustFile(home).read().grants[sandbox]).toEqual({});
    expect(made.test.kernel.host.extensions.show('city_time')).toBeNull();
  });

  it('T10: what is taken back is taken from a version that stands in for a broken manifest, too', async () => {
    made = await bench({ sandbox, home, accepts: false });
    const { kernel } = made.test;
    await made.stage('city_time', asking);
    await made.call('activate_extension', { id: 'city_time', digest: await passed(made) });
    await made.test.write('extensions/city_time/manifest.yaml', asking['manifest.yaml'].replace('provides', 'provids'));
    await kernel.host.extensions.refresh();
    expect(kernel.host.extensions.show('city_time')).toMatchObject({ state: 'active', phase: 'reload' });
    openTrustFile(home).change((record) => ({ ...record, grants: {} }));
    await kernel.host.extensions.refresh();
    expect(kernel.host.extensions.show('city_time')).toMatchObject({ state: 'failed', phase: 'validate' });
    await expect(kernel.host.providers.tools.of('city_time')).rejects.toMatchObject({ code: 'provider_unavailable' });
  });

  it('T10: an ordinary extension that is dropped in needs no question, and its edits are live', async () => {
    made = await bench({ sandbox, home, accepts: false });
    await made.test.write('extensions/city_time/manifest.yaml', CITY_TIME['manifest.yaml']);
    await made.test.write('extensions/city_time/main.ts', CITY_TIME['main.ts']);
    await made.test.kernel.host.extensions.refresh();
    expect(open('city_time')).toEqual([]);
    expect(made.test.kernel.host.extensions.show('city_time')?.notes).not.toContainEqual(expect.objectContaining({ code: 'not_agreed' }));
    expect(await askedTools(made.test, 'city_time').call('city_time', { city: 'Rome' })).toMatchObject({ ok: true });
  });
});
