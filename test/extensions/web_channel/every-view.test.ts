import path from 'node:path';
import type { Page } from 'playwright-core';
import type { JsonValue } from 'pith';
import { expect, it } from 'vitest';
import { folderWith } from '../../places.ts';
import { until } from '../../waiting.ts';
import { describePage, openPage, say, signOut, tooWide, violations } from './browser.ts';

const SKILL = '---\nname: poems\ndescription: Write a poem. Use when somebody wants one.\ntags: [verse]\n---\n\n# Poems\n\nRhyme.\n';
const DIFF = '--- a/SKILL.md\n+++ b/SKILL.md\n@@ -6,4 +6,5 @@\n \n # Poems\n \n Rhyme.\n+Count.\n';
const PROPOSE = { skill_id: 'poems', diff: DIFF, justification: 'They did not scan.', evidence: 'Twice.' };
const SERVER = path.resolve('test/fixtures/mcp-skills-server.mjs');

const FILES = (servers: JsonValue) => ({
  'skills/poems/SKILL.md': SKILL,
  'skills/poems/references/forms.md': 'A sonnet has fourteen lines.\n',
  'skills/broken/SKILL.md': '---\nname: broken\n---\n',
  'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [risky, skill_registry, skill_proposals], instructions: You help. }\n',
  'pith.yaml': JSON.stringify({ default_agent: 'helper', extensions: { mcp: { servers } } }),
});

/** Something of each kind that the page shows. */
async function withEverything() {
  const far = folderWith({ 'tea/SKILL.md': SKILL.replaceAll('poem', 'tea') });
  const servers = { far: { command: process.execPath, args: [SERVER, far, 'plain'] } };
  const opened = await openPage({
    script: [
      {
        calls: [
          { name: 'propose_skill_update', input: PROPOSE },
          { name: 'act', input: {} },
        ],
      },
      { text: 'I ask.', calls: [{ name: 'risk', input: {} }] },
      { text: 'The task is **done**.' },
      { text: 'The run is done.' },
    ],
    files: FILES(servers),
    extensions: ['skill_stats', 'skill_lint', 'skill_evals', 'skill_webhooks', 'mcp'],
  });
  const { api, page } = opened;
  await say(page, 'Look');
  await page.getByRole('region', { name: 'A question to you' }).waitFor();
  const token = await api.token({ role: 'admin', may: 'admin' });
  const send = async (method: 'POST' | 'PUT', place: string, json: JsonValue) =>
    expect([place, await api.request(place, { method, token, json })]).toMatchObject([place, { status: 200 }]);
  await send('POST', '/api/tasks', { goal: ['Count'] });
  await until(() => api.model.requests.length === 3);
  await send('POST', '/api/saved', { name: 'greet', text: JSON.stringify({ system_prompt: 'Greet.', input_schema: [{ name: 'city' }] }) });
  await send('PUT', '/api/saved/local%2Fgreet/schedule', { cron: '@daily' });
  await send('POST', '/api/saved/local%2Fgreet/runs', {});
  await until(() => api.model.requests.length === 4);
  return opened;
}

/** Rules whose outcome is another one in the dark, or where there is less room. */
const OF_LOOKS = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable', 'target-size'];

/** Of addresses with the same, one is enough: those of the page name a view, of which the rest says what it shows. */
function viewOf(address: string): string {
  const [view = '', part = '', ...rest] = address.slice(1).split('/');
  const name = view === 'chat' && part !== '' ? [view, '…'] : [view, part, ...(rest.length > 0 ? ['…'] : [])];
  return name.filter(Boolean).join('/');
}

/** What loads has come. */
async function settled(page: Page): Promise<void> {
  await page.locator('main').waitFor();
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))'); // what was opened asks for what it shows
  await until(async () => (await page.locator('.loading, [aria-busy=true]').count()) === 0);
}

/** Opens what is folded, and what is folded within that. */
async function openParts(page: Page): Promise<void> {
  const folded = page.locator('main details:not([open])');
  while ((await folded.count()) > 0) {
    await folded.evaluateAll((parts) => parts.forEach((part) => part.toggleAttribute('open', true)));
    await settled(page);
  }
}

const VIEWS = `chat chat/… saved saved/edit/… saved/new saved/runs/… saved/skill/… skills skills/install skills/proposals skills/proposals/…
skills/skill/… system system/agents system/extensions system/extensions/… system/graph system/log system/mcp system/models system/settings
system/users work work/tasks/… work/timeline/…`;

describePage('every view', () => {
  it('W10 W15 W30 is found by links, and has no violation of WCAG 2.2 AA with all of its parts open, in light and dark, at 1440 and 360 pixels', async () => {
    const { page, faults } = await withEverything();
    const { origin, pathname } = new URL(page.url());
    const next = [pathname];
    const seen = new Map<string, readonly (readonly string[])[]>();
    for (let address = next.shift(); address !== undefined; address = next.shift()) {
      if (seen.has(viewOf(address))) continue;
      await page.setViewportSize({ width: 1440, height: 800 });
      await page.emulateMedia({ colorScheme: 'light' });
      await page.goto(origin + address);
      await settled(page);
      await openParts(page);
      const light = [...(await violations(page)), ...(await tooWide(page))];
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.setViewportSize({ width: 360, height: 800 });
      seen.set(viewOf(address), [light, await violations(page, OF_LOOKS), await tooWide(page)]);
      next.push(...(await page.locator('a[href^="/"]').evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''))));
    }
    expect([...seen].filter(([, found]) => found.flat().length > 0)).toEqual([]);
    expect([...seen.keys()].toSorted()).toEqual(VIEWS.split(/\s/u));
    await page.goto(`${origin}/chat/none`);
    await page.getByRole('heading', { name: 'There is no such conversation' }).waitFor();
    const unknown = await violations(page);
    await signOut(page);
    await page.getByLabel('Or sign in with a token').waitFor();
    expect([unknown, await violations(page)]).toEqual([[], []]);
    // Of the history of a skill in which Pith changes nothing, of the conversation that is not there, and of who has signed out.
    expect(faults.filter((fault) => !/422|404|401/u.test(fault))).toEqual([]);
  });
});
