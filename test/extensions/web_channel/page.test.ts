import { HttpUsers } from 'pith/http';
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { gate, until } from '../../waiting.ts';
import { zipOf } from '../skill_install/zip-writer.ts';
import { describePage, openPage, say, signOut, SKILL, tooWide, violations } from './browser.ts';

const CITY = { name: 'city', type: 'string', required: true, choices: ['Rome', 'Oslo'] };
const TIMES = { name: 'times', type: 'int', default: 1 };

describePage('the page', () => {
  it.each([360, 780, 900])('W10 at %i px no view in the header is cut off, with a question and notices there', async (width) => {
    const { page } = await openPage({ width });
    const cut = await page.evaluate(`(() => {
      const bar = document.querySelector('.bar');
      for (const textContent of ['1 question', '2 notices: The task of the letters is done, and more is to come'])
        bar.insertBefore(Object.assign(document.createElement('a'), { className: 'chip warn', textContent }), bar.lastElementChild);
      const nav = bar.querySelector('nav').getBoundingClientRect();
      const isCut = (link) => {
        const { left, right, top, bottom } = link.getBoundingClientRect();
        return left < nav.left - 1 || right > Math.min(nav.right, innerWidth) + 1 || top < nav.top - 1 || bottom > nav.bottom + 1;
      };
      return [...bar.querySelectorAll('nav a')].filter(isCut).map((link) => link.textContent);
    })()`);
    expect(cut).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  });

  it('W4 W11 W17 W30 signs in by the address once, says whose page it is, shows what an agent says and does, and takes the answer to a question by its key', async () => {
    const { api, page, faults } = await openPage({
      script: [{ text: 'I look first.', calls: [{ name: 'risk', input: {} }] }, { text: 'It is **done**: `did risk`.' }],
    });
    expect(new URL(page.url()).hash).toBe('');
    const project = path.basename(path.dirname(api.pith.sandbox));
    await page.getByRole('banner').getByText(`${hostname()} · ${project} · local`, { exact: true }).waitFor();
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
    const { page } = await openPage({ script: [async () => (await open.opened, { text: 'The end of it.' })] });
    await say(page, 'Go');
    await page.getByText('Thinking …').waitFor();
    const address = page.url();
    await page.goto('about:blank');
    open.open();
    await page.goto(address);
    await page.getByText('The end of it.').waitFor();
    expect(await page.locator('article').count()).toBe(2);
  });

  it('W16 a call that was answered is shown once while its turn goes on', async () => {
    const open = gate();
    const { page } = await openPage({
      script: [{ calls: [{ name: 'risk', input: {} }] }, async () => (await open.opened, { text: 'Done at last.' })],
    });
    await say(page, 'Do it');
    await page.getByRole('button', { name: 'Yes y', exact: true }).click();
    await page.getByText('Thinking …').waitFor();
    expect(await page.locator('details.call').count()).toBe(1);
    open.open();
    await page.getByText('Done at last.').waitFor();
    expect(await page.locator('details.call').count()).toBe(1);
  });

  it('U10 W6 W11 a key answers one question, the oldest, however many are open', async () => {
    const { page, faults } = await openPage({
      files: {
        'extensions/pair/manifest.yaml': '{id: pair, entrypoint: main.ts, provides: [tool]}',
        'extensions/pair/main.ts': `import { defineTool, z } from 'pith';
export default class {
  getTools() {
    const input = z.object({ of: z.string() });
    return [defineTool({ name: 'half', description: 'Does one half.', input, needsApproval: true, runsAgent: true, execute: async ({ of }) => of })];
  }
}
`,
        'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [pair] }\n',
      },
      script: [{ calls: ['one', 'two'].map((of) => ({ name: 'half', input: { of } })) }, { text: 'Both are answered.' }],
    });
    await say(page, 'Do both');
    const questions = page.getByRole('region', { name: 'A question to you' });
    await questions.nth(1).waitFor();
    await page.getByRole('log').focus();
    await page.keyboard.press('n');
    await questions.nth(1).waitFor({ state: 'detached' });
    expect(await questions.count()).toBe(1);
    await page.keyboard.press('y');
    await page.getByText('Both are answered.').waitFor();
    await expect.poll(() => page.locator('details.call.refused', { hasText: 'refused' }).count()).toBe(1);
    expect(await page.locator('details.call.failed').count()).toBe(0);
    expect(faults).toEqual([]);
  });

  it('W7 W31 script, links and images in skills and answers do nothing', async () => {
    const name = '<img src=x onerror="window.harmed=1">';
    const { page, faults } = await openPage({
      files: {
        'skills/odd/SKILL.md': SKILL.replace('name: letters', `name: '${name}'`),
        'skills/odd/<script>window.harmed=1<b>.md': name,
      },
      script: [
        { text: 'See <script>window.harmed=1</script> [it](javascript:window.harmed=1) ![x](https://far.example/x.png)' },
        {
          text: '[a](https://far.example/a) [b](http://far.example/b) [c](mailto:ann@far.example) [d](ftp://far.example/) [e](/system) [f](//x.y)',
        },
      ],
    });
    await say(page, '<img src=x onerror="window.harmed=1">');
    await page.getByText('See <script>').waitFor();
    await say(page, 'And links');
    await page.locator('.markdown').getByText('a b c d e f').waitFor();
    const links = page.locator('.markdown a');
    expect(await links.evaluateAll((all) => all.map((link) => [link.getAttribute('href'), link.getAttribute('rel')]))).toEqual(
      ['https://far.example/a', 'http://far.example/b', 'mailto:ann@far.example'].map((href) => [href, 'noopener noreferrer nofollow']),
    );
    await page.goto(new URL('/skills/skill/letters', page.url()).href);
    await page.getByRole('heading', { name: 'letters', level: 1 }).waitFor();
    await page.locator('.markdown').getByText('click').click();
    await page.getByRole('button', { name: 'Image from far.example: far' }).waitFor();
    await page.getByRole('link', { name: 'Skills', exact: true }).last().click();
    await page.getByRole('link', { name }).click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    await page.locator('summary', { hasText: 'Resources' }).press('Enter');
    await page.getByRole('button', { name: '<script>window.harmed=1<b>.md' }).click();
    await page.locator('.markdown').getByText(name).first().waitFor();
    expect(await page.evaluate(() => (globalThis as { harmed?: number }).harmed)).toBeUndefined();
    expect(await page.locator('.markdown script, .markdown b, .markdown img, a[href^="javascript"]').count()).toBe(0);
    expect(faults).toEqual([]);
  });

  it('W10 W12 skills are listed, filtered and opened by keyboard, at 360 pixels, without a violation of WCAG 2.2 AA', async () => {
    const { page, faults } = await openPage({ width: 360 });
    expect(await violations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Skills', exact: true }).press('Enter');
    await page.getByRole('link', { name: 'letters' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('searchbox', { name: 'Search skills' }).fill('nothing like it');
    await page.getByText(/^0 of/u).waitFor();
    await page.getByRole('searchbox', { name: 'Search skills' }).fill('letter');
    await page.getByRole('link', { name: 'letters' }).press('Enter');
    await page.getByRole('heading', { name: 'letters', level: 1 }).waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await tooWide(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('W12 a zip archive is looked into, shown and installed, and only after a yes', async () => {
    const { page, faults } = await openPage();
    await page.getByRole('link', { name: 'Skills', exact: true }).click();
    await page.getByRole('link', { name: 'Install' }).click();
    const buffer = zipOf([{ name: 'poems/SKILL.md', text: SKILL.replaceAll('letter', 'poem') }]);
    const choose = () => page.getByLabel('Or a zip archive').setInputFiles({ name: 'poems.zip', mimeType: 'application/zip', buffer });
    await choose();
    await page.getByRole('dialog').getByText('poems').first().waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'No', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await choose();
    await page.getByRole('button', { name: 'Yes' }).click();
    await page.getByRole('link', { name: 'poems' }).waitFor();
    expect(faults.filter((fault) => !fault.includes('409'))).toEqual([]);
  });

  it('W13 W14 a saved skill is found by its tag and run by its form, and its run is followed to its result', async () => {
    const { api, page, faults } = await openPage({ script: [{ text: 'Good morning, **Rome**!' }] });
    const saved = { name: 'greet', description: 'Greets a city.', system_prompt: 'Greet.', tags: ['morning'], input_schema: [CITY, TIMES] };
    writeFileSync(`${api.pith.sandbox}/greet.yml`, JSON.stringify(saved));
    await api.pith.command(['saved', 'new', 'greet', '--file', `${api.pith.sandbox}/greet.yml`]);
    await page.getByRole('link', { name: 'Saved skills' }).click();
    await page.getByRole('button', { name: 'morning' }).click();
    await page.getByRole('link', { name: 'local/greet' }).click();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('city').selectOption('Rome');
    await page.getByLabel('times').fill('2');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText('Good morning,').waitFor();
    await page.getByRole('status').getByText('ok', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Work' }).click();
    await page.getByRole('cell', { name: 'run', exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('W11 W15 what the model sees is shown in parts; the system says that all is well; a token is made, shown once and revoked', async () => {
    const { page, faults } = await openPage({ script: [{ text: 'Hello' }] });
    await say(page, 'Good day');
    await page.getByText('Hello', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'What the model sees' }).click();
    await page.getByRole('region', { name: 'What the model sees' }).getByText('System text').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('link', { name: 'System' }).click();
    await page.getByText('Examined').waitFor();
    for (const [part, shown] of [
      ['Extensions', 'rest_api'],
      ['Agents', 'helper'],
      ['Users and tokens', 'session'],
    ] as const) {
      await page.getByRole('link', { name: part }).click();
      await page.getByText(shown).first().waitFor();
      expect([part, await violations(page)]).toEqual([part, []]);
    }
    await page.getByLabel('Name of the person').fill('ann');
    await page.getByRole('button', { name: 'New token' }).click();
    await page.getByText(/^pith_/u).waitFor();
    await page.getByRole('button', { name: /^Revoke token/u }).click();
    await page.getByRole('cell', { name: 'token', exact: true }).waitFor({ state: 'hidden' });
    expect(faults).toEqual([]);
  });

  it('W2 W10 signing out ends the session; at 360 pixels all views are in reach', async () => {
    const { api, page, faults } = await openPage({ width: 360 });
    for (const name of ['Chat', 'Saved skills', 'Work', 'Skills', 'System']) {
      const link = page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name, exact: true });
      await link.click();
      expect((await link.boundingBox())?.width).toBeGreaterThan(24);
    }
    const users = api.pith.kernel.host.providers.remote('http', HttpUsers);
    expect(await users?.tokens()).toHaveLength(1);
    await signOut(page);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await users?.tokens()).toEqual([]);
    expect(faults.filter((fault) => !fault.includes('401'))).toEqual([]);
  });

  it('W2 a user who is no administrator signs in with a token, and has no system, proposals or installation', async () => {
    const { api, page } = await openPage();
    const token = await api.token({ userId: 'ann', may: 'approve' });
    await signOut(page);
    await page.getByLabel('Or sign in with a token').fill('pith_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('unknown').waitFor();
    await page.getByLabel('Or sign in with a token').fill(token);
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('· ann').waitFor();
    await page.getByRole('link', { name: 'Skills', exact: true }).click();
    await page.getByRole('link', { name: 'letters' }).waitFor();
    expect(await page.getByRole('link', { name: /System|Install|Proposals/u }).count()).toBe(0);
    for (const place of ['/system', '/system/users', '/skills/install', '/skills/proposals']) {
      await page.goto(new URL(place, page.url()).href);
      await page.getByText('This is for administrators.').waitFor();
      expect(await page.getByRole('main').getByRole('button').count()).toBe(0);
    }
  });

  it('W16 W30 a connection that is cut while it streams goes on without a gap or a double, and two tabs agree', async () => {
    const [open, end] = [gate(), gate()];
    const { api, page } = await openPage({
      script: [
        async () => (await open.opened, { text: ['One, '], calls: [{ name: 'act', input: {} }] }),
        async () => (await end.opened, { text: 'two and three.' }),
      ],
    });
    await say(page, 'Count');
    await page.getByText('Thinking …').waitFor();
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.getByText('Count', { exact: true }).last().waitFor();
    open.open();
    for (const tab of [page, other]) await tab.getByText('One,').waitFor();
    await page.context().setOffline(true);
    end.open();
    const token = await api.token();
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    const state = async () =>
      ((await api.request(`/api/threads/${id}`, { token })).json as { readonly thread: { readonly state: string } }).thread.state;
    await until(async () => (await state()) === 'idle');
    await page.context().setOffline(false);
    for (const tab of [page, other]) {
      await tab.getByText('two and three.').waitFor();
      expect(await tab.getByRole('log').getByText('One,').count()).toBe(1);
      expect(await tab.getByText('two and three.').count()).toBe(1);
      expect(await tab.locator('article').count()).toBe(3);
    }
  });

  it('W11 W17 recipes and agents are completed, a conversation is renamed and deleted, and the title counts what waits', async () => {
    const { page, faults } = await openPage({ script: [{ calls: [{ name: 'risk', input: {} }] }, { text: 'Then not.' }] });
    await page.getByRole('textbox', { name: 'Message' }).pressSequentially('@hel');
    await page.getByRole('option', { name: /@helper/u }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Tab');
    expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('@helper ');
    await page.keyboard.type('Take a risk');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'A question to you' }).waitFor();
    await until(async () => (await page.title()) === '(1) Pith');
    await page.getByRole('button', { name: 'No n', exact: true }).click();
    await until(async () => (await page.title()) === 'Pith');
    await page.getByText('Then not.').waitFor(); // while a turn runs, nothing is renamed or deleted
    await page.getByText('More', { exact: true }).click();
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('textbox', { name: 'Title' }).fill('Of risks');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Of risks' }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Yes' }).click();
    await page.getByRole('heading', { name: 'What shall we do?' }).waitFor();
    await page.getByRole('link', { name: 'Of risks' }).waitFor({ state: 'hidden' });
    expect(faults).toEqual([]);
  });
});
