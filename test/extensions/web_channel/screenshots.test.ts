import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@pith/promises';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describePage, openPage, say } from './browser.ts';

const FOLDER = fileURLToPath(new URL('../../../docs/images', import.meta.url));
const GUIDE = fileURLToPath(new URL('../../../docs/web-page.md', import.meta.url));
/** Set by `npm run screenshots`: the pictures are written. */
const WRITES = process.env['PITH_SCREENSHOTS'] === '1';
const MOST_BYTES = 120_000;

const NOON = Date.UTC(2027, 2, 4, 12);
const begun = systemClock.now();
/** Pictures that are made again on another day show the same dates. */
const CLOCK = {
  now: () => NOON + systemClock.now() - begun,
  sleep: systemClock.sleep.bind(systemClock),
  after: systemClock.after.bind(systemClock),
};

const skill = (name: string, description: string, body: string): string =>
  `---\nname: ${name}\ndescription: ${description}\nversion: 1.0.0\n---\n\n${body}`;

const LETTERS = `# Letters

1. Begin with the name of who reads it.
2. Say what changes in the first sentence.
3. Close with your own name.

| Occasion | Tone |
| --- | --- |
| Meeting | short |
| Thanks | warm |
`;

const FILES = {
  'skills/letters/SKILL.md': skill('letters', 'Write letters of the club. Use when somebody is to be told something.', LETTERS),
  'skills/minutes/SKILL.md': skill(
    'minutes',
    'Take the minutes of a meeting. Use when notes become minutes.',
    '# Minutes\n\nDecisions first.\n',
  ),
  'skills/planting/SKILL.md': skill(
    'planting',
    'Plan beds by month and soil. Use when somebody asks what to sow.',
    '# Planting\n\nSoil first.\n',
  ),
  'skills/budget/SKILL.md': skill('budget', 'Keep the accounts of the club. Use when money comes or goes.', '# Budget\n\nTwo columns.\n'),
  'agents/helper/manifest.yaml':
    'id: helper\nname: Helper\nagent: { uses_tools: [post, skill_registry, skill_proposals], instructions: Help the garden club. }\n',
  'extensions/post/manifest.yaml': '{id: post, name: Post, description: Sends letters, entrypoint: main.ts, provides: [tool]}',
  'extensions/post/main.ts': `import { defineTool, z } from 'pith';
export default class {
  getTools() {
    return [defineTool({
      name: 'send_letter', description: 'Sends a letter.', input: z.object({ to: z.string(), text: z.string() }),
      needsApproval: ({ to, text }) => ({ summary: 'send a letter to ' + to, text }),
      execute: async ({ to }) => 'sent to ' + to,
    })];
  }
}
`,
};

const DIFF = `--- a/SKILL.md
+++ b/SKILL.md
@@ -7,5 +7,6 @@
 # Letters

 1. Begin with the name of who reads it.
-2. Say what changes in the first sentence.
+2. Say what changes in the first sentence, with the day and the hour.
 3. Close with your own name.
+4. Leave the year out.
`;

const SCRIPT = [
  {
    text: 'I write as the club does, so I read its skill first.',
    calls: [{ name: 'read_skill', input: { skill_id: 'letters' } }],
    usage: { inputTokens: 2140, outputTokens: 61 },
  },
  {
    text: 'This is the letter:\n\n> Dear Rosa, the meeting moves to **Friday at six**. Ann',
    calls: [{ name: 'send_letter', input: { to: 'Rosa', text: 'Dear Rosa,\n\nthe meeting moves to Friday at six.\n\nAnn' } }],
    usage: { inputTokens: 2480, outputTokens: 96 },
  },
  { text: 'Rosa has the letter.', usage: { inputTokens: 2610, outputTokens: 12 } },
  {
    calls: [
      {
        name: 'propose_skill_update',
        input: {
          skill_id: 'letters',
          diff: DIFF,
          justification: 'People asked back when exactly the meeting is.',
          evidence: 'Three of five answers in February asked for the hour.',
        },
      },
    ],
  },
  { text: 'I have proposed it.' },
  { text: 'Good morning, **Oslo**! Sow peas and broad beans this week; keep tomatoes inside.' },
];

