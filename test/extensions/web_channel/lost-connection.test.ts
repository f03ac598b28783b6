import net from 'node:net';
import { HttpUsers } from 'pith/http';
import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import type { ScriptedStep } from 'pith/testing';
import { until } from '../../waiting.ts';
import { describePage, newPage, openPage, type OpenPage, say } from './browser.ts';

/** A wire to a port of this machine. `die`: nothing goes through the connections that are open, and neither end hears of it. */
async function wireTo(port: number): Promise<{ readonly port: number; die(): void }> {
  const pairs = new Set<readonly [net.Socket, net.Socket]>();
  const wire = net.createServer((client) => {
    const server = net.connect(port, '127.0.0.1');
    const pair = [client, server] as const;
    pairs.add(pair);
    for (const [from, to] of [pair, [server, client]] as const) {
      from.on('error', () => undefined); // it was closed in the middle
      from.on('data', (bytes) => pairs.has(pair) && to.write(bytes));
      from.on('close', () => pairs.has(pair) && to.destroy());
    }
  });
  await new Promise<void>((listening) => wire.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void wire.close());
  return { port: (wire.address() as net.AddressInfo).port, die: () => pairs.clear() };
}

interface Wired extends OpenPage {
  die(): void;
}

/** A page that reaches the server through a wire, and whose clock the test moves. In it a conversation has begun. */
async function wiredPage(script: readonly ScriptedStep[]): Promise<Wired> {
  const { api } = await openPage({ script: [{ text: 'Good day to you.' }, ...script] });
  const { page, faults } = await newPage();
  await page.clock.install();
  const wire = await wireTo(await api.port());
  const users = api.pith.kernel.host.providers.remote('http', HttpUsers);
  const address = new URL((await users?.signInAddress()) ?? '');
  address.port = String(wire.port);
  await page.goto(address.href);
  await say(page, 'Good day');
  await page.getByText('Good day to you.').waitFor();
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
  return { api, page, faults, die: wire.die };
}

/** Somebody says this in the same conversation, elsewhere. */
async function sayElsewhere({ api, page }: OpenPage, text: string): Promise<void> {
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
  const said = await api.request(`/api/threads/${id}/messages`, { method: 'POST', token: await api.token(), json: { text } });
  expect(said.status).toBe(200);
}

const answersIn = (page: Page) => page.getByRole('log').getByLabel('Answer').allTextContents();

