import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import { until } from '../../waiting.ts';
import { describePage, openPage, type OpenPage, press, say, violations } from './browser.ts';

const GREET = { description: 'Greets a city.', system_prompt: 'Greet.', tags: ['morning'] };
const CHANGED = 'Somebody else changed this since you opened it';
/** Has two settings. */
const LIMITER = {
  'extensions/limiter/manifest.yaml': '{id: limiter, entrypoint: main.ts, provides: [tool], isolation: in_process, description: Limits.}',
  'extensions/limiter/main.ts': `import { z } from 'pith';
export default class {
  static config = z.strictObject({ most: z.int().default(3).describe('How many.'), place: z.string().default('').describe('Where.') });
  getTools() { return []; }
}
`,
};

/** The same address in another tab. */
async function otherTab(page: Page): Promise<Page> {
  const other = await page.context().newPage();
  await other.goto(page.url());
  return other;
}

async function openSaved({ api, page }: OpenPage, place = 'skill'): Promise<void> {
  await api.pith.command(['saved', 'new', 'greet', '--text', JSON.stringify(GREET)]);
  await page.goto(new URL(`/saved/${place}/local/greet`, page.url()).href);
}

const savedNow = async ({ api }: OpenPage) => (await api.pith.command(['saved', 'show', 'greet'], { json: true })).values[0];
const refused = (page: Page) => page.getByRole('alert').getByText(CHANGED);
const loadTheirs = (page: Page) => press(page.getByRole('button', { name: 'Load theirs' }));
/** 412 is what the browser itself says of it. */
const others = (faults: readonly string[]) => faults.filter((fault) => !fault.includes('412'));

