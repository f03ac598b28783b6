import path from 'node:path';
import { createHash } from 'node:crypto';
import { readFile, symlink } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { partsOf } from '../../../sandbox/extensions/skill_registry/reading/read-skill.ts';
import { registryExtension } from './registry-extension.ts';
import { skillText } from './skill-sandbox.ts';
import { agentOf, callOf } from './skill-values.ts';

const skill = (id: string, values: Parameters<typeof skillText>[0] = {}) => ({
  [`sandbox/skills/${id}/SKILL.md`]: skillText({ name: id, description: `Knows all about ${id}.`, ...values }),
});

describe('list_skills', () => {
  it('S40 lists all by id in pages without a query, and the best first for one', async () => {
    const pith = await registryExtension({ ...skill('alpha'), ...skill('beta', { description: 'Cooks soup.' }), ...skill('gamma') });
    expect(await pith.read('list_skills', { limit: 2 }, callOf())).toBe(
      [
        'Skills 1–2 of 3, by id:',
        '• `alpha` — Knows all about alpha.',
        '• `beta` — Cooks soup.',
        'Use read_skill(skill_id) to load full instructions. More: the same call with offset=2.',
      ].join('\n'),
    );
    expect(await pith.read('list_skills', { offset: 2 }, callOf())).toContain('Skills 3–3 of 3, by id:\n• `gamma`');
    expect(await pith.read('list_skills', { offset: 9 }, callOf())).toBe('No more: there are 3.');
    expect(await pith.read('list_skills', { query: 'how to cook a soup' }, callOf())).toContain(
      '1–1 of 1, best first:\n• `beta` — Cooks soup. [matches: cook, soup]',
    );
  });

  it('R2 S40 says that nothing matches well and how to list', async () => {
    const pith = await registryExtension(skill('alpha'));
    expect(await pith.read('list_skills', { query: 'quantum physics' }, callOf())).toBe(
      'No skill matches "quantum physics" well. list_skills() without a query lists all 1 by id.',
    );
    const empty = await registryExtension({});
    expect(await empty.read('list_skills', {}, callOf())).toBe('There are no skills.');
  });

  it('S31 lists and finds only what the agent may see, bound skills included', async () => {
    const pith = await registryExtension({ ...skill('alpha'), ...skill('beta'), ...skill('gamma') });
    const agent = agentOf({ usesSkills: ['gamma'], keys: { skills: { allow: ['alpha'] } } });
    const listed = await pith.read('list_skills', {}, callOf({ agent }));
    expect(listed).toContain('`alpha`');
    expect(listed).toContain('`gamma`');
    expect(listed).not.toContain('beta');
    expect(await pith.read('list_skills', { query: 'beta' }, callOf({ agent }))).toContain('No skill matches');
  });
});

