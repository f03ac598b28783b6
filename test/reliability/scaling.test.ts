import { describe, expect, it } from 'vitest';
import { checkTemplate } from '@pith/guarded-templates';
import { guardedYaml } from '@pith/guarded-yaml';
import { parseSkillFile } from '@pith/skill-files';
import { renderMarkdown } from '../../sandbox/extensions/cli_channel/markdown-stream.ts';

const LARGE = 40_000;
const SMALL = LARGE / 4;
/** What is read in so little time is not measured against anything. */
const QUICK_MS = 60;
/** Four times as long a text takes four times as long, or sixteen times where each place looks at all others. */
const MOST_TIMES = 8;
const MOST_MEASURED = 4;

type Made = (size: number) => string;

async function cpuMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The least of some measurements: what else the process does, such as collecting garbage, only ever adds. */
async function growth(work: (text: string) => unknown, made: Made): Promise<number> {
  const [large, small] = [made(LARGE), made(SMALL)];
  await work(small); // the first time includes what the engine learns
  let least = Infinity;
  for (let times = 0; times < MOST_MEASURED && least > MOST_TIMES; times += 1) {
    const ofLarge = await cpuMs(() => work(large));
    least = Math.min(least, ofLarge < QUICK_MS ? 1 : ofLarge / Math.max(await cpuMs(() => work(small)), 1));
  }
  return least;
}

/** A text that repeats a part, between two others. */
const of =
  (part: string, before = '', after = ''): Made =>
  (size) =>
    before + part.repeat(Math.ceil(size / part.length)) + after;
const numbered =
  (part: (index: number) => string, before = '', after = ''): Made =>
  (size) =>
    before + Array.from({ length: Math.ceil(size / part(1000).length) }, (_, index) => part(index)).join('') + after;

const TEMPLATES: readonly (readonly [string, Made])[] = [
  ['a raw block without an end', of('{% x %}', '{% raw %}')],
  ['a raw block of one inside', (size) => `${of('{% raw %}')(size / 2)}${of('{% endraw %}')(size / 4)}${of('{% x %}')(size / 2)}`],
  ['a raw block', of('{%\n', '{% raw %}', '{% endraw %}')],
  ['raw blocks', of('{% raw %}{{{% endraw %}')],
  ['a verbatim block without an end', of('{% x %}', '{% verbatim %}')],
  ['a comment', of('{{\n', '{#', '#}')],
  ['a comment without an end', of('{#')],
  ['comments', of('{#- a -#} ')],
  ['blanks', of(`{{ a }}${' '.repeat(499)}`)],
  ['tags that cut blanks', of('{%- set a = 1 -%} \n')],
  ['names', numbered((index) => `{% set a${index} = 1 %}`)],
  ['unknown names', numbered((index) => `{{ b${index} }}`)],
  ['a long text', of('\\n', '{{ "', '" }}')],
  ['a long number', of('1', '{{ ', ' }}')],
  ['filters', of('|b', '{{ a', ' }}')],
  ['members', of('.b', '{{ a', ' }}')],
  ['sums', of('+b', '{{ a', ' }}')],
  ['comparisons', of('<b', '{{ a', ' }}')],
  ['a list', of('1,', '{{ [', '1] }}')],
  ['a map', numbered((index) => `a${index}:1,`, '{{ {', 'z:1} }}')],
  ['arguments', numbered((index) => `a${index}=1,`, '{{ a|join(', 'z=1) }}')],
  ['brackets', of('(', '{{ ', ' }}')],
  ['open braces', of('{')],
  ['branches', of('{% elif b %}', '{% if a %}', '{% endif %}')],
  ['loops in loops', of('{% for a in b %}')],
  ['targets of a loop', numbered((index) => `a${index},`, '{% for ', 'z in b %}{% endfor %}')],
];

const MARKDOWN: readonly (readonly [string, Made])[] = [
  ['emphasis without an end', of('*a ')],
  ['emphasis in words', of('_a ')],
  ['strong emphasis without an end', of('**a ', '', '**')],
  ['emphasis in emphasis', of('**a *b ')],
  ['code without an end', of('`a ')],
  ['links without an end', of('[a](')],
  ['pictures without an end', of('![a](')],
  ['brackets', of('[')],
  ['escapes', of('\\*')],
  ['a row of a table', of('|a', '', '\n|-|\n')],
  ['quotes', of('>')],
  ['a line', of('a')],
];

const YAML: readonly (readonly [string, Made])[] = [
  ['keys', numbered((index) => `a${index}: 1\n`)],
  ['one key', of('a: 1\n')],
  ['lists in lists', of('[')],
  ['aliases', of('- *a\n', 'a: &a 1\nb:\n')],
  ['documents', of('---\n')],
  ['question marks', of('? ')],
  ['tags', of('a: !x 1\n')],
  ['blanks', of(' ', 'a:', 'b')],
];

const SKILLS: readonly (readonly [string, Made])[] = [
  ['lines', of('---\n')],
  ['keys', numbered((index) => `a${index}: 1\n`, '---\n', '---\n')],
  ['one word', of('a: ')],
  ['backticks', of('`', '---\nname: a\n---\n')],
  ['placeholders', of('{{a', '---\nname: a\n---\n')],
  ['comments', of('<!--', '---\nname: a\n---\n')],
];

const skill = (text: string) => parseSkillFile(text, { id: 'a', file: '/a/SKILL.md', mode: 'lint' });

describe.each([
  ['a template', TEMPLATES, (text: string) => checkTemplate(text, { a: '' })],
  ['Markdown', MARKDOWN, (text: string) => renderMarkdown(text, { colour: true, columns: 80 })],
  ['YAML', YAML, (text: string) => guardedYaml(text, { lexemes: 5000 })],
  ['a skill', SKILLS, skill],
] as const)('S8 reading %s takes time in proportion to its length', (_, texts, read) => {
  it.each(texts)('S8 %s', async (__, made) => expect(await growth(read, made)).toBeLessThan(MOST_TIMES));
});
