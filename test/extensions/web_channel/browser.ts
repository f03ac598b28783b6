import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';
import type { Clock } from 'pith';
import type { ScriptedStep } from 'pith/testing';
import { HttpUsers } from 'pith/http';
import { apiKernel, type ApiKernel } from '../rest_api/api-kernel.ts';
import { LATENCY } from './latency.ts';

const CHROMIUM = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser'].find((file) => existsSync(file));

/** Found on this machine, and another machine to the browser: over plain http it offers less there. */
export const FAR_HOST = 'pith.example';

/** How the addresses begin that a page may ask for. */
const OURS = ['http://127.0.0.1:', `http://${FAR_HOST}:`, 'blob:'];

/** A skill whose texts try to run something in the page. */
export const SKILL = `---
name: letters
description: Write a letter. <img src=x onerror="window.harmed = 1"> Use when somebody wants a letter.
---

# Letters <script>window.harmed = 1</script>

[click](javascript:window.harmed=1) ![far](https://far.example/picture.png) <b>bold</b>
`;

let browser: Browser;

/** Tests in a browser of their own; visibly skipped where no Chromium is installed. */
export function describePage(name: string, tests: () => void): void {
  describe.skipIf(CHROMIUM === undefined)(`${name} in a browser (needs chromium)`, () => {
    beforeAll(async () => {
      browser = await chromium.launch({
        executablePath: CHROMIUM ?? '',
        args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-lcd-text', `--host-resolver-rules=MAP ${FAR_HOST} 127.0.0.1`],
      });
    });
    afterAll(() => browser.close());
    tests();
  });
}

export interface OpenPage {
  readonly api: ApiKernel;
  readonly page: Page;
  /** What went wrong in the page, or was asked of other hosts. */
  readonly faults: readonly string[];
}

export interface PageOptions {
  readonly script?: readonly ScriptedStep[];
  readonly width?: number;
  readonly dark?: boolean;
  /** Of the sandbox, beside the skill. */
  readonly files?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  /** Extensions beside those of the page. */
  readonly extensions?: readonly string[];
}

/** A page that nobody has opened yet. */
export async function newPage({ width = 1280, dark = false }: Pick<PageOptions, 'width' | 'dark'> = {}): Promise<Omit<OpenPage, 'api'>> {
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    colorScheme: dark ? 'dark' : 'light',
    locale: 'en-GB',
    timezoneId: 'UTC',
  });
  onTestFinished(() => context.close());
  if (LATENCY !== null) await context.addInitScript(LATENCY);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', ({ message }) => void faults.push(message));
  page.on(
    'console',
    (said) => void (said.type() === 'error' && faults.push(`${said.text()} ${new URL(said.location().url || page.url()).pathname}`)),
  );
  page.on('request', (request) => void (OURS.some((start) => request.url().startsWith(start)) || faults.push(request.url())));
  return { page, faults };
}

/** The page in a browser, signed in as the person at the terminal. */
export async function openPage({ script = [], files = {}, extensions = [], clock, ...look }: PageOptions = {}): Promise<OpenPage> {
  const ofSkills = ['skill_registry', 'skill_install', 'skill_proposals', 'skill_search'];
  const only = ['http', 'rest_api', 'web_channel', ...ofSkills, 'saved_skills', 'task_engine', 'scheduler', ...extensions];
  const api = await apiKernel(script, { only, files: { 'skills/letters/SKILL.md': SKILL, ...files }, ...(clock && { clock }) });
  const { page, faults } = await newPage(look);
  await api.port();
  const users = api.pith.kernel.host.providers.remote('http', HttpUsers);
  await page.goto((await users?.signInAddress()) ?? '');
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  return { api, page, faults };
}

export const say = async (page: Page, text: string): Promise<void> => {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
};

/** The page is opened anew then. */
export async function signOut(page: Page): Promise<void> {
  const opened = page.waitForEvent('domcontentloaded');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await opened;
}

/** Uses something by keyboard, once it can be: buttons are disabled while the server is asked. */
export const press = (what: Locator): Promise<void> => what.and(what.page().locator(':not(:disabled)')).press('Enter');

/** What the checker of accessibility finds against WCAG 2.2 AA. `rules`: against these alone. */
export async function violations(page: Page, rules: readonly string[] | null = null): Promise<readonly string[]> {
  // The page's own policy lets nobody add a script, so the checker is evaluated beside it.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe.source);
  await page.evaluate('Promise.allSettled(document.getAnimations().map(({ finished }) => finished))'); // colours between two are none of the page's
  return page.evaluate(async (only) => {
    const axe = (
      globalThis as unknown as { axe: { run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }
    ).axe;
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
    const runOnly = only === null ? { type: 'tag', values: tags } : { type: 'rule', values: only };
    const found = await axe.run({ runOnly, resultTypes: ['violations'] });
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  }, rules);
}

/** What stands out of a view at the side; what scrolls by itself does not. */
export function tooWide(page: Page): Promise<readonly string[]> {
  return page.locator('main').evaluate((main) => {
    const all = [main, ...main.querySelectorAll('*')].filter((each) => each.closest('.scroll, pre, textarea') === null);
    // What scrolls up and down scrolls to the side too, where something in it is wider.
    const { getComputedStyle: styleOf } = globalThis as unknown as { getComputedStyle(of: unknown): { readonly overflowY: string } };
    const views = all.filter((each) => /auto|scroll/u.test(styleOf(each).overflowY) && each.scrollWidth > each.clientWidth);
    return views.flatMap((view) => {
      const right = view.getBoundingClientRect().right;
      return all
        .filter((each) => view.contains(each) && each.getBoundingClientRect().right > right)
        .map((each) => each.outerHTML.slice(0, 200));
    });
  });
}
