import { expect, it } from 'vitest';
import { describePage, openPage, say } from './browser.ts';

/** What a page deletes, and the name of its view. */
const DELETED = [
  { what: 'a conversation', view: '/chat', name: 'Of letters', button: 'Delete', within: 'More' },
  { what: 'a skill', view: '/skills', name: 'letters', button: 'Remove', within: null },
];

describePage('what is deleted', () => {
  it.each(DELETED)(
    'W17 $what is not read again by the page that deleted it, though it hears of that before it is answered',
    async (each) => {
      const { view, name, button, within } = each;
      const { page, faults } = await openPage({ script: [{ text: 'Said.' }] });
      await say(page, 'Hello');
      await page.getByText('Said.').waitFor();
      await page.getByText('More', { exact: true }).click();
      await page.getByRole('button', { name: 'Rename' }).click();
      await page.getByRole('textbox', { name: 'Title' }).fill('Of letters');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Of letters' }).waitFor();
      const shown = { name, exact: true };
      const other = await page.context().newPage();
      for (const tab of [page, other]) {
        await tab.goto(new URL(view, page.url()).href);
        await tab.getByRole('link', shown).first().waitFor();
      }
      await page.route('**/api/**', async (route) => {
        if (route.request().method() !== 'DELETE') return route.continue();
        const answer = await route.fetch();
        if (answer.ok()) await other.getByRole('link', shown).waitFor({ state: 'hidden' });
        return route.fulfill({ response: answer });
      });
      await page.getByRole('link', shown).first().click();
      await page.getByRole('heading', shown).waitFor();
      if (within !== null) await page.locator('summary', { hasText: within }).first().click();
      await page.getByRole('button', { name: button, exact: true }).click();
      await page.getByRole('button', { name: 'Yes' }).click();
      await page.waitForURL((url) => url.pathname === view);
      await page.getByRole('link', shown).waitFor({ state: 'hidden' });
      expect(faults.filter((fault) => !fault.includes('409'))).toEqual([]);
    },
  );
});
