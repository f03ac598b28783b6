import { systemClock } from '@pith/promises';
import { expect, it } from 'vitest';
import { scriptedModel, type ScriptedStep, testKernel } from 'pith/testing';
import { openStore } from '../../../core/store/index.ts';
import { gate } from '../../waiting.ts';
import { describePage, openPage, say } from './browser.ts';

describePage('a conversation that works elsewhere', () => {
  it('W17 shows what is kept of each step while it goes on, and the figures below its end', async () => {
    const { api, page, faults } = await openPage();
    const usage = { inputTokens: 1200, outputTokens: 34 };
    const step: ScriptedStep = { text: 'First I act.', calls: [{ name: 'act', input: {} }], usage };
    const goOn = gate();
    const model = scriptedModel([step, async () => (await goOn.opened, { text: 'Then I say it.', usage })]);
    const elsewhere = await testKernel({ sandbox: api.pith.sandbox, model, only: [] });
    const running = elsewhere.run('from a terminal', { threadId: 'terminal', userId: 'local', agent: 'helper' });
    await page.getByRole('link', { name: 'from a terminal' }).click();
    await page.getByText('First I act.').waitFor();
    await page.getByText('Working elsewhere, such as in a terminal …').waitFor();
    goOn.open();
    await page.getByText('Then I say it.').waitFor();
    await page.getByText(/^2.5k tokens · /u).waitFor();
    await page.getByText(/· used 2.5k tokens$/u).waitFor();
    await running;
    await elsewhere.kernel.stop();
    expect(faults).toEqual([]);
  });

  it('W16 W17 says by itself that its turn was cut off, once the process that was killed has lost its hold, in the list too', async () => {
    const { api, page, faults } = await openPage({ script: [{ text: 'Before.' }] });
    await say(page, 'Begin');
    await page.getByText('Before.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    const store = openStore(`${api.pith.sandbox}/data/pith.db`, systemClock);
    await store.write((statement) => {
      statement('INSERT INTO leases VALUES (?, ?, ?)', `thread:${id}`, 'a process that is killed', systemClock.now() + 3_600_000);
      statement("UPDATE turns SET state = 'running'");
    });
    await store.close();
    await page.getByText('Working elsewhere, such as in a terminal …').waitFor();
    await page.getByText('The last turn was cut off.').waitFor();
    await page.getByRole('link', { name: 'Begin cut off' }).waitFor();
    expect(await page.getByRole('button', { name: 'Stop' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Go on' }).waitFor();
    expect(faults).toEqual([]);
  });
});
