import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import type { Message } from 'pith';
import { gate, until } from '../../waiting.ts';
import { describePage, openPage, say, violations } from './browser.ts';

const MANY = 5000;

/** A conversation of the person with so many messages, made by one turn that is given the others. */
function said(count: number): readonly Message[] {
  return Array.from({ length: count - 2 }, (_, at): Message => {
    const content = [{ type: 'text' as const, text: `Message **${at + 1}**\n\n- with\n- a list` }];
    return at % 2 === 0 ? { role: 'user', content } : { role: 'assistant', content };
  });
}

/** How far what was drawn has moved since, by itself. */
async function shifts(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(() => {
    const kept = globalThis as unknown as { shifted: number };
    kept.shifted = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as unknown as readonly { readonly value: number; readonly hadRecentInput: boolean }[])
        if (!entry.hadRecentInput) kept.shifted += entry.value;
    }).observe({ type: 'layout-shift' });
  });
  return () =>
    page.evaluate(async () => {
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      return (globalThis as unknown as { shifted: number }).shifted;
    });
}

describePage('the chat', () => {
  it('W10 W11 of 5,000 messages only those near what is seen are drawn, from the last one to the first', async () => {
    const { api, page, faults } = await openPage({ script: [{ text: 'The last answer.' }] });
    const run = api.pith.kernel.agents.run({
      agent: 'helper',
      threadId: 'long',
      userId: 'local',
      input: 'The last question',
      history: said(MANY),
    });
    for await (const event of run) expect(event).not.toMatchObject({ reason: 'error' });
    await page.getByRole('link', { name: 'The last question' }).click();
    await page.getByText('The last answer.').waitFor();
    const articles = page.locator('article');
    const top = () => page.getByRole('log').evaluate((log) => log.scrollTop);
    const end = await top();
    expect([await articles.count()].filter((count) => count > 120)).toEqual([]);
    const log = page.getByRole('log');
    await log.focus();
    await log.evaluate((box) => box.scrollTo({ top: 1 })); // where earlier ones are read
    const seen = page.getByText(`Message **${MANY - 50}**`).or(page.getByText(`Message ${MANY - 50}`, { exact: true }));
    const place = await seen.evaluate((found) => found.getBoundingClientRect().top);
    await until(async () => (await top()) > 1000);
    expect(Math.abs((await seen.evaluate((found) => found.getBoundingClientRect().top)) - place)).toBeLessThan(2);
    for (let pages = 0; pages < 40; pages += 1) await page.keyboard.press('PageUp');
    expect(await articles.count()).toBeLessThan(120);
    await page.keyboard.press('Home');
    await page.getByText('Message **1**').waitFor();
    expect(await top()).toBe(0);
    expect(await articles.count()).toBeLessThan(120);
    expect(await page.locator('*').count()).toBeLessThan(4000);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('End');
    await page.getByText('The last answer.').waitFor();
    expect(await top()).toBeGreaterThan(end);
    expect(faults).toEqual([]);
  });

  it('W10 nothing that was drawn moves while an answer streams', async () => {
    const [first, second] = [gate(), gate()];
    const { page } = await openPage({
      script: [
        { text: 'An answer before.' },
        async () => (
          await first.opened,
          { text: ['# One\n\n', 'Some words, ', 'and more:\n\n', '- a\n- b\n\n', '| a | b |\n|---|---|\n| 1 | 2 |\n'] }
        ),
        async () => (await second.opened, { text: ['```ts\nconst a = 1;\n', 'const b = 2;\n```\n', 'The end.'] }),
      ],
    });
    await say(page, 'Begin');
    await page.getByText('An answer before.').waitFor();
    await say(page, 'Go on');
    await page.getByText('Thinking').waitFor();
    const shifted = await shifts(page);
    first.open();
    await page.getByRole('cell', { name: '2' }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    await say(page, 'And more');
    second.open();
    await page.getByText('The end.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    expect(await shifted()).toBe(0);
  });
});
