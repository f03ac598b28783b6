import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { findProgram, probeSandboxing } from '@pith/supervised-process';
import type { JsonValue } from 'pith';
import { folderWith, serverOf } from '../../places.ts';
import { words } from '../../words.ts';
import { cloneWith } from './clone.ts';

const { available } = await probeSandboxing();
const has = (program: string) => findProgram(program, (process.env['PATH'] ?? '').split(path.delimiter)) !== null;
const out = (result: unknown) => (result as { readonly output?: string }).output ?? JSON.stringify(result);

/** A registry with one package, by the path of which it is asked. */
async function registryOf(): Promise<string> {
  const folder = folderWith({
    'package/package.json': JSON.stringify({ name: 'greet', version: '1.2.3', main: 'main.js', bin: 'main.js' }),
    'package/main.js': "#!/usr/bin/env node\nmodule.exports = () => console.log('greeted');\n",
  });
  execFileSync('tar', ['-czf', 'greet.tgz', 'package'], { cwd: folder });
  const tarball = readFileSync(path.join(folder, 'greet.tgz'));
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const address = await serverOf((request, response) => {
    if (request.url?.endsWith('.tgz') === true) return void response.end(tarball);
    const dist = { tarball: `${address}/greet.tgz`, integrity };
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        name: 'greet',
        'dist-tags': { latest: '1.2.3' },
        versions: { '1.2.3': { name: 'greet', version: '1.2.3', main: 'main.js', bin: { greet: 'main.js' }, dist } },
      }),
    );
  });
  return address;
}

type Clone = Awaited<ReturnType<typeof cloneWith>>;

const FIXED = words('src/one.txt src/deep/two.txt lib/three.txt test/four.txt NOTES.md');
const MISTAKES = Object.fromEntries(FIXED.map((file) => [file, 'it is wrong\n']));

interface Journey {
  readonly install: string;
  readonly access?: readonly string[];
  /** It fails while a file is wrong. */
  readonly test: string;
  readonly check: string;
}

/**
 * A model reads, installs, tests, fixes a bug over five files in four folders, and commits; a person says always where it is offered. What was
 * printed, and what was asked.
 */
async function journeyIn(clone: Clone, { install, access = [], test, check }: Journey) {
  const asked: string[] = [];
  const agreed = new Set<string>();
  const step = async (tool: string, input: Record<string, JsonValue>): Promise<string> => {
    const question = await clone.question(tool, input);
    const cover = question?.always && `${tool} ${question.always.key}`;
    if (question !== null && !(cover !== undefined && agreed.has(cover))) asked.push(question.summary ?? '');
    if (cover !== undefined) agreed.add(cover);
    return out(await clone.approved(tool, input, question?.subject));
  };
  const run = (command: string, more = {}) => step('shell', { command, ...more });
  const ran = async (...commands: readonly string[]) => {
    const printed: string[] = [];
    for (const command of commands) printed.push(await run(command));
    return printed.join('\n');
  };
  clone.person('git init -q; git add -A; git commit -qm first');
  await ran('git status && ls -la', 'rg -n wrong . 2>/dev/null || grep -rn wrong src', 'cat NOTES.md');
  const installed = await run(install, { access, timeout: 300 });
  const before = await run(test, { timeout: 300 });
  await step('read_file', { path: FIXED[0] ?? '' });
  for (const path of FIXED) await step('edit_file', { path, edits: [{ old_text: 'wrong', new_text: 'right', all: false }] });
  const after = await ran(`${test} 2>&1 | tail -40`, check, 'git diff && git diff --stat');
  const committed = await ran('git add -A', 'git commit -qm "fix: be right"', 'git log --oneline -1 && git status --short');
  expect(before).not.toMatch(/\[exit code 0\]$/u);
  expect(after).toMatch(/ 5 files changed[^]*\[exit code 0\]$/u);
  expect(after.match(/\[exit code 0\]/gu), after).toHaveLength(3);
  expect(committed).toMatch(/fix: be right\n\[exit code 0\]$/u);
  expect(asked.length, asked.join('\n')).toBeLessThanOrEqual(6);
  return `${installed}\n${after}`;
}

