import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { shippedSandbox } from '../../../core/declarations/index.ts';
import { adviseOn } from '../../../sandbox/extensions/skill_lint/advise-on.ts';
import { installSandbox } from '../skill_install/install-sandbox.ts';
import { skillSandbox, skillText } from '../skill_registry/skill-sandbox.ts';
import { words } from '../../words.ts';

/** They are checked beside those of a test. */
const SHIPPED = readdirSync(path.join(shippedSandbox(), 'skills')).length;
const CORPUS = path.resolve(import.meta.dirname, '../../../../shared/corpus/skills.jsonl');

async function lint(skills: Readonly<Record<string, string>>, given: readonly string[] = []) {
  const box = await installSandbox(Object.fromEntries(Object.entries(skills).map(([name, text]) => [`sandbox/skills/${name}`, text])));
  const { code, json, text } = await box.run('lint', given, { json: true });
  const results = json as {
    path: string;
    valid: boolean;
    diagnostics: { severity: string; code: string; message: string; line: number; cure: string }[];
  }[];
  const found = results.flatMap(({ path: folder, diagnostics }) =>
    diagnostics.map((one) => [path.basename(folder), one.severity, one.code, one.line, one.message] as const),
  );
  return { code, text, results, found, box };
}

/** A skill below the folder of skills, by the values of its frontmatter. */
const skill = (name: string, values: Parameters<typeof skillText>[0] = {}) => ({
  [`${name}/SKILL.md`]: skillText({ name, description: letters, ...values }),
});

const letters = 'Writes letters to customers about late orders. Use when somebody wants a letter.';

