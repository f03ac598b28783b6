import { expect, it } from 'vitest';
import { SKILL, describePage, openPage, say } from './browser.ts';

const GREET = { description: 'Greets a city.', system_prompt: 'Greet.', tags: ['morning'] };

describePage('addresses of the page', () => {
  it('W10 W11 W12 W13 W14 every link of the page can be opened anew, and shows what it names', async () => {
    const { api, page, faults } = await openPage({
      script: [{ text: 'Hello.' }, { text: 'I count.', calls: [{ name: 'risk', input: {} }] }, { text: 'Greeted.' }],
      files: { 'skills/proposals/SKILL.md': SKILL.replace('name: letters', 'name: proposals') },
    });
    const token = await api.token({ role: 'admin', may: 'admin' });
    const saved = { name: 'edit', text: JSON.stringify({ ...GREET, name: 'edit' }) };
    expect(await api.request('/api/saved', { method: 'POST', token, json: saved })).toMatchObject({ status: 200 });
    await say(page, 'Hello');
    await page.getByText('Hello.', { exact: true }).waitFor();
    await api.request('/api/tasks', { method: 'POST', token, json: { goal: ['count'] } });
    await api.request('/api/saved/local%2Fedit/runs', { method: 'POST', token, json: {} });
    /** Of each view: the beginning of a link that it has, and what is shown where that link is opened anew. */
    const LINKS = [
      ['/chat', '/chat/', 'Hello.'],
      ['/skills', '/skills/skill/sandbox/skills/proposals', 'proposals'],
      ['/skills', '/skills/proposals', 'Proposals'],
      ['/saved', '/saved/skill/local/edit', 'local/edit'],
      ['/saved/skill/local/edit', '/saved/edit/local/edit', 'Edit local/edit'],
      ['/saved/skill/local/edit', '/saved/runs/', 'Run'],
      ['/work', '/work/tasks/', 'count'],
      ['/work', '/saved/runs/', 'Run'],
      ['/work', '/chat/tasks/', 'count'],
      ['/system/extensions', '/system/extensions/http', 'http'],
    ] as const;
    const shown: [number | undefined, string][] = [];
    for (const [view, beginning, text] of LINKS) {
      await page.goto(new URL(view, page.url()).href);
      const link = page.locator(`a[href^="${beginning}"]`).first();
      await link.waitFor();
      const answer = await page.goto(new URL((await link.getAttribute('href')) ?? '', page.url()).href);
      await page.locator('main').getByText(text, { exact: true }).first().waitFor();
      shown.push([answer?.status(), beginning]);
    }
    expect(shown).toEqual(LINKS.map(([, beginning]) => [200, beginning]));
    expect(faults).toEqual([]);
  });
});
