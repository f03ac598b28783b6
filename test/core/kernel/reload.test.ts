import { contextSources } from '../../../core/agent/index.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { SkillProvider } from '../../../core/contract/index.ts';
import { fakeClock } from 'pith/testing';
import { createReloadWatch, type Host, openReloadRequests } from '../../../core/kernel/index.ts';
import { callTool, testSandbox, type TestSandbox, toolClass } from './extensions.ts';
import { folderWith } from '../../places.ts';
import { gate, passed, until } from '../../waiting.ts';

let sandbox: TestSandbox;
beforeEach(() => void (sandbox = testSandbox()));

const log = (): string[] => ((globalThis as { reloadLog?: string[] }).reloadLog ??= []);
const work = (host: Host, id = 'it') => callTool(host, id);

/** A kernel in which the extension `it` runs, whose class this is. */
async function running(body: string, options: Parameters<TestSandbox['host']>[0] = {}): Promise<Host> {
  await sandbox.extension('it', 'tool', body);
  const host = await sandbox.host(options);
  await work(host);
  return host;
}

describe('reload', () => {
  it('K20 takes an edit of a helper file, fresh, without a restart', async () => {
    await sandbox.write('extensions/it/value.ts', 'export const value = 1;');
    await sandbox.extension('it', 'tool', `import { value } from './value.ts';\n${toolClass('return value;')}`);
    const host = await sandbox.host();
    expect(await work(host)).toEqual({ ok: true, output: 1 });
    await sandbox.write('extensions/it/value.ts', 'export const value = 2;');
    expect([...(await host.extensions.refresh())]).toEqual(['it']);
    expect(await work(host)).toEqual({ ok: true, output: 2 });
    expect(host.extensions.show('it')).toMatchObject({ state: 'active', generation: 2 });
    expect((await host.extensions.refresh()).size).toBe(0);
  });

  it.each([
    ['a syntax error', 'export default class {{'],
    ['a constructor that throws', toolClass('return 2;', 'constructor() { throw new Error("broke"); }')],
    ['a method that is misspelt', 'export default class { getTool() { return []; } }'],
    ['what throws when it is imported', 'throw new Error("broke");'],
  ])('K20 keeps the old version running over %s, which never stopped', async (_, broken) => {
    log().length = 0;
    const host = await running(toolClass('return 1;', 'stop() { globalThis.reloadLog.push("stopped"); }'));
    await sandbox.edit(host, 'it', 'tool', broken);
    expect(await work(host)).toEqual({ ok: true, output: 1 });
    expect(log()).toEqual([]);
    expect(host.extensions.show('it')).toMatchObject({
      state: 'active',
      phase: 'reload',
      message: expect.stringContaining('still running the previous one'),
    });
    await sandbox.edit(host, 'it', 'tool', toolClass('return 3;'));
    expect(await work(host)).toEqual({ ok: true, output: 3 });
    expect(host.extensions.show('it')?.phase).toBeUndefined();
  });

  it('K20 shows a reload that failed until one succeeds, whatever fails after it', async () => {
    const host = await running(toolClass('throw new Error("no luck");'));
    await sandbox.edit(host, 'it', 'tool', 'export default class {{');
    await work(host);
    expect(host.extensions.failures().at(-1)).toMatchObject({ code: 'tool_failed' });
    expect(host.extensions.show('it')).toMatchObject({ state: 'active', phase: 'reload' });
    await sandbox.edit(host, 'it', 'tool', toolClass('return 3;'));
    expect(host.extensions.show('it')?.phase).toBeUndefined();
  });

  it('K20 keeps the old version over a broken manifest, and its dependents too', async () => {
    await sandbox.extension('it', 'tool', toolClass('return 1;'));
    await sandbox.extension('user', 'tool', toolClass('return 2;'), 'depends_on: [it]');
    const host = await sandbox.host();
    await host.extensions.activateAll();
    await sandbox.rewrite(host, 'extensions/it/manifest.yaml', 'id: it\nentrypointt: main.ts\n');
    expect(host.extensions.show('it')).toMatchObject({ state: 'active', phase: 'reload' });
    expect(await work(host)).toEqual({ ok: true, output: 1 });
    expect(await work(host, 'user')).toEqual({ ok: true, output: 2 });
  });

  it('K20 brings the old version back when the new one fails to initialise', async () => {
    log().length = 0;
    const logged = (name: string, body = '') =>
      `async initialize() { globalThis.reloadLog.push("init ${name}"); ${body} } stop() { globalThis.reloadLog.push("stop ${name}"); }`;
    const host = await running(toolClass('return 1;', logged('old')));
    await sandbox.edit(host, 'it', 'tool', toolClass('return 2;', logged('new', 'throw new Error("cannot");')));
    expect(await work(host)).toEqual({ ok: true, output: 1 });
    expect(log()).toEqual(['init old', 'stop old', 'init new', 'stop new', 'init old']);
    expect(host.extensions.show('it')).toMatchObject({ state: 'active', phase: 'reload', message: expect.stringContaining('cannot') });
  });

  it('K20 gives open calls five seconds, then ends them interrupted; later calls wait for the new version', async () => {
    const clock = fakeClock();
    const old =
      'return new Promise((resolve) => { globalThis.aborted = null; call.signal.addEventListener("abort", () => (globalThis.aborted = call.signal.reason.code)); });';
    await sandbox.extension('it', 'tool', toolClass(old));
    const host = await sandbox.host({ clock });
    await host.extensions.activate('it');
    const open = work(host);
    await sandbox.extension('it', 'tool', toolClass('return "new";'));
    const refreshed = host.extensions.refresh();
    await until(() => host.extensions.show('it')?.state !== 'active');
    const later = work(host);
    await clock.advance(4000);
    expect(await Promise.race([open, Promise.resolve('open')])).toBe('open');
    await clock.advance(1500);
    expect(await open).toMatchObject({ ok: false, error: { code: 'interrupted' } });
    expect((globalThis as { aborted?: string }).aborted).toBe('interrupted');
    await refreshed;
    expect(await later).toEqual({ ok: true, output: 'new' });
  });

  it('K20 keeps handles of dependents valid, and tells stopped when the provider is gone', async () => {
    const skills = (name: string) =>
      `export default class S { async getSkillContent() { throw new PithError('skill_not_found', '${name}'); } async listSkills() { return [{ id: '${name}' }]; } async validateSkill() { return []; } }`;
    await sandbox.extension('it', 'skill', skills('one'));
    const host = await sandbox.host();
    const handle = (await host.providers.active(SkillProvider))[0];
    expect(await handle?.listSkills()).toEqual([{ id: 'one' }]);
    await sandbox.edit(host, 'it', 'skill', skills('two'));
    expect(await handle?.listSkills()).toEqual([{ id: 'two' }]);
    expect(handle?.extensionId).toBe('it');
    expect(SkillProvider.missing(handle ?? {})).toEqual([]);
    await sandbox.remove('extensions/it');
    await host.extensions.refresh();
    await expect(handle?.listSkills()).rejects.toMatchObject({ code: 'stopped' });
    expect(await host.providers.active(SkillProvider)).toEqual([]);
  });

  it('K20 takes added, removed and disabled extensions and tells who changed', async () => {
    await sandbox.extension('it', 'tool', toolClass('return 1;'));
    const host = await sandbox.host();
    const changes: string[][] = [];
    const off = host.extensions.onChange((ids) => changes.push([...ids]));
    await sandbox.extension('added', 'tool', toolClass('return 2;'));
    await sandbox.rewrite(host, 'agents/someone/manifest.yaml', 'id: someone\nagent: { description: A }\n');
    expect(host.extensions.ids()).toEqual(['added', 'it']);
    expect(host.agents.declared().map(({ id, spec }) => [id, spec?.description])).toEqual([['someone', 'A']]);
    expect(changes).toEqual([['added', 'someone']]);
    await work(host, 'added');
    off();
    await sandbox.edit(host, 'added', 'tool', toolClass('return 2;'), 'enabled: false');
    expect(host.extensions.show('added')).toMatchObject({ state: 'disabled', generation: 0 });
    await sandbox.remove('extensions/added');
    await host.extensions.refresh();
    expect(host.extensions.show('added')).toBeNull();
    expect(host.extensions.state('added')).toBeUndefined();
  });

  it('K20 sees an edit in a turn that starts a second later, and does not look sooner', async () => {
    const clock = fakeClock();
    const host = await running(toolClass('return 1;'), { clock });
    await sandbox.extension('it', 'tool', toolClass('return 2;'));
    await host.refreshIfOlderThan(1000);
    expect(await work(host)).toEqual({ ok: true, output: 1 });
    await clock.advance(1000);
    await host.refreshIfOlderThan(1000);
    expect(await work(host)).toEqual({ ok: true, output: 2 });
  });

  it('K20 a message that follows a save waits a moment for the reload, whoever looked first', async () => {
    const host = await running(toolClass('return 1;'), { clock: fakeClock() });
    await sandbox.extension('it', 'tool', toolClass('return 2;'));
    const looking = host.extensions.refresh();
    await host.refreshIfOlderThan(1000);
    expect(await work(host)).toEqual({ ok: true, output: 2 });
    await looking;
  });

  it('K20 reloads when another process asks, by the poll alone', async () => {
    const clock = fakeClock();
    await sandbox.extension(
      'it',
      'tool',
      `globalThis.loadsK20 = (globalThis.loadsK20 ?? 0) + 1;\n${toolClass('return globalThis.loadsK20;')}`,
    );
    const running = await sandbox.host({ clock });
    await work(running);
    await running.watch();
    const terminal = await sandbox.host();
    expect(await terminal.extensions.reload('it')).toMatchObject({ state: 'active', generation: 1 });
    await clock.advance(5000);
    await until(() => running.extensions.show('it')?.generation !== 1);
    expect(running.extensions.show('it')).toMatchObject({ state: 'active', generation: 2 });
    expect(terminal.extensions.show('it')).toMatchObject({ generation: 1 });
  });

  it('K20 takes no request of another process once it closes, also where a look ends later', async () => {
    const clock = fakeClock();
    const places = { dataDirectory: folderWith() };
    const reloaded: string[] = [];
    const looks: ReturnType<typeof gate>[] = [];
    const refresh = {
      async look() {
        looks.push(gate());
        return { ids: new Set<string>(), settled: looks.at(-1)!.opened };
      },
      reloadByHand: async (id: string) => void reloaded.push(id),
    } as unknown as Parameters<typeof createReloadWatch>[1];
    const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const lifecycle = { runtime: { clock, places, logger: () => logger } } as unknown as Parameters<typeof createReloadWatch>[0];
    const watch = createReloadWatch(lifecycle, refresh, []);
    const terminal = openReloadRequests(places.dataDirectory);
    await watch.begin();
    for (const id of ['before', 'after']) {
      await terminal.ask(id);
      const former = looks.length;
      await until(async () => (await clock.advance(5000), looks.length > former));
      if (id === 'after') await watch.close();
      for (const { open } of looks) open();
      await clock.advance(0);
    }
    expect(reloaded).toEqual(['before']);
  });

  it('K20 looks at once when a folder changes', async () => {
    const host = await running(toolClass('return 1;'));
    await host.watch();
    const edit = async () => {
      if (host.extensions.show('it')?.generation !== 1) return true;
      await sandbox.extension('it', 'tool', toolClass('return 2;')); // again and again: nothing tells when the watcher stands
      return false;
    };
    await until(edit, 15_000, 400);
    expect(await work(host)).toEqual({ ok: true, output: 2 });
  });

  it('gives what failed another chance by hand, and says not_found for what nothing declares', async () => {
    await sandbox.extension('it', 'tool', toolClass('return 1;', 'constructor() { if (globalThis.failIt) throw new Error("broke"); }'));
    const state = globalThis as { failIt?: boolean };
    state.failIt = true;
    const host = await sandbox.host();
    expect(await work(host)).toMatchObject({ error: { code: 'tool_gone', message: expect.stringContaining('broke') } });
    state.failIt = false;
    expect(await work(host)).toMatchObject({ error: { code: 'tool_gone' } });
    expect(await host.extensions.reload('it')).toMatchObject({ state: 'active' });
    expect(await work(host)).toEqual({ ok: true, output: 1 });
    await expect(host.extensions.reload('itt')).rejects.toMatchObject({ code: 'not_found', message: expect.stringContaining("'it'") });
  });

  it('use 6: the last good version goes on with its tools and contexts as it declared them, until the new one is valid', async () => {
    const manifest = 'id: it\nentrypoint: main.ts\nprovides: [tool, context]\n';
    const both = (n: number) => toolClass(`return ${n};`, 'contextPriority = 1; getContext() { return "context"; }');
    await sandbox.extension('it', 'tool, context', both(1));
    await sandbox.extension('user', 'tool', toolClass('return "used";'), 'depends_on: [it]');
    const host = await sandbox.host();
    await work(host);
    await sandbox.rewrite(host, 'extensions/it/manifest.yaml', manifest.replace('provides', 'provids'));
    expect((await host.providers.tools.of('it')).map(({ name }) => name)).toEqual(['work']);
    expect((await contextSources(host)).map(({ extensionId }) => extensionId)).toEqual(['it']);
    expect(await work(host)).toEqual({ ok: true, output: 1 });
    expect(await work(host, 'user')).toEqual({ ok: true, output: 'used' }); // it was at rest, and what it needs runs
    expect(host.extensions.show('it')).toMatchObject({
      state: 'active',
      provides: ['tool', 'context'],
      phase: 'reload',
      message: expect.stringContaining('New version is invalid; still running the previous one'),
    });
    await sandbox.edit(host, 'it', 'tool, context', both(2));
    expect(await work(host)).toEqual({ ok: true, output: 2 });
    expect(host.extensions.show('it')?.phase).toBeUndefined();
  });

  it.each([
    ['a misspelt key', 'provids: [tool]'],
    ['a dependency that nothing declares', 'provides: [tool]\ndepends_on: [nope]'],
  ])('use 6: what was valid and never loaded keeps its tools over %s, with the code that an approval is bound to', async (_, broken) => {
    await sandbox.extension('it', 'tool', toolClass('return 1;'));
    const host = await sandbox.host();
    const source = host.extensions.sourceOf('it');
    await sandbox.rewrite(host, 'extensions/it/manifest.yaml', `id: it\nentrypoint: main.ts\n${broken}\n`);
    expect(host.extensions.show('it')).toMatchObject({
      state: 'idle',
      phase: 'reload',
      message: expect.stringContaining('New version is invalid'),
    });
    expect((await host.providers.tools.of('it')).map(({ name }) => name)).toEqual(['work']);
    expect(await work(host)).toEqual({ ok: true, output: 1 });
    expect(host.extensions.sourceOf('it')).toBe(source);
    await sandbox.edit(host, 'it', 'tool', toolClass('return 2;'));
    expect(await work(host)).toEqual({ ok: true, output: 2 });
    expect(host.extensions.show('it')?.phase).toBeUndefined();
  });

  it('use 6: what was never loaded does not stand in with other code than it was declared with, nor once its folder was gone', async () => {
    const broken = 'id: it\nentrypoint: main.ts\nprovids: [tool]\n';
    await sandbox.extension('it', 'tool', toolClass('return 1;'));
    const host = await sandbox.host();
    await sandbox.write('extensions/it/main.ts', toolClass('return 2;'));
    await sandbox.rewrite(host, 'extensions/it/manifest.yaml', broken);
    expect(host.extensions.show('it')).toMatchObject({ state: 'failed', phase: 'validate', message: expect.stringContaining("'provids'") });
    expect(await work(host)).toMatchObject({ error: { code: 'tool_gone' } });
    await sandbox.edit(host, 'it', 'tool', toolClass('return 3;'));
    await sandbox.remove('extensions/it');
    await host.extensions.refresh();
    await sandbox.extension('it', 'tool', toolClass('return 3;'));
    await sandbox.rewrite(host, 'extensions/it/manifest.yaml', broken);
    expect(host.extensions.show('it')).toMatchObject({ state: 'failed', phase: 'validate' });
  });

  it('B4: an approval is bound to the code that runs, not to the one that failed to load', async () => {
    const host = await running(toolClass('return 1;'));
    const source = host.extensions.sourceOf('it');
    await sandbox.edit(host, 'it', 'tool', 'export default class {{');
    expect(await work(host)).toEqual({ ok: true, output: 1 });
    expect(host.extensions.sourceOf('it')).toBe(source);
    await sandbox.edit(host, 'it', 'tool', toolClass('return 2;'));
    expect(host.extensions.sourceOf('it')).not.toBe(source);
  });

  it('B11: a folder that is removed and back within the drain, as a checkout does it, leaves one version alive', async () => {
    const clock = fakeClock();
    log().length = 0;
    const own = (n: number) =>
      toolClass(
        `if (input.n) return new Promise(() => {}); return ${n};`,
        `initialize() { globalThis.reloadLog.push('begins ${n}'); } stop() { globalThis.reloadLog.push('ends ${n}'); }`,
      );
    await sandbox.extension('it', 'tool', own(1));
    const host = await sandbox.host({ clock });
    await host.extensions.activate('it');
    const open = callTool(host, 'it', 'work', { n: 1 });
    await sandbox.remove('extensions/it');
    const removed = host.extensions.refresh();
    await until(() => host.extensions.state('it') === undefined);
    await sandbox.extension('it', 'tool', own(2));
    const back = host.extensions.refresh();
    await until(() => host.extensions.state('it') !== undefined);
    const later = work(host);
    await passed(clock, open, 500);
    expect(await open).toMatchObject({ error: { code: 'interrupted' } });
    expect(await later).toEqual({ ok: true, output: 2 });
    await Promise.all([removed, back]);
    expect(log()).toEqual(['begins 1', 'ends 1', 'begins 2']);
  });
});
