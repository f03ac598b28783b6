import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeAnswer, encodeAnswer } from '../../../core/cli/answers/answer-file.ts';
import { answersIn } from '../../../core/cli/answers/answer-place.ts';
import { keepAnswer } from '../../../core/cli/answers/keep-answer.ts';
import { keptAnswer } from '../../../core/cli/answers/kept-answer.ts';
import { realBoot } from '../../../core/cli/real-boot.ts';
import type { Command } from '../../../core/contract/index.ts';
import { cli, fakeBoot, type Ran } from './fakes.ts';

const HOME = os.homedir();
const SCREEN = { interactive: false, colour: false, columns: 80 };
let top = '';
let installation = '';

beforeAll(() => {
  top = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'pith-answers-')));
  installation = path.join(top, 'dist');
  for (const file of ['main.cjs', 'answer.cjs', 'ext/index.json']) put(path.join(installation, file), '');
});
afterAll(() => fs.rmSync(top, { recursive: true, force: true }));

function put(file: string, text: string): void {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
}

const skill = (id: string, description: string) => `---\nname: ${id}\ndescription: ${description}\n---\n\nText.\n`;

class Project {
  readonly folder: string;
  constructor(name: string) {
    this.folder = path.join(top, name);
    this.put('sandbox/skills/alpha/SKILL.md', skill('alpha', 'Knows of apples.'));
    this.put('sandbox/skills/group/beta/SKILL.md', skill('beta', 'Knows of bears.'));
    this.put('sandbox/skills/broken/SKILL.md', 'No frontmatter.\n');
    this.put('pool/gamma/SKILL.md', skill('gamma', 'Knows of geese.'));
    this.put('other/gamma/SKILL.md', skill('gamma', 'Knows of goats.'));
    this.put('sandbox/pith.yaml', 'skills: { trusted_links: [pool, other] }\n');
    this.put('sandbox/agents/own/manifest.yaml', 'id: own\nname: O\nversion: 1.0.0\nagent: { instructions: Hi }\n');
    fs.symlinkSync('../../pool/gamma', this.at('sandbox/skills/gamma'));
  }

  at = (file: string): string => path.join(this.folder, file);
  put = (file: string, text: string): void => put(this.at(file), text);

  run(argv: readonly string[] = ['skills', 'list', '--all'], env = {}): Promise<Ran> {
    return cli(argv, { cwd: this.folder, boot: realBoot(), env: { HOME, ...env }, installation });
  }

  kept(argv: readonly string[] = ['skills', 'list', '--all'], env = {}): string | null {
    const output = keptAnswer({ argv, workingDirectory: this.folder, env: { HOME, ...env }, installation }, () => SCREEN);
    return output && Buffer.from(output).toString();
  }
}

