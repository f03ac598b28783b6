import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTrustFile, trustSandbox } from '../../core/trust/index.ts';
import { pithHere } from './pith-here.ts';
import { projectFolder, type Folder } from './pith-process.ts';

let folder: Folder;
let home: string;
const PROJECT = ['.cursor', '.codex', '.agent', '.kodelet', '.claude', '.agents'];

const pith = (...argv: string[]) => pithHere(argv, { cwd: folder.path, env: { HOME: home, PITH_TRUST: '0' } });
const skill = (name: string, body = 'Body.') => `---\nname: ${name}\ndescription: Does ${name}. Use it for ${name}.\n---\n${body}\n`;

async function put(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(path.join(folder.path, file)), { recursive: true });
  await writeFile(path.join(folder.path, file), text);
}

interface Listed {
  readonly id: string;
  readonly source: string;
  readonly state: string;
  readonly reason?: string;
  readonly diagnostics: readonly { readonly code: string }[];
}

async function listAll(): Promise<readonly Listed[]> {
  return JSON.parse((await pith('skills', 'list', '--all', '--json')).out) as Listed[];
}

/** source → state of one id, without what ships. */
const statesOf = (rows: readonly Listed[], id: string) =>
  Object.fromEntries(rows.filter((row) => row.id === id).map(({ source, state }) => [source, state]));

/** A project as people have them who came from several systems. */
beforeAll(async () => {
  folder = await projectFolder({
    'pith.yaml': '',
    'skills/same/SKILL.md': skill('same'),
    'skills/other/SKILL.md': skill('other', 'Mine.'),
  });
  home = path.join(folder.path, 'home');
  await mkdir(home);
  trustSandbox(openTrustFile(home), path.join(folder.path, 'sandbox')); // nothing of the project with it
  for (const name of PROJECT) {
    await put(`${name}/skills/same/SKILL.md`, skill('same'));
    await put(`${name}/skills/only-${name.slice(1)}/SKILL.md`, skill(`only-${name.slice(1)}`));
  }
  await put('skills/other/SKILL.md', skill('other', 'Theirs.'));
  await put('home/.claude/skills/mine/SKILL.md', skill('mine'));
  const claude = path.join(folder.path, '.claude/skills');
  await put('.claude/skills/group/deep/grouped/SKILL.md', skill('grouped'));
  await put('.claude/skills/.hidden/secret/SKILL.md', skill('secret'));
  await put('.claude/skills/only-claude/nested/SKILL.md', skill('nested'));
  await put('.claude/skills/a/b/c/d/e/toodeep/SKILL.md', skill('toodeep'));
  await put('elsewhere/outside/SKILL.md', skill('outside'));
  await symlink('../../elsewhere/outside', path.join(claude, 'outside'));
  await symlink('deep/grouped', path.join(claude, 'group/alias'));
  await symlink('..', path.join(claude, 'group/loop'));
  await symlink('../../.agents/skills/only-agents', path.join(claude, 'borrowed'));
});
afterAll(() => folder.remove());

