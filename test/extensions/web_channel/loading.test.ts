import type { Route } from 'playwright-core';
import { expect, it } from 'vitest';
import { describePage, openPage, violations } from './browser.ts';

const VIEWS = [
  '/chat',
  '/work',
  '/saved',
  '/skills',
  '/skills/proposals',
  '/skills/skill/sandbox/skills/letters',
  '/system',
  ...['extensions', 'extensions/http', 'graph', 'settings', 'models', 'mcp', 'agents', 'users', 'log'].map((part) => `/system/${part}`),
];
/** What the frame of the page asks for itself. */
const OF_FRAME = ['/api/me', '/api/events', '/api/notices', '/api/approvals'];

describePage('what loads', () => {
  it('W10 each view says that it loads once that takes long, and not before, and nothing moves for it', async () => {
    const { page } = await openPage({ extensions: ['mcp'] });
    const held: Route[] = [];
    let holds = true;
    await page.route(
      ({ pathname }) => pathname.startsWith('/api/') && !OF_FRAME.includes(pathname),
      (route) => (holds ? void held.push(route) : route.continue()),
    );
    const start = Date.now();
    await page.clock.install({ time: start });
    await page.clock.pauseAt(start + 60_000);
    const passes = (ms: number) => page.clock.runFor(ms);
    const loading = page.getByRole('status').getByText('Loading…', { exact: true });
    const height = () => page.evaluate<number>("document.querySelector('main')?.scrollHeight ?? 0");
    for (const view of VIEWS) {
      [holds, held.length] = [true, 0];
      await page.goto(new URL(view, page.url()).href);
      // In steps, since what loads the view itself takes its own time.
      let [waited, before, after] = [0, 0, 0];
      const isShown = async () => {
        await passes(20);
        [waited, before] = [waited + 20, after];
        after = await height();
        return (await loading.count()) > 0;
      };
      await expect.poll(isShown, { timeout: 20_000, interval: 10, message: view }).toBe(true);
      expect([view, waited]).toEqual([view, expect.toSatisfy((ms: number) => ms > 200)]);
      expect([view, after]).toEqual([view, before]);
      expect([view, held.length]).toEqual([view, expect.toSatisfy((count: number) => count > 0)]);
      holds = false;
      for (const route of held) await route.continue();
      await expect.poll(async () => (await passes(20), loading.count()), { timeout: 20_000, message: view }).toBe(0);
    }
    holds = true;
    await page.clock.resume();
    await page.goto(new URL('/skills', page.url()).href);
    await loading.first().waitFor();
    expect(await violations(page)).toEqual([]);
  });
});
