import { rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type Message, PithError } from 'pith';
import { gate, until } from '../../waiting.ts';
import { describePage, openPage, press, say, tooWide, violations } from './browser.ts';

const MANY = 5000;
/** One red pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

/** A conversation of the person with so many messages, made by one turn that is given the others. */
function said(count: number): readonly Message[] {
  return Array.from({ length: count - 2 }, (_, at): Message => {
    const content = [{ type: 'text' as const, text: `Message **${at + 1}**\n\n- with\n- a list` }];
    return at % 2 === 0 ? { role: 'user', content } : { role: 'assistant', content };
  });
}

/** What was drawn and has moved by itself, with its old and its new place. */
const WATCH = `window.shifted = [];
const said = ({ node, previousRect: a, currentRect: b }) => [node?.outerHTML ?? node?.textContent, a.x, a.y, b.x, b.y].join(' ').slice(-300);
new PerformanceObserver((list) => list.getEntries().filter((each) => !each.hadRecentInput)
  .forEach((each) => window.shifted.push(...each.sources.filter(({ previousRect: a, currentRect: b }) => a.x !== b.x || a.y !== b.y).map(said)))).observe({ type: 'layout-shift' });`;
const SHIFTED = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(window.shifted))))';

/** What the browser tells is kept; nobody looks at the page any more. */
const TELLS = `window.told = [];
  window.Notification = class { static requestPermission = async () => 'granted'; constructor(text) { told.push(text); } addEventListener() {} };`;
const HIDES = `Object.defineProperty(document, 'visibilityState', { value: 'hidden' }); document.dispatchEvent(new Event('visibilitychange'));`;

