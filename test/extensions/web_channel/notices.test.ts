import type { JsonValue } from 'pith';
import { expect, it } from 'vitest';
import type { ScriptedStep } from 'pith/testing';
import { describePage, openPage, type OpenPage, press, violations } from './browser.ts';

const files = {
  'extensions/bell/manifest.yaml': '{id: bell, entrypoint: main.ts, provides: [tool], events: {publishes: [notify]}}',
  'extensions/bell/main.ts': `import { defineTool, z } from 'pith';
export default class {
  constructor(context) { this.context = context; }
  getTools() {
    const execute = async ({ text, about }) => {
      await this.context.events.publish('notify', { v: 1, kind: 'bell', text, about: about ?? null, userId: 'local', target: null, threadId: null });
      return 'rung';
    };
    return [defineTool({ name: 'ring', description: 'Tells somebody.', input: z.object({ text: z.string(), about: z.unknown().optional() }), execute })];
  }
}
`,
  'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [bell] }\n',
};

/** Who looks at no page is told in the terminal. */
async function openedPage(script: readonly ScriptedStep[]): Promise<OpenPage> {
  const opened = await openPage({ script, files });
  await opened.page.getByRole('status').getByText('· local').waitFor();
  return opened;
}

describePage('notices', () => {
  it('W1 W7 W16 are shown wherever the page is, as text, in each tab until one dismisses them', async () => {
    const text = 'It is <b>done</b>.';
    const { api, page, faults } = await openedPage([{ calls: [{ name: 'ring', input: { text } }] }, { text: 'rung' }]);
    const tab = await page.context().newPage();
    await tab.goto(new URL('/skills', page.url()).href);
    await api.pith.run('ring it');
    for (const shown of [page, tab]) await shown.getByText(text).waitFor();
    await tab.getByRole('button', { name: '1 notice' }).click();
    await tab.getByText(text).waitFor();
    expect(await violations(tab)).toEqual([]);
    await tab.getByRole('button', { name: 'Dismiss' }).click();
    for (const shown of [page, tab]) await shown.getByText(text).waitFor({ state: 'hidden' });
    expect(faults).toEqual([]);
  });

  it('W10 W14 lead to what they tell of, where the page shows it; the focus goes on when one is dismissed', async () => {
    const ring = (text: string, about: JsonValue) => [{ calls: [{ name: 'ring', input: { text, about } }] }, { text: 'rung' }];
    const script = [...ring('It failed.', { kind: 'extension', id: 'bell' }), ...ring('It rains.', { kind: 'weather', id: 'rain' })];
    const { api, page, faults } = await openedPage(script);
    for (const text of ['ring it', 'ring again']) await api.pith.run(text);
    await page.getByRole('button', { name: '2 notices' }).click();
    expect(await page.getByRole('article').filter({ hasText: 'It rains.' }).getByRole('link').count()).toBe(0);
    const dismiss = page.getByRole('button', { name: 'Dismiss', exact: true });
    const focused = () => page.locator(':focus').textContent();
    await press(dismiss.first());
    await page.getByText('It rains.').waitFor({ state: 'hidden' });
    expect(await focused()).toBe('Dismiss');
    await page.getByRole('link', { name: 'Open the extension' }).click();
    await page.getByRole('heading', { name: 'bell' }).waitFor();
    await press(dismiss);
    await dismiss.waitFor({ state: 'hidden' });
    expect(await focused()).toBe('System');
    expect(faults).toEqual([]);
  });
});