describePage('two people', () => {
  it('W13 W21 edit one saved skill: who saves last is told, sees what the other wrote, and keeps their own text to copy', async () => {
    const opened = await openPage({ width: 360 });
    const { page, faults } = opened;
    await openSaved(opened, 'edit');
    const other = await otherTab(page);
    await page.getByLabel('Instructions').fill('Greet in Latin.');
    await press(page.getByRole('button', { name: 'Add an input' }));
    await page.getByLabel('Name of input 1').fill('city');
    await other.getByLabel('Instructions').fill('Greet twice.');
    await press(other.getByRole('button', { name: 'Save' }));
    await other.getByRole('heading', { name: 'local/greet', exact: true }).waitFor();
    await press(page.getByRole('button', { name: 'Save' }));
    await refused(page).waitFor();
    expect([await page.getByLabel('Instructions').inputValue(), await savedNow(opened)]).toEqual([
      'Greet in Latin.',
      expect.objectContaining({ system_prompt: 'Greet twice.' }),
    ]);
    expect(await violations(page)).toEqual([]);
    await loadTheirs(page);
    const mine = page.getByRole('region', { name: 'What you wrote', exact: true });
    await mine.getByText('Greet in Latin.').waitFor();
    await mine.getByText('city', { exact: true }).waitFor();
    expect(await mine.getByText('Greets a city.').count()).toBe(0); // they did not write that
    expect([await page.getByLabel('Instructions').inputValue(), await page.getByLabel('Name of input 1').count()]).toEqual([
      'Greet twice.',
      0,
    ]);
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('Instructions').fill('Greet twice, in Latin.');
    await press(page.getByRole('button', { name: 'Save' }));
    await page.getByRole('heading', { name: 'local/greet', exact: true }).waitFor();
    expect(await savedNow(opened)).toMatchObject({ system_prompt: 'Greet twice, in Latin.' });
    expect(others(faults)).toEqual([]);
  });

  it('W13 W21 decide about one saved skill: a second decision is refused until its person has seen the first', async () => {
    const opened = await openPage({ extensions: ['skill_webhooks'] });
    const { page, faults } = opened;
    await openSaved(opened);
    const open = (tab: Page, part: string) => tab.locator('summary', { hasText: part }).press('Enter');
    await open(page, 'Webhook');
    await press(page.getByRole('button', { name: 'Make a webhook' }));
    await page.getByLabel('Addresses and ranges').fill('192.0.2.1');
    const other = await otherTab(page);
    await open(other, 'Who runs it, and when');
    await open(other, 'Webhook');
    await other.getByLabel('Addresses and ranges').fill('192.0.2.2');
    await press(other.getByRole('button', { name: 'Check' }));
    await other.getByRole('row', { name: '192.0.2.2' }).waitFor();
    await press(other.getByRole('button', { name: 'Save' }));
    await until(async () => JSON.stringify(await savedNow(opened)).includes('192.0.2.2'));
    await open(page, 'Who runs it, and when');
    await page.getByLabel('Seen and run by').selectOption('public');
    await press(page.getByRole('button', { name: 'Set', exact: true }));
    await refused(page).waitFor();
    expect(await savedNow(opened)).toMatchObject({ visibility: 'private' });
    await press(page.getByRole('button', { name: 'Set', exact: true })); // what is there now is shown
    await page.locator('.chip', { hasText: 'public' }).waitFor();
    expect(await page.getByLabel('Addresses and ranges').inputValue()).toBe('192.0.2.1');
    await press(page.getByRole('button', { name: 'Check' })); // of the list, their person saw nothing new
    await refused(page).waitFor();
    await loadTheirs(page);
    await page.getByRole('region', { name: 'What you wrote' }).getByText('192.0.2.1').waitFor();
    expect(await page.getByLabel('Addresses and ranges').inputValue()).toBe('192.0.2.2');
    await page.getByLabel('Addresses and ranges').fill('192.0.2.1\n192.0.2.2');
    await press(page.getByRole('button', { name: 'Check' }));
    await page.getByRole('row', { name: '192.0.2.1' }).waitFor();
    await press(page.getByRole('button', { name: 'Save' }));
    await until(async () => JSON.stringify(await savedNow(opened)).includes('192.0.2.1'));
    expect(others(faults)).toEqual([]);
  });

  it('W15 W21 set one setting: who saves last is told; settings of something else, and lines that move, are no conflict', async () => {
    const { api, page, faults } = await openPage({ files: LIMITER });
    const file = () => readFileSync(`${api.pith.sandbox}/pith.yaml`, 'utf8');
    await page.goto(new URL('/system/extensions/limiter', page.url()).href);
    const other = await otherTab(page);
    await page.getByLabel('place').fill('here');
    await other.getByLabel('place').fill('there');
    await press(other.getByRole('button', { name: 'Save' }));
    await other.getByText(/^Written to/u).waitFor();
    await press(page.getByRole('button', { name: 'Save' }));
    await refused(page).waitFor();
    expect([await page.getByLabel('place').inputValue(), file()]).toEqual(['here', expect.stringContaining('place: there')]);
    expect(await violations(page)).toEqual([]);
    await loadTheirs(page);
    await page.getByRole('region', { name: 'What you wrote' }).getByText('here', { exact: true }).waitFor();
    expect(await page.getByLabel('place').inputValue()).toBe('there');
    await page.getByLabel('most').fill('5');
    const token = await api.token({ role: 'admin', may: 'admin' });
    const set = { method: 'PATCH', token, json: { values: ['effort=high'] } } as const;
    expect(await api.request('/api/settings', set)).toMatchObject({ status: 200 });
    await press(page.getByRole('button', { name: 'Save' }));
    await page.getByText(/^Written to/u).waitFor();
    expect(file()).toMatch(/place: there\n\s+most: 5/u);
    expect(others(faults)).toEqual([]);
  });

  it('W11 W12 W21 rename one conversation, and switch one skill: what somebody else did is seen before it is undone', async () => {
    const { api, page, faults } = await openPage({ script: [{ text: 'Hello.' }] });
    await say(page, 'Good day');
    await page.getByText('Hello.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    await page.getByText('More', { exact: true }).click();
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('textbox', { name: 'Title' }).fill('Mine');
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    const token = await api.token({ role: 'admin', may: 'admin' });
    await api.request(`/api/threads/${id}`, { method: 'PATCH', token, json: { title: 'Theirs' } });
    await page.getByRole('heading', { name: 'Theirs' }).waitFor();
    await page.keyboard.press('Enter');
    await refused(page).waitFor();
    expect(await page.getByRole('textbox', { name: 'Title' }).inputValue()).toBe('Mine');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Mine' }).waitFor();
    await page.goto(new URL('/skills/skill/letters', page.url()).href);
    await page.getByRole('button', { name: 'Switch off' }).waitFor();
    const values = ['disabled=["poems"]'];
    await api.request('/api/extensions/skill_registry/settings', { method: 'PATCH', token, json: { values } });
    await page.getByRole('button', { name: 'Switch off' }).click();
    await refused(page).waitFor();
    await page.getByRole('button', { name: 'Switch off' }).click();
    await page.getByRole('button', { name: 'Switch on' }).waitFor();
    expect(readFileSync(`${api.pith.sandbox}/pith.yaml`, 'utf8')).toMatch(/- poems\n\s+- letters/u);
    expect(others(faults)).toEqual([]);
  });
});
