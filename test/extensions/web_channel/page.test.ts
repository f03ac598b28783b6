import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { ScriptedStep } from 'pith/testing';
import { HttpUsers } from 'pith/http';
import { gate } from '../../waiting.ts';
import { apiKernel, type ApiKernel } from '../rest_api/api-kernel.ts';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((file) => existsSync(file));
const SKILL = `---
name: letters
description: Write a letter. <img src=x onerror="window.harmed = 1"> Use when somebody wants a letter.
---

# Letters <script>window.harmed = 1</script>

[click](javascript:window.harmed=1) ![far](https://far.example/picture.png) <b>bold</b>
`;

let browser: Browser;

interface OpenPage {
  readonly api: ApiKernel;
  readonly page: Page;
  /** What went wrong in the page, or was asked of other hosts. */
  readonly faults: readonly string[];
}

/** The page in a browser, signed in as the person at the terminal. */
async function openPage(script: readonly ScriptedStep[] = [], width = 1280): Promise<OpenPage> {
  const only = ['http', 'rest_api', 'web_channel', 'skill_registry', 'skill_install', 'skill_proposals', 'skill_search'];
  const api = await apiKernel(script, { only, files: { 'skills/letters/SKILL.md': SKILL } });
  const context = await browser.newContext({ viewport: { width, height: 800 } });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', ({ message }) => void faults.push(message));
  page.on('console', (said) => void (said.type() === 'error' && faults.push(said.text())));
  page.on('request', (request) => void (request.url().startsWith(`http://127.0.0.1:`) || faults.push(request.url())));
  await api.port();
  const users = api.pith.kernel.host.providers.remote('http', HttpUsers);
  await page.goto((await users?.signInAddress()) ?? '');
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  return { api, page, faults };
}

const say = async (page: Page, text: string): Promise<void> => {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
};

/** What the checker of accessibility finds against WCAG 2.2 AA. */
async function violations(page: Page): Promise<readonly string[]> {
  // The page's own policy lets nobody add a script, so the checker is evaluated beside it.
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const axe = (
      globalThis as unknown as { axe: { run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }
    ).axe;
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
    const found = await axe.run({ runOnly: { type: 'tag', values: tags } });
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });
}

describe.skipIf(CHROMIUM === undefined)('the page in a browser (needs chromium)', () => {
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox', '--disable-dev-shm-usage'] });
  });
  afterAll(() => browser.close());

  it('W4 W11 W30 signs in by the address once, shows what an agent says and does, and takes the answer to a question by its key', async () => {
    const { api, page, faults } = await openPage([
      { text: 'I look first.', calls: [{ name: 'risk', input: {} }] },
      { text: 'It is **done**: `did risk`.' },
    ]);
    expect(new URL(page.url()).hash).toBe('');
    await say(page, 'Do it');
    await page.getByRole('region', { name: 'A question to you' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('log').focus();
    await page.keyboard.press('y');
    await page.getByText('It is done').waitFor();
    expect(await page.locator('article strong').textContent()).toBe('done');
    expect(await page.locator('details.call summary').textContent()).toContain('risk');
    await page.reload();
    await page.getByText('It is done').waitFor();
    expect([await page.locator('article.said').count(), await page.locator('article').count()]).toEqual([1, 3]);
    expect(faults).toEqual([]);
    expect(await api.log()).not.toMatch(/pith_[\w-]{20}/u);
  });

  it('W17 a turn goes on while the page is closed, and is there when it opens again', async () => {
    const open = gate();
    const { page } = await openPage([async () => (await open.opened, { text: 'The end of it.' })]);
    await say(page, 'Go');
    await page.getByText('Thinking').waitFor();
    const address = page.url();
    await page.goto('about:blank');
    open.open();
    await page.goto(address);
    await page.getByText('The end of it.').waitFor();
    expect(await page.locator('article').count()).toBe(2);
  });

  it('W7 W31 script, links and images in skills and answers do nothing', async () => {
    const { page, faults } = await openPage([
      { text: 'See <script>window.harmed=1</script> [it](javascript:window.harmed=1) ![x](https://far.example/x.png)' },
    ]);
    await say(page, '<img src=x onerror="window.harmed=1">');
    await page.getByText('See <script>').waitFor();
    await page.goto(new URL('/skills/letters', page.url()).href);
    await page.getByRole('heading', { name: 'letters', level: 1 }).waitFor();
    await page.getByText('click').click();
    await page.getByRole('button', { name: 'Image from far.example: far' }).waitFor();
    expect(await page.evaluate(() => (globalThis as { harmed?: number }).harmed)).toBeUndefined();
    expect(await page.locator('.markdown script, .markdown b, .markdown img, a[href^="javascript"]').count()).toBe(0);
    expect(faults).toEqual([]);
  });

  it('W10 W12 skills are listed, filtered and opened by keyboard, at 360 pixels, without a violation of WCAG 2.2 AA', async () => {
    const { page, faults } = await openPage([], 360);
    expect(await violations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Skills' }).press('Enter');
    await page.getByRole('link', { name: 'letters' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('searchbox', { name: 'Search skills' }).fill('nothing like it');
    await page.getByText(/^0 of/u).waitFor();
    await page.getByRole('searchbox', { name: 'Search skills' }).fill('letter');
    await page.getByRole('link', { name: 'letters' }).press('Enter');
    await page.getByRole('heading', { name: 'letters', level: 1 }).waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    expect(faults).toEqual([]);
  });
});
