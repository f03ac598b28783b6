import { probeSandboxing } from '@pith/supervised-process';
import { link, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { recordEvents } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { skillUsed } from '../../../sandbox/extensions/skill_registry/contract.ts';
import { runs } from '../../core/process/hosts.ts';
import { words } from '../../words.ts';
import { skillText } from '../skill_registry/skill-sandbox.ts';
import { scriptKernel } from './script-kernel.ts';
import { onDisk } from '../../places.ts';

onDisk();

const { available } = await probeSandboxing();

const hello: Readonly<Record<string, string>> = {
  'scripts/hello.js': "console.log('js', process.argv.slice(2).join('|'), require('./lib/part.js'));\n",
  'scripts/lib/part.js': "module.exports = 'part';\n",
  'scripts/hello.mjs': "import fs from 'node:fs'; console.log('mjs', fs.readFileSync('references/data.txt', 'utf8').trim());\n",
  'scripts/hello.ts':
    "import { part } from './lib/part.ts';\nenum Kind { A = 'ts' }\nconst more: readonly string[] = process.argv.slice(2);\nconsole.log(Kind.A, part(more));\n",
  'scripts/lib/part.ts': "export const part = (words: readonly string[]): string => words.join('+');\n",
  'scripts/hello.py': "import sys\nfrom lib import part\nprint('py', sys.argv[1:], part.WORD)\n",
  'scripts/lib/part.py': "WORD = 'part'\n",
  'scripts/hello.sh': 'echo "sh $1 $#"; pwd\n',
  'scripts/named': '#!/usr/bin/env -S bash -e\necho "bash ${BASH_VERSION:+yes}"; false; echo never\n',
  'references/data.txt': 'data of the skill\n',
};

describe.skipIf(!available)('S72 run_skill_script', () => {
  it('S74 runs .js, .mjs, .ts, .py and .sh in the folder of the skill, with arguments that no shell reads', async () => {
    const kit = await scriptKernel(hello);
    const odd = ['$(id) `id` "; ls', '--flag', ''];
    expect((await kit.run('scripts/hello.js', odd)).output).toBe(`js ${odd.join('|')} part\n`);
    expect((await kit.run('hello.mjs')).output).toBe('mjs data of the skill\n');
    expect((await kit.run('scripts/hello.ts', ['a', 'b'])).output).toBe('ts a+b\n');
    expect((await kit.run('scripts/hello.py', ['x y'])).output).toBe("py ['x y'] part\n");
    expect(await kit.run('scripts/hello.sh', ['one', 'two'])).toEqual({
      ok: true,
      output: `sh one 2\n${kit.skill}\n`,
      code: undefined,
      line: 'Script scripts/hello.sh of tool-kit: exit 0',
      metadata: { skill_id: 'tool-kit', skill_name: 'tool-kit', directory: kit.skill, path: 'scripts/hello.sh', exit: 0 },
    });
    expect(await kit.run('scripts/named')).toMatchObject({
      ok: false,
      code: 'script_failed',
      output: expect.stringContaining('exit code 1'),
    });
    expect(await readdir(path.join(kit.pith.sandbox, 'data/extensions/skill_scripts/scripts'))).toEqual([]);
  });

  it('P8: an agent that names a version has the scripts of that version, with the files that they read, while others have the present ones', async () => {
    const script = (mark: string) => `console.log('${mark}', require('./lib/part.js'));\n`;
    const kit = await scriptKernel(
      { 'scripts/say.js': script('old'), 'scripts/lib/part.js': "module.exports = 'old part';\n" },
      {
        more: 'version: 1.0.0\n',
        files: {
          'agents/pinned/manifest.yaml':
            'id: pinned\nagent: { uses_tools: [skill_registry, skill_scripts/run_skill_script], uses_skills: [tool-kit@1.0.0] }\n',
        },
      },
    );
    const say = async (agent: string) => {
      kit.model.add({ calls: [{ name: 'run_skill_script', input: { skill_id: 'tool-kit', script: 'scripts/say.js' } }] }, { text: 'done' });
      return (await kit.pith.run('go on', { agent, threadId: agent })).results[0]?.output;
    };
    expect(await say('pinned')).toContain('old old part');
    await kit.pith.write('skills/tool-kit/scripts/say.js', script('new'));
    await kit.pith.write('skills/tool-kit/scripts/lib/part.js', "module.exports = 'new part';\n");
    await kit.pith.write('skills/tool-kit/SKILL.md', skillText({ name: 'tool-kit', more: 'version: 2.0.0\n' }));
    for (const [agent, answer] of [
      ['pinned', 'old old part'],
      ['runner', 'new new part'],
      ['pinned', 'old old part'],
    ] as const)
      expect(await say(agent), agent).toContain(answer);
  });

  it('S74 S90 a failure has its exit code and the last 500 characters of the error output; each run is in the ledger', async () => {
    const kit = await scriptKernel({ 'scripts/fail.sh': "echo out; printf 'x%.0s' $(seq 1000) >&2; echo THE-END >&2; exit 7\n" });
    const used = recordEvents(kit.pith.kernel.events, skillUsed);
    const { ok, code, output, metadata, line } = await kit.run('scripts/fail.sh');
    expect([ok, code]).toEqual([false, 'script_failed']);
    expect(output).toBe(
      `Script scripts/fail.sh of tool-kit ended with exit code 7; the end of its error output:\n${'x'.repeat(493)}THE-END`,
    );
    expect(metadata).toMatchObject({ exit: 7, path: 'scripts/fail.sh' });
    expect(line).toContain('Error: Script scripts/fail.sh');
    await kit.run('scripts/missing.sh');
    expect(used.of(skillUsed)).toEqual([
      expect.objectContaining({ skillId: 'tool-kit', state: 'script_run', path: 'scripts/fail.sh', exit: 7 }),
    ]);
  });

  it('S73 P20: a script sees its skill, read only, and neither home, other skills, the data of the sandbox, network nor environment', async () => {
    let asked = 0;
    const server = createServer((socket) => socket.end(String(++asked)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const script = `
import fs from 'node:fs'; import net from 'node:net'; import path from 'node:path';
const sandbox = process.argv[2];
const tried = (what) => { try { return what(); } catch (error) { return error.code; } };
const net_ = await new Promise((resolve) => net.connect(${port}, '127.0.0.1').on('error', (e) => resolve(e.code)).on('connect', () => resolve('reached')));
console.log(JSON.stringify({
  skills: fs.readdirSync(path.join(sandbox, 'skills')), sandbox: fs.readdirSync(sandbox), home: tried(() => fs.readdirSync(${JSON.stringify(os.homedir())})),
  shadow: tried(() => fs.readFileSync('/etc/shadow')), write: tried(() => fs.writeFileSync('references/new', '')), net: net_,
  temporary: tried(() => (fs.writeFileSync(path.join(process.env.TMPDIR, 'a'), 'kept'), fs.readFileSync(path.join(process.env.TMPDIR, 'a'), 'utf8'))),
  env: Object.keys(process.env).filter((name) => !['PWD', 'PITH_HOST'].includes(name)).sort(), own: fs.readdirSync(process.env.HOME),
}));`;
    const env = { OPENAI_API_KEY: 'canary-canary', HOME: os.homedir() };
    const kit = await scriptKernel(
      { 'scripts/look.mjs': script, 'references/data.txt': '' },
      { env, files: { 'data/pith.key': 'x', 'skills/other/SKILL.md': '' } },
    );
    const { output } = await kit.run('scripts/look.mjs', [kit.pith.sandbox]);
    server.close();
    expect(JSON.parse(output)).toEqual({
      skills: ['tool-kit'],
      sandbox: ['skills'],
      home: 'ENOENT',
      shadow: 'ENOENT',
      write: 'EROFS',
      net: 'ECONNREFUSED',
      temporary: 'kept',
      env: ['HOME', 'LANG', 'PATH', 'TMPDIR'],
      own: [],
    });
    expect(asked).toBe(0);
  });

  it('S72 an environment value reaches a script only when its skill names it and the settings allow it, and is kept out of what is told', async () => {
    const more = 'scripts:\n  - path: scripts/env.sh\n    env: [SERVICE_KEY, OTHER_KEY]\n  - scripts/plain.sh\n';
    const print = 'echo "[$SERVICE_KEY] [$OTHER_KEY] [$THIRD_KEY]" | rev\n';
    const env = { SERVICE_KEY: 'service-canary', OTHER_KEY: 'other-canary', THIRD_KEY: 'third-canary' };
    const settings = 'approval: never, env: [SERVICE_KEY, THIRD_KEY]';
    const kit = await scriptKernel({ 'scripts/env.sh': print, 'scripts/plain.sh': print, 'scripts/leak.sh': '' }, { settings, more, env });
    expect((await kit.run('scripts/env.sh')).output).toBe('][ ][ ]yranac-ecivres[\n');
    expect((await kit.run('scripts/plain.sh')).output).toBe('][ ][ ][\n');
    await kit.pith.write('skills/tool-kit/scripts/env.sh', 'echo "$SERVICE_KEY"\n');
    expect((await kit.run('scripts/env.sh')).output).not.toContain('service-canary');
  });

  it('S72 a timeout ends the script and all that it started; the manifest may shorten it, not lengthen', async () => {
    const nap = `91.${process.pid}`;
    const children = `(setsid sleep ${nap} &) & sleep ${nap} & sleep ${nap}\n`;
    const more = 'scripts: [{ path: scripts/long.sh, timeout_s: 500 }, { path: scripts/short.sh, timeout_s: 0.4 }]\n';
    const kit = await scriptKernel(
      { 'scripts/long.sh': children, 'scripts/short.sh': children },
      { settings: 'approval: never, timeout_s: 1', more },
    );
    const long = await kit.run('scripts/long.sh');
    expect(long).toMatchObject({
      ok: false,
      code: 'script_timeout',
      output: expect.stringContaining('it took longer than 1 s'),
      metadata: { exit: null },
    });
    expect(runs(nap)).toBe(false);
    expect((await kit.run('scripts/short.sh')).output).toContain('longer than 0.4 s');
    expect(runs(nap)).toBe(false);
  });

  it('S72 output is read to its limit, and the cut is marked; too many arguments are refused before anything is started', async () => {
    const settings = 'approval: never, max_output_bytes: 2000, max_args: 2, max_arg_bytes: 10';
    const kit = await scriptKernel({ 'scripts/flood.sh': 'yes 0123456789\n', 'scripts/a.sh': 'echo ran\n' }, { settings });
    const { ok, output, line } = await kit.run('scripts/flood.sh');
    expect([ok, line]).toEqual([true, 'Script scripts/flood.sh of tool-kit: exit none']);
    expect(output.slice(0, 1999)).toBe('0123456789\n'.repeat(182).slice(0, 1999));
    expect(output).toMatch(/\n\[output cut at 2000 bytes: the script was ended.*\]\n$/su);
    expect((await kit.run('scripts/a.sh', ['a', 'b'])).output).toBe('ran\n');
    for (const args of [['a', 'b', 'c'], ['ää', 'ööööö'], ['a\0b']])
      expect(await kit.run('scripts/a.sh', args)).toMatchObject({ ok: false, code: 'script_args_invalid', metadata: undefined });
  });

  it('S72 only plain files under scripts/ run: no links, hard links, other folders or ways out', async () => {
    const kit = await scriptKernel({ 'scripts/a.sh': 'echo ran\n', 'other/b.sh': 'echo ran\n', 'scripts/c.sh': 'echo ran\n' });
    const outside = path.join(kit.pith.sandbox, 'outside.sh');
    await writeFile(outside, 'echo ran\n');
    await symlink(outside, path.join(kit.skill, 'scripts/link.sh'));
    await symlink('a.sh', path.join(kit.skill, 'scripts/inner.sh'));
    await symlink(path.dirname(outside), path.join(kit.skill, 'scripts/folder'));
    await link(path.join(kit.skill, 'scripts/c.sh'), path.join(kit.skill, 'scripts/hard.sh'));
    await mkdir(path.join(kit.skill, 'scripts/dir.sh'));
    const refused = words(`
      link.sh inner.sh folder/outside.sh hard.sh c.sh dir.sh ../other/b.sh other/b.sh scripts/../other/b.sh ../SKILL.md SKILL.md
      scripts scripts/%2e%2e/other/b.sh missing.sh
    `);
    const told = new Set<string>();
    for (const script of [...refused, outside, '']) {
      const { code, output } = await kit.run(script);
      expect([script, code]).toEqual([script, 'script_not_found']);
      told.add(output);
    }
    expect(told.size).toBe(1);
    expect((await kit.run('a.sh')).output).toBe('ran\n');
  });

  it('S72 S90 the model is given the beginning and the end of a long output, and told how much is left out and how to see it', async () => {
    const kit = await scriptKernel({ 'scripts/long.sh': 'echo BEGIN; seq 1 60000; echo END; echo late >&2\n' });
    const { ok, output, metadata } = await kit.run('scripts/long.sh');
    expect([ok, metadata]).toMatchObject([true, { exit: 0 }]);
    expect(output.length).toBeLessThan(31_000);
    expect(output).toMatch(
      /^BEGIN\n1\n2\n.*\n\[… \d{6} characters cut; to see them, run the script again .*prints less.* …\]\n.*\n60000\nEND\n\[error output\]\nlate\n$/su,
    );
  });

  it('S73 what runs is what was checked, while the script and its folder are swapped for links', async () => {
    const kit = await scriptKernel({ 'scripts/a.sh': 'cat scripts/a.sh references/data.txt 2>&1\n', 'references/data.txt': 'own\n' });
    const secret = path.join(kit.pith.sandbox, 'secret');
    await mkdir(secret);
    for (const name of ['a.sh', 'data.txt']) await writeFile(path.join(secret, name), 'echo SECRET\n');
    const until = new AbortController();
    const swapping = (async () => {
      for (let round = 0; !until.signal.aborted; round += 1) {
        const folder = path.join(kit.skill, round % 2 === 0 ? 'scripts' : 'references');
        const name = round % 2 === 0 ? 'a.sh' : 'data.txt';
        await rm(path.join(folder, name), { force: true });
        await symlink(path.join(secret, name), path.join(folder, name));
        await new Promise(setImmediate);
        await rm(path.join(folder, name), { force: true });
        await writeFile(path.join(folder, name), name === 'a.sh' ? 'cat scripts/a.sh references/data.txt 2>&1\n' : 'own\n');
        for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
      }
    })();
    const outputs: string[] = [];
    const ran = () => outputs.some((output) => output.startsWith('cat scripts'));
    for (let round = 0; round < 15 || !ran(); round += 1) outputs.push((await kit.run('scripts/a.sh')).output);
    until.abort();
    await swapping;
    expect(outputs.join('')).not.toContain('SECRET');
  });

  it('S74 says what is missing or wrong before anything runs', async () => {
    const kit = await scriptKernel({
      'scripts/a.rb': 'puts 1\n',
      'scripts/b': '#!/usr/bin/env no-such-interpreter\n',
      'scripts/c.ts': 'const broken: = 1;\n',
      'scripts/d.ts': "import secret from '../../../pith.yaml';\nconsole.log(secret);\n",
    });
    expect((await kit.run('scripts/a.rb')).output).toMatch(/does not name an interpreter.*\.js, \.mjs, \.ts, \.py, \.sh/u);
    expect((await kit.run('scripts/b')).output).toMatch(/'no-such-interpreter' is not installed among .*install it/u);
    expect(await kit.run('scripts/c.ts')).toMatchObject({ code: 'script_invalid', output: expect.stringContaining('scripts/c.ts:1') });
    expect(await kit.run('scripts/d.ts')).toMatchObject({ code: 'script_invalid', output: expect.stringContaining('Could not resolve') });
  });
});

const UP = '../'.repeat(20);

describe('S74 TypeScript', () => {
  it.skipIf(!available)(
    'S73 is made into JavaScript where nothing of others can be read: no pattern of imports, no path, no device',
    async () => {
      const names = ['scripts/a.ts', 'scripts/b.ts', 'scripts/c.ts'];
      const kit = await scriptKernel(Object.fromEntries(names.map((name) => [name, ''])), { settings: 'approval: never, timeout_s: 1' });
      const secret = path.join(kit.pith.sandbox, 'secret1.json');
      await writeFile(secret, '"SECRET"');
      const [computed, named, map] = [
        `const found = await import(\`${UP}${secret.slice(1, -6)}\${process.argv[2]}.json\`);\nconsole.log(found.default);\n`,
        `import found from '${secret}';\nconsole.log(found);\n`,
        `console.log('c');\n//# sourceMappingURL=${UP}dev/zero\n`,
      ];
      for (const [at, text] of [computed, named, map].entries()) await writeFile(path.join(kit.skill, names[at]!), text);
      const told = await kit.run('scripts/a.ts', ['1']);
      expect(told.ok).toBe(false);
      expect(told.output).not.toContain('SECRET');
      expect(await kit.run('scripts/b.ts')).toMatchObject({ ok: false, code: 'script_invalid' });
      expect(await kit.run('scripts/c.ts')).toMatchObject({ ok: false, code: 'script_invalid' });
    },
  );

  it('S74 runs without a sandbox where the settings say so, and names the lines of its source', async () => {
    const kit = await scriptKernel(
      {
        'scripts/a.ts': "import { b } from './b.ts';\n\nb('x' as string);\n",
        'scripts/b.ts': 'export const b = (text: string): void => {\n  throw new Error(text);\n};\n',
      },
      { settings: 'approval: never, sandbox: none' },
    );
    expect((await kit.run('scripts/a.ts')).output).toMatch(/scripts\/b\.ts:2/u);
  });
});
