import { encode } from 'gpt-tokenizer';
import path from 'node:path';
import { manifestSchema } from '../../core/trust/index.ts';
import { interfaceOf, KERNEL_PROTOCOLS, KERNEL_TOPICS } from '../../core/declarations/index.ts';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { lintSkill } from '@pith/skill-files';
import { bodyOf } from '../extensions/skill_registry/format/body-of.ts';
import { manifestKeys } from './manifest-keys.ts';
import { read, ROOT } from './repository.ts';
import { blocks, codeSpans, exampleOf, listed, membersOf, PAGES, SKILL_FILE, TEMPLATES, typeErrors } from './skill-text.ts';

const PROTOCOLS = [...KERNEL_PROTOCOLS.keys()];
const skill = read(SKILL_FILE);
const folder = path.dirname(SKILL_FILE);
const PROTOCOL_PAGES = PROTOCOLS.map((id) => `${folder}/references/${id}.md`);
const sorted = (names: readonly string[]) => [...names].sort();

describe('the skill extension-development', () => {
  it('K71 lists every manifest key, and none that does not exist', () => {
    expect(sorted(listed(skill, 'Manifest'))).toEqual(sorted(manifestKeys()));
  });

  it('K71 lists every protocol, and none that does not exist', () => {
    expect(listed(skill, 'Protocols')).toEqual([...PROTOCOLS]);
    expect(
      sorted(
        codeSpans(
          read(`${folder}/references/protocols.md`)
            .split('\n## ', 1)[0]!
            .split('\n')
            .filter((line) => line.startsWith('| `'))
            .map((line) => line.split('|')[1])
            .join(),
        ),
      ),
    ).toEqual(sorted(PROTOCOLS));
  });

  it('K71 lists every member of the context, and none that does not exist', () => {
    expect(listed(skill, 'Context API')).toEqual(membersOf('core/contract/extension.ts', 'ExtensionContext'));
  });

  it('K71 lists every topic, and none that does not exist', () => {
    expect([...listed(skill, 'Events')].sort()).toEqual([...KERNEL_TOPICS.keys()].sort());
  });

  it.each(PROTOCOLS)('K71 the page of %s names every member of the protocol', async (id) => {
    const file = `core/contract/${['tool', 'model', 'command'].includes(id) ? id : 'providers'}.ts`;
    const members = membersOf(file, interfaceOf(id)!);
    const page = read(`${folder}/references/${id}.md`);
    const spans = codeSpans(page).join(' ');
    expect(members.filter((member) => !new RegExp(`\\b${member}\\b`).test(spans))).toEqual([]);
  });

  it.each([
    ['tool', 'core/contract/tool.ts', 'ToolDefinition'],
    ['command', 'core/contract/command.ts', 'Command'],
  ])('K71 the page of %s lists every field, and none that does not exist', (id, file, name) => {
    const rows = read(`${folder}/references/${id}.md`).split('| field |')[1]?.split('\n\n')[0] ?? '';
    expect(
      rows
        .split('\n')
        .slice(2)
        .flatMap((row) => codeSpans(row.split('|')[1] ?? '')),
    ).toEqual(membersOf(file, name));
  });

  it('K71 points only to files that exist, and to each of them', () => {
    const pages = [SKILL_FILE, ...PAGES];
    const named = new Set(
      pages.flatMap((page) => codeSpans(read(page).replace(/<kind>/g, 'tool'))).filter((span) => /^(?:references|templates)\/./.test(span)),
    );
    const there = [...PAGES, ...TEMPLATES].map((file) => path.posix.relative(folder, file));
    expect([...named].filter((file) => !there.includes(file))).toEqual([]);
    const kinds = /templates\/(?:(?:manifest|main|test)-[a-z]+-provider\.(?:yaml|ts)|test-extension\.ts)$/;
    expect(there.filter((file) => !named.has(file) && !kinds.test(file) && file !== 'references/protocols.md')).toEqual([]);
  });

  it('K71 has a manifest and a main file for each kind, and tests', () => {
    const kinds = ['tool', 'context', 'service', 'channel', 'scheduler', 'model', 'command'];
    const wanted = [
      ...kinds.flatMap((kind) => [`manifest-${kind}-provider.yaml`, `main-${kind}-provider.ts`]),
      'test-tool-provider.ts',
      'test-context-provider.ts',
      'test-extension.ts',
      'manifest-agent.yaml',
      'prompt.jinja2',
      'SKILL.md',
    ];
    expect(sorted(TEMPLATES.map((file) => path.basename(file)))).toEqual(sorted(wanted));
  });

  it.each([...TEMPLATES.filter((file) => file.endsWith('.yaml')), ...PROTOCOL_PAGES])('K71 the manifest in %s is one', (file) => {
    const text = file.endsWith('.md') ? exampleOf(file).manifest : read(file);
    expect(manifestSchema().safeParse(parse(text)).error?.issues ?? []).toEqual([]);
  });

  it('K71 templates and examples compile against the contract', () => {
    const templates = TEMPLATES.filter((file) => file.endsWith('.ts')).map((file) => [path.basename(file), read(file)] as const);
    const pages = [SKILL_FILE, ...PAGES].flatMap((file) =>
      blocks(read(file), 'ts').map((block, index) => [`${path.basename(file, '.md')}-${index}.ts`, block] as const),
    );
    expect(pages.length).toBeGreaterThanOrEqual(PROTOCOLS.length + 3);
    expect(typeErrors(new Map([...templates, ...pages]))).toEqual([]);
    expect(typeErrors(new Map([['wrong.ts', "import { nothing } from 'pith';\nexport const text: string = nothing;\n"]])).join()).toContain(
      'nothing',
    );
  }, 120_000);

  it('K71 has at most 5,000 tokens', () => {
    expect(encode(bodyOf(skill)).length).toBeLessThanOrEqual(5000);
  });

  it('K71 passes lint', async () => {
    expect((await lintSkill(folder, ROOT)).diagnostics).toEqual([]);
  });
});