describePage('a lost connection', () => {
  it('W16 that nobody closed is given up after 45 s of silence: the page agrees with the journal, and what was asked meanwhile is done, once', async () => {
    const wired = await wiredPage([{ text: 'Said elsewhere.' }, { text: 'Said here.' }]);
    const { api, page, die, faults } = wired;
    die();
    await sayElsewhere(wired, 'Anybody?');
    await say(page, 'Are you there?');
    expect(await answersIn(page)).toHaveLength(1);
    await page.clock.fastForward(46_000);
    for (const text of ['Said elsewhere.', 'Said here.']) await page.getByText(text).waitFor();
    expect(await answersIn(page)).toEqual([
      expect.stringContaining('Good day to you.'),
      expect.stringContaining('Said elsewhere.'),
      expect.stringContaining('Said here.'),
    ]);
    expect(api.model.requests).toHaveLength(3);
    die();
    await page.getByRole('searchbox', { name: 'Search conversations' }).fill('nothing like it');
    await page.clock.fastForward(46_000);
    await page.getByRole('complementary').getByRole('link', { name: 'Good day' }).waitFor({ state: 'hidden' });
    expect(faults).toEqual([]);
  });

  it('W16 of a tab that slept for ten minutes is opened again as soon as it wakes', async () => {
    const wired = await wiredPage([{ text: 'Said meanwhile.' }]);
    const { page, die } = wired;
    const browser = await page.context().newCDPSession(page);
    await browser.send('Page.setWebLifecycleState', { state: 'frozen' });
    die();
    await sayElsewhere(wired, 'Anybody?');
    await browser.send('Page.setWebLifecycleState', { state: 'active' });
    // No timer ran, while the clock of the wall went on.
    await page.clock.setSystemTime(new Date((await page.evaluate<number>('Date.now()')) + 600_000));
    await page.getByText('Said meanwhile.').waitFor();
    expect(await answersIn(page)).toHaveLength(2);
  });

  it('W16 is opened again at once when somebody looks at the page, long before 45 s of silence are over', async () => {
    const wired = await wiredPage([{ text: 'Said meanwhile.' }]);
    const { page, die } = wired;
    die();
    await sayElsewhere(wired, 'Anybody?');
    await page.clock.runFor(20_000);
    const probes = await page.evaluate<number>(`(() => {
      const { fetch } = window;
      let asked = 0;
      window.fetch = (path, init) => { if (path === '/health') asked += 1; return fetch(path, init); };
      document.dispatchEvent(new Event('visibilitychange'));
      window.fetch = fetch;
      return asked;
    })()`);
    expect(probes).toBeGreaterThan(0); // whether the connections of the browser are dead
    await page.getByText('Said meanwhile.').waitFor();
    expect(await answersIn(page)).toHaveLength(2);
  });

  it('W16 what the server tells by reset is that all may have changed: the page loads it again', async () => {
    const { api, page } = await openPage({ script: [{ text: 'Good day.' }, { text: 'Said meanwhile.' }] });
    await say(page, 'Hello');
    await page.getByText('Good day.').waitFor();
    const body = 'event: reset\nid: other-1\ndata: {"userId":"local"}\n\n';
    let isReset = false;
    const lists: boolean[] = [];
    await page.route('**/api/events', (route) => {
      isReset = true;
      return route.fulfill({ contentType: 'text/event-stream', body });
    });
    page.on('request', (request) => void (/\/api\/threads\?/u.test(request.url()) && lists.push(isReset)));
    await api.pith.kernel.host.extensions.reload('rest_api'); // cuts the stream of events
    await until(() => lists.includes(true));
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    await api.pith.run('And more', { threadId: id, agent: 'helper', userId: 'local' });
    await page.getByText('Said meanwhile.').waitFor();
    expect(await answersIn(page)).toHaveLength(2);
  });

  it('W16 what is told late of a turn that has ended does not show its answer twice', async () => {
    const { api, page, faults } = await openPage({ script: [{ text: 'Good day.' }] });
    await say(page, 'Hello');
    await page.getByText('Good day.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    const thread = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    const { json } = await api.request(`/api/threads/${thread}`, { token: await api.token() });
    const { messages } = json as { readonly messages: readonly { readonly turnId: string }[] };
    const late = ['turn-start', 'text-delta'].map((type, at) => ({
      thread,
      turn: messages[0]?.turnId,
      n: at + 1,
      event: { type, text: 'Good day.' },
    }));
    const told = [...late.map((data) => ['turn', data] as const), ['changed', { kind: 'notice', id: 'last' }] as const];
    const body = told.map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`).join('');
    await page.route('**/api/events', (route) => route.fulfill({ contentType: 'text/event-stream', body }));
    const heard = page.waitForResponse('**/api/notices');
    await api.pith.kernel.host.extensions.reload('rest_api'); // cuts the stream of events
    await heard;
    expect(await answersIn(page)).toHaveLength(1);
    expect(faults.filter((fault) => !fault.includes('ERR_INCOMPLETE_CHUNKED'))).toEqual([]);
  });

  it('W16 while the server stops, the page keeps what it shows without a word of errors, and loads it again once it is connected', async () => {
    const { api, page, faults } = await openPage({ script: [{ text: 'Good day.' }, { text: 'Said meanwhile.' }] });
    await say(page, 'Hello');
    await page.getByText('Good day.').waitFor();
    const stops = { status: 503, json: { error: { code: 'stopped', message: "'rest_api' does not answer now" } } };
    const isOfThreads = (url: URL) => url.pathname.startsWith('/api/threads') && !url.pathname.endsWith('/messages');
    await page.route(isOfThreads, (route) => route.fulfill(stops));
    const refused = ['/api/threads', new URL(page.url()).pathname.replace('/chat', '/api/threads')].map((path) =>
      page.waitForResponse((answer) => new URL(answer.url()).pathname === path && answer.status() === 503),
    );
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    await api.pith.run('And more', { threadId: id, agent: 'helper', userId: 'local' });
    await Promise.all(refused);
    await page.unroute(isOfThreads);
    expect(await page.getByRole('alert').allTextContents()).toEqual([]);
    await api.pith.kernel.host.extensions.reload('rest_api'); // cuts the stream of events
    await page.getByText('Said meanwhile.').waitFor();
    expect(await page.getByRole('alert').allTextContents()).toEqual([]);
    expect(faults.filter((fault) => !/503|ERR_INCOMPLETE_CHUNKED/u.test(fault))).toEqual([]);
  });
});
