import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import type { Locator } from 'playwright-core';
import type { JsonValue } from 'pith';
import { skillFileSchema } from '../../../sandbox/extensions/saved_skills/domain/saved-skill.ts';
import { DECIDED_ELSEWHERE, FIELD_GROUPS, KEPT, OWN_FIELDS } from '../../../sandbox/extensions/web_channel/page/saved/document-fields.ts';
import { gate, until } from '../../waiting.ts';
import { describePage, openPage, type OpenPage, press, tooWide, violations } from './browser.ts';

/** What a screen reader says of a box besides its label. */
const description = (box: Locator): Promise<string> =>
  box.evaluate((each) => each.ownerDocument.getElementById(each.getAttribute('aria-describedby') ?? '')?.textContent ?? '');
const isFocused = (box: Locator): Promise<boolean> => box.evaluate((each) => each === each.ownerDocument.activeElement);

const GREET = { description: 'Greets a city.', system_prompt: 'Greet.', tags: ['morning', 'city'] };

/** Saves a skill as the person at the terminal. */
async function saved({ api }: OpenPage, name: string, content: { readonly [key: string]: JsonValue } = {}): Promise<void> {
  await api.pith.command(['saved', 'new', name, '--text', JSON.stringify({ ...GREET, ...content })]);
}

async function openSaved({ page }: OpenPage, name: string): Promise<void> {
  await page.getByRole('link', { name: 'Saved skills', exact: true }).first().click();
  await page.getByRole('link', { name: `local/${name}`, exact: true }).click();
  await page.getByRole('heading', { name: `local/${name}`, exact: true }).waitFor();
}

it('W13 each key of the document of a saved skill is edited by its form, decided on its page, or kept as it is', () => {
  const { shape } = skillFileSchema() as unknown as { readonly shape: object };
  const edited = FIELD_GROUPS.flatMap(({ fields }) => fields.map(({ key }) => key));
  expect([...edited, ...OWN_FIELDS, ...DECIDED_ELSEWHERE, ...KEPT].toSorted()).toEqual(Object.keys(shape).toSorted());
});

