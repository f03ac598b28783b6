import path from 'node:path';
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createConfinedPrograms, probeSandboxing } from '@pith/supervised-process';
import { beforeEach, describe, expect, it } from 'vitest';
import { stateFolder } from '@pith/safe-files';
import { configSchema } from '../../../sandbox/extensions/skill_scripts/config.ts';
import { interpreterOf, runScript, type ScriptPorts } from '../../../sandbox/extensions/skill_scripts/scripts/run-script.ts';
import { type Digests } from '@pith/skill-files';
import { findScript, subjectOf } from '../../../sandbox/extensions/skill_scripts/scripts/script-file.ts';
import type { Skill } from '../../../sandbox/extensions/skill_registry/skill.ts';
import { skillSandbox, skillText } from '../skill_registry/skill-sandbox.ts';
import { folderWith } from '../../places.ts';

const { available } = await probeSandboxing();
let home: string;
beforeEach(() => void (home = folderWith()));

describe('S72 settings of scripts', () => {
  it('S72 have the defaults of the specification', () => {
    const defaults = {
      timeout_s: 60,
      max_output_bytes: 1_048_576,
      max_args: 100,
      max_arg_bytes: 4096,
      sandbox: 'bubblewrap',
      approval: 'ask',
      env: [],
    };
    expect(configSchema().parse({}).scripts).toEqual(defaults);
  });

  it.each([{ sandbox: 'off' }, { approval: true }, { env: ['A B'] }, { env: 'A' }, { timeout_s: 0 }, { max_args: -1 }, { max_output: 1 }])(
    'S72 %j is refused',
    (scripts) => {
      expect(configSchema().safeParse({ scripts }).success).toBe(false);
    },
  );
});

it('S2 S72 the manifest keeps all of an entry of scripts, also over a restart', async () => {
  const more = 'scripts:\n  - scripts/a.sh\n  - { path: scripts/b.py, description: Does b., env: [KEY], timeout_s: 5 }\n  - { path: 3 }\n';
  const files = { 'sandbox/skills/kit/SKILL.md': skillText({ name: 'kit', more }) };
  const sandbox = await skillSandbox(files);
  const wanted = [
    { path: 'scripts/a.sh', description: null, env: [], timeoutSeconds: null },
    { path: 'scripts/b.py', description: 'Does b.', env: ['KEY'], timeoutSeconds: 5 },
  ];
  for (let round = 0; round < 2; round += 1) {
    const registry = sandbox.registry();
    const skill = (await registry.refresh()).skills.get('kit');
    expect(skill?.scripts).toEqual(wanted);
    expect(skill?.diagnostics.map(({ message }) => message).join()).toContain(
      "a 'scripts' that is not a list of paths, or of { path, description, env, timeout_s }",
    );
    await registry.close();
  }
});

describe('S74 what a script is run with', () => {
  const locate = async (name: string) => ({ path: name === 'python9' ? null : `/usr/bin/${name}`, install: `sudo get ${name}` });
  const of = (script: string, text = '') => interpreterOf(script, text, { locate });

  it.each([
    ['a.js', '', { kind: 'program', argv: [process.execPath] }],
    ['a.mjs', '', { kind: 'program', argv: [process.execPath] }],
    ['a.ts', '#!/usr/bin/env node\n', { kind: 'typescript' }],
    ['a.py', '', { kind: 'program', argv: ['/usr/bin/python3'] }],
    ['a.py', '#!/usr/bin/env python9\n', { kind: 'program', argv: ['/usr/bin/python3'] }],
    ['a.py', '# /// script\n# dependencies = ["x"]\n# ///\n', { kind: 'uv' }],
    ['a', '#!/usr/bin/env -S uv run --script\n', { kind: 'uv' }],
    ['a.sh', '#!/bin/bash -eu\r\n', { kind: 'program', argv: ['/usr/bin/bash', '-eu'] }],
    ['a.SH', '', { kind: 'program', argv: ['/usr/bin/sh'] }],
    ['a.sh', '#! /usr/bin/env ruby\n', { kind: 'program', argv: ['/usr/bin/ruby'] }],
  ])('S74 %s %j', async (script, text, wanted) => {
    expect(await of(script, text)).toEqual(wanted);
  });

  it('S74 says what is missing and how to get it here', async () => {
    const nowhere = async (name: string) => ({ ...(await locate(name)), path: null });
    expect(await interpreterOf('a.py', '', { locate: nowhere })).toMatchObject({
      kind: 'unknown',
      why: expect.stringContaining('sudo get python3'),
    });
    const odd = await interpreterOf('a', '#!/usr/bin/$(x)\n', { locate: nowhere });
    expect(odd).toMatchObject({ kind: 'unknown', why: expect.stringMatching(/; install it$/u) });
    expect(await of('a.txt')).toMatchObject({ kind: 'unknown', why: expect.stringContaining('.py, .sh') });
  });
});