describe('skills lint (S81)', () => {
  it('S81 says nothing about skills that are well written', async () => {
    const { code, found, results } = await lint({
      ...skill('letters', { more: 'examples:\n  - write a letter\n', body: 'See [forms](references/forms.md).\n' }),
      'letters/references/forms.md': 'Dear …\n',
      ...skill('walks', { description: 'Plans walks through a city. Use when somebody visits one.', more: 'requires:\n  - letters\n' }),
    });
    expect([code, found, results.length]).toEqual([0, [], 2 + SHIPPED]);
  });

  it('S81 names both of two skills that say nearly the same, and how near', async () => {
    const { found, code } = await lint({
      ...skill('letters'),
      ...skill('post', { description: letters.replace('late', 'lost') }),
      ...skill('walks', { description: 'Plans walks. Use when somebody visits a city.' }),
    });
    expect(code).toBe(0);
    expect(found).toEqual([
      ['letters', 'warning', 'description_similar', 3, "is hard to tell from 'post': 71 % of the words of their descriptions are the same"],
    ]);
  });

  it('S81 tells once of many that say nearly the same (N12)', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const each = names.map((name, at) => skill(name, { description: letters.replace('late', `late no ${at}`) }));
    const { found } = await lint(Object.assign({}, ...each) as Record<string, string>);
    expect(found.map(([id, , code, , message]) => [id, code, message])).toEqual([
      ['a', 'description_similar', expect.stringMatching(/^is hard to tell from 'b', 'c', 'd', 'e', 'f' and 'g': \d+ % of/)],
    ]);
  });

  it('S81 compares what is offered with nothing that is not, unless that is named (N12)', async () => {
    const box = await installSandbox({
      'sandbox/skills/letters/SKILL.md': skillText({ name: 'letters', description: letters, more: 'requires:\n  - post\n' }),
      '.claude/skills/post/SKILL.md': skillText({ name: 'post', description: letters, more: 'examples:\n  - late orders\n' }),
    });
    expect((await box.run('lint', [])).text).toBe(`${2 + SHIPPED} skills checked: nothing to say`);
    expect((await box.run('lint', ['letters'])).text).toBe('1 skill checked: nothing to say');
    expect((await box.run('lint', ['post'])).text).toContain("is hard to tell from 'letters'");
  });

  it('S81 says what of the template is left, and no example of it is outranked (N11)', async () => {
    const box = await installSandbox();
    await box.run('new', 'walks');
    await box.run('new', 'tours', { description: 'Plans tours of museums. Use when somebody visits one.' });
    const told = (await box.run('lint', [])).text.split('\n').map((line) => line.replace(/^.*skills\//, ''));
    expect(told).toEqual([
      'tours/SKILL.md:11:1: warning: still has the text that skills new wrote; write in its place the steps that the agent must follow',
      'walks/SKILL.md:3:1: warning: still has the description that skills new wrote; write `description: What it does. Use when …` in its place',
      'walks/SKILL.md:11:1: warning: still has the text that skills new wrote; write in its place the steps that the agent must follow',
      `${2 + SHIPPED} skills checked: 3 warnings`,
    ]);
  });

  it('S81 asks nobody to edit a skill that came with Pith (N11)', async () => {
    const box = await skillSandbox({
      ...skill('letters', { description: 'Corresponds.', more: 'examples:\n  - plan a walk\n' }),
      ...skill('walks', { description: 'Plans a walk. Use when somebody wants to plan a walk.' }),
    });
    const [own, other] = ['letters', 'walks'].map((id) => path.join(box.project, id, 'SKILL.md')) as [string, string];
    const cure = async (shipped: readonly string[]) =>
      (await adviseOn([own], { beside: [other], shipped: new Set(shipped) }))[0]!.diagnostics.find(
        ({ code }) => code === 'example_outranked',
      )!.cure;
    expect(await cure([])).toContain("or take them out of 'walks'");
    expect(await cure([other])).toBe("write 'plan walk' in the description of 'letters'");
  });

  it('S81 validate takes the id of a skill of any source, as lint does (N32)', async () => {
    const box = await installSandbox({ '.claude/skills/post/SKILL.md': skillText({ name: 'post', description: letters }) });
    for (const id of ['post', '.claude/skills/post'])
      expect(await box.run('validate', [id])).toMatchObject({ code: 0, text: expect.stringMatching(/\.claude\/skills\/post: valid$/) });
    expect((await box.run('validate', ['nowhere'])).text).toContain('does not exist');
  });

  it('S81 finds a skill that outranks another for that one\u2019s own example', async () => {
    const { found } = await lint({
      ...skill('letters', { description: 'Corresponds. Use when asked.', more: 'examples:\n  - plan a walk through the old town\n' }),
      ...skill('walks', {
        description: 'Plans a walk through the old town. Use when somebody wants to plan a walk.',
        more: 'tags:\n  - walk\n  - old town\n',
      }),
    });
    expect(found).toEqual([
      [
        'letters',
        'warning',
        'example_outranked',
        4,
        expect.stringMatching(/^is second to 'walks' for its own example 'plan a walk through the old town' \(it matched .*walk/),
      ],
    ]);
  });

  it('S81 misses when to use it, and what is required and nowhere; circles are told once', async () => {
    const { found } = await lint({
      ...skill('silent', { description: 'Letters and forms of a company.', more: 'requires:\n  - lettres\n' }),
      ...skill('letters', { more: 'requires:\n  - walks\n' }),
      ...skill('walks', { description: 'Plans walks. Use when somebody visits a city.', more: 'requires:\n  - letters\n' }),
    });
    expect(found).toEqual([
      ['letters', 'warning', 'requires_circle', 4, 'requires itself in a circle: letters → walks → letters'],
      ['silent', 'warning', 'when_to_use_missing', 3, 'has a description that does not say when to use it'],
      ['silent', 'warning', 'requires_unknown', 4, "requires 'lettres', which no source has (did you mean 'letters'?)"],
    ]);
  });

  it('S81 finds links to files that are missing and files that nothing names', async () => {
    const body =
      'See [the forms](references/forms.md#top) and `scripts/send.sh`.\n\nAlso [a page](https://example.com/a.md), [b](../other/b.md), [c](#c), `templates/<name>.md`.\n```\n[no](references/no.md)\n```\n';
    const { found } = await lint({
      ...skill('letters', { body }),
      'letters/references/orphan.md': 'x',
      'letters/references/LICENSE.txt': 'x',
    });
    expect(found).toEqual([
      ['letters', 'warning', 'resource_unlinked', 1, expect.stringContaining("'references/orphan.md'")],
      ['letters', 'warning', 'link_missing', 5, "names the file 'references/forms.md', which is not there"],
      ['letters', 'warning', 'link_missing', 5, "names the file 'scripts/send.sh', which is not there"],
    ]);
  });

  it.each([
    ['SKILL.md itself', 'See [this file](SKILL.md) and [again](./SKILL.md#top).'],
    ['a link in code within a line', 'Write links as `[forms](references/forms.md)` or ``[a `b`](references/b.md)``.'],
    ['an example of a path', 'Never run programs of the project (e.g. `a.b` or `scripts/deploy.sh`).'],
    ['a code block in a code block', '````md\n```\n[no](references/no.md)\n```\n[no](references/no.md)\n````'],
    ['a code block that another one seems to begin in', '```\n```js\n[no](references/no.md)\n```'],
    ['a code block of an item of a list', '- ```md\n  [no](references/no.md)\n  ```'],
    ...words('<name>.md {file}.py path/to/a.md YYYY-MM-DD.md log_YYYY.md *.md $VAR/x.md [name].md step-NN.md your-file.md').map((name) => [
      name,
      `See [it](references/${name}), [it](${name}) and \`references/${name}\`.`,
    ]),
  ])('S81 takes %s for no file that is missing', async (_, body) => {
    expect((await lint({ ...skill('letters', { body }) })).found).toEqual([]);
  });

  it('S81 takes a name with a placeholder for all files that it fits', async () => {
    const body = 'Read `references/step-N-*.md` in turn, then `references/<language>.md`.';
    const { found } = await lint({
      ...skill('letters', { body }),
      'letters/references/step-1-a.md': 'x',
      'letters/references/french.md': 'x',
    });
    expect(found).toEqual([]);
  });

  it('V10: a name of sixty placeholders takes no time to be held against a file that it does not fit', async () => {
    const file = `references/${'a'.repeat(120)}.txt`;
    const { found } = await lint({
      ...skill('letters', { body: `Read \`references/${'<a>'.repeat(60)}.md\`.` }),
      [`letters/${file}`]: 'x',
    });
    expect(found).toMatchObject([['letters', 'warning', 'resource_unlinked', 1, expect.stringContaining(file)]]);
  });

  const forms = (kind: string) => `Fills in ${kind} forms with the data of a customer. Use when somebody wants a ${kind} form.`;

  it.each([
    ['names that say what the descriptions say', { 'pdf-forms': forms('PDF'), 'docx-forms': forms('DOCX') }, 0],
    ['names that the descriptions do not speak of', { 'pdf-forms': forms('paper'), 'docx-forms': forms('paper') }, 1],
    [
      'nearly one name',
      { 'fill-forms': forms('PDF'), 'form-fill': 'Fills in the PDF forms of customers, and stamps them. Use when asked.' },
      1,
    ],
    ['two names', { 'fill-forms': forms('PDF'), customers: 'Fills in the PDF forms of customers, and stamps them. Use when asked.' }, 0],
    ['each naming the other', { letters: `${letters} For lost post use post.`, post: `${letters} For late letters use letters.` }, 0],
  ])('S81 looks at the names of skills that say nearly the same: %s', async (_, skills, count) => {
    const each = Object.entries(skills).map(([name, description]) => skill(name, { description }));
    const { found } = await lint(Object.assign({}, ...each) as Record<string, string>);
    expect(found.filter(([, , code]) => code === 'description_similar')).toHaveLength(count);
  });

  it('S81 compares the skills of plugins by their ids, of which two may lie in folders of one name', async () => {
    const of = (plugin: string) => ({
      [`${plugin}/.claude-plugin/plugin.json`]: `{ "name": "${plugin}" }`,
      [`${plugin}/skills/prospect/SKILL.md`]: skillText({ name: 'prospect', description: letters }),
    });
    const { found } = await lint({ ...of('one'), ...of('two') });
    expect(found.map(([, , code, , message]) => [code, message])).toEqual([
      ['description_similar', expect.stringContaining("is hard to tell from 'two:prospect': 100 %")],
    ]);
  });

  it('S81 says with each advice what to write', async () => {
    const { results } = await lint({
      ...skill('letters', { more: 'requires:\n  - walk\n', body: '[a](references/Forms.md) [b](scripts/send.sh)' }),
      'letters/references/forms.md': 'x',
      ...skill('post', { more: 'requires:\n  - nothing-alike\n' }),
      ...skill('walks', { description: 'Plans of cities.', more: 'requires:\n  - tours\n' }),
      'walks/references/towns.md': 'x',
      ...skill('tours', { description: 'Plans tours. Use when asked.', more: 'requires:\n  - walks\n' }),
    });
    expect(results.flatMap(({ diagnostics }) => diagnostics.map(({ code, cure }) => `${code}: ${cure}`)).sort()).toEqual([
      'description_similar: write in each description what it alone is for, here such as `Use for …; for … use post`, or make them one skill',
      'link_missing: add `scripts/send.sh` beside SKILL.md, or remove what names it',
      'link_missing: write `references/forms.md` in its place',
      "requires_circle: remove `- tours` from the `requires:` of 'walks', or the like of another of them",
      'requires_unknown: add a skill of that id, or remove the line `- nothing-alike`',
      'requires_unknown: write `- walks` in its place, or remove the line `- walk`',
      'resource_unlinked: write `[forms](references/forms.md)` in SKILL.md where it is needed, or remove the file',
      'resource_unlinked: write `[towns](references/towns.md)` in SKILL.md where it is needed, or remove the file',
      'when_to_use_missing: write `Use when …` at its end, in the words that people would use',
    ]);
  });

  it('S81 has what validate finds, fails on errors only, and takes ids and folders', async () => {
    const files = {
      ...skill('letters', { name: 'Letters', description: 'x'.repeat(501) }),
      'walks/SKILL.md': skillText({ name: 'walks' }),
    };
    const all = await lint(files);
    expect(all.code).toBe(1);
    expect(all.found.map(([, severity, code]) => `${severity} ${code}`)).toEqual(
      expect.arrayContaining(['error name_case', 'warning description_long']),
    );
    const { results, code } = await lint(files, ['walks']);
    expect([code, results.map(({ path: folder }) => path.basename(folder))]).toEqual([0, ['walks']]);
    const folder = await all.box.run('lint', [path.join(all.box.sandbox, 'skills'), '/nowhere'], {});
    expect(folder.text).toContain("letters/SKILL.md:2:1: error: has upper-case letters in its name 'Letters'; write `name: letters`");
    expect(folder.text).toContain('does not exist');
    expect(folder.text.split('\n').at(-1)).toMatch(/^3 skills checked: .*\d errors/);
  });

  it.skipIf(!existsSync(CORPUS))('S81 says little about real skills', async () => {
    const box = await skillSandbox();
    const files: string[] = [];
    for (const line of readFileSync(CORPUS, 'utf8').trim().split('\n')) {
      const { repo, path: file, text, resources } = JSON.parse(line) as { repo: string; path: string; text: string; resources: string[] };
      files.push(await box.write(path.join(repo, file), text));
      for (const name of resources) if (!name.endsWith('/')) await box.write(path.join(repo, path.dirname(file), name), 'x');
    }
    const advised = (await adviseOn(files)).flatMap(({ diagnostics }) => diagnostics.map(({ code }) => code));
    const advice = words(`
      when_to_use_missing description_similar example_outranked requires_unknown requires_circle link_missing
      resource_unlinked
    `);
    expect(advised.filter((code) => advice.includes(code)).length).toBeLessThanOrEqual(10); // of 56 skills
  });
});
