import path from 'node:path';
import { displayWidth } from '@pith/plain-text';
import { diagnosticText } from '@pith/skill-files';
import { describe, expect, it } from 'vitest';
import { type AgentFile, agentFile } from '../../journeys/sandbox-files.ts';
import { type Asked, skillSandbox, type SkillSandbox, skillText } from './skill-sandbox.ts';

/** Only from the folders of the test, none of which ships. */
const run = (box: SkillSandbox, name: string, { config = {}, ...given }: Asked = {}) =>
  box.run(name, { ...given, config: { sources: { replace: ['sandbox/skills'] }, ...config } });

const files = {
  'sandbox/skills/writing/SKILL.md': skillText({
    name: 'writing',
    description: 'Writes clear letters. Use when someone wants a letter.',
    more: 'version: 1.2.0\n',
  }),
  'sandbox/skills/bad/SKILL.md': '---\nname: bad\n---\n',
  'team/writing/SKILL.md': skillText({ name: 'writing', description: 'Another one.' }),
  'team/quiet/SKILL.md': skillText({ name: 'quiet', more: 'default_enabled: false\n' }),
};
const config = { sources: { replace: ['team', 'sandbox/skills'] } };

describe('the commands', () => {
  it('S80 B11 the columns of list stand below each other with wide letters and joined emoji too', async () => {
    const ids = ['报告-翻译', 'plain', '家-👨‍👩‍👧'];
    const box = await skillSandbox(Object.fromEntries(ids.map((id) => [`sandbox/skills/${id}/SKILL.md`, skillText({ name: id })])));
    const [heading, ...rows] = (await run(box, 'skills list')).text.split('\n').filter((line) => /STATE|offered/.test(line));
    const at = (line: string, word: string) => displayWidth(line.slice(0, line.indexOf(word)));
    expect(rows.map((row) => at(row, 'offered'))).toEqual(ids.map(() => at(heading!, 'STATE')));
  });

  it('S80 list prints what is offered, aligned and brief, and how much is left out', async () => {
    const { text } = await run(await skillSandbox(files), 'skills list', { config });
    expect(text.split('\n')).toEqual([
      'ID       STATE    SOURCE          TOKENS  VERSION  DESCRIPTION',
      'writing  offered  sandbox/skills  ~2      1.2.0    Writes clear letters.',
      '1 invalid, 1 disabled, 1 shadowed, 2 warnings: see pith skills list --all',
    ]);
  });

  it('S80 list cuts on a terminal, never in a pipe, and puts text that has no room below its row', async () => {
    const long = `Explains ${'one thing after another '.repeat(8)}to people`;
    const box = await skillSandbox({ 'sandbox/skills/explaining/SKILL.md': skillText({ name: 'explaining', description: long }) });
    const lines = async (columns: number) => (await run(box, 'skills list', { columns })).text.split('\n');
    const [heading, piped] = await lines(0);
    expect(heading).toBe('ID          STATE    SOURCE          TOKENS  DESCRIPTION'); // nobody has a version
    expect(piped!.length).toBeGreaterThan(180);
    const wide = await lines(110);
    expect(wide).toHaveLength(2);
    expect([wide[1]!.length <= 110, wide[1]!.endsWith('…')]).toEqual([true, true]);
    const narrow = await lines(70);
    expect(narrow.slice(0, 3)).toEqual([
      'ID          STATE    SOURCE          TOKENS',
      '    DESCRIPTION',
      'explaining  offered  sandbox/skills  ~2',
    ]);
    expect(narrow[3]).toMatch(/^ {4}Explains one thing after another .*…$/);
    expect(narrow[3]!.length).toBeLessThanOrEqual(70);
  });

  it('S80 list --all adds the invalid, shadowed and disabled with reason, place and cure', async () => {
    const box = await skillSandbox(files);
    const { text } = await run(box, 'skills list', { config, options: { all: true }, columns: 200 });
    const lines = text.split('\n');
    expect(lines).toContainEqual(expect.stringMatching(/^bad +invalid +sandbox\/skills +~\d+ +has no description \(line 1\)$/));
    expect(lines).toContainEqual(expect.stringMatching(/^quiet +disabled +team +~\d+ +it is off by default/));
    expect(lines).toContainEqual(expect.stringMatching(/^writing +offered +sandbox\/skills +~\d+ +1\.2\.0 +Writes/));
    expect(lines).toContainEqual(expect.stringMatching(/^writing +shadowed +team +~\d+ +shadowed by the one in sandbox\/skills$/));
    expect(text).toContain(
      `${box.sandbox}/skills/bad/SKILL.md:1:1: error: has no description; write \`description: What it does. Use when …\``,
    );
  });

  it('S80 list --json has the pinned shape', async () => {
    const box = await skillSandbox(files);
    expect((await run(box, 'skills list', { config, json: true })).json).toEqual([
      {
        id: 'writing',
        name: 'writing',
        description: 'Writes clear letters. Use when someone wants a letter.',
        source: 'sandbox/skills',
        path: `${box.sandbox}/skills/writing/SKILL.md`,
        state: 'offered',
        tokens: 2,
        tokensEstimated: true,
        version: '1.2.0',
        tags: [],
        diagnostics: [
          expect.objectContaining({
            severity: 'warning',
            code: 'shadowed_differs',
            file: `${box.project}/team/writing/SKILL.md`,
            line: 1,
            column: 1,
          }),
        ],
      },
    ]);
    const { json, text } = await run(box, 'skills list', { config, json: true, options: { all: true } });
    expect((json as { id: string; state: string; reason?: string }[]).map(({ id, state, reason }) => [id, state, reason])).toEqual([
      ['bad', 'invalid', 'has no description (line 1)'],
      ['quiet', 'disabled', expect.any(String)],
      ['writing', 'offered', undefined],
      ['writing', 'shadowed', expect.any(String)],
    ]);
    expect(text).toBe('');
  });

  it('S80 list says where to write the first skill', async () => {
    const box = await skillSandbox();
    expect(await run(box, 'skills list')).toMatchObject({
      code: 0,
      text: `No skills were found. Write one to ${box.sandbox}/skills/<id>/SKILL.md.`,
    });
    expect((await run(box, 'skills list', { json: true })).json).toEqual([]);
  });

  it('S80 refuses settings with which the extension would not start, naming the nearest key', async () => {
    const box = await skillSandbox(files);
    await expect(run(box, 'skills list', { config: { alowed: 7, poll_seconds: 'often' } })).rejects.toMatchObject({
      code: 'config_invalid',
      message: "'skills.allowed' must be a list of texts",
      cure: expect.stringContaining('pith.yaml'),
    });
  });

  it('use.md 3: leaves out what it does not know, and goes on', async () => {
    const box = await skillSandbox(files);
    const { json } = await run(box, 'skills list', { config: { max_skill: 4, poll_seconds: 'often' }, json: true });
    expect((json as { id: string }[]).map(({ id }) => id)).toContain('writing');
    const restricted = await run(box, 'skills list', { config: { disable: ['writing'] }, json: true });
    expect((restricted.json as { id: string }[]).map(({ id }) => id)).not.toContain('writing');
  });

  it('S80 no text of a skill reaches the terminal with control characters', async () => {
    const box = await skillSandbox({ 'sandbox/skills/odd/SKILL.md': skillText({ name: 'odd', description: '"a\\e[31mb\\u202Ec\\nd"' }) });
    expect((await run(box, 'skills list')).text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  it('S80 show prints what is known and the body as it is; a wrong id names the nearest', async () => {
    const box = await skillSandbox({ ...files, 'sandbox/skills/raw/SKILL.md': skillText({ name: 'raw', body: '{{ a }} $&\n' }) });
    const { text } = await run(box, 'skills show', { arguments: { id: 'raw' } });
    expect(text).toContain(`${box.sandbox}/skills/raw/SKILL.md`);
    expect(text.endsWith('\n{{ a }} $&\n')).toBe(true);
    expect((await run(box, 'skills show', { arguments: { id: 'raw' }, json: true })).json).toMatchObject({
      id: 'raw',
      state: 'offered',
      body: '{{ a }} $&\n',
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect((await run(box, 'skills show', { arguments: { id: 'team/writing' }, json: true, config })).json).toMatchObject({
      source: 'team',
      description: 'Another one.',
    });
    await expect(run(box, 'skills show', { arguments: { id: 'writting' } })).rejects.toMatchObject({
      code: 'skill_not_found',
      message: expect.stringContaining("did you mean 'writing'"),
      cure: 'see pith skills list --all',
    });
  });

  it('W12 resources lists the files beside a SKILL.md and prints one as an agent reads it, and nothing outside', async () => {
    const box = await skillSandbox({
      'sandbox/skills/raw/SKILL.md': skillText({ name: 'raw' }),
      'sandbox/skills/raw/references/forms.md': 'Forms.\n',
      'sandbox/skills/raw/evals/evals.yaml': 'triggers: []\n',
      'sandbox/skills/other/SKILL.md': skillText({ name: 'other' }),
    });
    const resources = async (path?: string) =>
      (await run(box, 'skills resources', { arguments: { id: 'raw', ...(path === undefined ? {} : { path }) }, json: true })).json;
    expect(await resources()).toEqual({ id: 'raw', files: [{ path: 'references/forms.md', size: 7 }], total: 1, more: false });
    expect(await resources('forms.md')).toMatchObject({ kind: 'text', path: 'references/forms.md', text: 'Forms.\n', parts: 1 });
    for (const path of ['../other/SKILL.md', 'evals/evals.yaml', '/etc/passwd', 'nothing'])
      await expect(resources(path)).rejects.toMatchObject({
        code: 'not_found',
        message: "that is not a readable resource of skill 'raw'",
        cure: 'see: pith skills resources raw',
      });
  });

  it('S81 validate takes a folder of skills for all that lie below it', async () => {
    const box = await skillSandbox({
      'all/one/SKILL.md': skillText({ name: 'one' }),
      'all/one/templates/SKILL.md': 'belongs to one',
      'all/group/two/SKILL.md': skillText({ name: 'Two' }),
    });
    const all = path.join(box.project, 'all');
    const { json, code } = await run(box, 'skills validate', { arguments: { path: [all] }, json: true });
    expect(code).toBe(1);
    expect((json as { path: string; valid: boolean }[]).map((result) => [result.path, result.valid])).toEqual([
      [path.join(all, 'group/two'), false],
      [path.join(all, 'one'), true],
    ]);
  });

  it('S81 validate takes the id of a skill of this sandbox', async () => {
    const box = await skillSandbox({ 'sandbox/skills/standup/SKILL.md': skillText({ name: 'standup' }) });
    const named = await run(box, 'skills validate', { arguments: { path: ['standup'] } });
    expect(named).toMatchObject({ code: 0, text: expect.stringMatching(/sandbox\/skills\/standup: valid$/) });
    expect(await run(box, 'skills validate', { arguments: { path: ['standdown'] } })).toMatchObject({
      code: 1,
      text: expect.stringContaining('does not exist'),
    });
  });

  it('S81 validate holds to the specification and fails on errors, with file:line:column', async () => {
    const box = await skillSandbox({
      'ok/SKILL.md': skillText({ name: 'ok' }),
      'Wrong/SKILL.md': skillText({ name: 'Wrong' }),
      'a-file': 'x',
      'empty/readme.md': 'x',
    });
    const at = (name: string) => path.join(box.project, name);
    const validate = (...names: string[]) => run(box, 'skills validate', { arguments: { path: names.map(at) } });
    expect(await validate('ok')).toMatchObject({ code: 0, text: `${at('ok')}: valid` });
    expect(await validate('ok/SKILL.md')).toMatchObject({ code: 0 });
    const wrong = await validate('ok', 'Wrong');
    expect(wrong.code).toBe(1);
    expect(wrong.text).toContain(
      `${at('Wrong')}/SKILL.md:2:1: error: has upper-case letters in its name 'Wrong'; write \`name: wrong\` and rename the folder to \`wrong\``,
    );
    expect((await validate('absent')).text).toContain('does not exist');
    expect((await validate('a-file')).text).toContain('is not a folder');
    expect((await validate('empty')).text).toContain('has no SKILL.md');
    const { json, code } = await run(box, 'skills validate', { arguments: { path: [at('ok'), at('absent')] }, json: true });
    expect(code).toBe(1);
    expect(json).toEqual([
      { path: at('ok'), valid: true, diagnostics: [] },
      {
        path: at('absent'),
        valid: false,
        diagnostics: [
          {
            severity: 'error',
            code: 'path_missing',
            message: 'does not exist',
            file: at('absent'),
            line: null,
            column: null,
            cure: 'name a folder with a `SKILL.md` and that you may read',
          },
        ],
      },
    ]);
  });

  it('S82 explain says where, shadowing what, its line, whether it fits and how it ranks', async () => {
    const box = await skillSandbox(files);
    const options = { text: 'write a letter' };
    const { json } = await run(box, 'skills explain', { arguments: { id: 'writing' }, options, config, json: true });
    expect(json).toMatchObject({
      id: 'writing',
      source: 'sandbox/skills',
      state: 'offered',
      reason: null,
      shadows: [`${box.project}/team/writing/SKILL.md`],
      shadowedBy: null,
      catalog: { agent: null, line: expect.stringMatching(/^• `writing` — Writes clear letters\./), offered: true, withinBudget: true },
      place: 'system',
    });
    const { text } = await run(box, 'skills explain', { arguments: { id: 'writing' }, options, config });
    expect(text).toContain(`shadows ${box.project}/team/writing/SKILL.md`);
    expect(text).toContain('for this text: its line is in the system prompt anyway');
    expect((await run(box, 'skills explain', { arguments: { id: 'team/writing' }, config, json: true })).json).toMatchObject({
      state: 'shadowed',
      shadowedBy: `${box.sandbox}/skills/writing/SKILL.md`,
      catalog: { offered: false },
    });
    expect((await run(box, 'skills explain', { arguments: { id: 'bad' }, options, config })).text).toContain(
      'catalog: no, it is invalid: has no description (line 1)',
    );
  });

  it('S71 explain says what allowed-tools comes to, and that patterns grant nothing', async () => {
    const box = await skillSandbox({
      'sandbox/skills/alpha/SKILL.md': skillText({ name: 'alpha', more: 'allowed-tools: file Bash(git:*)\n' }),
    });
    const { text } = await run(box, 'skills explain', { arguments: { id: 'alpha' } });
    expect(text).toContain('allowed tools: file (run_skill enforces them, read_skill shows them as advice)');
    expect(text).toContain('allowed tool Bash(git:*): grants nothing, because patterns over arguments are not supported');
  });

  it('S82 explain --agent sees with its eyes, offline', async () => {
    const agents = {
      reader: { uses_tools: ['skill_registry'] },
      bound: { uses_tools: ['skill_registry'], uses_skills: ['writing'] },
      narrow: { uses_tools: ['*'], skills: { deny: ['wri*'] } },
      bare: { uses_tools: ['core_tools'] },
    };
    const box = await skillSandbox({ ...files, ...agentFiles(agents) });
    const catalog = async (agent: string) =>
      (
        (await run(box, 'skills explain', { arguments: { id: 'writing' }, options: { agent }, json: true })).json as {
          catalog: { offered: boolean; why: string };
        }
      ).catalog;
    expect(await catalog('reader')).toMatchObject({ offered: true });
    expect(await catalog('bound')).toMatchObject({ offered: false, why: 'the agent carries its text already (uses_skills)' });
    expect(await catalog('narrow')).toMatchObject({ offered: false, why: expect.stringContaining('deny') });
    expect(await catalog('bare')).toMatchObject({ offered: false, why: expect.stringContaining('skill_registry/read_skill') });
    await expect(catalog('raeder')).rejects.toMatchObject({
      code: 'agent_unknown',
      message: expect.stringContaining("did you mean 'reader'"),
    });
  });

  it('S82 explain adds what other extensions know of a skill; one that fails is named, and none replaces what it says itself', async () => {
    const explainer = (id: string, body: string) => ({
      [`sandbox/extensions/${id}/manifest.yaml`]: `id: ${id}\nversion: 1.0.0\nentrypoint: main.ts\nprovides: [skills.explainer]\ndepends_on: [skill_registry]\n`,
      [`sandbox/extensions/${id}/main.ts`]: `import { SkillExplainer } from 'pith/skill_registry';
export default class Explainer {
  constructor(context) { context.provide(SkillExplainer, this); }
  async explainSkill(skill, { text }) { ${body} }
}
`,
    });
    const box = await skillSandbox({
      ...files,
      ...explainer('knower', "return { lines: ['known: ' + skill.id + ' for ' + text], json: { known: true } };"),
      ...explainer('trusted', "return { lines: [], json: 'yes, by me' };"),
      ...explainer('broken', "throw new Error('BOOM');"),
    });
    const asked = { arguments: { id: 'writing' }, options: { text: 'a letter' } };
    expect((await run(box, 'skills explain', asked)).text).toMatch(/^known: writing for a letter$/m);
    expect((await run(box, 'skills explain', asked)).text).toMatch(/^broken cannot explain it: .*BOOM$/m);
    expect((await run(box, 'skills explain', { ...asked, json: true })).json).toMatchObject({
      knower: { known: true },
      trusted: expect.not.stringContaining('by me'),
    });
  });
});

const agentFiles = (agents: Readonly<Record<string, AgentFile>>) =>
  Object.fromEntries(Object.entries(agents).map(([id, agent]) => [`sandbox/agents/${id}/manifest.yaml`, agentFile(id, agent)]));

it('T19: nothing that a file holds or somebody typed moves the cursor', async () => {
  const told = diagnosticText({ severity: 'warning', code: 'x', message: 'is\u001b]0;title\u0007\nodd', file: '/a\u001b[1A/b', line: 1 });
  expect(told).toBe('/a\\x1b[1A/b:1: warning: is\\x1b]0;title\\x07 odd');
  expect(told.trim()).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

it('S82 S62 explain says for an agent of the mode triggers which tier a text has, what hits, the rank and why', async () => {
  const skill = (id: string, more = '') => ({ [`sandbox/skills/${id}/SKILL.md`]: skillText({ name: id, more }) });
  const box = await skillSandbox({
    ...skill('pdf-forms', 'triggers: { keywords: [pdf, fill in], verbs: [extract], patterns: ["page \\\\d+"] }\n'),
    ...skill('pages', 'triggers: { keywords: [pdf] }\n'),
    ...skill('poems'),
    ...agentFiles({
      quick: { uses_tools: [], skills: { mode: 'triggers', max_skills: 1 } },
      shut: { uses_tools: [], skills: { mode: 'triggers', deny: ['pages'] } },
      reader: { uses_tools: ['skill_registry'] },
    }),
  });
  const explain = async (id: string, agent: string, text: string) =>
    (await run(box, 'skills explain', { arguments: { id }, options: { agent, text } })).text;
  const report = async (id: string, agent: string, text: string) =>
    (await run(box, 'skills explain', { arguments: { id }, options: { agent, text }, json: true })).json;
  const text = 'Extracting page 3 of this PDF';
  expect(await report('pdf-forms', 'quick', text)).toMatchObject({
    skill_triggers: { tier: 3, added: true, rank: 1, of: 2, maxSkills: 1, hits: ['verb extract', 'keyword pdf', 'pattern page \\d+'] },
  });
  const first = await explain('pdf-forms', 'quick', text);
  expect(first).toContain('is of tier 3, the message matches skills');
  expect(first).toContain('it has verb extract, keyword pdf, pattern page \\d+, and brings its text\ntriggers: rank 1 of 2; at most 1');
  expect(await explain('pages', 'quick', text)).toContain('it has keyword pdf; others come before it\ntriggers: rank 2 of 2');
  expect(await explain('poems', 'quick', 'what can you do?')).toContain('is of tier 2, the message asks what there is');
  expect(await explain('pages', 'shut', text)).toContain('the text matches no trigger of this skill');
  expect(await report('pages', 'reader', text)).toMatchObject({ skill_triggers: { suggested: true } }); // a catalog: no text comes by itself
});
