import { existsSync } from 'node:fs';
import path from 'node:path';
import { DEFAULT_SETTINGS } from '../../core/declarations/index.ts';
import { ERROR_CODES } from '../../core/kernel/records/error-codes.ts';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { settingsSchema } from '../../core/declarations/settings-schema.ts';
import { skillsSchema } from '../../scripts/docs/skills-settings.ts';
import { importsOf } from '../../scripts/docs/architecture-page.ts';
import { generatedPages } from '../../scripts/docs/pages.ts';
import { filesBelow, read, ROOT } from './repository.ts';
import { codeSpans } from './skill-text.ts';

const PAGES = ['README.md', 'AGENTS.md', ...filesBelow('docs', '.md')];
const packageJson = JSON.parse(read('package.json')) as Record<'scripts' | 'dependencies' | 'devDependencies', Record<string, string>>;

describe('pages', () => {
  it('K7 K71 those made from the code are current; otherwise run: npm run docs', async () => {
    const pages = await generatedPages(ROOT);
    expect(pages.size).toBeGreaterThan(3);
    for (const [file, text] of pages) expect(existsSync(path.join(ROOT, file)) ? read(file) : '', file).toBe(text);
  });

  it('K7 the sample settings are valid once they are not comments any more', () => {
    const live = read('sandbox/pith.sample.yaml')
      .split('\n')
      .filter((line) => !line.startsWith('##'))
      .map((line) => line.replace(/^# /, ''))
      .join('\n');
    const settings = settingsSchema().safeParse(parse(live));
    expect(settings.error?.issues ?? []).toEqual([]);
    expect(skillsSchema().safeParse(settings.data?.skills).error?.issues ?? []).toEqual([]);
    expect(Object.keys(parse(live) as object)).toEqual(Object.keys(settingsSchema().shape));
    expect(Object.keys(settings.data?.skills ?? {})).toEqual(Object.keys(skillsSchema().shape));
    expect(parse(read('sandbox/pith.sample.yaml'))).toBeNull();
  });

  it('K7 the defaults of settings are those of the schema, which describes every key for these pages', () => {
    expect(settingsSchema().parse({})).toEqual(DEFAULT_SETTINGS);
    const { shape } = settingsSchema();
    for (const [key, schema] of Object.entries({ ...shape, ...shape.models.unwrap().shape }))
      expect(`${key}: ${schema.description}`).toMatch(/: .+\.$/);
  });

  it('point to files that exist', () => {
    const dead = PAGES.flatMap((page) =>
      [...read(page).matchAll(/\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map(([, target = '']) => path.posix.join(path.posix.dirname(page), target))
        .filter((target) => !existsSync(path.join(ROOT, target)))
        .map((target) => `${page} → ${target}`),
    );
    expect(dead).toEqual([]);
  });

  it('name npm scripts that exist', () => {
    const named = PAGES.flatMap((page) => [...read(page).matchAll(/npm run (?:--silent )?([a-z:-]+)/g)].map(([, script = '']) => script));
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((script) => packageJson.scripts[script] === undefined)).toEqual([]);
  });

  it('explain codes that exist', () => {
    const rows = read('docs/troubleshooting.md')
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    const codes = rows.flatMap((row) => codeSpans(row.split('|')[1] ?? ''));
    expect(codes.length).toBeGreaterThan(10);
    expect(codes.filter((code) => !(ERROR_CODES as readonly string[]).includes(code))).toEqual([]);
  });

  it('decision 15 has a line for each package, and for no other', () => {
    const text = read('docs/adr/0015-dependencies.md');
    const rows = text
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .flatMap((row) => codeSpans(row.split('|')[1] ?? ''));
    const manifests = ['package.json', ...filesBelow('packages', '.json')].map((file) => JSON.parse(read(file)) as typeof packageJson);
    const needed = manifests.flatMap(({ dependencies }) => Object.keys(dependencies ?? {}));
    expect(rows.sort()).toEqual([...new Set(needed.filter((name) => !name.startsWith('@pith/')))].sort());
    expect(Object.keys(packageJson.devDependencies).filter((name) => !name.startsWith('@types/') && !text.includes(`\`${name}\``))).toEqual(
      [],
    );
  });

  it.each(['docs/pith.svg', 'docs/architecture.svg'])('%s is well formed and described', (file) => {
    const drawing = read(file);
    expect(drawing).toMatch(/^<svg [^>]*role="img"[^>]*aria-labelledby="title description"/);
    const open = [...drawing.matchAll(/<(?!\/|\?|!)([a-z]+)(?:\s[^>]*[^/])?>/g)].length;
    expect([...drawing.matchAll(/<\/[a-z]+>/g)]).toHaveLength(open);
  });
});

describe('guides', () => {
  const lookedUp = ['commands', 'configuration', 'glossary', 'benchmarks', 'conformance'].map((name) => `docs/${name}.md`);
  const guides = filesBelow('docs', '.md').filter((file) => path.posix.dirname(file) === 'docs' && !lookedUp.includes(file));
  const handWritten = (file: string): string => read(file).replaceAll(/<!-- (?!transcript)(\w+):start -->[^]*?<!-- \1:end -->/gu, '');

  it('each is in the index', () => {
    const index = read('docs/index.md');
    expect(guides.filter((file) => file !== 'docs/index.md' && !index.includes(`](${path.posix.basename(file)})`))).toEqual([]);
  });

  it('and the README have at most 30,000 words, so that people read them; otherwise shorten one', () => {
    const words = ['README.md', ...guides].flatMap((file) => handWritten(file).split(/\s+/u).filter(Boolean));
    expect(words.length).toBeLessThanOrEqual(30_000);
  });
});

describe('architecture', () => {
  const page = read('docs/architecture.md');
  const imports = importsOf(ROOT);

  it('no arrow of the map runs up', () => {
    expect(read('docs/architecture.svg')).not.toContain('class="arrow up"');
  });

  it.each(['The way of one message', 'The way of an edit'])('%s names files that compose reaches by imports', (title) => {
    const section = page.split(`## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
    const files = [...section.matchAll(/\]\(\.\.\/(core\/[^)#]+\.ts)\)/g)].map(([, file = '']) => file);
    expect(files.length).toBeGreaterThan(7);
    const reached = new Set([...imports.keys()].filter((file) => file.startsWith('core/compose')));
    for (const file of reached) for (const target of imports.get(file) ?? []) reached.add(target);
    expect(files.filter((file) => !reached.has(file))).toEqual([]);
  });
});

it.each(filesBelow('packages', '.md'))('%s names only what its package exports', (file) => {
  const exported = read(path.posix.join(path.posix.dirname(file), 'index.ts'));
  const [, table = ''] = /\| name \| gives \|\n((?:\|.*\n)+)/.exec(read(file)) ?? [];
  const names = table.split('\n').flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)/g)].map(([, name]) => name));
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(exported))).toEqual([]);
});

describe('decisions', () => {
  const records = filesBelow('docs/adr', '.md').filter((file) => file !== 'docs/adr/README.md');
  const numberOf = (file: string): string => path.basename(file).slice(0, 4);
  const head = (file: string): string => read(file).split('\n\n')[1] ?? '';
  /** The numbers that a line of the head names, each with the file to which it links. */
  const links = (file: string, line: string): readonly (readonly [number: string, file: string])[] =>
    [...(new RegExp(`^${line}(.*)$`, 'm').exec(head(file))?.[1] ?? '').matchAll(/\[(\d{4})\]\(([^)]+)\)/g)].map(
      ([, number = '', target = '']) => [number, path.posix.join(path.posix.dirname(file), target)] as const,
    );

  it('have a number of their own, a title, a status and a date', () => {
    const numbers = records.map(numberOf);
    expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([]);
    for (const file of records) {
      expect(read(file), file).toMatch(new RegExp(`^# ${Number(numberOf(file))}\\. \\S`));
      expect(head(file), file).toMatch(
        /^Status: (?:accepted|superseded by \[\d{4}\]\([^)]+\))\nDate: \d{4}-\d\d-\d\d(?:\nSupersedes: .+)?$/,
      );
    }
  });

  it('that are superseded stand in their folder, and name their successor as it names them', () => {
    for (const file of records) {
      const successors = links(file, 'Status: superseded by ');
      expect(path.posix.dirname(file) === 'docs/adr/superseded', file).toBe(successors.length > 0);
      for (const [number, successor] of successors) {
        expect(numberOf(successor), file).toBe(number);
        expect(links(successor, 'Supersedes: '), `${successor} supersedes ${file}`).toContainEqual([numberOf(file), file]);
      }
      for (const [number, former] of links(file, 'Supersedes: ')) {
        expect(
          links(former, 'Status: superseded by ').map(([by]) => by),
          `${number}, superseded by ${file}`,
        ).toContain(numberOf(file));
      }
    }
  });

  it('are few: at most 25 live, in one folder', () => {
    const living = records.filter((file) => path.posix.dirname(file) !== 'docs/adr/superseded');
    expect(living.length, 'merge two records that have grown together').toBeLessThanOrEqual(25);
    expect(living.filter((file) => path.posix.dirname(file) !== 'docs/adr')).toEqual([]);
  });
});
