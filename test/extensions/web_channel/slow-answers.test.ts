import { HttpUsers } from 'pith/http';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { gate, until } from '../../waiting.ts';
import { describePage, newPage, openPage, type OpenPage, say } from './browser.ts';

/** What the page asks of a conversation is answered once the returned gate opens. */
async function holdThread(page: Page): Promise<ReturnType<typeof gate>> {
  const held = gate();
  await page.route(
    ({ pathname }) => /^\/api\/threads\/[^/]+$/u.test(pathname),
    async (route) => {
      await held.opened;
      await route.continue();
    },
  );
  return held;
}

const threadOf = (page: Page): string => `/api/threads/${new URL(page.url()).pathname.split('/').at(-1) ?? ''}`;

/** All events of the conversation have come to the page. */
async function told({ api, page }: OpenPage, title: string): Promise<void> {
  const token = await api.token();
  const isIdle = async () =>
    ((await api.request(threadOf(page), { token })).json as { readonly thread: { readonly state: string } }).thread.state === 'idle';
  await until(isIdle);
  await api.request(threadOf(page), { method: 'PATCH', token, json: { title } });
  await page.getByRole('complementary').getByRole('link', { name: title }).waitFor();
}

describePage('answers that come late', () => {
  it('W16 what changes between the first look and the first event is not missed', async () => {
    const { api } = await openPage({ script: [{ text: 'Said.' }] });
    const { page } = await newPage();
    const held = gate();
    await page.route('**/api/events', async (route) => {
      await held.opened;
      await route.continue();
    });
    const looked = page.waitForResponse((answer) => new URL(answer.url()).pathname === '/api/threads');
    await page.goto((await api.pith.kernel.host.providers.remote('http', HttpUsers)?.signInAddress()) ?? '');
    await (await looked).finished();
    await api.pith.run('Said elsewhere', { threadId: 'elsewhere', agent: 'helper', userId: 'local' });
    held.open();
    await page.getByRole('complementary').getByRole('link', { name: 'Said elsewhere' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('W10 W16 an answer is shown below what was asked, also where it comes first', async () => {
    const opened = await openPage({ script: [{ text: 'One.' }, { text: 'Two.' }] });
    const { page, faults } = opened;
    await say(page, 'First');
    await page.getByText('One.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    const held = await holdThread(page);
    await page.evaluate(`(() => {
      const said = () => document.querySelector('[role=log]').innerText;
      window.isEarly = false;
      new MutationObserver(() => (window.isEarly ||= said().includes('Two.') && !said().includes('Second')))
        .observe(document, { childList: true, characterData: true, subtree: true });
    })()`);
    await say(page, 'Second');
    await until(() => opened.api.model.requests.length === 2);
    await told(opened, 'Of two');
    held.open();
    await page.getByRole('log').getByText('Two.').waitFor();
    expect(await page.evaluate('window.isEarly')).toBe(false);
    expect(await page.locator('article').count()).toBe(4);
    expect(faults).toEqual([]);
  });

  it('W10 each step of a turn stands by itself, also before it is read as a message', async () => {
    const [first, second] = [gate(), gate()];
    const { page, faults } = await openPage({
      script: [
        async () => (await first.opened, { text: 'One, ', calls: [{ name: 'act', input: {} }] }),
        async () => (await second.opened, { text: 'two and three.' }),
      ],
    });
    await say(page, 'Count');
    await page.getByText('Thinking …').waitFor();
    const held = await holdThread(page);
    first.open();
    await page.getByText('did act').waitFor({ state: 'attached' });
    second.open();
    const steps = [/^Count/u, /^One, /u, /^two and three\./u].map((text) => expect.stringMatching(text));
    await expect.poll(() => page.locator('article').allTextContents()).toEqual(steps);
    held.open();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    expect(await page.locator('article').allTextContents()).toEqual(steps);
    expect(faults).toEqual([]);
  });

  it('W11 W16 what the model sees and what was used are read again behind a turn of which the page saw only the end', async () => {
    const { api, page, faults } = await openPage({ script: [{ text: 'One.' }, { text: 'Two.' }] });
    await say(page, 'First');
    await page.getByText('One.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'What the model sees' }).click();
    const messages = page.getByText(/^Messages \(\d+\)$/u);
    const before = await messages.textContent();
    const held = await holdThread(page);
    await api.pith.run('Second', { threadId: threadOf(page).split('/').at(-1) ?? '', agent: 'helper', userId: 'local' });
    held.open();
    await page.getByRole('log').getByText('Two.').waitFor();
    await until(async () => (await messages.textContent()) !== before);
    expect(faults).toEqual([]);
  });

  it('W2 W5 a request that is refused while somebody signs in signs nobody out', async () => {
    const { page, faults } = await openPage();
    const refused = { status: 401, json: { error: { code: 'unauthorized', message: 'sign in' } } };
    await page.route('**/api/threads?*', (route) => route.fulfill(refused), { times: 1 });
    const asked = page.waitForResponse(async (answer) => new URL(answer.url()).pathname === '/api/me' && answer.ok());
    await page.getByRole('searchbox', { name: 'Search conversations' }).fill('letters');
    await (await asked).finished();
    await page.getByRole('textbox', { name: 'Message' }).fill('Still here');
    expect(await page.getByLabel('Or sign in with a token').count()).toBe(0);
    expect(faults.filter((fault) => !fault.includes('401'))).toEqual([]);
  });

  it('W11 what a turn notices before it starts stays when it starts', async () => {
    const { api, page } = await openPage({ script: [{ text: 'One.' }] });
    await say(page, 'First');
    await page.getByText('One.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    const thread = threadOf(page).split('/').at(-1) ?? '';
    const notice = { thread, turn: null, n: 1, event: { type: 'notice', message: 'No person chose that model.' } };
    const start = { thread, turn: 'next', n: 2, event: { type: 'turn-start', turn: 'next' } };
    const told = [...[notice, start].map((data) => ['turn', data] as const), ['changed', { kind: 'notice', id: 'last' }] as const];
    const body = told.map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`).join('');
    await page.route('**/api/events', (route) => route.fulfill({ contentType: 'text/event-stream', body }));
    const heard = page.waitForResponse('**/api/notices');
    await api.pith.kernel.host.extensions.reload('rest_api'); // cuts the stream of events
    await heard;
    expect(await page.getByRole('log').getByText('No person chose that model.').count()).toBe(1);
  });
});