describe.skipIf(!available)('U-1 a clone without sandbox/, with a used home', () => {
  it('U-1 U-8 installs, tests, fixes and commits with npm, six questions asked; the next command finds what was fetched, and nothing of the person is written', async () => {
    const clone = await cloneWith({
      ...MISTAKES,
      'package.json': JSON.stringify({
        name: 'shop',
        version: '1.0.0',
        scripts: { test: 'node test/all.js' },
        dependencies: { greet: '^1.0.0' },
      }),
      'test/all.js': `require('greet')(); for (const file of ${JSON.stringify(FIXED)}) if (/wrong/.test(require('fs').readFileSync(file))) process.exit(1);\n`,
      '.gitignore': 'node_modules\n',
    });
    const install = `npm install --no-audit --no-fund --registry=${await registryOf()}`;
    const installed = await journeyIn(clone, { install, access: ['network'], test: 'npm test', check: 'npx greet --noEmit' });
    const command = [
      'ls ~/.npm',
      'rm -rf node_modules && npm ci --offline --no-audit --no-fund && npm test',
      'npm version minor -m "version %s"',
      'echo x >> .gitignore && git stash -q && git stash pop -q && git checkout -q .gitignore',
      'git switch -qc topic && echo t > t.txt && git add t.txt && git commit -qm topic && git switch -q main',
      'echo m > m.txt && git add m.txt && git commit -qm main && git switch -q topic && git rebase -q main && git switch -q main',
      'git merge -q --no-ff -m merged topic && git branch -d topic && git gc -q && git worktree list',
      'git status --short; git log --oneline',
      'git config core.pager evil',
    ].join(' && ');
    const printed = out(await clone.call('shell', { command, timeout: 120 }));
    expect(printed).toMatch(
      /could not write config file[^]*\[commands cannot change settings of git; ask the person to run the command\]\n\[exit code 4\]$/u,
    );
    for (const said of ['_cacache', 'greeted', 'v1.1.0', 'merged', 'version 1.1.0']) expect(printed).toContain(said);
    expect(installed + printed).not.toMatch(/EROFS|canary|start by themselves/u);
    expect(readdirSync(path.join(clone.home, '.npm/_cacache/index-v5'))).toEqual(['00']);
    expect(readdirSync(path.join(clone.home, '.npm'))).toEqual(['_cacache']);
    expect(clone.person('git fsck --no-dangling && git tag && git status --short')).toBe('v1.1.0\n');
  });

  it.runIf(has('cargo'))('U-1 U-8 builds, tests, fixes and commits with cargo, six questions asked', async () => {
    const read = FIXED.map((file) => `include_str!("../${file}")`).join(', ');
    const clone = await cloneWith({
      ...MISTAKES,
      'Cargo.toml': '[package]\nname = "shop"\nversion = "0.1.0"\n[dependencies]\ngreet = { path = "greet" }\n',
      'src/lib.rs': '\n',
      'greet/Cargo.toml': '[package]\nname = "greet"\nversion = "0.1.0"\n',
      'greet/src/lib.rs': 'pub fn greet() -> u8 { 7 }\n',
      'tests/all.rs': `#[test] fn all() { assert_eq!(greet::greet(), 7); assert!([${read}].iter().all(|text| !text.contains("wrong"))); }\n`,
      '.gitignore': 'target\n',
    });
    const cargo = findProgram('cargo', (process.env['PATH'] ?? '').split(path.delimiter)) as string;
    vi.stubEnv('RUSTUP_HOME', process.env['RUSTUP_HOME'] ?? path.resolve(cargo, '../../../.rustup'));
    const journey = {
      install: 'cargo fetch',
      access: ['network'],
      test: 'cargo test --offline --test all',
      check: 'cargo check --offline',
    };
    const printed = await journeyIn(clone, journey).finally(() => vi.unstubAllEnvs());
    expect(printed).toMatch(/test all \.\.\. ok/u);
  });

  it.runIf(has('pip'))('U-1 U-8 installs, tests, fixes and commits with pip, six questions asked', async () => {
    const clone = await cloneWith({
      ...MISTAKES,
      'w/greet.py': 'word = "greeted"\n',
      'w/greet-1.dist-info/METADATA': 'Metadata-Version: 2.1\nName: greet\nVersion: 1\n',
      'w/greet-1.dist-info/WHEEL': 'Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
      'w/greet-1.dist-info/RECORD': 'greet.py,,\n',
      'test_all.py': `import unittest, greet\nclass All(unittest.TestCase):\n  def test(self):\n    print(greet.word)\n    for file in ${JSON.stringify(FIXED)}: self.assertNotIn('wrong', open(file).read())\n`,
      '.gitignore': '.venv\n__pycache__\n',
    });
    clone.person(
      "cd w && python3 -c \"import shutil; shutil.make_archive('../g', 'zip')\" && mv ../g.zip ../greet-1-py3-none-any.whl && rm -r ../w",
    );
    const install =
      'python3 -m venv --without-pip --system-site-packages .venv && .venv/bin/python -m pip install --no-index ./greet-1-py3-none-any.whl';
    const journey = { install, test: '.venv/bin/python -m unittest', check: '.venv/bin/python -m compileall -q test_all.py' };
    const printed = await journeyIn(clone, journey);
    expect(printed).toMatch(/Successfully installed greet-1[^]*greeted/u);
    expect(printed).not.toMatch(/cache has been disabled|not writable/u);
  });
});