describe('read_skill', () => {
  it('S41 returns the body in an envelope with all that is known of it', async () => {
    const body = '# Guide\n\nDo {{ this }} {% then %} $& that.\n';
    const pith = await registryExtension({
      ...skill('alpha', { body, more: 'version: 1.2.3\nrequires: [beta]\n' }),
      ...skill('beta'),
      'sandbox/skills/alpha/references/guide.md': 'text',
      'sandbox/skills/alpha/.hidden': 'no',
    });
    const text = await pith.read('read_skill', { skill_id: 'alpha' }, callOf());
    const sha256 = createHash('sha256')
      .update(await readFile(path.join(pith.sandbox, 'skills/alpha/SKILL.md')))
      .digest('hex');
    expect(text.split('\n').slice(0, 5)).toEqual([
      '[Skill: alpha]',
      'version: 1.2.3',
      `sha256: ${sha256}`,
      'source: sandbox/skills',
      `base directory: ${path.join(pith.sandbox, 'skills/alpha')}`,
    ]);
    expect(text).toMatch(/^size: approx\. \d+ tokens$/m);
    expect(text).toContain("This skill requires: beta. Load it first if you haven't already.");
    expect(text).toContain(`\n${body}\n</skill>`);
    expect(text).toContain('- references/guide.md (4 bytes)');
    expect(text).not.toContain('hidden');
    expect(text.endsWith(`[End of skill: alpha, sha256 ${sha256.slice(0, 12)}]`)).toBe(true);
  });

  it('S41 lists the first fifty files, then counts', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 60 }, (_, at) => [`sandbox/skills/alpha/references/f${String(at).padStart(2, '0')}.md`, 'x']),
    );
    const pith = await registryExtension({ ...skill('alpha'), ...files });
    const text = await pith.read('read_skill', { skill_id: 'alpha' }, callOf());
    expect(text).toContain('- references/f49.md');
    expect(text).not.toContain('f50.md');
    expect(text).toContain('… and 10 more files');
  });

  it('S41 numbers the parts of a long body and loses nothing', async () => {
    const body = Array.from({ length: 6000 }, (_, at) => `Line ${at} of 🦀 the guide.`).join('\n');
    const pith = await registryExtension(skill('long', { body }));
    const first = await pith.read('read_skill', { skill_id: 'long' }, callOf());
    const count = Number(/part 1\/(\d+); the next is read_skill\(skill_id="long", part=2\)/.exec(first)![1]);
    expect(count).toBeGreaterThan(2);
    const texts = await Promise.all(
      Array.from({ length: count }, async (_, at) => {
        const text = await pith.read('read_skill', { skill_id: 'long', part: at + 1 }, callOf({ threadId: 'other' }));
        return text.slice(text.indexOf('>\n') + 2, text.lastIndexOf('\n</skill>'));
      }),
    );
    expect(texts.join('') === body).toBe(true);
    expect(await pith.call('read_skill', { skill_id: 'long', part: count + 1 }, callOf())).toMatchObject({
      ok: false,
      error: { code: 'part_not_found' },
    });
    expect(partsOf('🦀'.repeat(50), 15).every((part) => !/\p{Cs}/u.test(part))).toBe(true);
  });

  it('S42 names the nearest ids, and all of them where there are few', async () => {
    const pith = await registryExtension({ ...skill('pdf-fill'), ...skill('pdf-merge'), ...skill('soup') });
    const result = await pith.call('read_skill', { skill_id: 'pdf-fil' }, callOf());
    expect(result).toMatchObject({ ok: false, error: { code: 'skill_not_found' } });
    expect(!result.ok && result.error.message).toMatch(/may have been removed.*Nearest: pdf-fill.*All skills: pdf-fill, pdf-merge, soup\./);
    expect(await pith.call('read_skill', { skill_id: '  ' }, callOf())).toMatchObject({
      ok: false,
      error: { code: 'skill_name_required' },
    });
    const crowd = await registryExtension(
      Object.assign({}, ...Array.from({ length: 21 }, (_, at) => skill(`s-${at}`))) as Record<string, string>,
    );
    const unknown = await crowd.call('read_skill', { skill_id: 'zzz' }, callOf());
    expect(!unknown.ok && unknown.error.message).not.toContain('s-1');
  });

  it.each(['../beta', 'alpha/../beta', '/etc/passwd', 'sandbox/skills/../../beta', 'constructor', '__proto__', 'alpha/SKILL.md'])(
    'S42 never joins the id %j to a path',
    async (id) => {
      const pith = await registryExtension({ ...skill('alpha'), 'beta/SKILL.md': skillText({ name: 'beta' }) });
      expect(await pith.call('read_skill', { skill_id: id }, callOf())).toMatchObject({ ok: false, error: { code: 'skill_not_found' } });
    },
  );

  it('S31 S42 does not know a skill that the agent may not see', async () => {
    const pith = await registryExtension({ ...skill('alpha'), ...skill('secret-plan') });
    const agent = agentOf({ keys: { skills: { deny: ['secret-*'] } } });
    for (const [name, input] of [
      ['read_skill', {}],
      ['read_skill_resource', { path: 'SKILL.md' }],
    ] as const) {
      const result = await pith.call(name, { skill_id: 'secret-plan', ...input }, callOf({ agent }));
      expect(result).toMatchObject({ ok: false, error: { code: 'skill_not_found' } });
      expect(!result.ok && result.error.message).not.toContain('Nearest: secret-plan');
    }
  });

  it('S43 points to the first read, until the thread is compacted or the skill has changed', async () => {
    const pith = await registryExtension(skill('alpha', { body: 'First body.\n' }));
    const read = (call = callOf()) => pith.read('read_skill', { skill_id: 'alpha' }, call);
    const first = callOf();
    expect(await read(first)).toContain('First body.');
    expect(await read(first)).toContain('First body.'); // the same call, repeated by a resumed turn
    expect(await read()).toMatch(/^Skill `alpha` is already loaded above, sha256 [0-9a-f]{64}/);
    expect(await read(callOf({ threadId: 'another' }))).toContain('First body.');
    expect(await read(callOf({ compactions: 1 }))).toContain('First body.');
    expect(await read(callOf({ compactions: 1 }))).toContain('already loaded above');
    await pith.write('sandbox/skills/alpha/SKILL.md', skillText({ name: 'alpha', body: 'Second body.\n' }));
    const changed = await read(callOf({ compactions: 1 }));
    expect(changed).toContain('note: this skill has changed since it was loaded above');
    expect(changed).toContain('Second body.');
    expect(changed).not.toContain('First body.');
  });

  it('S46 marks a body to be kept, and no pointer', async () => {
    const pith = await registryExtension(skill('alpha'));
    const sha256 = createHash('sha256')
      .update(await readFile(path.join(pith.sandbox, 'skills/alpha/SKILL.md')))
      .digest('hex');
    expect(await pith.call('read_skill', { skill_id: 'alpha' }, callOf())).toMatchObject({
      ok: true,
      retain: { key: 'alpha', digest: sha256 },
    });
    expect(await pith.call('read_skill', { skill_id: 'alpha' }, callOf())).not.toHaveProperty('retain');
  });

  it('S91 shows results and errors in one line, and bad metadata as such', async () => {
    const pith = await registryExtension({ ...skill('alpha', { description: 'About alpha.' }), 'sandbox/skills/alpha/notes.md': 'n' });
    const loaded = await pith.call('read_skill', { skill_id: 'alpha' }, callOf());
    const directory = path.join(pith.sandbox, 'skills/alpha');
    expect(loaded).toMatchObject({ title: 'Skill alpha loaded', metadata: { skill_id: 'alpha', skill_name: 'alpha', directory } });
    expect(pith.tool('read_skill').present!(loaded)).toBe('Skill alpha loaded');
    const file = await pith.call('read_skill_resource', { skill_id: 'alpha', path: 'notes.md' }, callOf());
    expect(pith.tool('read_skill_resource').present!(file)).toBe('Resource notes.md of alpha read');
    expect(pith.tool('read_skill').present!({ ok: false, error: { code: 'x', message: 'it broke' } })).toBe('Error: it broke');
    for (const metadata of [undefined, null, [], 'text', { skill_id: 3 }, { skill_id: '' }]) {
      expect(pith.tool('read_skill').present!({ ok: true, output: '', metadata })).toBe('Error: invalid metadata for read_skill');
    }
  });
});