const PYTHON = '# /// script\n# requires-python = ">=3.11"\n# dependencies = ["nice"]\n# ///\nprint("never by python3")\n';

/** A program in the place of uv, with a cache that it has filled; what it does stands in `code`. */
async function withUv(code: string | null): Promise<{ run(): ReturnType<typeof runScript>; skill: Skill }> {
  const sandbox = await skillSandbox({
    'sandbox/skills/kit/SKILL.md': skillText({ name: 'kit' }),
    'sandbox/skills/kit/scripts/a.py': PYTHON,
  });
  const skill = (await sandbox.registry().refresh()).skills.get('kit') as Skill;
  for (const bucket of ['archive-v0', 'interpreter-v4', 'sdists-v9/pypi'])
    mkdirSync(path.join(home, '.cache/uv', bucket), { recursive: true });
  writeFileSync(path.join(home, '.cache/uv/archive-v0/nice'), 'fetched');
  writeFileSync(path.join(home, 'private'), 'never');
  if (code !== null) {
    mkdirSync(path.join(home, '.local/bin'), { recursive: true });
    writeFileSync(path.join(home, '.local/bin/uv'), `#!/bin/sh\n${code}\n`);
    chmodSync(path.join(home, '.local/bin/uv'), 0o755);
  }
  const directory = path.join(sandbox.sandbox, 'data/scripts');
  const confined = createConfinedPrograms({ env: {} });
  const ports: ScriptPorts = {
    settings: configSchema().parse({ scripts: { approval: 'never' } }).scripts,
    confined,
    getSecret: () => null,
    copies: stateFolder(directory),
    places: { home, shippedSandbox: path.resolve('sandbox') },
    now: () => Date.now(),
  };
  const call = { script: 'a.py', args: ['x'], approved: undefined, isTrusted: async () => true, signal: new AbortController().signal };
  return { skill, run: () => runScript(ports, skill, call) };
}

describe.skipIf(!available)('S74 python with packages named in the file', () => {
  it('S74 is run by uv, offline, on what was fetched, which it cannot change', async () => {
    const { run, skill } = await withUv(
      `echo "$@"; ls $UV_CACHE_DIR; cat $UV_CACHE_DIR/archive-v0/nice; touch $UV_CACHE_DIR/archive-v0/new 2>/dev/null || echo kept; touch $UV_CACHE_DIR/.lock && echo locked; ls $UV_CACHE_DIR/sdists-v9; ls -A ${home}; env | grep -c UV_OFFLINE=1`,
    );
    const { result, ran } = await run();
    expect(ran).toEqual({ path: 'scripts/a.py', exit: 0 });
    expect(result).toMatchObject({
      output: `run --offline --script ${skill.realDirectory}/scripts/a.py x\narchive-v0\nsdists-v9\nfetchedkept\nlocked\npypi\n.local\n1\n`,
    });
  });

  it('S74 a package that was not fetched is an error with the command that fetches it', async () => {
    const { run, skill } = await withUv(
      `echo 'warning: old' >&2; echo '  × No solution found when resolving script dependencies:' >&2; echo 'Because nice was not found in the cache' >&2; exit 1`,
    );
    const { result, ran } = await run();
    expect(result).toMatchObject({ ok: false, error: { code: 'script_packages_missing' }, metadata: { exit: 1 } });
    const { message = '' } = result.ok ? {} : result.error;
    expect(message).toContain(`uv sync --script '${skill.realDirectory}/scripts/a.py'`);
    expect(message).toMatch(/ended with exit code 1; the end of its error output:\n.*Because nice was not found in the cache$/su);
    expect(ran).toEqual({ path: 'scripts/a.py', exit: 1 });
  });

  it.each([
    ['the mail server is offline', 3],
    ['Traceback (most recent call last):\nerror: the file was not found in the cache', 1],
  ])('S74 S90 a script that fails with %j keeps its exit code and its error output', async (said, exit) => {
    const { run } = await withUv(`printf '%s\\n' '${said}' >&2; exit ${exit}`);
    const { result, ran } = await run();
    expect(result).toMatchObject({ error: { code: 'script_failed', message: expect.stringContaining(said) }, metadata: { exit } });
    expect(ran).toEqual({ path: 'scripts/a.py', exit });
  });

  it('S74 without uv it is a clear error', async () => {
    const { run } = await withUv(null);
    expect((await run()).result).toMatchObject({
      ok: false,
      error: { code: 'interpreter_missing', message: expect.stringContaining('uv is not installed') },
    });
  });
});

