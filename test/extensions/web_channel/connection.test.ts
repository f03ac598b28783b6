import { expect, it } from 'vitest';
import { HttpUsers } from 'pith/http';
import type { ApiKernel } from '../rest_api/api-kernel.ts';
import { gate, until } from '../../waiting.ts';
import { describePage, FAR_HOST, newPage, openPage, say, signOut, violations } from './browser.ts';

/** A new address by which the person at the terminal signs in. */
async function signInAddress({ pith }: ApiKernel): Promise<string> {
  return (await pith.kernel.host.providers.remote('http', HttpUsers)?.signInAddress()) ?? '';
}

describePage('the connection of the page', () => {
  it('W11 over plain http from another machine, where browsers offer less, messages are sent and code is copied', async () => {
    const { api } = await openPage({
      script: [{ text: 'As you say:\n\n```ts\nconst far = true;\n```\n' }],
      files: { 'pith.yaml': `default_agent: helper\nextensions: { http: { hosts: [${FAR_HOST}] } }\n` },
    });
    const { page, faults } = await newPage();
    await page.goto((await signInAddress(api)).replace('127.0.0.1', FAR_HOST));
    const message = page.getByRole('textbox', { name: 'Message' });
    await message.waitFor();
    expect(await page.evaluate('[isSecureContext, typeof crypto.randomUUID, typeof navigator.clipboard]')).toEqual([
      false,
      'undefined',
      'undefined',
    ]);
    await say(page, 'Write it');
    await page.getByText('const far = true;').waitFor();
    await page.locator('.hl-keyword', { hasText: 'const' }).waitFor();
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    await message.focus();
    await page.keyboard.press('Control+V');
    expect((await message.inputValue()).trim()).toBe('const far = true;');
    expect(faults.filter((fault) => !fault.includes('Cross-Origin-Opener-Policy'))).toEqual([]); // browsers heed it over https only
  });

  it('W11 a message that is refused while the next one is written stays, and is sent again', async () => {
    const { page, faults } = await openPage({ script: [{ text: 'First.' }, { text: 'Second.' }] });
    await say(page, 'One');
    await page.getByText('First.').waitFor();
    const held = gate();
    const error = { code: 'rate_limited', message: 'too many requests', cure: { text: 'wait a minute' } };
    await page.route('**/messages', async (route) => {
      await held.opened;
      await route.fulfill({ status: 429, json: { error } });
    });
    await say(page, 'Two');
    const message = page.getByRole('textbox', { name: 'Message' });
    await message.fill('Three, perhaps');
    held.open();
    const unsent = page.getByRole('region', { name: 'A message that was not sent' });
    await unsent.getByText('Two', { exact: true }).waitFor();
    await unsent.getByText('too many requests — wait a minute').waitFor();
    expect(await message.inputValue()).toBe('Three, perhaps');
    expect(await violations(page)).toEqual([]);
    await page.unroute('**/messages');
    await unsent.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('Second.').waitFor();
    expect(await unsent.count()).toBe(0);
    expect(await page.locator('article.said').allTextContents()).toMatchObject([/One/u, /Two/u].map((text) => expect.stringMatching(text)));
    expect(await message.inputValue()).toBe('Three, perhaps');
    expect(faults.filter((fault) => !fault.includes('429'))).toEqual([]);
  });

  it.each(['ends', 'fails'])(
    'W11 where the connection %s before a turn begins, the message is in its box again; sent once more, it is taken once',
    async (how) => {
      const { api, page, faults } = await openPage({ script: [{ text: 'Once.' }] });
      // The server takes the message; the page sees no more than that a turn is about to begin.
      await page.evaluate(`(() => {
      const { fetch } = window;
      window.fetch = async (path, init) => {
        const answer = await fetch(path, init);
        if (!String(path).endsWith('/messages')) return answer;
        window.fetch = fetch;
        const open = new TextEncoder().encode('event: open\\ndata: {"state":"running","turn":null,"n":0,"events":[]}\\n\\n');
        return new Response(new ReadableStream({
          start(stream) { stream.enqueue(open); },
          pull(stream) { if ('${how}' === 'ends') stream.close(); else stream.error(new TypeError('network error')); },
        }, { highWaterMark: 2 }));
      };
    })()`);
      await say(page, 'Do it');
      const why = how === 'ends' ? 'The connection ended before the message was taken' : 'Pith does not answer';
      await page.getByRole('alert').getByText(why).waitFor();
      expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('Do it');
      await page.keyboard.press('Enter');
      await page.getByText('Once.').waitFor();
      expect(await page.locator('article.said').count()).toBe(1);
      expect(api.model.requests).toHaveLength(1);
      expect(faults).toEqual([]);
    },
  );

  it('W1 W4 the sign-in address signs in a tab that is open already; no other address of a server is taken from one', async () => {
    const { api, page, faults } = await openPage();
    const elsewhere = ['server', 'api', 'url', 'base', 'host'].map((name) => `${name}=https://far.example`).join('&');
    await page.goto(new URL(`/chat?${elsewhere}#${elsewhere}`, page.url()).href); // which would be a fault
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
    await signOut(page);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await page.goto(await signInAddress(api));
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
    expect(page.url()).not.toContain('code');
    expect(faults.filter((fault) => !fault.includes('401'))).toEqual([]);
  });

  it.each(['at once', 'once it is connected again'])(
    'W2 W5 after somebody else signs in, another tab shows nothing of the person before, %s',
    async (when) => {
      const { api, page } = await openPage({ script: [{ text: 'A secret.' }] });
      const ann = await api.token({ userId: 'ann' });
      await say(page, 'Tell me');
      await page.getByText('A secret.').waitFor();
      const isDeaf = when !== 'at once';
      const held = gate();
      let isHeld = true;
      if (isDeaf) {
        await page.addInitScript(`addEventListener('storage', (event) => event.stopImmediatePropagation());`);
        await page.context().route('**/api/events', async (route) => {
          if (!isHeld) return route.continue();
          await held.opened;
          await route.abort();
        });
        await page.reload();
        await page.getByText('A secret.').waitFor();
      }
      const other = await page.context().newPage();
      await other.goto(new URL('/health', page.url()).href); // asks for nothing between the two
      await other.evaluate(
        `(async () => {
          const answer = await fetch('/sign-in', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"token":"${ann}"}' });
          localStorage.setItem('pith.page', (await answer.json()).page);
        })()`,
      );
      if (isDeaf) {
        await page.getByText('A secret.').waitFor();
        isHeld = false;
        held.open();
      }
      await page.getByRole('status').getByText('· ann').waitFor();
      await page.getByRole('heading', { name: 'There is no such conversation' }).waitFor();
      expect(await page.getByText('Tell me').count()).toBe(0);
    },
  );

  it('W16 W17 a message that waits is shown in each tab, and in none once one of them has taken it back; each stops the turn', async () => {
    const { page, faults } = await openPage({ script: [{ text: ['So '], hang: true }] });
    await say(page, 'Go');
    await page.getByText('So', { exact: true }).waitFor();
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.getByText('So', { exact: true }).waitFor();
    const queued = [page, other].map((tab) => tab.getByRole('article', { name: 'Queued message' }));
    for (const text of ['And then', 'Or this']) {
      await say(page, text);
      for (const each of queued) await each.getByText(text).waitFor();
      await other.getByRole('button', { name: 'Take back' }).click();
      for (const each of queued) await each.getByText(text).waitFor({ state: 'detached' });
    }
    await other.getByRole('button', { name: 'Stop' }).click();
    for (const tab of [page, other]) await tab.getByText(/^stopped · /u).waitFor();
    expect(faults).toEqual([]);
  });

  it('W17 Stop takes what waits back into the message box, in its order and before what is written; "stopped" stands at what was stopped', async () => {
    const { api, page, faults } = await openPage({ script: [{ text: ['Half an '], hang: true }, { text: 'A whole one.' }] });
    await say(page, 'Go');
    await page.getByText('Half an').waitFor();
    const message = page.getByRole('textbox', { name: 'Message' });
    await page
      .getByLabel('Attach')
      .setInputFiles([{ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Remember the milk') }]);
    await page.getByRole('button', { name: 'Leave out notes.txt' }).waitFor();
    for (const text of ['And then', 'Or this']) {
      await say(page, text);
      await page.getByRole('article', { name: 'Queued message' }).getByText(text).waitFor();
    }
    await message.fill('Perhaps');
    await page.getByRole('button', { name: 'Stop' }).click();
    const line = page.getByText(/^stopped · /u);
    await line.waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    expect(await message.inputValue()).toBe('And then\n\nOr this\n\nPerhaps');
    await page.getByRole('button', { name: 'Leave out notes.txt' }).waitFor();
    expect(await page.getByText('The turn was stopped.').count()).toBe(0);
    expect(api.model.requests).toHaveLength(1);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('A whole one.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    const shown = async () => (await page.getByRole('log').innerText()).replaceAll(/\s+/gu, ' ');
    const inOrder = /Half an stopped · .*And then Or this Perhaps.*A whole one\. [\d.k]+ tokens/u;
    await until(async () => inOrder.test(await shown()));
    expect(await page.getByText('stopped by').count()).toBe(0);
    await page.reload();
    await until(async () => inOrder.test(await shown()));
    expect(faults).toEqual([]);
  });

  it('W16 many tabs need one connection for events; when its tab closes or freezes, another goes on', async () => {
    const { api, page, faults } = await openPage({ script: ['One.', 'Two.', 'Three.'].map((text) => ({ text })) });
    const context = page.context();
    const streams: string[] = [];
    await page.getByRole('status').getByText('· local').waitFor();
    context.on('request', (request) => void (request.url().endsWith('/api/events') && streams.push(request.url())));
    await say(page, 'Begin');
    await page.getByText('One.').waitFor();
    const tabs = [];
    for (let at = 0; at < 7; at += 1) {
      const tab = await context.newPage();
      await tab.goto(page.url());
      await tab.getByText('One.').waitFor();
      await tab.getByRole('status').getByText('· local').waitFor();
      tabs.push(tab);
    }
    expect(streams).toEqual([]);
    const [leading, ...others] = tabs;
    const json = (text: string) => ({ method: 'POST', json: { text } });
    const path = `/api/threads/${new URL(page.url()).pathname.split('/').at(-1) ?? ''}/messages`;
    const token = await api.token();
    await page.close();
    await until(() => streams.length === 1);
    await api.request(path, { ...json('And more'), token });
    for (const tab of tabs) await tab.getByText('Two.').waitFor();
    // As a frozen one it keeps the lock and says nothing. Browsers freeze no tab that they show, and show some again by themselves.
    await leading?.evaluate('BroadcastChannel.prototype.postMessage = () => undefined');
    await others[0]?.evaluate('{ const { now } = Date; Date.now = () => now() + 46_000; }'); // silence
    await until(() => streams.length === 2);
    await api.request(path, { ...json('And more'), token });
    for (const tab of others) await tab.getByText('Three.').waitFor();
    expect(streams).toHaveLength(2);
    expect(faults).toEqual([]);
  });
});