describe('read_skill_resource', () => {
  it('S45 reads with and without the leading references/', async () => {
    const pith = await registryExtension({
      ...skill('alpha'),
      'sandbox/skills/alpha/references/deep/guide.md': 'guide',
      'sandbox/skills/alpha/top.md': 'top',
      'sandbox/skills/alpha/references/both.md': 'in',
      'sandbox/skills/alpha/both.md': 'out',
    });
    const read = (file: string) => pith.read('read_skill_resource', { skill_id: 'alpha', path: file }, callOf());
    expect(await read('references/deep/guide.md')).toBe('guide');
    expect(await read('deep/guide.md')).toBe('guide');
    expect(await read('./deep/guide.md')).toBe('guide');
    expect(await read('references/top.md')).toBe('top');
    expect(await read('both.md')).toBe('out');
    expect(await read('references/both.md')).toBe('in');
  });

  it('S45 gives text above 1 MiB in numbered parts that join to the file', async () => {
    const text = 'ä🦀b\n'.repeat(400_000);
    const pith = await registryExtension({ ...skill('alpha'), 'sandbox/skills/alpha/big.txt': text });
    const parts = await Promise.all(
      [1, 2, 3, 4].map((part) => pith.read('read_skill_resource', { skill_id: 'alpha', path: 'big.txt', part }, callOf())),
    );
    expect(parts[0]).toMatch(/^\[big\.txt, part 1\/4; the next is part=2\]\n/);
    expect(parts[3]).toMatch(/^\[big\.txt, part 4\/4; this is the last\]\n/);
    expect(parts.map((part) => part.slice(part.indexOf('\n') + 1)).join('')).toBe(text);
    expect(await pith.call('read_skill_resource', { skill_id: 'alpha', path: 'big.txt', part: 5 }, callOf())).toMatchObject({ ok: false });
  });

  it('S45 gives type, size and digest of binary files only', async () => {
    const pith = await registryExtension(skill('alpha'));
    const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3]);
    await pith.write('sandbox/skills/alpha/a.png', bytes);
    await pith.write('sandbox/skills/alpha/latin.bin', Buffer.from([0x61, 0xe9, 0x62]));
    const digest = createHash('sha256').update(bytes).digest('hex');
    expect(await pith.read('read_skill_resource', { skill_id: 'alpha', path: 'a.png' }, callOf())).toBe(
      `Binary file a.png: image/png, 8 bytes, sha256 ${digest}. Its content is not shown.`,
    );
    expect(await pith.read('read_skill_resource', { skill_id: 'alpha', path: 'latin.bin' }, callOf())).toMatch(
      /application\/octet-stream, 3 bytes/,
    );
  });

  it('S44 reads in a skill folder that is itself a trusted link', async () => {
    const pith = await registryExtension(
      { 'sandbox/shared/alpha/SKILL.md': skillText({ name: 'alpha' }), 'sandbox/shared/alpha/notes.md': 'notes' },
      { trusted_links: ['sandbox/shared'] },
    );
    await symlink(path.join(pith.sandbox, 'shared/alpha'), path.join(pith.sandbox, 'skills/alpha'));
    expect(await pith.read('read_skill_resource', { skill_id: 'alpha', path: 'notes.md' }, callOf())).toBe('notes');
  });
});