describe('a project with the skills of every system', () => {
  it('S10 S11 S12 S13 S14 list --all tells where each is, in which state and why', async () => {
    const rows = await listAll();
    expect(statesOf(rows, 'same')).toEqual({
      'sandbox/skills': 'offered',
      ...Object.fromEntries(PROJECT.map((name) => [`${name}/skills`, 'untrusted'])),
    });
    expect(statesOf(rows, 'mine')).toEqual({ '~/.claude/skills': 'offered' });
    expect(statesOf(rows, 'grouped')).toEqual({ '.claude/skills': 'untrusted' });
    for (const name of PROJECT) expect(statesOf(rows, `only-${name.slice(1)}`)).toEqual({ [`${name}/skills`]: 'untrusted' });
    for (const id of ['secret', 'nested', 'toodeep', 'alias', 'loop']) expect(statesOf(rows, id)).toEqual({});
    expect(rows.filter(({ id }) => id === 'outside' || id === 'borrowed').map(({ state, reason }) => [state, reason])).toEqual([
      ['invalid', expect.stringContaining("what it leads to is listed in '.agents/skills'")],
      ['invalid', expect.stringContaining('refused: a link leads out of')],
    ]);
    const { out } = await pith('skills', 'list');
    expect(out).toContain('Not trusted yet: .claude/skills (3), ');
    expect(out).toContain('To look at it and decide: pith skills trust ');
  });

  it('S14 S13 trusting a source offers what nothing of higher precedence has; the same bytes bring no warning, others do', async () => {
    const trusted = await pith('skills', 'trust', '.claude/skills', '--json');
    expect(trusted.code, trusted.err).toBe(0);
    expect(JSON.parse(trusted.out)).toMatchObject({ source: '.claude/skills', trusted: ['grouped', 'only-claude', 'same'] });
    expect((await pith('skills', 'trust', 'skills')).out).toContain('Trusted: 1 skill of skills.');
    const rows = await listAll();
    expect(statesOf(rows, 'only-claude')).toEqual({ '.claude/skills': 'offered' });
    const of = (id: string, source: string) => rows.find((row) => row.id === id && row.source === source);
    expect(of('same', '.claude/skills')).toMatchObject({
      state: 'shadowed',
      reason: 'shadowed by the one in sandbox/skills',
      diagnostics: [],
    });
    expect(of('other', 'sandbox/skills')).toMatchObject({ state: 'offered', diagnostics: [{ code: 'shadowed_differs' }] });
    expect(of('other', 'skills')).toMatchObject({ state: 'shadowed', diagnostics: [{ code: 'shadowed_differs' }] });
    expect((await pith('skills', 'show', 'skills/other')).out).toContain('Theirs.');
    await put('.claude/skills/only-claude/more.sh', 'echo new');
    expect(statesOf(await listAll(), 'only-claude')).toEqual({ '.claude/skills': 'untrusted' });
    expect((await pith('skills', 'explain', 'only-claude')).out).toContain(
      'only-claude: untrusted, its scripts changed since it was trusted',
    );
  });

  it.each([
    ['secret', /hidden folder '\.hidden' of \.claude\/skills/],
    ['nested', /inside the skill 'only-claude'/],
    ['toodeep', /more than 5 folders deep/],
    [
      'outside',
      /a link leads out of the skill source '\.claude\/skills'; copy the skill here, or list the target under skills\.trusted_links/,
    ],
    ['alias', /a link to a skill that is listed as 'grouped'/],
    ['loop', /leads to no skill, or back to where the search came from/],
  ])('S82 explain says why %s is no skill', async (id, why) => {
    const { code, err } = await pith('skills', 'explain', id);
    expect(code).toBe(1);
    expect(err).toMatch(why);
  });

  it('S85 /skills and /skills show ID in a chat are the same commands', async () => {
    const chat = await pithHere(['chat', '--lines'], {
      cwd: folder.path,
      env: { HOME: home, PITH_TRUST: '0' },
      input: '/skills\n/skills show skills/other\n',
    });
    const [list, show] = [await pith('skills', 'list'), await pith('skills', 'show', 'skills/other')];
    expect(chat.code, chat.err).toBe(0);
    expect(show.out).toContain('Theirs.');
    // Tokens are counted in the background, so that their columns may differ.
    const plain = (text: string) => text.replace(/~?\b\d+\b/gu, '#').replace(/[ \t]+/gu, ' ');
    const said = plain(chat.out);
    for (const line of `${list.out}\n${show.out}`.split('\n'))
      expect(said).toContain(
        plain(line)
          .trim()
          .replace(/pith skills trust.*/, ''),
      );
  });

  it('S12 S16 doctor tells of links, and trusted_links lets one in', async () => {
    const { out } = await pith('doctor');
    expect(out).toContain(".claude/skills/outside: a link leads out of the skill source '.claude/skills'");
    await writeFile(path.join(folder.sandbox, 'pith.yaml'), 'skills:\n  trusted_links: [elsewhere]\n');
    expect(statesOf(await listAll(), 'outside')).toEqual({ '.claude/skills': 'offered' });
  });
});