describePage('saved skills on the page', () => {
  it('W13 cards have tags and a filter by them, what is pinned, the next three times of a schedule, and retired ones their replacement', async () => {
    const opened = await openPage();
    const { api, page, faults } = opened;
    await saved(opened, 'greet');
    await saved(opened, 'report', { tags: ['evening'] });
    await saved(opened, 'older', { tags: ['evening'] });
    await api.pith.command(['saved', 'retire', 'older', '--by', 'local/report']);
    await page.getByRole('link', { name: 'Saved skills' }).click();
    await press(page.getByRole('group', { name: 'Tags' }).getByRole('button', { name: 'evening' }));
    await page.getByRole('link', { name: 'local/greet' }).waitFor({ state: 'hidden' });
    expect(await page.locator('.cards > li').count()).toBe(1);
    await page.getByLabel('Retired').check();
    await page.getByText("Retired: use the saved skill 'local/report'").waitFor();
    await page.getByLabel('Retired').uncheck();
    await page.getByRole('link', { name: 'local/greet' }).click();
    await page.locator('summary', { hasText: 'Who runs it, and when' }).press('Enter');
    await page.getByLabel('Timetable').fill('0 9 * * *');
    await page.getByLabel('Time zone').fill('UTC');
    await page.keyboard.press('Enter');
    const times = page.getByText('— next');
    await times.waitFor();
    expect((await times.textContent())?.split(';').length).toBe(3);
    await press(page.getByRole('button', { name: 'Pin', exact: true }));
    await page.getByText('pinned: 1.0.0').waitFor();
    await page.getByLabel('Seen and run by').selectOption('shared');
    await page.getByLabel('Shared with').fill('ann, bob');
    await page.keyboard.press('Enter');
    await page.locator('.chip', { hasText: 'shared' }).waitFor();
    await page.getByLabel('Timetable').fill('every day');
    await page.getByRole('button', { name: 'Schedule' }).click();
    await page.getByRole('alert').getByText('must have five fields').waitFor();
    expect(await violations(page)).toEqual([]);
    expect((await api.pith.command(['saved', 'show', 'greet'], { json: true })).values[0]).toMatchObject({
      visibility: 'shared',
      shared_with: ['ann', 'bob'],
      schedule: '0 9 * * *',
      pinned_version_id: expect.any(String),
      next_runs: [expect.any(Number), expect.any(Number), expect.any(Number)],
    });
    expect(faults.filter((fault) => !fault.includes('400') && !fault.includes('422'))).toEqual([]);
  });

  it('W13 a form has each type of input, choices and defaults, says each error beside its field, and its run is followed live', async () => {
    const open = gate();
    const opened = await openPage({
      script: [
        async () => ({ text: 'I look.', calls: [{ name: 'update_status', input: { status: 'half done' } }] }),
        async () => (await open.opened, { text: 'All of it.' }),
      ],
    });
    const { api, page } = opened;
    const field = (name: string, type: string, more: object = {}) => ({ name, type, required: false, ...more });
    const fields = [
      field('title', 'string', { required: true }),
      field('count', 'int', { default: 2 }),
      field('share', 'float'),
      field('loud', 'bool', { default: true }),
      field('who', 'user'),
      field('place', 'channel'),
      field('site', 'url'),
      field('tone', 'string', { choices: ['warm', 'cold'], default: 'cold' }),
    ];
    await saved(opened, 'greet', { input_schema: fields as unknown as JsonValue });
    await openSaved(opened, 'greet');
    expect([
      await page.getByLabel('count').inputValue(),
      await page.getByLabel('tone').inputValue(),
      await page.getByLabel('loud').isChecked(),
    ]).toEqual(['2', 'cold', true]);
    for (const width of [360, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      const rows = await page.locator('.field').evaluateAll((all) => all.map((each) => each.getBoundingClientRect()));
      const boxes = await page.locator('.field > :is(input, select)').evaluateAll((all) => all.map((each) => each.getBoundingClientRect()));
      const gaps = rows.slice(1).map(({ top }, at) => top - (rows[at]?.bottom ?? 0));
      expect([
        width,
        Math.min(...gaps) >= 8,
        Math.max(...boxes.map(({ left }) => left)) - Math.min(...boxes.map(({ left }) => left)) < 4,
      ]).toEqual([width, true, true]);
    }
    await page.getByLabel('count').fill('many');
    await page.getByLabel('site').fill('nowhere');
    await press(page.getByRole('button', { name: 'Run', exact: true }));
    await page.getByText('title is missing').waitFor();
    await page.getByText("count 'many' is not a whole number").waitFor();
    await page.getByText("site 'nowhere' is not an http(s) address").waitFor();
    const wrong = await page.locator('[aria-invalid="true"]').evaluateAll((boxes) => boxes.map((box) => box.getAttribute('name')));
    expect(wrong).toEqual(['title', 'count', 'site']);
    expect(await violations(page)).toEqual([]);
    for (const [name, value] of [
      ['title', 'Dr'],
      ['count', '3'],
      ['share', '0.5'],
      ['who', 'ann'],
      ['place', 'news'],
      ['site', 'https://example.com'],
    ] as const)
      await page.getByLabel(name).fill(value);
    await page.getByLabel('loud').uncheck();
    await page.getByLabel('tone').selectOption('warm');
    await press(page.getByRole('button', { name: 'Run', exact: true }));
    await page.getByRole('heading', { name: 'Run', level: 1 }).waitFor();
    await page.getByText('half done').first().waitFor();
    await page.getByRole('status').getByText('running').waitFor();
    open.open();
    await page.getByRole('status').getByText('ok', { exact: true }).waitFor();
    await page.getByText('All of it.').first().waitFor();
    expect(await page.locator('main .row .muted').first().textContent()).toMatch(/^(?:half done · )?\d steps? · \d calls? · /u);
    const shown = page.locator('section', { hasText: 'Inputs' }).locator('dt, dd');
    expect(await shown.allTextContents()).toEqual(
      expect.arrayContaining(['title', 'Dr', 'count', '3', 'loud', 'false', 'site', 'https://example.com']),
    );
    expect(await violations(page)).toEqual([]);
    const [runs] = (await api.pith.command(['runs', 'list'], { json: true })).values as [{ readonly inputs: JsonValue }[]];
    expect(runs[0]?.inputs).toEqual({
      title: 'Dr',
      count: 3,
      share: 0.5,
      loud: false,
      who: 'ann',
      place: 'news',
      site: 'https://example.com',
      tone: 'warm',
    });
  });

  it('W13 lanes are drawn with what runs and what waits', async () => {
    const open = gate();
    const opened = await openPage({
      script: [async () => (await open.opened, { text: 'One.' }), { text: 'Two.' }],
      files: {
        'pith.yaml': 'default_agent: helper\nextensions: { saved_skills: { lanes: { skill-default: { slots: 1 } } } }\n',
      },
    });
    const { api, page, faults } = opened;
    await saved(opened, 'greet');
    await openSaved(opened, 'greet');
    const token = await api.token({ userId: 'local', role: 'admin', may: 'admin' });
    for (const _ of [1, 2]) await api.request('/api/saved/local%2Fgreet/runs', { method: 'POST', token, json: {} });
    await page.getByRole('link', { name: 'Saved skills', exact: true }).first().click();
    await page.locator('summary', { hasText: 'Lanes' }).press('Enter');
    await page.getByRole('img', { name: /1 running, 1 queued$/u }).waitFor();
    expect(await page.locator('.plot .drawn .limit').count()).toBe(1);
    await page.getByText('As a table').press('Enter');
    await page.getByRole('row', { name: 'skill-default 1 1 1' }).waitFor();
    expect(await violations(page)).toEqual([]);
    open.open();
    await page.getByRole('img', { name: /0 running, 0 queued$/u }).waitFor();
    expect(faults).toEqual([]);
  });

  it('W13 a webhook shows its secrets once, its allow list is parsed before it is saved, and its example runs the skill', async () => {
    const opened = await openPage({ script: [{ text: 'Hello from outside.' }], extensions: ['skill_webhooks'] });
    const { api, page, faults } = opened;
    const city = { name: 'city', type: 'string', required: true, choices: ["L'Aquila", 'Oslo'] };
    await saved(opened, 'greet', { input_schema: [city] });
    await openSaved(opened, 'greet');
    await page.locator('summary', { hasText: 'Webhook' }).press('Enter');
    await press(page.getByRole('button', { name: 'Make a webhook' }));
    const secrets = page.getByRole('region', { name: 'Shown only now' });
    await secrets.getByText('whsec_').waitFor();
    const address = (await secrets.locator('code').first().textContent()) ?? '';
    await page.getByLabel('Addresses and ranges').fill('127.0.0.1\n192.0.2.77/24');
    expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    await press(page.getByRole('button', { name: 'Check' }));
    await page.getByRole('row', { name: '192.0.2.0/24 192.0.2.0 192.0.2.255' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await press(page.getByRole('button', { name: 'Save' }));
    await until(async () => (await page.getByLabel('Addresses and ranges').inputValue()) === '127.0.0.1\n192.0.2.0/24');
    const example = (await page.locator('pre').last().textContent()) ?? '';
    const { stdout } = await promisify(execFile)('bash', ['-c', example.replace('curl ', 'curl -s ')]);
    const { run } = JSON.parse(stdout) as { readonly run: string };
    await page.getByRole('link', { name: 'Saved skills', exact: true }).first().click();
    await page.getByRole('link', { name: 'local/greet' }).click();
    await page.getByRole('cell', { name: 'Hello from outside.' }).waitFor();
    const [shown] = (await api.pith.command(['runs', 'show', run], { json: true })).values;
    expect(shown).toMatchObject({ cause: 'webhook', inputs: { city: "L'Aquila" } });
    await page.locator('summary', { hasText: 'Webhook' }).press('Enter');
    await page.getByText('Use the address and key shown').waitFor();
    expect(await page.content()).not.toContain(address);
    await page.getByLabel('Addresses and ranges').fill('somewhere');
    await press(page.getByRole('button', { name: 'Check' }));
    await page.getByRole('alert').getByText('neither an address nor a range: somewhere').waitFor();
    await page.getByRole('button', { name: 'New address and key' }).click();
    await page.getByRole('button', { name: 'Yes' }).click();
    await secrets.getByText('whsec_').waitFor();
    expect((await fetch(address, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })).status).toBe(404);
    expect(faults.filter((fault) => !fault.includes('422') && !fault.includes('400'))).toEqual([]);
  });

  it('W10 W13 history, decisions and webhook work by keyboard at 360 pixels, and keep the focus where a person is', async () => {
    const opened = await openPage({ width: 360, extensions: ['skill_webhooks'] });
    const { page, faults } = opened;
    await saved(opened, 'greet', {
      input_schema: [{ name: 'city', choices: ['Oslo', 'A place with quite a long name that does not end soon'] }],
    });
    await opened.api.pith.command(['saved', 'edit', 'greet', '--text', 'system_prompt: Greet twice.']);
    await openSaved(opened, 'greet');
    const checkView = async (): Promise<void> => {
      expect(await tooWide(page)).toEqual([]);
      expect(await violations(page)).toEqual([]);
    };
    const button = (name: string): Locator => page.getByRole('button', { name, exact: true });
    await press(page.locator('summary', { hasText: 'History' }));
    const history = page.getByRole('region', { name: 'History' });
    await history.getByRole('row', { name: /^1\.0\.1 2 .* local/u }).waitFor();
    await history.getByRole('row', { name: /^1\.0\.0 1 .* local/u }).waitFor();
    await press(page.locator('summary', { hasText: 'Who runs it, and when' }));
    await press(button('Pin'));
    await history.getByRole('row', { name: /^1\.0\.1 .* pinned$/u }).waitFor();
    await until(() => isFocused(button('Pin')));
    const cron = page.getByLabel('Timetable');
    await cron.fill('every day');
    await cron.press('Enter');
    await until(async () => (await description(cron)).includes('must have five fields'));
    expect([await cron.getAttribute('aria-invalid'), await isFocused(cron)]).toEqual(['true', true]);
    await checkView();
    await button('Schedule').and(page.locator(':enabled')).waitFor();
    await cron.fill('@daily');
    await cron.press('Enter');
    await page.getByText('— next').waitFor();
    await press(button('Stop'));
    await page.getByText('— next').waitFor({ state: 'detached' });
    await press(page.locator('summary', { hasText: 'Webhook' }));
    await press(button('Make a webhook'));
    const secrets = page.getByRole('region', { name: 'Shown only now' });
    await secrets.getByText('whsec_').waitFor();
    await until(() => isFocused(secrets));
    await page.getByLabel('Addresses and ranges').fill('192.0.2.0/24');
    await press(button('Check'));
    await page.getByRole('row', { name: '192.0.2.0/24' }).waitFor();
    await checkView();
    await press(button('Remove'));
    await press(button('Yes'));
    await button('Make a webhook').waitFor();
    await until(() => isFocused(button('Make a webhook')));
    await checkView();
    expect(faults.filter((fault) => !fault.includes('400') && !fault.includes('422'))).toEqual([]);
  });

  it('W10 W13 what is decided as soon as it is shown keeps the focus, also where the browser is slow to draw', async () => {
    const opened = await openPage({});
    const { page, faults } = opened;
    await saved(opened, 'greet', {});
    await page.addInitScript('requestAnimationFrame = () => 0'); // effects come late
    await page.reload();
    await openSaved(opened, 'greet');
    const summary = page.locator('summary', { hasText: 'Who runs it, and when' });
    await summary.waitFor();
    await page.evaluate(`(async () => {
      [...document.querySelectorAll('summary')].find((each) => each.textContent.startsWith('Who runs it')).click();
      for (let pin; pin === undefined; await new Promise((resolve) => setTimeout(resolve))) {
        pin = [...document.querySelectorAll('button')].find((each) => each.textContent === 'Pin');
        pin?.focus();
        pin?.click();
      }
    })()`);
    await page.getByRole('button', { name: 'Unpin' }).waitFor();
    await until(() => isFocused(page.getByRole('button', { name: 'Pin', exact: true })));
    expect(faults).toEqual([]);
  });

  it('W13 the form edits all of a document, chooses model, skills and tools from what there is, and leaves alone what nobody changed', async () => {
    const opened = await openPage({
      width: 360,
      extensions: ['skill_webhooks'],
      files: { 'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [risky, scheduler] }\n' },
    });
    const { api, page, faults } = opened;
    await saved(opened, 'greet', {
      output_target: { kind: 'channel', target: 'https://hooks.example.org/secret/path' },
      pending_approval: true,
      state_react_emoji: { __end__: '✅' },
    });
    const sent: unknown[] = [];
    page.on('request', (request) => {
      if (request.method() === 'PATCH') sent.push(JSON.parse((request.postDataJSON() as { readonly text: string }).text));
    });
    await page.goto(new URL('/saved/edit/local/greet', page.url()).href);
    await page.getByText('What no box shows here stays, too: pending_approval.').waitFor();
    await page.getByLabel('First message').fill('Greet {{ town }}.');
    await page.getByLabel('Model').focus();
    await page.getByRole('option', { name: 'thinking' }).waitFor({ state: 'attached' });
    await page.getByLabel('Model').selectOption('thinking');
    await page.getByRole('combobox', { name: 'Skills' }).focus();
    await page.locator('#field-uses_skills-options option[value=letters]').waitFor({ state: 'attached' });
    await page.keyboard.type('letters');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Remove letters from Skills' }).waitFor();
    await page.getByRole('combobox', { name: 'Tools' }).focus();
    await page.locator('#field-tools-options option[value="scheduler/list_schedules"]').waitFor({ state: 'attached' });
    await page.keyboard.type('nowhere/nothing');
    await page.keyboard.press('Enter');
    await page.getByLabel('Steps at most').fill('many');
    await page.getByLabel('Time at most').fill('2m');
    await page.getByLabel('Tool for agents').check();
    await page.getByLabel('Name of the tool').fill('say_hello');
    await page.getByLabel('Emoji by moment').fill('__start__: 👋\n__end__: ✅');
    await press(page.getByRole('button', { name: 'Add an input' }));
    await page.getByLabel('Name of input 1').fill('city');
    const save = page.getByRole('button', { name: 'Save', exact: true });
    await press(save);
    await page.getByText(/must be a (?:whole )?number, not a string/u).waitFor();
    expect(await isFocused(page.getByLabel('Steps at most'))).toBe(true);
    await page.getByLabel('Steps at most').fill('20');
    await press(save);
    await page.getByText("no tool 'nowhere/nothing'").waitFor();
    expect(await description(page.getByLabel('First message'))).toMatch(/'town'/u);
    expect(await isFocused(page.getByLabel('First message'))).toBe(true);
    expect(await violations(page)).toEqual([]);
    expect(await tooWide(page)).toEqual([]);
    await page.getByLabel('First message').fill('Greet {{ city }}.');
    await press(page.getByRole('button', { name: 'Remove nowhere/nothing from Tools' }));
    await page.getByLabel('Default of input 1').fill('Rome');
    await page.getByLabel('Type of input 1').selectOption('int');
    await press(save);
    await page.getByText("default of input 'city' 'Rome' is not a whole number").waitFor();
    expect(await isFocused(page.getByLabel('Default of input 1'))).toBe(true);
    await page.getByLabel('Type of input 1').selectOption('string');
    await press(save);
    await page.getByRole('heading', { name: 'local/greet', exact: true }).waitFor();
    expect((await api.pith.command(['saved', 'show', 'greet'], { json: true })).values[0]).toMatchObject({
      ...GREET,
      initial_message: 'Greet {{ city }}.',
      model_tier: 'thinking',
      uses_skills: ['letters'],
      tools: [],
      max_iterations: 20,
      max_runtime: '120s',
      expose_as_chatbot_tool: true,
      chatbot_tool_name: 'say_hello',
      state_react_emoji: { __start__: '👋', __end__: '✅' },
      input_schema: [{ name: 'city', default: 'Rome' }],
      pending_approval: true,
      version: '1.0.1',
    });
    expect(sent.at(-1)).not.toHaveProperty('output_target'); // of which the page knows the beginning only
    expect(faults.filter((fault) => !fault.includes('400') && !fault.includes('422'))).toEqual([]);
  });

  it('W13 a skill is saved and changed by a form, errors and all, at 360 pixels, and the result for the page alone is shown there', async () => {
    const opened = await openPage({ script: [{ text: 'Good evening, **all**.' }], width: 360 });
    const { page } = opened;
    await page.getByRole('link', { name: 'Saved skills' }).click();
    await page.getByRole('link', { name: 'New' }).press('Enter');
    await page.getByLabel('Name', { exact: true }).fill('Wrong Name');
    await page.getByLabel('What it does').fill('Greets.');
    await page.getByLabel('Instructions').fill('Greet everybody.');
    await page.getByLabel('Tags').fill('Evening, city');
    await page.getByLabel('Result goes to').selectOption('webui_only');
    await press(page.getByRole('button', { name: 'Add an input' }));
    await page.getByLabel('Name of input 1').fill('city');
    await page.getByLabel('Default of input 1').fill('Rome');
    expect(await violations(page)).toEqual([]);
    await press(page.getByRole('button', { name: 'Save' }));
    const name = page.getByLabel('Name', { exact: true });
    await page.getByRole('status').getByText('It was not saved').waitFor();
    expect(await description(name)).toBe('must be 1 to 64 lower-case letters, digits, - and _ Lower-case letters, digits, - and _');
    expect([await name.getAttribute('aria-invalid'), await isFocused(name)]).toEqual(['true', true]);
    await page.getByLabel('Name', { exact: true }).fill('evening');
    await press(page.getByRole('button', { name: 'Save' }));
    await page.getByRole('heading', { name: 'local/evening', exact: true }).waitFor();
    expect(await page.getByLabel('city').inputValue()).toBe('Rome');
    await press(page.getByRole('button', { name: 'Run', exact: true }));
    await page.getByRole('status').getByText('ok', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'local/evening' }).click();
    expect(await page.getByRole('region', { name: 'Latest result' }).locator('strong').textContent()).toBe('all');
    expect(await tooWide(page)).toEqual([]);
    expect(await violations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Edit' }).press('Enter');
    await page.getByLabel('Instructions').fill('Greet everybody twice.');
    await press(page.getByRole('button', { name: 'Remove input 1' }));
    await press(page.getByRole('button', { name: 'Save' }));
    await page.getByRole('heading', { name: 'local/evening', exact: true }).waitFor();
    expect(await page.getByLabel('city').count()).toBe(0);
    await page.locator('summary', { hasText: 'What it tells the model' }).press('Enter');
    await page.getByText('Greet everybody twice.').waitFor();
  });
});