const SAVED = {
  name: 'what-to-sow',
  description: 'What to sow this week, by place.',
  system_prompt: 'Say what to sow.',
  tags: ['garden', 'weekly'],
  input_schema: [
    { name: 'place', type: 'string', required: true, choices: ['Rome', 'Oslo'] },
    { name: 'beds', type: 'int', default: 2 },
  ],
};

async function picture(page: Page, name: string, height = 800): Promise<void> {
  const file = `${FOLDER}/${name}.png`;
  await page.mouse.move(0, 0);
  const bytes = await page.screenshot({ animations: 'disabled', caret: 'hide', clip: { x: 0, y: 0, width: 1100, height } });
  expect(bytes.length).toBeLessThan(MOST_BYTES);
  if (WRITES) writeFileSync(file, bytes);
  expect([existsSync(file), readFileSync(GUIDE, 'utf8').includes(`(images/${name}.png)`)]).toEqual([true, true]);
}

describePage('pictures of the page', () => {
  it('W30 six views are drawn from real data; npm run screenshots writes them to docs/images', async () => {
    const { api, page, faults } = await openPage({ script: SCRIPT, files: FILES, clock: CLOCK, width: 1100 });
    const me = { userId: 'ann', role: 'admin', may: 'admin', host: 'workshop', project: 'garden-club' };
    await page.route('**/api/me', (route) => route.fulfill({ json: me })); // the machine of whoever makes the pictures has another name
    await page.reload();
    await page.getByRole('status').getByText('garden-club').waitFor();
    await say(page, 'Tell Rosa that the meeting moves to Friday at six');
    await page.getByRole('region', { name: 'A question to you' }).waitFor();
    await page.getByText(/^Skill letters loaded \(/u).waitFor();
    await picture(page, 'page-chat');
    await page.getByRole('log').focus();
    await page.keyboard.press('y');
    await page.getByText('Rosa has the letter.').waitFor();
    await page.getByText(/· used /u).waitFor();
    await page.getByRole('button', { name: 'What the model sees' }).click();
    await page.getByRole('region', { name: 'What the model sees' }).getByText('System text').waitFor();
    await picture(page, 'page-context');
    await page.getByText('More', { exact: true }).click();
    await page.getByRole('link', { name: 'Timeline' }).click();
    await page.getByRole('cell', { name: 'answered: once' }).waitFor();
    await picture(page, 'page-timeline');
    await page.getByRole('link', { name: 'Skills', exact: true }).click();
    await page.getByRole('link', { name: 'planting' }).waitFor();
    await picture(page, 'page-skills', 500);
    const { results } = await api.pith.run('People ask for the hour', { threadId: 'hour', userId: 'local' });
    expect(results).toMatchObject([{ ok: true }]);
    await page.getByRole('button', { name: '1 notice' }).click();
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.getByRole('link', { name: /^Proposals/u }).click();
    await page.getByRole('link', { name: 'letters' }).click();
    await page.locator('.difference tr.changed').first().waitFor();
    await picture(page, 'page-proposal');
    writeFileSync(`${api.pith.sandbox}/saved.yml`, JSON.stringify(SAVED));
    await api.pith.command(['saved', 'new', SAVED.name, '--file', `${api.pith.sandbox}/saved.yml`]);
    await page.getByRole('link', { name: 'Saved skills' }).click();
    await page.getByRole('link', { name: `local/${SAVED.name}` }).click();
    await page.getByLabel('place').selectOption('Oslo');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('Good morning,').waitFor();
    await page.getByRole('status').getByText('ok', { exact: true }).waitFor();
    await picture(page, 'page-run');
    expect(faults.filter((fault) => !fault.includes('404'))).toEqual([]); // a run that is about to begin has no timeline yet
  });
});
