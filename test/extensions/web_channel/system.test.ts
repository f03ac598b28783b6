import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { folderWith } from '../../places.ts';
import { until } from '../../waiting.ts';
import { describePage, openPage, type OpenPage, press, violations } from './browser.ts';

/** Has settings of each kind, and asks for what nobody has agreed to. */
const LIMITER = {
  'extensions/limiter/manifest.yaml':
    '{id: limiter, entrypoint: main.ts, provides: [tool], isolation: in_process, description: Limits., config: {places: [here]}}',
  'extensions/limiter/main.ts': `import { z } from 'pith';
export default class {
  static config = z.strictObject({
    most: z.int().min(1).max(9).default(3).describe('How many at most.'),
    mode: z.enum(['slow', 'fast']).default('slow').describe('How.'),
    strict: z.boolean().default(false).describe('Whether it is strict.'),
    places: z.array(z.string()).default([]).describe('Where.'),
    told: z.string().default('ann').describe('Who is told.').meta({ by_hand: 'says who is sent a key' }),
    retry: z.strictObject({ pause: z.number().optional().describe('How long.') }).default({}),
  });
  constructor(context) { context.logger.warn('limits are set', { most: context.config.most }); }
  getTools() { return []; }
}
`,
  'pith.yaml': `default_agent: helper # answers
# What is limited.
extensions:
  limiter:
    most: 4 # for now
    isolation: in_process
`,
};

const settingsFile = ({ api }: OpenPage): string => `${api.pith.sandbox}/pith.yaml`;