describe('a kept answer', () => {
  it('is not kept while a file of the installation is missing, and nothing is thrown', () => {
    const half = path.join(top, 'half-built');
    put(path.join(half, 'main.cjs'), '');
    const question = { argv: [], workingDirectory: top, env: {}, sandbox: top, ...SCREEN, installation: half };
    const dataDirectory = path.join(top, 'half-data');
    keepAnswer({ question, output: 'x', seen: [], dataDirectory, began: Date.now() + 10_000 });
    expect(fs.existsSync(answersIn(dataDirectory))).toBe(false);
  });

  type Change = readonly [what: string, change: (project: Project) => void, shows: RegExp];
  const ALWAYS = /(?:)/u;
  const ALPHA = 'sandbox/skills/alpha/SKILL.md';
  const changes: readonly Change[] = [
    [
      'text of the same length, with the former times',
      ({ at, put: write }) => {
        const { atime, mtime } = fs.statSync(at(ALPHA));
        write(ALPHA, skill('alpha', 'Knows of plums!.'));
        fs.utimesSync(at(ALPHA), atime, mtime);
      },
      /Knows of plums!/u,
    ],
    [
      'a file put in its place',
      ({ at, put: write }) => {
        write('new.md', skill('alpha', 'Knows of pears..'));
        fs.renameSync(at('new.md'), at(ALPHA));
      },
      /Knows of pears\./u,
    ],
    ['a skill that is gone', ({ at }) => fs.rmSync(at('sandbox/skills/group/beta'), { recursive: true }), /^(?!.*bears)/su],
    [
      'a new skill in a nested folder',
      (each) => each.put('sandbox/skills/group/delta/SKILL.md', skill('delta', 'Knows of dogs.')),
      /dogs/u,
    ],
    [
      'a first skill of a source that was not there',
      (each) => each.put('skills/eta/SKILL.md', skill('eta', 'Knows of elks.')),
      /untrusted/u,
    ],
    [
      'a link that leads elsewhere',
      ({ at }) => {
        fs.rmSync(at('sandbox/skills/gamma'));
        fs.symlinkSync('../../other/gamma', at('sandbox/skills/gamma'));
      },
      /goats/u,
    ],
    [
      'a folder that is moved, with a link in its place',
      ({ at }) => {
        fs.renameSync(at('pool'), at('sea'));
        fs.symlinkSync('sea', at('pool'));
        fs.rmSync(at('sea/gamma/SKILL.md'));
      },
      /^(?!.*geese)/su,
    ],
    ['settings', (each) => each.put('sandbox/pith.yaml', 'skills: { disabled: [alpha] }\n'), /skills\.disabled/u],
    ['no settings any more', ({ at }) => fs.rmSync(at('sandbox/pith.yaml')), /refused/u],
    ['the command switched off', (each) => each.put('sandbox/pith.yaml', 'extensions: { skill_registry: { enabled: false } }\n'), ALWAYS],
    ['an extension that declares', (each) => each.put('sandbox/extensions/mine/manifest.yaml', 'id: mine\n'), ALWAYS],
    ['an agent that declares otherwise', (each) => each.put('sandbox/agents/own/manifest.yaml', 'id: own\n'), ALWAYS],
    ['tokens that another process counted', ({ at }) => fs.utimesSync(at('sandbox/data/extensions/skill_registry/index'), 1, 1), ALWAYS],
    ['another build of Pith', () => put(path.join(installation, 'main.cjs'), 'new'), ALWAYS],
  ];
  const projects = new Map<string, Project>();
  beforeAll(async () => {
    for (const [what] of changes) projects.set(what, new Project(String(projects.size)));
    await Promise.all([...projects.values()].map((project) => project.run()));
    await wait(150); // what changed a moment ago may change again unseen
    for (const project of projects.values()) await project.run();
  });

  it.each(changes)('is not given after %s', async (what, change, shows) => {
    const project = projects.get(what)!;
    const before = project.kept();
    expect(before).toContain('Knows of apples');
    expect(before).toContain('Knows of geese');
    change(project);
    expect(project.kept()).toBeNull();
    expect(shows === ALWAYS ? '' : (await project.run()).out).toMatch(shows);
  });
});