it('S14 S72 B13 a copy that is not what was trusted is not run, though the folder is again by the time that it is compared', async () => {
  const sandbox = await skillSandbox({
    '.claude/skills/kit/SKILL.md': skillText({ name: 'kit' }),
    '.claude/skills/kit/scripts/a.sh': 'echo ran\n',
    '.claude/skills/kit/data': 'data\n',
  });
  linkSync(path.join(sandbox.project, '.claude/skills/kit/data'), path.join(sandbox.project, 'second-name')); // not copied
  expect(await sandbox.run('skills trust', { arguments: { source: '.claude/skills' } })).toMatchObject({ code: 0 });
  const registry = sandbox.registry();
  const skill = (await registry.refresh()).skills.get('kit') as Skill;
  const directory = path.join(sandbox.sandbox, 'data/scripts');
  const script = path.join(skill.directory, 'scripts/a.sh');
  const ran: string[] = [];
  const ports: ScriptPorts = {
    settings: configSchema().parse({ scripts: { approval: 'never', sandbox: 'none' } }).scripts,
    confined: {
      unavailable: async () => null,
      locate: async () => ({ path: '/bin/sh', install: '' }),
      run: async ({ argv }) => {
        ran.push(readFileSync(argv[1]!, 'utf8'));
        return { exit: 0, stdout: '', stderr: '', truncated: false, timedOut: false, stopped: null };
      },
      close: async () => undefined,
    },
    getSecret: () => null,
    copies: stateFolder(directory),
    places: { home: null, shippedSandbox: path.resolve('sandbox') },
    now: () => Date.now(),
  };
  /** `back`: what is done between the copy and the look at the folder. */
  const run = async (back: () => void = () => undefined) => {
    const isTrusted = (copied: Digests) => {
      back();
      const files = [...copied].map(([name, file]) => ({ path: name, ...file }));
      return registry.isStillTrusted(skill, files);
    };
    const call = { script: 'a.sh', args: [], approved: undefined, isTrusted, signal: new AbortController().signal };
    return (await runScript(ports, skill, call)).result;
  };
  const refused = { ok: false, error: { code: 'skill_not_offered' } };
  expect(await run()).toMatchObject({ ok: true });
  writeFileSync(script, 'echo harm\n');
  expect(await run(() => writeFileSync(script, 'echo ran\n'))).toMatchObject(refused);
  writeFileSync(path.join(skill.directory, 'scripts/b.sh'), 'echo harm\n');
  expect(await run(() => rmSync(path.join(skill.directory, 'scripts/b.sh')))).toMatchObject(refused);
  rmSync(script);
  expect(await run(() => writeFileSync(script, 'echo ran\n'))).toMatchObject(refused);
  chmodSync(script, 0o755);
  expect(await run(() => chmodSync(script, 0o644))).toMatchObject(refused);
  expect(await run()).toMatchObject({ ok: true });
  expect(ran).toEqual(['echo ran\n', 'echo ran\n']);
});

it('S72 a yes is for all that decides what runs: every file, what it is given, what holds it', () => {
  const skill = { id: 'kit', source: 'sandbox/skills', realDirectory: '/kit', scripts: [] };
  const declared = { path: 'scripts/a.sh', description: null, env: ['KEY'], timeoutSeconds: null };
  const files = {
    'SKILL.md': { sha256: '1', executable: false, shebang: false },
    'scripts/a.sh': { sha256: '2', executable: false, shebang: false },
  };
  const none = { env: [], confinedBy: 'bubblewrap' };
  const of = (more: object = {}, settings: Parameters<typeof subjectOf>[2] = none, scripts: (typeof declared)[] = []) =>
    subjectOf(skill, findScript({ scripts }, 'a.sh', new Map(Object.entries({ ...files, ...more })))!, settings);
  const subjects = [
    of(),
    of({ 'lib/steps': { sha256: '3', executable: false, shebang: false } }),
    of({ 'SKILL.md': { sha256: '4', executable: false, shebang: false } }),
    of({ 'SKILL.md': { sha256: '1', executable: true, shebang: false } }),
    of({}, { ...none, confinedBy: 'settings' }),
    of({}, { ...none, confinedBy: 'nothing' }),
    of({}, { ...none, env: ['KEY'] }, [declared]),
  ];
  expect(new Set(subjects).size).toBe(subjects.length);
  expect(of({}, { ...none, env: ['OTHER'] }, [declared])).toBe(of()); // not given to it
});