/** Where programs keep keys, passwords, tokens, sessions and what was typed: browsers of all packagings, clouds, registries, shells. */
const KEYS = words(
  '.ssh/id_ed25519 .ssh/config .gnupg/private-keys-v1.d/a .netrc .npmrc .yarnrc .yarnrc.yml .pypirc .git-credentials .pgpass .my.cnf .mylogin.cnf .dockercfg ' +
    '.terraformrc .terraform.d/credentials.tfrc.json .s3cfg .boto .databrickscfg .vault-token .aws/credentials .azure/msal_token_cache.json .kube/config ' +
    '.docker/config.json .oci/oci_api_key.pem .fly/config.yml .config/gcloud/credentials.db .config/gh/hosts.yml .config/glab-cli/config.yml ' +
    '.config/github-copilot/apps.json .config/hub .config/doctl/config.yaml .config/heroku/x .config/netlify/config.json .config/vercel/auth.json ' +
    '.config/stripe/config.toml .config/rclone/rclone.conf .config/op/config .config/git/credentials .config/containers/auth.json .config/helm/x ' +
    '.config/sops/age/keys.txt .config/configstore/x.json .config/composer/auth.json .config/NuGet/NuGet.Config .config/Code/User/globalStorage/state.vscdb ' +
    '.config/Slack/Cookies .config/discord/x .config/Signal/config.json .config/Bitwarden/data.json .config/google-chrome/Default/Cookies ' +
    '.config/chromium/Default/Cookies .config/BraveSoftware/x .config/microsoft-edge/x .config/vivaldi/x .mozilla/firefox/key4.db .thunderbird/logins.json ' +
    'snap/firefox/common/.mozilla/key4.db snap/chromium/common/x .var/app/org.mozilla.firefox/key4.db .pki/nssdb/key4.db .local/share/keyrings/login.keyring ' +
    '.local/share/kwalletd/x .local/share/opencode/auth.json .local/share/python_keyring/x .local/share/fish/fish_history .bash_history .zsh_history ' +
    '.python_history .node_repl_history .psql_history .cargo/credentials.toml .m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties ' +
    '.gem/credentials .bundle/config .nuget/NuGet/NuGet.Config .sbt/.credentials .ivy2/.credentials .cache/huggingface/token .cache/gh/x .password-store/a.gpg ' +
    '.claude.json .codex/auth.json .gemini/oauth_creds.json .pith/secrets.json .lastpass/x .1password/x .subversion/auth/x .msmtprc .Xauthority',
);

describe.skipIf(!available)('S6 what a command sees of home', () => {
  it(`S6 none of ${KEYS.length} places of keys, with whatever folders on its PATH; tools, read only; where it asks for home, the folders that the settings name`, async () => {
    const tools = words('.cargo/bin/c .local/bin/l .rustup/r .pyenv/p .sdkman/bin/s go/bin/g .local/share/pnpm/pnpm .fly/bin/fly bin/b');
    const clone = await cloneWith(
      { 'a.txt': '' },
      {
        ...Object.fromEntries(KEYS.map((name) => [name, 'canary'])),
        ...Object.fromEntries(tools.map((name) => [name, 'seen'])),
        'diary.txt': 'canary',
        'data/a.csv': 'numbers',
        'share/x': 'canary',
        '.local/share/x': 'canary',
        '.pith/config.yaml': 'extensions: { project_tools: { shell: { home: [data] } } }',
      },
    );
    const folders = words('bin .local/bin .cargo/bin .fly/bin .local/share/pnpm').map((name) => path.join(clone.home, name));
    vi.stubEnv('PATH', [...folders, process.env['PATH']].join(path.delimiter));
    const command = `cd ~; grep -rl canary . | sort; cat ${tools.join(' ')}; echo; cat data/a.csv; echo x > .cargo/bin/c; echo x > data/a.csv`;
    const printed = [await clone.call('shell', { command }), await clone.call('shell', { command, access: ['home'] })].map(out);
    vi.unstubAllEnvs();
    for (const each of printed) expect(each).toMatch(/^(?:seen){9}\n[^]*\.cargo\/bin\/c: Read-only/u);
    expect(printed[0]).toContain('data/a.csv: No such file');
    expect(printed[1]).toMatch(/numbers[^]*data\/a\.csv: Read-only/u);
    expect(await clone.question('shell', { command: 'ls', access: ['home'] })).toMatchObject({
      once: true,
      enforced: `sandboxed: no network, writes the project only, reads ${clone.home}/data`,
    });
  });

  it.each([
    ['[]', 'no folder of home is named for commands'],
    ['[.ssh]', 'in which keys are kept (~/.ssh)'],
    ['[.config]', 'in which keys are kept (~/.config/gh)'],
    ['[away]', 'which is not a folder in your home folder'],
  ])('S6 a command that asks for home is refused where the settings name %s', async (named, why) => {
    const clone = await cloneWith(
      {},
      {
        '.ssh/id': 'canary',
        '.config/gh/hosts.yml': 'canary',
        '.pith/config.yaml': `extensions: { project_tools: { shell: { home: ${named} } } }`,
      },
    );
    clone.person('ln -s / ~/away');
    expect(await clone.call('shell', { command: 'true', access: ['home'] })).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining(why) },
    });
  });
});