describe('what is kept', () => {
  let project: Project;
  beforeAll(async () => {
    put(path.join(installation, 'main.cjs'), '');
    project = new Project('kept');
    await wait(150);
    await project.run();
    await wait(150);
  });

  it('is what was printed, for the same words, folder and PITH_* alone', async () => {
    const { out } = await project.run();
    expect(project.kept()).toBe(out);
    expect(project.kept(['skills', 'list'])).toBeNull();
    expect(project.kept(['skills', 'list', '--all', '--json'])).toBeNull();
    expect(project.kept(undefined, { PITH_SKILLS_ENABLED: 'false' })).toBeNull();
    const json = ['skills', 'list', '--all', '--json', '--no-skills'];
    const printed = await project.run(json);
    expect(project.kept(json)).toBe(printed.out);
    expect(JSON.parse(printed.out)).toContainEqual(expect.objectContaining({ id: 'alpha', state: 'disabled' }));
    expect(project.kept()).toBe(out);
  });

  it('may be damaged or torn: then it is run again', async () => {
    await project.run();
    const answers = answersIn(project.at('sandbox/data'));
    const whole = fs.readdirSync(answers).map((name) => [path.join(answers, name), fs.readFileSync(path.join(answers, name))] as const);
    const spoil = (spoilt: (bytes: Buffer) => Buffer) => {
      for (const [file, bytes] of whole) fs.writeFileSync(file, spoilt(Buffer.from(bytes)));
      return project.kept();
    };
    const flipped = (at: number) => (bytes: Buffer) => (bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at), bytes);
    expect(spoil((bytes) => bytes)).toContain('Knows of apples');
    for (let at = 0; at < 32; at += 1) expect([at, spoil(flipped(at))]).toEqual([at, null]);
    expect(spoil((bytes) => flipped(bytes.length - 10)(bytes))).toBeNull();
    expect(spoil((bytes) => bytes.subarray(0, bytes.length / 2))).toBeNull();
    expect(spoil((bytes) => bytes.fill(0, bytes.length / 2))).toBeNull();
    expect(spoil(() => Buffer.alloc(0))).toBeNull();
    expect((await project.run()).out).toContain('Knows of apples');
  });

  it('is nothing where something changed a moment ago', async () => {
    project.put('sandbox/skills/alpha/SKILL.md', skill('alpha', 'Knows of figs.'));
    await project.run();
    await project.run();
    expect(project.kept()).toBeNull();
    expect((await project.run()).out).toContain('Knows of figs.');
  });

  it('is nothing where a command fails, asks, reads its input or says something on the error stream', async () => {
    const aside = path.join(project.folder, 'aside');
    const declared = [{ extensionId: 'e', path: 'say', declared: 'say', needs: 'index' as const, entry: 'x.ts', description: '' }];
    const ways: Readonly<Record<string, Command['run']>> = {
      prints: async (_, io) => io.print('said'),
      fails: async () => 1,
      tells: async (_, io) => io.error('careful'),
      asks: async (_, io) => void (await io.ask('sure?')),
      reads: async (_, io) => void (await io.input[Symbol.asyncIterator]().next()),
    };
    for (const [way, run] of Object.entries(ways)) {
      const commands: Command[] = [{ path: 'say', description: '', run: async (...all) => (all[1].madeFrom?.([]), run(...all)) }];
      const dataDirectory = path.join(aside, way);
      const boot = { ...fakeBoot({ declared, commands }), seen: async () => ({ files: [], dataDirectory }) };
      await cli(['say', '--sandbox', project.at('sandbox')], { cwd: project.folder, boot, installation });
      expect([way, fs.existsSync(answersIn(dataDirectory))]).toEqual([way, way === 'prints']);
    }
  });

  it('is nothing where an answer does not name the settings, the folders and the build: whoever wrote it, it was not Pith', async () => {
    await project.run();
    const answers = answersIn(project.at('sandbox/data'));
    let forged = 0;
    for (const name of fs.readdirSync(answers)) {
      const bytes = fs.readFileSync(path.join(answers, name));
      const answer = decodeAnswer(Buffer.from(new Uint8Array(bytes).buffer));
      if (answer === null) continue; // damaged above
      fs.writeFileSync(path.join(answers, name), encodeAnswer({ key: answer.key, output: Buffer.from('forged'), seen: [] }));
      forged += 1;
    }
    expect(forged).toBeGreaterThan(0);
    expect(project.kept()).toBeNull();
    expect((await project.run()).out).toContain('Knows of figs.');
  });

  it('comes back byte for byte', () => {
    const state = { mtimeMs: 1.25, ctimeMs: 1_795_335_279_717.123, size: 7, ino: 2 ** 53 };
    const seen = [
      { path: '/ä/b', state },
      { path: '/none', state: null },
      { path: '/link', state, link: true },
      { path: '/place', state, real: '/elsewhere' },
    ];
    for (const files of [seen, [], seen.slice(0, 1)]) {
      const stored = decodeAnswer(encodeAnswer({ key: 'käy', output: Buffer.from('öut'), seen: files }));
      expect(stored).toMatchObject({ key: 'käy', paths: files.slice(0, 1).map((each) => each.path), others: files.slice(1) });
      expect([...stored!.states]).toEqual(files.slice(0, 1).flatMap(() => [1.25, 1_795_335_279_717.123, 7, 2 ** 53]));
      expect(Buffer.from(stored!.output).toString()).toBe('öut');
    }
  });
});

describe('the folder of answers', () => {
  const QUESTION = { workingDirectory: '/', env: {}, sandbox: '/s', interactive: false, colour: false, columns: 80 };
  const keep = (dataDirectory: string, word: string) =>
    keepAnswer({ question: { ...QUESTION, argv: [word], installation }, output: word, seen: [], dataDirectory, began: Infinity });
  const MANY = Array.from({ length: 60 }, (_, at) => String(at));

  it.each(['data/.cache/answers', 'data/.cache', 'data'])(
    'is never followed where %s is a link: nothing there is written or removed',
    (link) => {
      const folder = path.join(top, `linked-${link.replaceAll('/', '-')}`);
      for (const name of MANY) put(path.join(folder, 'people', `${name}.txt`), name);
      put(path.join(folder, 'people/0123456789abcdef'), 'like an answer');
      fs.mkdirSync(path.dirname(path.join(folder, link)), { recursive: true });
      fs.symlinkSync(path.join(folder, 'people'), path.join(folder, link));
      for (const word of MANY) keep(path.join(folder, 'data'), word);
      expect(fs.readdirSync(path.join(folder, 'people')).sort()).toEqual(['0123456789abcdef', ...MANY.map((name) => `${name}.txt`)].sort());
    },
  );

  it('forgets the oldest of its own, and nothing that has another name', () => {
    const data = path.join(top, 'crowded');
    for (const name of MANY) put(path.join(answersIn(data), `${name}.txt`), name);
    for (const word of MANY) keep(data, word);
    const names = fs.readdirSync(answersIn(data));
    expect(names.filter((name) => name.endsWith('.txt'))).toHaveLength(60);
    expect(names.filter((name) => /^[0-9a-f]{16}$/.test(name)).length).toBeGreaterThan(0);
    expect(names.length).toBeLessThanOrEqual(60 + 32);
  });
});
