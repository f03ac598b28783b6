import { writeFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { type JsonValue, PithError } from 'pith';
import { expect, it } from 'vitest';
import { gate, until } from '../../waiting.ts';
import { lengthOf } from '../../../sandbox/extensions/web_channel/page/parts/length.ts';
import { describePage, openPage, press, say, signOut, tooWide, violations } from './browser.ts';

/** The lines of a timeline: what, kind and outcome. */
async function lines(page: Page): Promise<readonly string[]> {
  const rows = await page.getByRole('region', { name: 'Timeline' }).locator('tbody tr').all();
  return Promise.all(
    rows.map(async (row) => {
      const cells = row.locator('th, td');
      return [0, 1, 5]
        .map((at) => cells.nth(at))
        .reduce(async (text, cell) => `${await text} | ${await cell.textContent()}`, Promise.resolve(''));
    }),
  );
}

const widths = (page: Page): Promise<readonly number[]> =>
  page.locator('.bar-line rect').evaluateAll((bars) => bars.map((bar) => Number.parseFloat(bar.getAttribute('width') ?? '')));

describePage('work', () => {
  it('W14 the timeline of a conversation shows model, tool and waiting of each turn, and can leave the waiting out', async () => {
    const { page, faults } = await openPage({
      script: [{ text: 'I look first.', calls: [{ name: 'risk', input: {} }] }, { text: 'It is done.' }, { text: 'And again.' }],
    });
    await say(page, 'Do it');
    await page.getByRole('region', { name: 'A question to you' }).waitFor();
    await page.getByRole('log').focus();
    await page.keyboard.press('y');
    await page.getByText('It is done.').waitFor();
    await page.getByText('More', { exact: true }).click();
    await page.getByRole('link', { name: 'Timeline' }).press('Enter');
    await page.getByRole('cell', { name: 'answered: once' }).waitFor();
    const shown = await lines(page);
    expect(shown.map((line) => line.replace(/[\d,]+ tokens(?: in, [\d,]+ out)?/u, 'TOKENS'))).toEqual([
      ' | helper | turn | done, TOKENS',
      expect.stringMatching(/^ \| Step 1: \S+ \| model \| TOKENS$/u),
      ' | Approval of risk | waiting | answered: once',
      expect.stringMatching(/^ \| risk \| tool \| /u),
      expect.stringMatching(/^ \| Step 2: \S+ \| model \| TOKENS$/u),
    ]);
    const [whole = 0, , waiting = 0] = await widths(page);
    expect(whole).toBeGreaterThan(99);
    await page.getByRole('checkbox', { name: 'Hide waiting' }).check();
    await until(async () => ((await widths(page))[2] ?? 100) < Math.min(waiting, 1));
    expect(await violations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Do it' }).click();
    await say(page, 'Once more');
    await page.getByText('And again.').waitFor();
    await page.goBack();
    const earlier = page.getByRole('combobox', { name: 'Turn' });
    await earlier.waitFor();
    expect((await lines(page)).length).toBe(2);
    await earlier.selectOption({ index: 1 });
    await page.getByRole('cell', { name: 'answered: once' }).waitFor();
    expect(await lines(page)).toEqual(shown);
    expect(faults).toEqual([]);
  });

  it('W14 a task is opened from the table of work by keyboard at 360 pixels, with its states, its result and its timeline', async () => {
    const { api, page, faults } = await openPage({
      script: [{ calls: [{ name: 'act', input: {} }] }, { text: 'Counted **ten**.' }],
      width: 360,
    });
    await api.pith.command(['tasks', 'submit', 'Count to ten']);
    await page.getByRole('link', { name: 'Work' }).press('Enter');
    await page.getByRole('link', { name: 'Count to ten' }).press('Enter');
    await page.getByText('Counted ten.').waitFor();
    await page.getByRole('status').getByText('done').waitFor();
    await page.getByRole('rowheader', { name: 'act' }).waitFor();
    expect((await lines(page)).map((line) => line.split(' | ')[2])).toEqual(['turn', 'model', 'tool', 'model']);
    expect(await tooWide(page)).toEqual([]);
    expect(await violations(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('W6 W14 a session that may only chat is shown the question of its task, and no form that would be refused', async () => {
    const asks = { calls: [{ name: 'request_human_review', input: { question: 'Shall I go on?' } }] };
    const { api, page } = await openPage({
      script: [asks, { text: 'asked' }],
      files: { 'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [task_engine] }\n' },
    });
    const token = await api.token({ userId: 'local', may: 'chat' });
    await api.pith.command(['tasks', 'submit', 'Count to ten']);
    await page.getByRole('link', { name: 'Work' }).press('Enter');
    await page.getByRole('link', { name: 'Count to ten' }).press('Enter');
    await page.getByRole('button', { name: 'Answer', exact: true }).waitFor();
    const place = page.url();
    await signOut(page);
    await page.getByLabel('Or sign in with a token').fill(token);
    await page.keyboard.press('Enter');
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
    await page.goto(place);
    await page.getByText('This session may not answer.').waitFor();
    await page.getByText('Shall I go on?', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Answer', exact: true }).count()).toBe(0);
  });

  it('W14 a run of a saved skill has its timeline while it goes on and afterwards', async () => {
    const { api, page, faults } = await openPage({ script: [{ text: 'Good morning!' }] });
    const saved = { name: 'greet', description: 'Greets.', system_prompt: 'Greet.', input_schema: [] };
    writeFileSync(`${api.pith.sandbox}/greet.yml`, JSON.stringify(saved));
    await api.pith.command(['saved', 'new', 'greet', '--file', `${api.pith.sandbox}/greet.yml`]);
    await api.pith.command(['run', 'greet', '--background']);
    await page.getByRole('link', { name: 'Work' }).click();
    await page.getByRole('link', { name: /greet/u }).click();
    await page.getByRole('status').getByText('ok', { exact: true }).waitFor();
    await page.getByRole('rowheader', { name: /^Step 1/u }).waitFor();
    expect(await violations(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('W14 a schedule is among what has not ended, and is ended there', async () => {
    const { api, page, faults } = await openPage({
      script: [
        { calls: [{ name: 'schedule_recurring', input: { message: 'Water the plants', cron: '0 9 * * *', time_zone: 'UTC' } }] },
        { text: 'Planned.' },
      ],
      files: { 'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [scheduler] }\n' },
    });
    await say(page, 'Remind me');
    await page.getByRole('region', { name: 'A question to you' }).waitFor();
    await page.getByRole('log').focus();
    await page.keyboard.press('y');
    await page.getByText('Planned.').waitFor();
    await page.getByRole('link', { name: 'Work' }).press('Enter');
    await page.getByRole('checkbox', { name: 'Open work only' }).check();
    const end = page.getByRole('button', { name: 'Delete Water the plants' });
    await press(end);
    await press(page.getByRole('button', { name: 'Yes' }));
    await end.waitFor({ state: 'detached' });
    expect((await api.pith.command(['tasks', 'schedules', 'list'], { json: true })).values[0]).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('W14 a timetable of a saved skill is among the schedules, with its next time and owner, as soon as it is set, and is ended there', async () => {
    const { api, page, faults } = await openPage({ width: 360 });
    const content = { description: 'Greets.', system_prompt: 'Greet.' };
    await api.pith.command(['saved', 'new', 'greet', '--text', JSON.stringify(content)]);
    await api.pith.command(['saved', 'new', 'unplanned', '--text', JSON.stringify(content)]);
    await page.getByRole('link', { name: 'Work' }).press('Enter');
    await page.getByText('There is no work to show.').waitFor();
    await api.pith.command(['saved', 'schedule', 'greet', '0 9 * * *', '--time-zone', 'UTC']);
    const row = page.getByRole('row', { name: /^schedule local\/greet \(0 9 \* \* \*\) waits .*09:00:00 local/u });
    await row.waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    expect(await violations(page)).toEqual([]);
    expect(await tooWide(page)).toEqual([]);
    await row.getByRole('link').press('Enter');
    await page.getByText('— next').waitFor();
    await page.goBack();
    await press(page.getByRole('button', { name: /^Delete local\/greet/u }));
    await press(page.getByRole('button', { name: 'Yes' }));
    await row.waitFor({ state: 'detached' });
    expect((await api.pith.command(['saved', 'show', 'greet'], { json: true })).values[0]).toMatchObject({ schedule: null });
    expect(faults).toEqual([]);
  });

  it('W14 a run and a task stand there once; their jobs are shown to who chooses jobs', async () => {
    const { api, page, faults } = await openPage({ script: [{ text: 'One.' }, { text: 'Two.' }] });
    await api.pith.command(['saved', 'new', 'greet', '--text', JSON.stringify({ system_prompt: 'Greet.' })]);
    await api.pith.command(['run', 'greet', '--background']);
    await api.pith.command(['tasks', 'submit', 'Count to ten']);
    await page.getByRole('link', { name: 'Work' }).press('Enter');
    await page.getByRole('row', { name: /^run local\/greet ok/u }).waitFor();
    await page.getByRole('row', { name: /^task Count to ten done/u }).waitFor();
    const counts = [/greet/u, /Count to ten/u, /saved_skills|task_engine|scheduler/u].map((name) =>
      page.getByRole('row', { name }).count(),
    );
    expect(await Promise.all(counts)).toEqual([1, 1, 0]);
    await page.getByLabel('Kind').selectOption('job');
    await page.getByRole('row', { name: /^job saved_skills\.run done/u }).waitFor();
    await page.getByRole('row', { name: /^job task_engine\.work done/u }).waitFor();
    expect(await page.getByRole('row', { name: /^(?:run|task)/u }).count()).toBe(0);
    expect(faults).toEqual([]);
  });

  it('W14 W2 what failed says why, with the way to its conversation, or for an administrator to the timeline of somebody else’s', async () => {
    const failing = async (): Promise<never> => {
      throw new PithError('model_refused', 'the model had enough');
    };
    const { api, page, faults } = await openPage({ script: [failing, failing] });
    await api.pith.command(['saved', 'new', 'greet', '--text', JSON.stringify({ system_prompt: 'Greet.' })]);
    await api.pith.command(['run', 'greet', '--background']);
    await page.getByRole('link', { name: 'Work' }).press('Enter');
    const row = page.getByRole('row', { name: /^run local\/greet the model had enough/u });
    await row.waitFor();
    expect(await violations(page)).toEqual([]);
    await row.getByRole('link', { name: 'local/greet', exact: true }).press('Enter');
    await page.getByRole('alert').getByText('the model had enough').waitFor();
    await page.getByRole('link', { name: 'Conversation' }).waitFor();
    await page.goBack();
    await row.getByRole('link', { name: 'Conversation of local/greet' }).press('Enter');
    await page.getByRole('log').waitFor();
    expect(new URL(page.url()).pathname).toMatch(/^\/chat\/runs\//u);
    const token = await api.token({ userId: 'ann' });
    const post = (path: string, json: JsonValue) => api.request(path, { method: 'POST', token, json });
    await post('/api/saved', { name: 'hail', text: JSON.stringify({ system_prompt: 'Hail.' }) });
    await post('/api/saved/ann%2Fhail/runs', {});
    await page.getByRole('link', { name: 'Work' }).press('Enter');
    await page.getByRole('link', { name: 'Timeline of ann/hail' }).press('Enter');
    await page.getByRole('cell', { name: /^error/u }).waitFor();
    expect(faults).toEqual([]);
  });

  it('W14 W32 a long table of work comes in pages, and what has not ended is found behind any number of what has', async () => {
    const { api, page, faults } = await openPage();
    const token = await api.token({ role: 'admin', may: 'admin' });
    expect((await api.request('/api/jobs/pause', { method: 'POST', token, json: { name: 'task_engine' } })).status).toBe(200);
    const submitted = async (goal: string): Promise<string> => {
      const { values } = await api.pith.command(['tasks', 'submit', goal], { json: true });
      return (values[0] as { readonly id: string }).id;
    };
    await submitted('The very first');
    for (let number = 1; number <= 110; number += 1) await api.pith.command(['tasks', 'cancel', await submitted(`Number ${number}.`)]);
    await page.getByRole('link', { name: 'Work' }).press('Enter');
    await page.getByRole('link', { name: 'Number 110.' }).waitFor();
    const first = page.getByRole('link', { name: 'The very first' });
    expect(await first.count()).toBe(0);
    await page.getByRole('checkbox', { name: 'Open work only' }).check();
    await first.waitFor();
    await page
      .getByRole('link', { name: /^Number/u })
      .first()
      .waitFor({ state: 'detached' });
    await page.getByRole('checkbox', { name: 'Open work only' }).uncheck();
    const more = page.getByRole('button', { name: 'More', exact: true });
    await page.getByRole('link', { name: 'Number 110.' }).waitFor();
    await until(async () => {
      if ((await more.count()) === 0) return true;
      await more.scrollIntoViewIfNeeded({ timeout: 1000 });
      return false;
    });
    expect(await page.getByRole('link', { name: /^(?:Number|The very first)/u }).count()).toBe(111);
    expect(faults).toEqual([]);
  });

  it('W14 W16 pages of a task, a run and a saved skill hear what changed, and ask for nothing while nothing does', async () => {
    const open = gate();
    const { api, page, faults } = await openPage({ script: [async () => (await open.opened, { text: 'Good morning!' })] });
    await page.clock.install();
    await api.pith.command(['saved', 'new', 'greet', '--text', JSON.stringify({ system_prompt: 'Greet.' })]);
    await page.getByRole('link', { name: 'Saved skills', exact: true }).click();
    await page.getByRole('link', { name: 'local/greet' }).click();
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    await api.pith.command(['run', 'greet', '--background']);
    await page.getByRole('cell', { name: 'running' }).waitFor();
    const asked: string[] = [];
    page.on('request', (request) => void (/\/api\/(?:runs|tasks|lanes)/u.test(request.url()) && asked.push(request.url())));
    const asksNothing = async () => {
      asked.length = 0; // what was asked because the run has just begun
      await page.clock.runFor(10_000);
      return asked.length === 0;
    };
    await until(asksNothing);
    await page.locator('table').getByRole('link').first().click();
    await page.getByRole('status').getByText('running').waitFor();
    await until(asksNothing);
    open.open();
    await page.getByText('Good morning!').waitFor();
    await page.getByRole('status').getByText('ok', { exact: true }).waitFor();
    expect(faults).toEqual([]);
  });

  it('W2 W5 the timeline of another person’s conversation is unknown', async () => {
    const { api, page } = await openPage({ script: [{ text: 'Hello' }] });
    await say(page, 'Good day');
    await page.getByText('Hello', { exact: true }).waitFor();
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    const [ann, own] = [await api.token({ userId: 'ann' }), await api.token({ userId: 'local' })];
    const { json } = await api.request(`/api/threads/${id}/trace`, { token: own });
    const turn = (json as { readonly id: string }).id;
    const theirs = await api.thread(ann);
    const known = [`/api/threads/${id}/trace`, `/api/threads/${id}/trace?turn=${turn}`, `/api/threads/${theirs}/trace?turn=${turn}`];
    expect(await Promise.all(known.map(async (path) => (await api.request(path, { token: ann })).status))).toEqual([404, 404, 404]);
    expect((await api.request(`/api/threads/${id}/trace?turn=${turn}`, { token: own })).json).toMatchObject({ id: turn });
  });
});

it('W11 W14 says how long something took in one form', () => {
  const lengths = [350, 2400, 59_949, 59_960, 192_000, 7_500_000].map(lengthOf);
  expect(lengths).toEqual(['350 ms', '2.4 s', '59.9 s', '1 min 0 s', '3 min 12 s', '2 h 5 min']);
});
