import { expect, it } from 'vitest';
import { describePage, openPage, violations } from './browser.ts';

const files = {
  'extensions/bell/manifest.yaml': '{id: bell, entrypoint: main.ts, provides: [tool], events: {publishes: [notify]}}',
  'extensions/bell/main.ts': `import { defineTool, z } from 'pith';
export default class {
  constructor(context) { this.context = context; }
  getTools() {
    const execute = async ({ text }) => {
      await this.context.events.publish('notify', { v: 1, kind: 'bell', text, userId: 'local', target: null, threadId: null });
      return 'rung';
    };
    return [defineTool({ name: 'ring', description: 'Tells somebody.', input: z.object({ text: z.string() }), execute })];
  }
}
`,
  'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [bell] }\n',
};

describePage('notices', () => {
  it('W1 W7 W16 are shown wherever the page is, as text, in each tab until one dismisses them', async () => {
    const text = 'It is <b>done</b>.';
    const { api, page, faults } = await openPage({ script: [{ calls: [{ name: 'ring', input: { text } }] }, { text: 'rung' }], files });
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
});