describePage('system', () => {
  it('W15 the graph of extensions is zoomed by buttons and keys, leads to each extension, and stands below it as a table', async () => {
    const broken = '{id: broken, entrypoint: main.ts, provides: [tool], depends_on: [saved_skills]}';
    const { api, page, faults } = await openPage({
      files: { 'extensions/broken/manifest.yaml': broken, 'extensions/broken/main.ts': 'export default class {}' },
    });
    await api.request('/api/extensions/broken/reload', {
      method: 'POST',
      token: await api.token({ role: 'admin', may: 'admin' }),
      json: {},
    }); // nothing has asked for it
    await page.getByRole('link', { name: 'System' }).click();
    await page.getByRole('link', { name: 'Graph' }).click();
    const graph = page.getByRole('group', { name: /^Graph of extensions/u });
    await graph.waitFor();
    const frame = (await graph.boundingBox())!;
    expect([frame.width > 1150, frame.y + frame.height < 800]).toEqual([true, true]);
    const nodes = graph.getByRole('link');
    for (const node of await nodes.all()) {
      const { x, y, width, height } = (await node.boundingBox())!;
      expect([x >= frame.x, y >= frame.y, x + width <= frame.x + frame.width, y + height <= frame.y + frame.height]).not.toContain(false);
      expect(height).toBeGreaterThanOrEqual(34); // as large as it is meant to be
    }
    const view = async () => ((await graph.getAttribute('viewBox')) ?? '').split(' ').map(Number);
    const [, , whole = 0] = await view();
    await graph.focus();
    await page.keyboard.press('+');
    await until(async () => ((await view())[2] ?? 0) < whole);
    const [left = 0] = await view();
    await page.keyboard.press('ArrowRight');
    await until(async () => ((await view())[0] ?? 0) > left);
    // The picture follows the keyboard.
    for (let times = 0; times < 4; times += 1) await page.keyboard.press('+');
    for (let count = await nodes.count(); count > 0; count -= 1) {
      await page.keyboard.press('Tab');
      await expect
        .poll(async () => {
          const [seen, { x, y }] = [(await graph.boundingBox())!, (await page.locator(':focus').boundingBox())!];
          return x >= seen.x && y >= seen.y && x < seen.x + seen.width && y < seen.y + seen.height;
        })
        .toBe(true);
    }
    await page.getByRole('button', { name: /^Fit/u }).click();
    await until(async () => (await view())[2] === whole);
    const row = page.getByRole('row', { name: /^broken/u });
    expect(await row.getByRole('cell').allTextContents()).toEqual([expect.any(String), 'saved_skills', '', '', '']);
    expect(await page.getByRole('row', { name: /^rest_api/u }).textContent()).toContain('http (http.routes)');
    const TONES = { active: 'good', failed: 'bad', blocked: 'warn' } as const;
    await nodes.filter({ hasText: 'failed' }).waitFor();
    const shown = await nodes.evaluateAll((all) =>
      all.map((node) => [node.querySelector('.state')?.textContent ?? '', node.getAttribute('class')]),
    );
    expect(shown.map(([, look]) => look)).toEqual(shown.map(([state]) => `node ${TONES[state as keyof typeof TONES] ?? 'muted'}`));
    expect(shown.map(([state]) => state)).toEqual(expect.arrayContaining(['active', 'failed']));
    expect(await violations(page)).toEqual([]);
    await graph.getByRole('link', { name: /^broken/u }).press('Enter');
    await page.getByRole('heading', { name: 'broken' }).waitFor();
    expect(faults).toEqual([]);
  });

  it('W15 settings of an extension are a form made from its schema, checked by field, written with the comments kept, and used at once', async () => {
    const open = await openPage({ files: LIMITER });
    const { page, faults } = open;
    await page.getByRole('link', { name: 'System' }).click();
    await page.getByRole('link', { name: 'Extensions', exact: true }).click();
    await page.getByRole('link', { name: 'limiter' }).click();
    const most = page.getByLabel('most');
    await most.waitFor();
    expect([await most.inputValue(), await page.getByLabel('retry.pause').getAttribute('placeholder')]).toEqual(['4', '']);
    expect(await page.getByText(/Set in .*pith\.yaml:5\./u).count()).toBe(1);
    await page.getByText('Who is told. It says who is sent a key: write it into pith.yaml by hand.').waitFor();
    expect([await page.getByLabel('told').textContent(), await page.getByRole('textbox', { name: 'told' }).count()]).toEqual(['ann', 0]);
    expect(await violations(page)).toEqual([]);
    const save = page.getByRole('button', { name: 'Save' });
    await most.evaluate((box) => box.removeAttribute('max')); // the server checks, whatever the browser lets pass
    await most.fill('12');
    await save.click();
    await page.getByText('must be at most 9').waitFor();
    expect(await most.evaluate((box) => box === box.ownerDocument.activeElement)).toBe(true);
    expect([await most.getAttribute('aria-invalid'), readFileSync(settingsFile(open), 'utf8')]).toEqual(['true', LIMITER['pith.yaml']]);
    await most.fill('7');
    await page.getByLabel('mode').selectOption('fast');
    await page.getByLabel('strict').selectOption('true');
    await page.getByLabel('places').fill('there\nand here');
    await page.getByLabel('retry.pause').fill('1.5');
    await save.click();
    await page
      .getByRole('status')
      .getByText(/^Written to sandbox\/pith\.yaml/u)
      .waitFor();
    expect(readFileSync(settingsFile(open), 'utf8')).toBe(`default_agent: helper # answers
# What is limited.
extensions:
  limiter:
    most: 7 # for now
    isolation: in_process
    mode: fast
    strict: true
    places:
      - there
      - and here
    retry:
      pause: 1.5
`);
    await until(async () => {
      await page.getByRole('button', { name: 'Refresh' }).click();
      return (await page.getByText('{"most":7}').count()) > 0;
    });
    await most.fill('');
    await save.click();
    await until(() => !readFileSync(settingsFile(open), 'utf8').includes('most:'));
    expect(faults.filter((fault) => !fault.includes('400'))).toEqual([]);
  });

  it('W15 settings of Pith itself are set on the page and by a program, refused where a person writes them by hand, and not over a change that was not seen', async () => {
    const open = await openPage();
    const { api, page } = open;
    await page.getByRole('link', { name: 'System' }).click();
    await page.getByRole('link', { name: 'Settings', exact: true }).click();
    await page.getByLabel('models.fast').fill('scripted/quick');
    await page.getByRole('button', { name: 'Save' }).click();
    await page
      .getByRole('status')
      .getByText(/^Written to/u)
      .waitFor();
    expect(readFileSync(settingsFile(open), 'utf8')).toContain('fast: scripted/quick');
    expect(await violations(page)).toEqual([]);
    const token = await api.token({ role: 'admin', may: 'admin' });
    const { json, headers } = await api.request('/api/settings', { token });
    expect(json).toMatchObject({ id: null, values: { models: { fast: 'scripted/quick' } } });
    const patch = (values: readonly string[], match?: string) =>
      api.request('/api/settings', {
        method: 'PATCH',
        token,
        json: { values: [...values] },
        headers: match === undefined ? {} : { 'if-match': match },
      });
    expect(await patch(['admins=["eve"]'])).toMatchObject({ status: 403, json: { error: { code: 'not_allowed' } } });
    expect(await patch(['quotas.logs=0'])).toMatchObject({ status: 400, json: { error: { code: 'config_invalid' } } });
    expect(await patch(['effort=high'], headers['etag'])).toMatchObject({ status: 200 });
    expect(await patch(['effort=low'], headers['etag'])).toMatchObject({ status: 412 });
    expect(readFileSync(settingsFile(open), 'utf8')).toContain('effort: high');
  });

  it('W14 W15 W24 models, MCP servers with their skills, agents with their whole prompt and the log are shown; an extension is loaded again', async () => {
    const far = folderWith({ 'tea/SKILL.md': '---\nname: tea\ndescription: Makes tea.\n---\n\nBoil water.\n' });
    const servers = { far: { command: process.execPath, args: [path.resolve('test/fixtures/mcp-skills-server.mjs'), far] } };
    const { api, page, faults } = await openPage({
      extensions: ['mcp'],
      files: {
        'agents/helper/manifest.yaml': 'id: helper\nname: Helper\nagent: { uses_tools: [risky], instructions: You know tea. }\n',
        'pith.yaml': JSON.stringify({ default_agent: 'helper', extensions: { mcp: { servers } } }),
      },
    });
    const open = (part: string) => page.getByRole('link', { name: part, exact: true }).click();
    await open('System');
    await open('Models');
    await page.getByText(/^scripted\/\S+ answers/u).waitFor();
    await open('MCP servers');
    await page.getByText('connected', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Review and trust tea' }).click();
    await page
      .getByRole('dialog')
      .getByText(/skill:\/\/tea\/SKILL\.md .*sha256:/u)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Yes' }).click();
    await page.getByRole('button', { name: 'Stop using tea' }).waitFor();
    await open('Agents');
    const helper = page.getByRole('listitem').filter({ hasText: 'Helper' });
    await helper.getByText('Tools: risky').waitFor();
    await helper.locator('summary', { hasText: 'Prompt' }).click();
    await helper.getByText('You know tea.').waitFor();
    await open('Extensions');
    const reloaded: string[] = [];
    api.pith.kernel.events.handle('extension.reloaded', ({ extensionId }) => void reloaded.push(extensionId));
    await page.getByRole('button', { name: 'Reload risky' }).click();
    await until(() => reloaded.includes('risky'));
    await open('Log');
    await page.getByRole('combobox', { name: 'From level' }).selectOption('info');
    await page.getByRole('row').nth(1).waitFor();
    expect(faults.filter((fault) => !fault.includes('409'))).toEqual([]); // it was asked
  });

  it('W2 W15 a token is made for a person, also for an administrator, and is shown once', async () => {
    const { api, page, faults } = await openPage();
    await page.getByRole('link', { name: 'System' }).click();
    await page.getByRole('link', { name: 'Users and tokens' }).click();
    for (const [user, may] of [
      ['ann', 'may chat'],
      ['bob', 'is an administrator'],
    ] as const) {
      await page.getByLabel('Name of the person').fill(user);
      await page.getByLabel('What the person may do').selectOption(may);
      await press(page.getByRole('button', { name: 'New token' }));
      await page.getByRole('cell', { name: user }).waitFor();
      const token = (await page.getByRole('status').locator('code').textContent()) ?? '';
      expect((await api.request('/api/me', { token })).json).toMatchObject({ userId: user });
    }
    expect(faults).toEqual([]);
  });

  it('W2 a token is made for nobody who is not named: without a name it would be one of the administrator at the terminal', async () => {
    const { page, faults } = await openPage();
    const requests: string[] = [];
    page.on('request', (request) => void (request.method() === 'POST' && requests.push(request.url())));
    await page.getByRole('link', { name: 'System' }).click();
    await page.getByRole('link', { name: 'Users and tokens' }).click();
    const name = page.getByLabel('Name of the person');
    for (const typed of ['', ' ']) {
      await name.fill(typed);
      await press(page.getByRole('button', { name: 'New token' }));
      await page.locator('input[name=user]:focus:invalid').waitFor();
    }
    expect([requests, faults]).toEqual([[], []]);
  });

  it('W15 W16 an open view asks again for what may have changed while the server was away', async () => {
    const { api, page } = await openPage();
    await page.getByRole('link', { name: 'System' }).click();
    await page.getByRole('link', { name: 'Extensions', exact: true }).click();
    await page.getByRole('link', { name: 'scheduler' }).click();
    await page.getByRole('heading', { name: 'scheduler' }).waitFor();
    const asked = page.waitForRequest((request) => request.url().endsWith('/api/extensions/scheduler'));
    const token = await api.token({ role: 'admin', may: 'admin' });
    const reloaded = await api.request('/api/extensions/rest_api/reload', { method: 'POST', token, json: {} }); // it cannot know what changed before it began
    expect(reloaded.status).toBe(202);
    expect((await (await asked).response())?.status()).toBe(200);
  });

  it('W15 what doctor finds is cured by the button beside it, where a command cures', async () => {
    const { page, faults } = await openPage({
      files: {
        'extensions/sick/manifest.yaml': '{id: sick, entrypoint: main.ts, provides: [tool]}',
        'extensions/sick/main.ts': `const isReloaded = Reflect.has(globalThis, 'sickBefore');
Reflect.set(globalThis, 'sickBefore', true);
export default class {
  getTools() { return []; }
  findings() { return isReloaded ? [] : [{ severity: 'warning', code: 'sick', message: 'it is sick', cure: 'run: pith extensions reload sick' }]; }
}
`,
      },
    });
    onTestFinished(() => void Reflect.deleteProperty(globalThis, 'sickBefore'));
    await page.getByRole('link', { name: 'System' }).click();
    await page.getByRole('button', { name: 'Reload sick' }).waitFor();
    expect(await page.getByText('pith extensions reload').count()).toBe(0);
    await press(page.getByRole('button', { name: 'Reload sick' }));
    await page.getByText('it is sick').waitFor({ state: 'hidden' });
    await page.getByText('it is sick').waitFor({ state: 'detached' });
    expect(await violations(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('W15 health says no less than pith doctor: its verdict, and each finding with whose it is', async () => {
    const { api, page, faults } = await openPage({
      files: {
        'extensions/broken/manifest.yaml': '{id: broken, entrypoint: main.ts, provides: [tool]}',
        'extensions/broken/main.ts': 'export default class {',
        'extensions/odd/manifest.yaml': '{id: odd, entrypoint: main.ts, provides: [tool], colour: red}',
        'extensions/odd/main.ts': 'export default class { getTools() { return []; } }',
      },
    });
    await page.getByRole('link', { name: 'System' }).click();
    await page.getByText('Problems found.').waitFor();
    const token = await api.token({ role: 'admin', may: 'admin' });
    const { findings } = (await api.request('/api/doctor', { token })).json as {
      readonly findings: readonly { readonly message: string; readonly of: readonly string[] }[];
    };
    expect(findings.map(({ of }) => of)).toEqual(expect.arrayContaining([['broken'], ['odd']]));
    const shown = await page.locator('.findings li').allTextContents();
    findings.forEach(({ of, message }, at) => expect(shown[at]).toContain(`${of.length === 0 ? '' : `${of.join(', ')}: `}${message}`));
    expect(shown).toHaveLength(findings.length);
    expect(await violations(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('W15 a cure is sent as its request says, where the page has a button for that request; else it leads to a view, or is a command', async () => {
    const { page } = await openPage();
    const request = (method: string, path: string) => ({ method, path, need: 'admin' });
    const cures = [
      { command: 'pith extensions reload sick', request: request('POST', '/api/extensions/sick/reload') },
      { command: 'pith extensions reload gone', request: request('DELETE', '/api/extensions/gone/reload') },
      { command: 'pith setup openai' },
      { command: 'pith mcp login far' },
      { command: 'pith jobs list --state dead' },
    ];
    const sent: string[] = [];
    await page.route('**/api/doctor', (route) => {
      const findings = cures.map((cure, at) => ({ severity: 'warning', of: [], message: `number ${at}`, cure }));
      const verdict = { level: 'bad', text: 'Problems found' };
      const sandbox = { trust: 'own', why: null };
      return route.fulfill({
        json: { verdict, findings, sandbox, model: { ref: 'a/b', why: '' }, skills: {}, extensions: [], agents: [] },
      });
    });
    await page.route('**/api/extensions/**', (route) => {
      sent.push(`${route.request().method()} ${new URL(route.request().url()).pathname}`);
      return route.fulfill({ json: {} });
    });
    await page.getByRole('link', { name: 'System' }).click();
    await press(page.getByRole('button', { name: 'Reload sick' }));
    await page.getByText('Done.').waitFor();
    expect(sent).toEqual(['POST /api/extensions/sick/reload']);
    expect(await page.getByRole('link', { name: 'Settings of openai' }).getAttribute('href')).toBe('/system/extensions/openai');
    expect(await page.getByRole('link', { name: 'Work' }).count()).toBe(2); // one is of the page
    expect(await page.locator('main code').allTextContents()).toEqual(['a/b', 'pith extensions reload gone', 'pith mcp login far']);
  });
});
