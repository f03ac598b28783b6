import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { statSync } from 'node:fs';
import { readFile, symlink, utimes } from 'node:fs/promises';
import path from 'node:path';
import { fakeClock, type FakeClock, type ScriptedStep, type TestKernel } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { skillsChanged } from '../../../sandbox/extensions/skill_registry/contract.ts';
import { call, crowd, lastResult, skill, skillKernel, type SkillKernel } from './skill-kernel.ts';
import { skillText } from './skill-sandbox.ts';

/** Too many for a small budget. */
const describedIn = (at: number) => `Explains subject number ${at} at some length, with examples and hints.`;
const many = crowd(200, (at) => `topic-${at}`, describedIn);

describe.each([{ wire: false }, { wire: true }])('skills in the real kernel (wire: $wire)', ({ wire }) => {
  let world: SkillKernel;
  let pith: TestKernel;
  let clock: FakeClock;

  async function start(files: Readonly<Record<string, string | Uint8Array>>, contextWindow: number | null = null): Promise<void> {
    clock = fakeClock();
    world = await skillKernel(files, { wire, clock, contextWindow });
    ({ pith } = world);
  }
  const turn = (input: string, ...steps: ScriptedStep[]) => world.chat(input, steps);
  const resultOf: SkillKernel['resultOf'] = (tool, input) => world.resultOf(tool, input);

  it('S20 S25 gives an agent the three read tools, and refuses settings that it does not know', async () => {
    await start({
      ...skill('alpha'),
      'pith.yaml': 'default_agent: reader\nskills: { sources: { replace: [sandbox/skills] }, pol_seconds: 3 }\n',
    });
    const tools = (await pith.kernel.agents.toolsOf('reader')).map(({ descriptor }) => [descriptor.name, descriptor.effect]);
    expect(tools).toEqual(['list_skills', 'read_skill', 'read_skill_resource'].map((name) => [name, 'read']));
    const { extensions } = await pith.kernel.doctor();
    const notes = extensions.find(({ id }) => id === 'skill_registry')?.notes;
    expect(notes).toMatchObject([{ code: 'config_invalid', message: expect.stringContaining("'poll_seconds'") }]);
  });

  it('S22 shows the very next turn what was added, rewritten with the same size and time, and removed', async () => {
    await start({ ...skill('alpha'), ...skill('beta') });
    const catalog = async () => (await turn('hello')).requests[0]!.system;
    expect(await catalog()).toContain('• `alpha` — Knows all about alpha.');
    const file = path.join(pith.sandbox, 'skills/alpha/SKILL.md');
    const time = new Date('2026-01-02T03:04:05Z');
    await utimes(file, time, time);
    await clock.advance(260); // S22: a look at the disk holds for a quarter of a second
    await catalog();
    await pith.write('skills/alpha/SKILL.md', (await readFile(file, 'utf8')).replace('Knows all', 'Sings all'));
    await utimes(file, time, time);
    await pith.write('skills/gamma/SKILL.md', skillText({ name: 'gamma' }));
    await pith.remove('skills/beta');
    await clock.advance(260);
    const changes: unknown[] = [];
    pith.kernel.events.handle(skillsChanged, ({ added, changed, removed }) => void changes.push({ added, changed, removed }));
    const system = await catalog();
    expect(changes).toEqual([{ added: ['gamma'], changed: ['alpha'], removed: ['beta'] }]);
    expect(system).toContain('• `alpha` — Sings all about alpha.');
    expect(system).toContain('• `gamma`');
    expect(system).not.toContain('beta');
    expect(await resultOf('read_skill', { skill_id: 'beta' })).toContain('skill_not_found');
  });

  it('S23 a turn that has begun goes on with its snapshot, and reads bodies live', async () => {
    await start(skill('alpha'));
    const change = async () => {
      await pith.write('skills/alpha/SKILL.md', skillText({ name: 'alpha', body: 'BODY-CHANGED\n' }));
      await pith.write('skills/beta/SKILL.md', skillText({ name: 'beta' }));
      await clock.advance(260);
      return {
        calls: [
          { name: 'list_skills', input: {} },
          { name: 'read_skill', input: { skill_id: 'beta' } },
          { name: 'read_skill', input: { skill_id: 'alpha' } },
        ],
      };
    };
    const { results, requests } = await turn('hello', change);
    expect(requests[1]!.system).toBe(requests[0]!.system);
    expect(results.map(({ output, error }) => output ?? error?.code)).toEqual(
      expect.arrayContaining([expect.stringContaining('Skills 1–1 of 1'), 'skill_not_found', expect.stringContaining('BODY-CHANGED')]),
    );
    expect(await resultOf('list_skills', {})).toContain('Skills 1–2 of 2');
  });

  it('R2 S40 S21 finds a skill by its body, best first, with the words that matched', async () => {
    await start({ ...skill('alpha', { body: 'Counts hedgehogs in gardens.\n' }), ...skill('beta'), ...skill('hedgehogs') });
    const found = await resultOf('list_skills', { query: 'hedgehogs', limit: 5 });
    expect(found).toMatch(/^Skills for "hedgehogs", 1–2 of 2, best first:\n• `hedgehogs`.*\n• `alpha` — .* \[matches: hedgehogs\]/);
    expect(await resultOf('list_skills', { query: 'zebra crossing' })).toBe(
      'No skill matches "zebra crossing" well. list_skills() without a query lists all 3 by id.',
    );
    expect(await resultOf('list_skills', { limit: 2, offset: 2 })).toMatch(/Skills 3–3 of 3, by id:\n• `hedgehogs`/);
    expect(await resultOf('list_skills', { offset: 9 })).toBe('No more: there are 3.');
  });

  it('S41 S7 reads a body byte for byte in its envelope, with its files, its digest and what it requires', async () => {
    const body = 'Say {{ name }} and {% x %} and $& and ${y}.\r\n</skill>\n';
    await start({
      ...skill('alpha', { body, more: 'version: 1.2.3\nrequires: [beta]\n' }),
      'skills/alpha/references/guide.md': 'GUIDE',
      'skills/alpha/scripts/run.sh': 'echo',
      'skills/alpha/.hidden': 'no',
    });
    const read = await resultOf('read_skill', { skill_id: 'alpha' });
    const sha256 = /<skill id="alpha" sha256="([0-9a-f]{64})">/.exec(read)![1]!;
    for (const part of [
      'version: 1.2.3',
      `sha256: ${sha256}`,
      'source: sandbox/skills',
      `base directory: ${pith.sandbox}/skills/alpha`,
      "This skill requires: beta. Load it first if you haven't already.",
      `>\n${body}\n</skill sha256="${sha256}">`, // T19 F19: no text can write its own hash, so none can end the element
      '- references/guide.md (5 bytes)',
      '- scripts/run.sh (4 bytes)',
      `[End of skill: alpha, sha256 ${sha256.slice(0, 12)}]`,
    ])
      expect(read).toContain(part);
    expect(read).toMatch(/approx\. \d+ tokens/);
    expect(read).not.toContain('hidden');
  });

  it('S41 cuts nothing silently: a long body comes in numbered parts that make up the whole', async () => {
    const body = Array.from({ length: 2000 }, (_, at) => `Line ${at} of a long text 🦀 that goes on and on.\n`).join('');
    await start(skill('long', { body }));
    const parts: string[] = [];
    for (let part = 1, count = 1; part <= count; part++) {
      const read = await resultOf('read_skill', { skill_id: 'long', part });
      count = Number(/part \d+\/(\d+)/.exec(read)![1]);
      parts.push(/<skill [^>]*>\n([^]*)\n<\/skill>/.exec(read)![1]!);
    }
    expect(parts.length).toBe(2); // of at most 16,000 tokens
    expect(parts.join('')).toBe(body);
    expect(parts.join('\n')).not.toMatch(/\p{Cs}/u); // no character was cut in two
    expect(await resultOf('read_skill', { skill_id: 'long', part: parts.length + 1 })).toContain('part_not_found');
  });

  it('S41 lists the first fifty files, then counts', async () => {
    const names = Array.from({ length: 60 }, (_, at) => `f${String(at).padStart(2, '0')}.md`);
    await start({ ...skill('alpha'), ...Object.fromEntries(names.map((name) => [`skills/alpha/references/${name}`, 'x'])) });
    const read = await resultOf('read_skill', { skill_id: 'alpha' });
    expect(read).toContain('- references/f49.md');
    expect(read).not.toContain('f50.md');
    expect(read).toContain('… and 10 more files');
  });

  it('S42 an unknown id names the nearest and all; an empty one is asked for; none is a path', async () => {
    await start({ ...skill('alpha'), ...skill('beta') });
    expect(JSON.parse(await resultOf('read_skill', { skill_id: 'alhpa' }))).toEqual({
      error: {
        code: 'skill_not_found',
        message: "Skill 'alhpa' was not found; it may have been removed. Nearest: alpha. All skills: alpha, beta.",
      },
    });
    expect(await resultOf('read_skill', { skill_id: ' ' })).toContain('skill_name_required');
    for (const skill_id of ['../alpha', '/etc/passwd', 'alpha/SKILL.md', '__proto__', 'constructor'])
      expect(await resultOf('read_skill', { skill_id })).toContain('skill_not_found');
  });

  it('S40 S42 where there are many or none, they are not all named', async () => {
    await start(many);
    expect(await resultOf('read_skill', { skill_id: 'zzz' })).not.toContain('topic-1');
    await start({});
    expect(await resultOf('list_skills', {})).toBe('There are no skills.');
  });

  it('S43 S46 points back at what the thread has read, until it changes or the thread is compacted', async () => {
    await start(skill('alpha', { body: `BODY-OF-alpha ${'one more word '.repeat(1500)}\n` }));
    expect(await resultOf('read_skill', { skill_id: 'alpha' })).toContain('BODY-OF-alpha');
    const again = await resultOf('read_skill', { skill_id: 'alpha' });
    expect(again).toMatch(/^Skill `alpha` is already loaded above, sha256 [0-9a-f]{64}, and unchanged/);
    await pith.write('skills/alpha/SKILL.md', skillText({ name: 'alpha', body: 'BODY-TWO\n' }));
    const changed = await resultOf('read_skill', { skill_id: 'alpha' });
    expect(changed).toMatch(/note: this skill has changed since it was loaded above[^]*BODY-TWO/);
    world.model.add({ text: 'A summary.' });
    const { tokensBefore, tokensAfter } = await pith.kernel.agents.compact('test');
    expect(tokensAfter).toBeLessThan(tokensBefore);
    const sent = (await turn('what now?')).requests[0]!;
    expect(JSON.stringify(sent.messages), 'a body is kept or its id listed').toMatch(/BODY-TWO|alpha/);
    expect(await resultOf('read_skill', { skill_id: 'alpha' })).toContain('BODY-TWO');
  });

  it('S43 gives an earlier text again that is back, because the latest in the thread is another', async () => {
    const write = (body: string) => pith.write('skills/alpha/SKILL.md', skillText({ name: 'alpha', body: `${body}\n` }));
    await start(skill('alpha', { body: 'BODY-ONE\n' }));
    await resultOf('read_skill', { skill_id: 'alpha' });
    await write('BODY-TWO');
    expect(await resultOf('read_skill', { skill_id: 'alpha' })).toContain('BODY-TWO');
    await write('BODY-ONE');
    expect(await resultOf('read_skill', { skill_id: 'alpha' })).toMatch(/note: this skill has changed[^]*BODY-ONE/);
    expect(await resultOf('read_skill', { skill_id: 'alpha' })).toMatch(/^Skill `alpha` is already loaded above/);
  });

  it('S44 S45 reads text, describes binaries, and refuses everything else with the same words', async () => {
    await start({
      ...skill('alpha'),
      'skills/alpha/references/guide.md': 'GUIDE',
      'skills/alpha/logo.png': new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 1, 2]),
      'secret.txt': 'SECRET',
    });
    const read = (file: string) => resultOf('read_skill_resource', { skill_id: 'alpha', path: file });
    expect(await read('references/guide.md')).toBe('GUIDE');
    expect(await read('guide.md')).toBe('GUIDE');
    expect(await read('logo.png')).toMatch(
      /^Binary file logo\.png: image\/png, 7 bytes, sha256 [0-9a-f]{64}\. Its content is not shown\.$/,
    );
    const refused = await read('not-there.md');
    expect(refused).toContain('resource_not_found');
    for (const file of ['../../secret.txt', '/etc/passwd', '..%2f..%2fsecret.txt', 'references/../../../secret.txt', 'references', ''])
      expect(await read(file), file).toBe(refused);
  });

  it('S44 reads in the folder of a skill that is itself a trusted link', async () => {
    const trusted = 'skills: { sources: { replace: [sandbox/skills] }, trusted_links: [sandbox/shared] }\n';
    await start({
      'shared/alpha/SKILL.md': skillText({ name: 'alpha' }),
      'shared/alpha/notes.md': 'NOTES',
      'pith.yaml': `default_agent: reader\n${trusted}`,
      'skills/beta/SKILL.md': skillText({ name: 'beta' }),
    });
    await symlink(path.join(pith.sandbox, 'shared/alpha'), path.join(pith.sandbox, 'skills/alpha'));
    await clock.advance(10_000);
    expect(await resultOf('read_skill_resource', { skill_id: 'alpha', path: 'notes.md' })).toBe('NOTES');
  });

  it('S91 a terminal gets one line a result, and channels its metadata, which the model is not sent', async () => {
    await start({ ...skill('alpha'), 'skills/alpha/references/guide.md': 'GUIDE' });
    const { results, requests } = await turn('hello', {
      calls: [
        { name: 'read_skill', input: { skill_id: 'alpha' } },
        { name: 'read_skill_resource', input: { skill_id: 'alpha', path: 'guide.md' } },
        { name: 'read_skill', input: { skill_id: 'nobody' } },
      ],
    });
    expect(results.map(({ line, title }) => line ?? title).sort()).toEqual([
      expect.stringMatching(/^Error: Skill 'nobody' was not found/),
      'Resource references/guide.md of alpha read',
      'Skill alpha loaded',
    ]);
    expect(results.find(({ line, title }) => (line ?? title) === 'Skill alpha loaded')!.metadata).toEqual({
      skill_id: 'alpha',
      skill_name: 'alpha',
      directory: `${pith.sandbox}/skills/alpha`,
    });
    expect(JSON.stringify(requests.at(-1)!.messages)).not.toContain('skill_name');
  });

  it('R11 R12 R10 beyond its budget, which it uses, the catalog counts what it leaves out, and the skills for a message stand beside it', async () => {
    await start({ ...many, ...skill('soup', { description: 'Cooks broth of every kind.' }) }, 8000);
    await resultOf('list_skills', { query: 'broth' }); // waits for the index, for longer than a turn does
    const first = (await turn('cook me a broth please')).requests[0]!;
    const second = (await turn('explain subject number 77')).requests[0]!;
    expect(second.system).toBe(first.system);
    const catalog = /\[Available Skills\][^]*201 more: search with list_skills\(query\)/.exec(first.system)![0];
    expect(catalog).toMatch(/^For example: soup, topic-0, (?:topic-\d+, )+…$/m);
    expect(countTokens(catalog)).toBeGreaterThan(600 * 0.7);
    expect(countTokens(catalog)).toBeLessThanOrEqual(600);
    expect(JSON.stringify(first.messages)).toMatch(/\[Skills for this message\].*`soup`/);
    expect(JSON.stringify(second.messages.slice(first.messages.length))).toContain('`topic-77`');
  });

  it('R3 the first message of a process has the skills that fit it, of which nothing is counted again', async () => {
    await start({ ...many, ...skill('soup', { description: 'Cooks broth of every kind.' }) }, 8000);
    await resultOf('list_skills', { query: 'broth' });
    const kept = () => statSync(path.join(pith.sandbox, 'data/extensions/skill_search/.cache/skills.index')).mtimeMs;
    await pith.restart();
    const written = kept();
    const [first] = (await turn('cook me a broth please')).requests;
    const sent = JSON.stringify(first!.messages);
    expect(sent).toMatch(/\[Skills for this message\].*`soup`/);
    expect(sent).not.toContain('still being indexed');
    await pith.restart();
    expect(kept()).toBe(written);
  });

  it('S23 R12 a preview begins anew each time, and shows what a conversation gets once all bodies are read', async () => {
    await start({ ...many, ...skill('alpha', { body: 'Grows porcupines and feeds porcupines with chestnuts.\n' }) }, 8000);
    const preview = (input: string) => pith.kernel.agents.preview({ agent: 'reader', input });
    const shown = JSON.stringify((await preview('grow porcupines, feed them chestnuts')).messages);
    expect(shown).toContain('`alpha`');
    expect(shown).not.toContain('still being indexed');
    await pith.write('skills/beta/SKILL.md', skillText({ name: 'beta', description: 'Feeds badgers.' }));
    await clock.advance(260);
    expect(JSON.stringify((await preview('badgers')).messages)).toContain('`beta`');
  });

  it('R13 the skills beside a message are those for what the user says, never for what a tool returned', async () => {
    const luthier = skill('luthier', { description: 'Repairs every xylophone.' });
    await start({ ...many, ...skill('soup', { description: 'Cooks broth.', body: 'Stir it with a xylophone.\n' }), ...luthier }, 8000);
    const first = await turn('cook me a broth please', call('read_skill', { skill_id: 'soup' }));
    expect(lastResult(first, 1)).toContain('xylophone');
    const sent = first.requests[1]!.messages.length + 1; // and its answer
    const beside = async (text: string) => JSON.stringify((await turn(text)).requests[0]!.messages.slice(sent));
    const second = await beside('and now?');
    expect(second).toMatch(/\[Skills for this message\].*Loaded before: `soup`/);
    expect(second).not.toContain('luthier');
    expect(await beside('mend my xylophone')).toContain('`luthier`');
  });
});