describePage('the chat', () => {
  it('W10 W11 of 5,000 messages only those near what is seen are drawn, from the last one to the first', async () => {
    const { api, page, faults } = await openPage({ script: [{ text: 'The last answer.' }] });
    const run = api.pith.kernel.agents.run({
      agent: 'helper',
      threadId: 'long',
      userId: 'local',
      input: 'The last question',
      history: said(MANY),
    });
    for await (const event of run) expect(event).not.toMatchObject({ reason: 'error' });
    await page.getByRole('link', { name: 'The last question' }).click();
    await page.getByText('The last answer.').waitFor();
    const articles = page.locator('article');
    const top = () => page.getByRole('log').evaluate((log) => log.scrollTop);
    const end = await top();
    expect([await articles.count()].filter((count) => count > 120)).toEqual([]);
    const log = page.getByRole('log');
    await log.focus();
    await log.evaluate((box) => box.scrollTo({ top: 1 })); // where earlier ones are read
    const seen = page.getByText(`Message **${MANY - 50}**`).or(page.getByText(`Message ${MANY - 50}`, { exact: true }));
    const place = await seen.evaluate((found) => found.getBoundingClientRect().top);
    await until(async () => (await top()) > 1000);
    expect(Math.abs((await seen.evaluate((found) => found.getBoundingClientRect().top)) - place)).toBeLessThan(2);
    for (let pages = 0; pages < 40; pages += 1) await page.keyboard.press('PageUp');
    expect(await articles.count()).toBeLessThan(120);
    await page.keyboard.press('Home');
    await page.getByText('Message **1**').waitFor();
    expect(await top()).toBe(0);
    expect(await articles.count()).toBeLessThan(120);
    expect(await page.locator('*').count()).toBeLessThan(4000);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('End');
    await page.getByText('The last answer.').waitFor();
    expect(await top()).toBeGreaterThan(end);
    expect(faults).toEqual([]);
  });

  it('W10 nothing that was drawn moves while an answer streams', async () => {
    const [first, second] = [gate(), gate()];
    const { page } = await openPage({
      script: [
        { text: 'An answer before.' },
        async () => (
          await first.opened,
          { text: ['# One\n\n', 'Some words, ', 'and more:\n\n', '- a\n- b\n\n', '| a | b |\n|---|---|\n| 1 | 2 |\n'] }
        ),
        async () => (await second.opened, { text: ['```ts\nconst a = 1;\n', 'const b = 2;\n```\n', 'The end.'] }),
      ],
    });
    await say(page, 'Begin');
    await page.getByText('An answer before.').waitFor();
    await say(page, 'Go on');
    await page.getByText('Thinking …').waitFor();
    await page.evaluate(WATCH);
    first.open();
    await page.getByRole('cell', { name: '2' }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    await say(page, 'And more');
    second.open();
    await page.getByText('The end.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    expect(await page.evaluate(SHIFTED)).toEqual([]);
  });

  it('W17 "Edit and ask again" makes a branch; both stay, and each is reached from the list', async () => {
    const { page, faults } = await openPage({ script: [{ text: 'Of Rome.' }, { text: 'Of its hills.' }, { text: 'Of Oslo.' }] });
    await say(page, 'Tell me of a city');
    await page.getByText('Of Rome.').waitFor();
    await say(page, 'And more');
    await page.getByText('Of its hills.').waitFor();
    const first = page.url();
    await page.getByRole('button', { name: 'Edit and ask again' }).last().click();
    const message = page.getByRole('textbox', { name: 'Message' });
    await until(async () => (await message.inputValue()) === 'And more');
    expect(page.url()).not.toBe(first);
    await message.fill('And of another one');
    await page.keyboard.press('Enter');
    await page.getByText('Of Oslo.').waitFor();
    expect(await page.getByText('Of its hills.').count()).toBe(0);
    expect(await page.locator('article').allTextContents()).toMatchObject({ length: 4 });
    const former = page.getByRole('link', { name: 'the conversation that it branched from' });
    await page.setViewportSize({ width: 360, height: 800 });
    const { x, width } = (await former.boundingBox())!;
    expect(x + width).toBeLessThan(360); // the line is cut behind it
    await page.setViewportSize({ width: 1280, height: 800 });
    await former.click();
    await page.getByText('Of its hills.').waitFor();
    expect(page.url()).toBe(first);
    await page.getByRole('complementary').getByRole('link', { name: '↳ Tell me of a city' }).click();
    await page.getByText('Of Oslo.').waitFor();
    expect(faults).toEqual([]);
  });

  it('W11 the agent and the model are chosen; tokens of a turn and of the conversation are shown, and what they cost', async () => {
    const used = { inputTokens: 1200, outputTokens: 34 };
    const { api, page, faults } = await openPage({
      script: [
        { text: 'First.', usage: used },
        { text: 'Second.', usage: used },
      ],
      files: {
        'agents/other/manifest.yaml': 'id: other\nname: The other\nagent: {}\n',
        'pith.yaml': 'default_agent: helper\nprices: { scripted/scripted: { input: 10, output: 100 } }\n',
      },
    });
    await say(page, 'One');
    await page.getByText('1.2k tokens · ').waitFor();
    await page.getByText(/helper · .* · used 1\.2k tokens \$0\.015$/u).waitFor();
    await page.getByRole('combobox', { name: 'Agent' }).selectOption('other');
    await page.getByRole('combobox', { name: 'Model' }).focus();
    await page.getByRole('combobox', { name: 'Model' }).selectOption('fast');
    await say(page, 'Two');
    await page.getByText(/other · .* · used 2\.5k tokens \$0\.031$/u).waitFor();
    expect(await page.getByRole('combobox', { name: 'Model' }).inputValue()).toBe('fast');
    expect(await violations(page)).toEqual([]);
    await page.reload();
    await until(async () => (await page.getByRole('combobox', { name: 'Model' }).inputValue()) === 'fast');
    const token = await api.token();
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    const usage = (await api.request(`/api/threads/${id}/usage`, { token })).json;
    expect(usage).toMatchObject({ model: 'fast', used: [{ inputTokens: 2400, outputTokens: 68 }] });
    expect((await api.request(`/api/threads/${id}/usage`, { token: await api.token({ userId: 'ann' }) })).status).toBe(404);
    expect(faults).toEqual([]);
  });

  it('W11 an @ at the beginning names the agent that answers', async () => {
    const { api, page, faults } = await openPage({
      script: [{ text: 'I am the other.' }, { text: 'As you say.' }],
      files: { 'agents/other/manifest.yaml': 'id: other\nname: The other\nagent: { instructions: You are the other one. }\n' },
    });
    await say(page, '@other');
    await page.getByRole('alert').getByText('there is no message to @other').waitFor();
    await page.getByRole('textbox', { name: 'Message' }).fill('');
    await page.getByRole('textbox', { name: 'Message' }).pressSequentially('@oth');
    await page.getByRole('option', { name: /@other/u }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.type('Who are you?');
    await page.keyboard.press('Enter');
    await page.getByText('I am the other.').waitFor();
    await page.getByText(/^other · /u).waitFor();
    expect(await page.locator('article.said').allTextContents()).toMatchObject([expect.stringContaining('Who are you?')]);
    expect(JSON.stringify(api.model.requests[0])).toContain('You are the other one.');
    expect(JSON.stringify(api.model.requests[0])).not.toContain('@other');
    await say(page, '@nobody said so');
    await page.getByText('As you say.').waitFor();
    expect(JSON.stringify(api.model.requests[1])).toContain('@nobody said so');
    expect(faults).toEqual([]);
  });

  it('W11 texts and images go along by choice, paste and drag; what cannot is told', async () => {
    const { api, page, faults } = await openPage({ script: [{ text: 'I see both.' }] });
    const picker = page.getByLabel('Attach');
    await picker.setInputFiles([
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Remember the milk') },
      { name: 'tool.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([0, 1, 2, 255]) },
    ]);
    await page.getByRole('alert').getByText('tool.bin is not attached: it is neither text nor an image').waitFor();
    const given = (kind: 'paste' | 'drop', name: string, type: string) => `(() => {
      const files = new DataTransfer();
      files.items.add(new File([Uint8Array.from(atob('${PNG}'), (each) => each.charCodeAt(0))], '${name}', { type: '${type}' }));
      const event = '${kind}' === 'paste'
        ? new ClipboardEvent('paste', { clipboardData: files, bubbles: true, cancelable: true })
        : new DragEvent('drop', { dataTransfer: files, bubbles: true, cancelable: true });
      document.querySelector('.composer textarea').dispatchEvent(event);
    })()`;
    await page.evaluate(given('paste', 'pasted.png', 'image/png'));
    await page.getByRole('button', { name: 'Leave out pasted.png' }).waitFor();
    await page.evaluate(given('drop', 'dropped.png', 'image/png'));
    await page.getByRole('button', { name: 'Leave out dropped.png' }).click();
    expect(await violations(page)).toEqual([]);
    await say(page, 'Look');
    await page.getByText('I see both.').waitFor();
    expect(await page.getByRole('list', { name: 'Attached' }).getByRole('listitem').allTextContents()).toEqual(['notes.txt', 'pasted.png']);
    const sent = JSON.stringify(api.model.requests[0]?.messages);
    expect(sent).toContain('Remember the milk');
    expect(sent).toContain('image/png');
    expect(faults).toEqual([]);
  });

  it('W11 what came with a message, such as a skill, stands by it while it is answered, afterwards and when the page is opened again', async () => {
    const document = "{ key: 'k', digest: 'd', text: 'How to brew tea.', label: 'loaded brewing, 12 tokens' }";
    const answered = gate();
    const { page, faults } = await openPage({
      script: [async () => (await answered.opened, { text: 'Tea it is.' })],
      files: {
        'extensions/brew/manifest.yaml': '{id: brew, entrypoint: main.ts, provides: [context]}',
        'extensions/brew/main.ts': `export default class { contextPriority = 50; async getContext() { return { documents: [${document}] }; } }\n`,
      },
    });
    await say(page, 'Make tea');
    const chips = page.locator('article.said').getByRole('list', { name: 'Attached' }).getByText('loaded brewing, 12 tokens');
    await chips.waitFor();
    answered.open();
    await page.getByText('Tea it is.').waitFor();
    await page.reload();
    await page.getByText('Tea it is.').waitFor();
    expect(await page.getByText('loaded brewing, 12 tokens').count()).toBe(1);
    expect(await chips.count()).toBe(1);
    expect(faults).toEqual([]);
  });

  it('W11 calls are folded, with their arguments, result and time; a change is coloured; a skill says its tokens', async () => {
    const edits = [{ old_text: 'Hello', new_text: 'Good day' }];
    const { api, page, faults } = await openPage({
      script: [
        {
          calls: [
            { name: 'read_skill', input: { skill_id: 'letters' } },
            { name: 'act', input: { path: 'a.txt', edits } },
          ],
        },
        { text: 'Done.' },
      ],
      files: { 'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [risky, skill_registry] }\n' },
    });
    await say(page, 'Do it');
    await page.getByText('Done.').waitFor();
    const { json } = await api.request('/api/skills/letters', { token: await api.token({ userId: 'local', role: 'admin' }) });
    const loaded = `Skill letters loaded (${(json as { readonly tokens: number }).tokens} tokens)`;
    for (const reload of [false, true]) {
      if (reload) await page.reload();
      await page.getByText('Done.').waitFor();
      expect(await page.locator('.call .chip').allTextContents()).toEqual([loaded]);
    }
    const call = page.locator('details.call').filter({ hasText: 'act' }).last();
    expect(await call.getByText('did act').isVisible()).toBe(false);
    await call.locator('summary').press('Enter');
    await call.getByText('did act').waitFor();
    await call.getByText(/^Took \d/u).waitFor();
    await call.locator('.hl-addition', { hasText: 'Good day' }).waitFor();
    await call.locator('.hl-deletion', { hasText: 'Hello' }).waitFor();
    expect(await violations(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('W11 W30 a question takes the keys and words of the terminal; a reason reaches the agent', async () => {
    const { api, page } = await openPage({ script: [{ calls: [{ name: 'risk', input: {} }] }, { text: 'I leave it.' }] });
    await page.route('**/api/approvals?thread=*', async (route) => {
      const response = await route.fetch();
      const { approvals } = (await response.json()) as { readonly approvals: readonly object[] };
      const answers = ['once', 'always', 'project', 'no']; // all that there are
      await route.fulfill({ response, json: { approvals: approvals.map((each) => ({ ...each, answers })) } });
    });
    await say(page, 'Do it');
    const question = page.getByRole('region', { name: 'A question to you' });
    await question.waitFor();
    const words = ['Yes y', 'Always in this chat a', 'Always in this project p', 'No n'];
    expect(await question.locator('button:has(kbd)').allTextContents()).toEqual(words);
    await page.getByRole('log').focus();
    await page.keyboard.press('e');
    await page.keyboard.type('it is late');
    await page.keyboard.press('Enter');
    await page.getByText('I leave it.').waitFor();
    expect(JSON.stringify(api.model.requests[1]?.messages)).toContain('it is late');
  });

  it('W10 W11 behind an answer the focus goes to the next question, and behind the last one to where a message is written', async () => {
    const asks = ['one', 'two'].map((task) => ({ name: 'delegate_task', input: { agent_id: 'worker', task } }));
    const risk = { calls: [{ name: 'risk', input: {} }] };
    const { page } = await openPage({
      script: [{ calls: asks }, risk, risk, { text: 'done' }, { text: 'done' }, { text: 'Both are done.' }],
      extensions: ['delegation'],
      files: {
        'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [delegation], delegates_to: [worker] }\n',
        'agents/worker/manifest.yaml': 'id: worker\nagent: { uses_tools: [risky] }\n',
      },
    });
    await say(page, 'Do it twice');
    const questions = page.getByRole('region', { name: 'A question to you' });
    await questions.nth(1).waitFor();
    await press(questions.first().getByRole('button', { name: 'Yes y' }));
    await expect.poll(() => questions.count()).toBe(1);
    await expect.poll(() => page.locator('.question:focus').count()).toBe(1);
    await press(questions.getByRole('button', { name: 'Yes y' }));
    await page.getByText('Both are done.').waitFor();
    await expect.poll(() => page.locator(':focus').getAttribute('aria-label')).toBe('Message');
  });

  it('W11 a turn that fails, reaches a limit or is stopped says so, also after a reload, until the next one', async () => {
    const held = gate();
    const { page, faults } = await openPage({
      script: [
        { error: new PithError('model_failed', 'the model is away', { cure: 'choose another model' }) },
        { calls: [{ name: 'act', input: {} }] },
        async () => (await held.opened, { text: 'Too late.' }),
        { text: 'Here I am.' },
      ],
      files: { 'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [risky], limits: { max_turns: 1 } }\n' },
    });
    const log = page.getByRole('log');
    const failed = log.getByRole('alert').getByText('The turn failed: the model is away; choose another model');
    await say(page, 'Are you there?');
    await failed.waitFor();
    await page.reload();
    await failed.waitFor();
    await say(page, 'Act, then');
    const limited = log.getByText('The turn reached a limit: stopped at max_turns (1)');
    await limited.waitFor();
    expect(await failed.count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await page.reload();
    await limited.waitFor();
    await say(page, 'Go on');
    await page.getByText('Thinking …').waitFor();
    expect(await limited.count()).toBe(0);
    await page.getByRole('button', { name: 'Stop' }).click();
    await log.getByText('The turn was stopped.').waitFor();
    held.open();
    await say(page, 'And now?');
    await page.getByText('Here I am.').waitFor();
    expect(await log.getByText('The turn').count()).toBe(0);
    expect(faults).toEqual([]);
  });

  it('W11 W17 a message that waited and cannot begin says why', async () => {
    const held = gate();
    const spare = { 'agents/spare/manifest.yaml': 'id: spare\nagent: {}\n' };
    const { api, page } = await openPage({ script: [async () => (await held.opened, { text: 'Done.' })], files: spare });
    await say(page, 'Begin');
    await page.getByText('Thinking …').waitFor();
    await say(page, '@spare And you?');
    const queued = page.getByRole('article', { name: 'Queued message' });
    await queued.getByText('And you?').waitFor();
    rmSync(`${api.pith.sandbox}/agents/spare`, { recursive: true });
    const token = await api.token();
    await until(async () => !JSON.stringify((await api.request('/api/agents', { token })).json).includes('spare'));
    held.open();
    await page.getByRole('log').getByRole('alert').getByText('spare').waitFor();
    await expect.poll(() => queued.count()).toBe(0);
  });

  it('W17 a queued message is shown, and taken back', async () => {
    const held = gate();
    const { page, faults } = await openPage({ script: [async () => (await held.opened, { text: 'Done.' })] });
    await say(page, 'Begin');
    await page.getByText('Thinking …').waitFor();
    await say(page, 'Never mind');
    const queued = page.getByRole('article', { name: 'Queued message' });
    await queued.getByText('Never mind').waitFor();
    await queued.getByRole('button', { name: 'Take back' }).click();
    await queued.waitFor({ state: 'detached' });
    held.open();
    await page.getByText('Done.').waitFor();
    expect(await page.getByRole('article', { name: 'You' }).count()).toBe(1);
    expect(faults).toEqual([]);
  });

  it('W11 what is written stays while another view is open, and no key in the box answers a question', async () => {
    const { page, faults } = await openPage({ script: [{ calls: [{ name: 'risk', input: {} }] }, { text: 'It is done.' }] });
    const box = page.getByRole('textbox', { name: 'Message' });
    await box.fill('Half a thou');
    await page.getByRole('link', { name: 'Work' }).click();
    await page.getByRole('heading', { name: 'Work' }).waitFor();
    await page.goBack();
    expect(await box.inputValue()).toBe('Half a thou');
    await say(page, 'Do it');
    await page.getByRole('region', { name: 'A question to you' }).waitFor();
    await say(page, 'y');
    await page.getByRole('alert').getByText('A message does not answer the question').waitFor();
    await box.fill('');
    await page.keyboard.press('Escape');
    await page.keyboard.press('y');
    await page.getByText('It is done.').waitFor();
    expect(faults).toEqual([]);
  });

  it('W7 an answer that nests too deep is shown as it is, and the others as ever', async () => {
    const deep = [
      '> '.repeat(1500) + 'here',
      '- '.repeat(2000) + 'there',
      Array.from({ length: 900 }, (_, at) => `${' '.repeat(2 * at)}- x`).join('\n'),
    ];
    const { page, faults } = await openPage({ script: [...deep.map((text) => ({ text })), { text: 'And **bold**.' }] });
    for (const [at, text] of ['one', 'two', 'three', 'four'].entries()) {
      await say(page, text);
      await until(async () => (await page.getByRole('article', { name: 'Answer' }).count()) === at + 1);
    }
    await page.locator('.markdown strong', { hasText: 'bold' }).waitFor();
    expect(await page.locator('.markdown.pre').count()).toBe(3);
    expect(faults).toEqual([]);
  });

  it('W17 while the page is hidden it tells of questions and ends, each as what it is; the newest count of questions holds', async () => {
    const { page, faults } = await openPage({
      script: [
        { calls: [{ name: 'risk', input: {} }] },
        { text: 'It is done.' },
        { calls: [{ name: 'risk', input: {} }] },
        { error: new PithError('model_failed', 'the model is away') },
      ],
    });
    await page.evaluate(`${TELLS}${HIDES}`);
    await page.getByRole('button', { name: 'Notify me' }).click();
    const told = () => page.evaluate<readonly string[]>('window.told');
    const question = page.getByRole('region', { name: 'A question to you' });
    const yes = page.getByRole('button', { name: 'Yes y', exact: true });
    await say(page, 'Do it');
    await question.waitFor();
    await until(async () => (await page.title()) === '(1) Pith');
    expect(await told()).toEqual(['Pith has a question for you']);
    await yes.click();
    await page.getByText('It is done.').waitFor();
    await question.waitFor({ state: 'hidden' });
    await until(async () => (await page.title()) === 'Pith' && (await told()).length > 1);
    // The count of the next question comes when the question has been answered.
    const [asked, counted, late, passed] = [gate(), gate(), gate(), gate()];
    let isAsked = false;
    await page.route(
      ({ pathname, search }) => pathname === '/api/approvals' && search === '',
      async (route) => {
        const response = await route.fetch();
        const { approvals } = (await response.json()) as { readonly approvals: readonly unknown[] };
        const isOpen = approvals.length > 0;
        isAsked ||= isOpen;
        if (isOpen) {
          asked.open();
          await late.opened;
        }
        await route.fulfill({ response });
        if (isOpen) passed.open();
        else if (isAsked) counted.open();
      },
    );
    await say(page, 'Once more');
    await question.waitFor();
    await asked.opened;
    await yes.click();
    await page.getByRole('log').getByRole('alert').waitFor();
    await until(async () => (await told()).length > 2);
    await counted.opened;
    late.open();
    await passed.opened;
    await page.evaluate('fetch("/health")'); // what was answered before is handled
    expect(await page.title()).toBe('Pith');
    expect(await told()).toEqual(['Pith has a question for you', 'Pith has answered', 'Pith could not answer']);
    expect(faults).toEqual([]);
  });

  it('W17 a hidden tab tells nothing while another one is looked at', async () => {
    const { page, faults } = await openPage({ script: ['First.', 'Second.', 'Third.'].map((text) => ({ text })) });
    await say(page, 'One');
    await page.getByText('First.').waitFor();
    const other = await page.context().newPage();
    await other.goto(page.url());
    await page.evaluate(TELLS);
    await page.getByRole('button', { name: 'Notify me' }).click();
    await page.evaluate(HIDES);
    const told = () => page.evaluate<readonly string[]>('navigator.locks.query().then(() => window.told)');
    await say(other, 'Two');
    await page.getByText('Second.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    expect(await told()).toEqual([]);
    await other.evaluate(HIDES);
    await say(other, 'Three');
    await until(async () => (await told()).length > 0);
    expect(await told()).toEqual(['Pith has answered']);
    expect(faults).toEqual([]);
  });

  it('W17 a tab that is looked at twice before the browser grants its lock holds it no longer once it is hidden', async () => {
    const { page, faults } = await openPage({ script: [] });
    const held = () =>
      page.evaluate<number>(`navigator.locks.query().then(({ held }) => held.filter(({ name }) => name === 'pith.seen').length)`);
    await until(async () => (await held()) === 1);
    const looks = (...states: readonly string[]) =>
      states
        .map(
          (state) =>
            `Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true }); document.dispatchEvent(new Event('visibilitychange'));`,
        )
        .join('');
    await page.evaluate(looks('hidden', 'visible', 'hidden', 'visible'));
    await until(async () => (await held()) === 1);
    await page.evaluate(looks('hidden'));
    await until(async () => (await held()) === 0);
    expect(faults).toEqual([]);
  });

  it('W11 conversations are found by words of their titles', async () => {
    const { page } = await openPage({ script: [{ text: 'Of hills.' }, { text: 'Of fjords.' }] });
    await say(page, 'Tell me of Rome');
    await page.getByText('Of hills.').waitFor();
    await page.getByRole('link', { name: 'New conversation' }).click();
    await say(page, 'Tell me of Oslo');
    await page.getByText('Of fjords.').waitFor();
    await page.getByRole('searchbox', { name: 'Search conversations' }).fill('rome');
    await page.getByRole('complementary').getByRole('link', { name: 'Tell me of Oslo' }).waitFor({ state: 'hidden' });
    await page.getByRole('complementary').getByRole('link', { name: 'Tell me of Rome' }).click();
    await page.getByText('Of hills.').waitFor();
    expect(await page.getByText('Of fjords.').count()).toBe(0);
  });

  it.each([
    { width: 360, dark: true },
    { width: 1440, dark: false },
  ])('W10 the chat is used by keyboard alone at $width pixels, dark: $dark, without a violation of WCAG 2.2 AA', async (look) => {
    const { page, faults } = await openPage({
      script: [{ text: 'I look.', calls: [{ name: 'risk', input: {} }] }, { text: 'Done.' }],
      ...look,
    });
    const tabTo = async (name: string): Promise<void> => {
      const wanted = page
        .getByRole('button', { name })
        .or(page.getByRole('link', { name, exact: true }))
        .first();
      await wanted.waitFor();
      for (let presses = 0; !(await wanted.evaluate((found) => found === found.ownerDocument.activeElement)); presses += 1) {
        expect(presses).toBeLessThan(40);
        await page.keyboard.press('Tab');
      }
    };
    const holds = async (): Promise<void> => {
      expect(await violations(page)).toEqual([]);
      expect(await tooWide(page)).toEqual([]);
    };
    await holds();
    await page.keyboard.type('Do it'); // the message is where one begins
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'A question to you' }).waitFor();
    await holds();
    await tabTo('What the model sees');
    await page.keyboard.press('Enter');
    await page.getByText('System text').waitFor();
    await holds();
    await page.keyboard.press('Enter');
    await page.getByText('System text').waitFor({ state: 'detached' });
    await tabTo('Yes');
    await page.keyboard.press('Enter');
    await page.getByText('Done.').waitFor();
    await tabTo(look.width < 640 ? 'Chat' : 'New conversation'); // a phone shows the list apart
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'What shall we do?' }).waitFor();
    expect(faults).toEqual([]);
  });

  it('W11 a finished call shows in a line what its tool says of the result, also after a reload, and its input when it is opened', async () => {
    const main = `import { defineTool, toolResult, z } from 'pith';
export default class {
  getTools() {
    const execute = async () => toolResult('{"lines":[1]}', { title: 'Changed src/slug.ts (+1 −1)' });
    return [defineTool({ name: 'mend', description: 'Mends.', input: z.object({ file: z.string() }), execute })];
  }
}
`;
    const files = {
      'extensions/mender/manifest.yaml': '{id: mender, entrypoint: main.ts, provides: [tool]}',
      'extensions/mender/main.ts': main,
      'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [mender] }\n',
    };
    const input = { file: 'src/slug.ts' };
    const { page, faults } = await openPage({ script: [{ calls: [{ name: 'mend', input }] }, { text: 'Mended.' }], files });
    await say(page, 'Mend it');
    await page.getByText('Mended.').waitFor();
    const line = page.locator('details.call summary');
    for (const isReloaded of [false, true]) {
      if (isReloaded) await page.reload();
      await page.getByText('Mended.').waitFor();
      expect(await line.textContent()).toBe('✓ mend Changed src/slug.ts (+1 −1)');
    }
    await line.click();
    await page.getByText('"file": "src/slug.ts"').waitFor();
    await page.getByText('  "lines": [').waitFor(); // a text that is JSON is laid out
    expect(faults).toEqual([]);
  });

  it.each([360, 1280])('W10 the menu of a conversation opens over it at %i px, within the window, and moves nothing', async (width) => {
    const { page, faults } = await openPage({ width, script: [{ text: 'Hello.' }] });
    await say(page, 'Hi');
    await page.getByText('Hello.').waitFor();
    const before = await page.getByRole('log').boundingBox();
    await page.getByText('More', { exact: true }).click();
    const { x, width: wide } = (await page.locator('.menu > .row').boundingBox())!;
    expect([await page.getByRole('log').boundingBox(), x >= 0, x + wide <= width]).toEqual([before, true, true]);
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('textbox', { name: 'Title' }).waitFor();
    expect(await violations(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('W11 what the model sees is loaded again when a turn ends, says what its parts are, and closes by Esc', async () => {
    const { page, faults } = await openPage({
      script: [{ text: 'One.' }, { text: 'Two.' }],
      files: { 'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [skill_registry] }\n' },
    });
    await say(page, 'First');
    await page.getByText('One.').waitFor();
    const button = page.getByRole('button', { name: 'What the model sees' });
    await button.click();
    await page.getByText('Messages (2)').or(page.getByText('Messages (3)')).waitFor();
    const before = await page.getByText(/^Messages \(\d+\)$/u).textContent();
    const rows = page.getByRole('region', { name: 'What the model sees' }).getByRole('rowheader');
    await rows.filter({ hasText: /^Skills skill_registry$/u }).waitFor();
    expect(await rows.allTextContents()).toEqual(expect.arrayContaining(['This message ', 'Earlier messages ', 'Tools ']));
    await say(page, 'Second');
    await page.getByRole('log').getByText('Two.').waitFor();
    await until(async () => (await page.getByText(/^Messages \(\d+\)$/u).textContent()) !== before);
    await button.focus();
    await page.keyboard.press('Escape');
    await page.getByText('System text').waitFor({ state: 'detached' });
    expect(await page.locator(':focus').textContent()).toBe('What the model sees');
    expect(faults).toEqual([]);
  });

  it('W10 something is drawn before the server has said who is there', async () => {
    const { page } = await openPage();
    const held = gate();
    await page.route('**/api/me', async (route) => {
      await held.opened;
      await route.continue();
    });
    await page.goto(page.url(), { waitUntil: 'commit' });
    await page.getByRole('banner').getByText('Pith').waitFor();
    await until(async () => (await page.evaluate<number>("performance.getEntriesByName('first-paint').length")) === 1);
    expect(await page.getByRole('textbox', { name: 'Message' }).count()).toBe(0);
    held.open();
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
  });

  it('W11 W32 of thousands of skills, the server is asked for the few that a message after a slash may name', async () => {
    const names = Array.from({ length: 30 }, (_, at) => `memo-${at + 10}`);
    const skill = (name: string) => `---\nname: ${name}\ndescription: Writes memos. Use when somebody wants one.\n---\n\nWrite.\n`;
    const files = Object.fromEntries(names.map((name) => [`skills/${name}/SKILL.md`, skill(name)]));
    const { api, page, faults } = await openPage({ script: [{ text: 'As the skill says.' }], files });
    const asked: (string | null)[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (pathname === '/api/skills') asked.push(searchParams.get('limit'));
    });
    await page.getByRole('textbox', { name: 'Message' }).pressSequentially('/memo-3');
    const suggested = page.getByRole('listbox', { name: 'Suggestions' }).getByRole('option');
    await suggested.filter({ hasText: '/memo-37' }).waitFor();
    expect((await suggested.allTextContents()).map((text) => text.slice(0, 8))).toEqual(names.slice(20, 28).map((name) => `/${name}`));
    await say(page, '/memo-39 for Ann');
    await page.getByText('As the skill says.').waitFor();
    expect(JSON.stringify(api.model.requests.at(-1))).toContain('Use the skill `memo-39`: for Ann');
    expect([asked.length > 0, new Set(asked)]).toEqual([true, new Set(['8'])]);
    expect(faults.filter((fault) => !fault.includes('404'))).toEqual([]); // recipes are not there
  });

  it('W11 a slash does what it does in a terminal: commands of the conversation, skills by name, and nothing unknown is sent', async () => {
    const { api, page, faults } = await openPage({ script: [{ text: 'Hello.' }, { text: 'As the skill says.' }] });
    await say(page, 'Hi');
    await page.getByText('Hello.').waitFor();
    await say(page, '/compat');
    await page.getByText('/compat is not a command, a recipe or a skill').waitFor();
    expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('/compat');
    await page.getByRole('textbox', { name: 'Message' }).fill('');
    await page.getByRole('textbox', { name: 'Message' }).pressSequentially('/ren');
    await page.getByRole('option', { name: /\/rename/u }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.type('Greetings');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Greetings' }).waitFor();
    await say(page, '/letters to my aunt');
    await page.getByText('As the skill says.').waitFor();
    expect(JSON.stringify(api.model.requests.at(-1))).toContain('Use the skill `letters`: to my aunt');
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    await say(page, '/branch');
    await page.getByText('the conversation that it branched from').waitFor();
    await say(page, '/new');
    await page.getByRole('heading', { name: 'What shall we do?' }).waitFor();
    await say(page, '/compact');
    await page.getByText('/compact needs a conversation').waitFor();
    await page.getByRole('textbox', { name: 'Message' }).fill('');
    await say(page, '/setup');
    await page.getByRole('button', { name: 'Refresh' }).waitFor();
    expect(api.model.requests).toHaveLength(2);
    expect(faults.filter((fault) => !fault.includes('404'))).toEqual([]); // recipes are not there
  });
});
