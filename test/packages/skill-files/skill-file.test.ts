import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RULES } from '../../../packages/skill-files/format/rules.ts';
import { type Mode, parseSkillFile } from '@pith/skill-files';
import { skillText } from '../../extensions/skill_registry/skill-sandbox.ts';
import { bodyOf } from '../../extensions/skill_registry/format/body-of.ts';
import { words } from '../../words.ts';

const parse = (text: string | Uint8Array, mode: Mode = 'load', id = 'demo', file = `/skills/${id}/SKILL.md`) =>
  parseSkillFile(text, { id, file, mode });
const codes = async (text: string, mode: Mode = 'load', id = 'demo') =>
  (await parse(text, mode, id)).diagnostics.map(({ severity, code }) => `${severity} ${code}`);
const raw = (head: string, body = 'Body.\n') => `---\n${head}\n---\n${body}`;

describe('the format', () => {
  it('a key that misses a known one is said, and one that misses a safeguard counts as that', async () => {
    const more =
      'tag: [a]\nalowed-tools: Read\ndefault-enabled: false\ndisable-model-invokation: true\ndisallowed-tools: x\nargument-hint: x\n';
    const { fields, diagnostics } = await parse(skillText({ more }));
    expect(fields).toMatchObject({ tags: [], allowedTools: ['Read'], defaultEnabled: false, extra: { 'disable-model-invocation': true } });
    expect(diagnostics.filter(({ code }) => code === 'field_misspelt').map(({ message }) => message)).toEqual([
      "has the unknown key 'tag', which is ignored (did you mean 'tags'?)",
      "has the unknown key 'alowed-tools', which counts as 'allowed-tools'",
      "has the unknown key 'default-enabled', which counts as 'default_enabled'",
      "has the unknown key 'disable-model-invokation', which counts as 'disable-model-invocation'",
    ]);
  });

  it('S2 takes every field and keeps the unknown ones', async () => {
    const text = raw(
      [
        'name: demo',
        'description: Does it.',
        'license: MIT',
        'compatibility: any',
        'metadata: { author: me, level: 1.0 }',
        'allowed-tools: Read, Bash(git add:*)',
        'tags: [a, b]',
        'requires: [other]',
        'examples: ["do it, please"]',
        'version: 1.2.3',
        'brief_description: Short.',
        'triggers: { keywords: [x] }',
        'toolsets: ["tools/index:Hello"]',
        'scripts: [scripts/a.sh, { path: scripts/b.py, timeout_s: 5 }]',
        'default_enabled: false',
        'homepage: https://example.org',
      ].join('\n'),
    );
    const { valid, fields } = await parse(text);
    expect(valid).toBe(true);
    expect(fields).toEqual({
      name: 'demo',
      description: 'Does it.',
      brief: 'Short.',
      version: '1.2.3',
      tags: ['a', 'b'],
      requires: ['other'],
      examples: ['do it, please'],
      allowedTools: ['Read', 'Bash(git add:*)'],
      toolsets: ['tools/index:Hello'],
      scripts: [
        { path: 'scripts/a.sh', description: null, env: [], timeoutSeconds: null },
        { path: 'scripts/b.py', description: null, env: [], timeoutSeconds: 5 },
      ],
      defaultEnabled: false,
      triggers: { keywords: ['x'], verbs: [], patterns: [] },
      extra: {
        license: 'MIT',
        compatibility: 'any',
        metadata: { author: 'me', level: '1.0' },
        homepage: 'https://example.org',
      },
    });
  });

  it('S3 every rule has both modes, a message and a cure, and no code twice', () => {
    expect(new Set(RULES.map(({ code }) => code)).size).toBe(RULES.length);
    expect(RULES.filter((rule) => rule.message('x') === '' || rule.cure === '' || (rule.lint ?? rule.load) === null)).toEqual([]);
    const invalidating = RULES.filter(({ load }) => load === 'error')
      .map(({ code }) => code)
      .sort();
    expect(invalidating).toEqual(
      words(`
      description_missing encoding_utf16 file_not_regular file_too_large file_unreadable frontmatter_and_text_missing frontmatter_misspelt frontmatter_no_map
      frontmatter_too_large frontmatter_unclosed line_ends_cr yaml_invalid yaml_too_large
    `),
    );
  });

  it('S3 S81 every cure says what to write', () => {
    const found = { code: 'x', detail: 'x y', wanted: '`x: y`' };
    const cures = RULES.map(({ code, cure }) => [code, typeof cure === 'string' ? cure : cure(found, 'demo')] as const);
    const imperative = /^(?:add|begin|correct|end|give|keep|leave|move|name|put|remove|rename|save|write) /;
    expect(cures.filter(([, cure]) => !imperative.test(cure))).toEqual([]);
    expect(cures.filter(([, cure]) => !/`[^`]+`/.test(cure)).map(([code]) => code)).toEqual(
      words('encoding_invalid encoding_utf16 line_ends_cr repaired_bom repaired_crlf repaired_tab control_character'),
    );
  });

  it('S3 the cure of a name of which nothing can be used writes another', async () => {
    const { diagnostics } = await parse(skillText({ name: '"!"' }), 'lint', '!');
    const named = diagnostics.find(({ code }) => code.startsWith('name_'));
    expect(named?.cure).toBe('write `name: my-skill` and rename the folder to `my-skill`');
  });

  it('S3 fields that other clients read are no errors, and who reads them is told', async () => {
    const lint = (lines: string) => parse(raw(`name: demo\ndescription: Does it. Use when asked.\n${lines}`), 'lint');
    const fields = words(`
      when_to_use argument-hint arguments disable-model-invocation user-invocable disallowed-tools model effort context agent hooks paths
      shell globs alwaysApply homepage command-dispatch command-tool command-arg-mode author platforms environments prerequisites
      required_environment_variables required_credential_files mode modeSlugs
    `);
    for (const field of fields) {
      const { valid, diagnostics } = await lint(`${field}: x`);
      const found = diagnostics.map(({ severity, code }) => `${severity} ${code}`);
      expect([field, valid, found]).toEqual([field, true, ['info field_of_others']]);
    }
    expect((await lint('metadata:\n  hermes:\n    tags: x\n  openclaw:\n    emoji: x')).diagnostics).toEqual([]);
    expect((await lint('argument-hint: x\nplatforms: y')).diagnostics[0]?.message).toBe(
      'has fields that other clients read and Pith keeps: argument-hint (Claude Code, Copilot), platforms (Hermes)',
    );
    expect((await lint('argument-hnit: x')).diagnostics[0]).toMatchObject({
      code: 'field_misspelt',
      message: expect.stringContaining("did you mean 'argument-hint'?"),
      cure: 'write `argument-hint:` in place of `argument-hnit:`',
    });
    expect((await lint('tools: x')).diagnostics[0]?.code).toBe('field_unknown');
  });

  it('S3 a name that is missing or a display name serves', async () => {
    expect((await parse(raw('description: Does it.'))).fields.name).toBe('demo');
    const display = await parse(skillText({ name: 'Brainstorming Ideas' }));
    expect([display.valid, display.fields.name]).toEqual([true, 'Brainstorming Ideas']);
  });

  it('S5 a picture that is named SKILL.md is no text that says what it is for', async () => {
    const picture = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex');
    const { valid, diagnostics } = await parse(picture);
    expect([valid, diagnostics.at(-1)?.code]).toEqual([false, 'frontmatter_and_text_missing']);
  });

  it('S4 repairs a colon in a continued value, and says where', async () => {
    const { valid, fields, diagnostics } = await parse(raw('name: demo\ndescription: Does a\n  thing: well'));
    expect([valid, fields.description]).toEqual([true, 'Does a thing: well']);
    expect(diagnostics).toContainEqual(expect.objectContaining({ severity: 'warning', code: 'repaired_quote', line: 3, column: 14 }));
  });

  it('S4 takes allowed-tools as comma string, space string and list, three forms of one value', async () => {
    const of = async (value: string) => (await parse(skillText({ more: `allowed-tools:${value}\n` }))).fields.allowedTools;
    const wanted = ['Read', 'Bash(git add:*, git rm)', 'Write'];
    expect(await of(' Read, Bash(git add:*, git rm), Write')).toEqual(wanted);
    expect(await of(' Read Bash(git add:*, git rm) Write')).toEqual(wanted);
    expect(await of('\n  - Read\n  - Bash(git add:*, git rm)\n  - Write')).toEqual(wanted);
  });

  it.each([
    ['', null, 0],
    ['allowed-tools:\n', [], 0],
    ['allowed-tools: []\n', [], 0],
    ['allowed-tools: [{ name: Read }]\n', [], 1],
    ['allowed-tools: {Read: true}\n', [], 1],
  ])('S4 S71 allowed-tools that is written and names nothing is empty, not absent: %j', async (more, tools, problems) => {
    const { fields, diagnostics } = await parse(skillText({ more }));
    expect(fields.allowedTools).toEqual(tools);
    expect(diagnostics.filter(({ message }) => message.includes("'allowed-tools'"))).toHaveLength(problems);
  });

  it('S5 tags and directives do not change what a value means', async () => {
    const text = raw(
      '%YAML 1.1\n%TAG !e! tag:example.org:\nname: demo\ndescription: !!str Does it.\nwhen: !!timestamp 2001-01-01\nbytes: !!binary aGk=\ncount: !!int "12"\noctal: 010\nanswer: yes',
    );
    expect((await parse(text)).fields.extra).toEqual({ when: '2001-01-01', bytes: 'aGk=', count: '12', octal: 10, answer: 'yes' });
  });

  it('S5 refuses more than 16 KiB of frontmatter before parsing and takes just as much', async () => {
    const head = (size: number) =>
      `name: demo\ndescription: Does it.\nnote: ${'n'.repeat(size - 'name: demo\ndescription: Does it.\nnote: \n'.length)}`;
    expect((await parse(raw(head(16 * 1024)))).valid).toBe(true);
    expect(await codes(raw(head(16 * 1024 + 1)))).toEqual(['error frontmatter_too_large']);
    expect(await codes(`---\nname: demo\n${'x'.repeat(20_000)}`)).toEqual(['error frontmatter_unclosed']);
  });

  it('S5 bounds aliases and what they come to', async () => {
    const many = (count: number) => raw(`name: demo\ndescription: Does it.\na: &a text\nlist:\n${'  - *a\n'.repeat(count)}`);
    expect((await parse(many(100))).valid).toBe(true);
    expect(await codes(many(101))).toEqual(['error yaml_too_large']);
    expect((await parse(raw('name: demo\ndescription: Does it.\nloop: &a [*a]'))).fields.extra).toEqual({ loop: '&a [*a]' });
  });

  it('S5 __proto__ and constructor are ordinary ids and keys', async () => {
    const parsed = await parse(
      skillText({ name: '__proto__', more: '__proto__:\n  polluted: yes\nconstructor: x\n' }),
      'load',
      '__proto__',
    );
    expect(Object.keys(parsed.fields.extra)).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(parsed.fields.extra)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('S7 the body comes out byte for byte', () => {
    const body = "\r\n{{ name }} {% if x %}$& $1 $$ `'\n---\nmore\u0000\uFEFF\t \n\n";
    expect(bodyOf(`---\nname: demo\n---\n${body}`)).toBe(body);
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => bodyOf(`---\nname: demo\n---\n${text}`) === text));
  });

  it('S3 K1 two lines of dashes with nothing between them are no frontmatter, and what follows is the text', async () => {
    for (const head of ['---\n---\n', '---\n\n---\n']) {
      const { valid, fields, diagnostics } = await parse(`${head}# Title\n\nSays what it is for.\n`);
      expect([valid, fields.name, fields.description]).toEqual([true, 'Title', 'Says what it is for.']);
      expect(diagnostics.map(({ code, line }) => [code, line])).toEqual([
        ['frontmatter_missing', 1],
        ['description_taken_from_text', 1],
        ['name_missing', 1],
      ]);
    }
  });

  it('S8 a large body is a warning, a file above 1 MiB invalid', async () => {
    const large = await parse(skillText({ body: 'word '.repeat(8000) }));
    expect([large.valid, large.diagnostics.map(({ code, cure }) => [code, cure])]).toEqual([
      true,
      [['body_large', expect.stringContaining('`[details](references/details.md)`')]],
    ]);
    const exact = 1024 * 1024 - Buffer.byteLength(skillText({ body: '' }));
    expect((await parse(skillText({ body: 'x'.repeat(exact) }))).valid).toBe(true);
    expect((await parse(skillText({ body: 'x'.repeat(exact + 1) }))).diagnostics).toContainEqual(
      expect.objectContaining({ severity: 'error', code: 'file_too_large' }),
    );
  });
});
