import { once } from 'node:events';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../waiting.ts';
import { linesOf, type PithOptions, type PithProcess, runPith, startPith } from './pith-process.ts';
import { bare } from './sandbox-files.ts';
import { HAS_TERMINALS, terminalChat } from './terminal-chat.ts';
import { freePort, ownFolder } from './until-test-ends.ts';

const ADDRESS = /^http:\/\/127\.0\.0\.1:(\d+)\/#code=([\w-]{43})$/mu;
const PAGE = ['cli_channel', 'http', 'rest_api', 'web_channel'];
const at = (port: number) => ({ extensions: { http: { isolation: 'in_process', port } } });

/** A project with the page, and a program in place of the system's opener, which records what it opens and ends with `code`. */
async function project(code = 0, port = 0) {
  const folder = await ownFolder(bare(PAGE, at(port)));
  const programs = path.join(folder.path, 'bin');
  const opened = path.join(folder.path, 'opened');
  await mkdir(programs);
  for (const name of ['xdg-open', 'open']) {
    await writeFile(path.join(programs, name), `#!/bin/sh\necho "$1" >> "${opened}"\nexit ${code}\n`);
    await chmod(path.join(programs, name), 0o755);
  }
  const options = { cwd: folder.path, env: { PATH: `${programs}:${process.env['PATH'] ?? ''}` } };
  return { folder, options, opened: () => readFile(opened, 'utf8').catch(() => '') };
}

/** `pith web`, which ends with the test. */
function startWeb(words: readonly string[], options: PithOptions): PithProcess {
  const web = startPith(['web', ...words], { ...options, input: null });
  onTestFinished(async () => {
    web.child.kill('SIGTERM');
    await web.ended;
  });
  return web;
}

/** What a browser does with the address: opens the page, and exchanges the code for a session. */
async function signIn(address: string): Promise<unknown> {
  const { origin, hash } = new URL(address.trim());
  expect(await (await fetch(`${origin}/`)).text()).toContain('<div id="page">');
  const body = JSON.stringify({ code: hash.slice('#code='.length) });
  const answer = await fetch(`${origin}/sign-in`, { method: 'POST', headers: { 'content-type': 'application/json', origin }, body });
  return answer.json();
}

it('W1 pith web serves where nothing listens, opens the page signed in, and ends with Ctrl-C; while it runs, pith web opens that server', async () => {
  const { options, opened } = await project();
  const web = startWeb([], options);
  const first = await until(async () => ADDRESS.exec(await opened())?.[0] ?? false);
  expect(await signIn(first)).toMatchObject({ userId: 'local', may: 'admin' });

  const printed = await runPith(['web', '--print'], options);
  expect(printed).toMatchObject({ code: 0, err: '' });
  const [address, port] = ADDRESS.exec(printed.out) ?? [];
  expect(printed.out).toBe(`${address}\n`); // for scripts: nothing beside it
  expect(port).toBe(new URL(first).port);
  expect(await signIn(String(address))).toMatchObject({ userId: 'local' });
  const [json] = linesOf((await runPith(['web', '--json'], options)).out);
  expect(json?.['address']).toMatch(ADDRESS);
  expect((await opened()).trim().split('\n')).toEqual([first]); // to print opens nothing

  const again = await runPith(['web'], options);
  expect(again).toMatchObject({ code: 0, out: expect.stringContaining('Opened the page') });
  expect(again.out).not.toContain('#code=');
  const [, second = ''] = (await opened()).trim().split('\n');
  expect(new URL(second).port).toBe(port);

  web.child.kill('SIGINT');
  expect((await web.ended).code).toBe(130);
  await expect(fetch(new URL(first).origin)).rejects.toThrow('fetch failed');
});

it('W1 pith web prints the address where no program opens it, and ends its server with it', async () => {
  const { options, opened } = await project(3);
  const web = startWeb([], options);
  const said = await until(() => /Open it in a browser.*: (http\S+)/u.exec(web.out())?.[1] ?? false);
  expect(await opened()).toContain(said);
  expect(await signIn(said)).toMatchObject({ userId: 'local' });
  web.child.kill('SIGTERM');
  await web.ended;
  await expect(fetch(new URL(said).origin)).rejects.toThrow('fetch failed');
});

it('W1 pith web ends with an error where another program has the port', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const { options } = await project(0, port);
  const why = `pith: port ${port} of 127.0.0.1 is taken; stop what listens there, or choose another port with --port N\n`;
  expect(await runPith(['web', '--print'], options)).toMatchObject({ code: 1, out: '', err: why });
});

it('W1 pith web --port serves there, or opens what serves there; where another program has the port it says that alone', async () => {
  const [port, elsewhere] = [await freePort(), await freePort()];
  const { options, opened } = await project();
  startWeb(['--port', String(port)], options);
  const first = await until(async () => ADDRESS.exec(await opened())?.[0] ?? false);
  expect(new URL(first).port).toBe(String(port));
  expect(await signIn((await runPith(['web', '--print', `--port=${port}`], options)).out)).toMatchObject({ userId: 'local' });
  startWeb(['--port', String(elsewhere)], options);
  await until(async () => (await opened()).includes(`http://127.0.0.1:${elsewhere}/#code=`));

  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const { port: taken } = other.address() as AddressInfo;
  const why = `pith: port ${taken} of 127.0.0.1 is taken; stop what listens there, or choose another port with --port N\n`;
  expect(await runPith(['web', '--port', String(taken)], options)).toMatchObject({ code: 1, out: '', err: why });
  expect(await runPith(['web', '--port', 'none'], options)).toMatchObject({ code: 2, out: '' });
  expect(await runPith(['web', '--port', '70000'], options)).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining('is not a port'),
  });
});

it('W1 pith web restarts its kernel after a crash, and opens no second page', async () => {
  const port = await freePort();
  const { options } = await project(0, port);
  const web = startWeb(['--json'], options);
  const lines = (key: string) => linesOf(web.out().slice(0, web.out().lastIndexOf('\n') + 1)).filter((line) => key in line);
  await until(() => lines('address').length > 0 && lines('pid').length > 0);
  process.kill(Number(lines('pid')[0]?.['pid']), 'SIGKILL');
  await until(() => lines('pid').length > 1);
  await until(async () => (await fetch(`http://127.0.0.1:${port}/health`)).ok);
  expect(await signIn((await runPith(['web', '--print'], options)).out)).toMatchObject({ userId: 'local' });
  expect(lines('address')).toHaveLength(1);
  web.child.kill('SIGINT');
  expect(await web.ended).toMatchObject({ code: 130, err: expect.stringContaining('the kernel crashed') });
});

it.skipIf(!HAS_TERMINALS)(
  'W1 a chat on a terminal says in its first lines how to open the page, and not where http is switched off',
  async () => {
    const withPage = await ownFolder({ ...bare([...PAGE, 'offline'], at(0)) });
    await terminalChat(withPage.path, {}).sees('In a browser: pith web', '/help shows');
    const without = await ownFolder({ ...bare(['cli_channel', 'rest_api', 'web_channel', 'offline']) });
    const chat = terminalChat(without.path, {});
    await chat.sees('/help shows');
    expect(chat.shown()).not.toContain('Inabrowser');
  },
);
