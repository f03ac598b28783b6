import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { findProgram, probeSandboxing } from '@pith/supervised-process';
import { folderWith, serverOf } from '../../places.ts';
import { words } from '../../words.ts';
import { cloneWith } from './clone.ts';

const { available } = await probeSandboxing();
const isLong = process.env['PITH_TEST_LONG'] === '1';
const has = (program: string) => findProgram(program, (process.env['PATH'] ?? '').split(path.delimiter)) !== null;
const out = (result: unknown) => (result as { readonly output?: string }).output ?? JSON.stringify(result);

/** A registry with one package, by the path of which it is asked. */
async function registryOf(): Promise<string> {
  const folder = folderWith({
    'package/package.json': JSON.stringify({ name: 'greet', version: '1.2.3', main: 'main.js' }),
    'package/main.js': "module.exports = () => console.log('greeted');\n",
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
        versions: { '1.2.3': { name: 'greet', version: '1.2.3', main: 'main.js', dist } },
      }),
    );
  });
  return address;
}

describe.skipIf(!available)('U-1 a clone without sandbox/, with a used home', () => {
  it('U-1 installs, tests and commits with npm; the next command finds what was fetched, and nothing of the person is written', async () => {
    const scripts = { test: 'node -e "require(\'greet\')()"' };
    const clone = await cloneWith({
      'package.json': JSON.stringify({ name: 'shop', version: '1.0.0', scripts, dependencies: { greet: '^1.0.0' } }),
      '.gitignore': 'node_modules\n',
    });
    clone.person('git init -q; git add -A; git commit -qm first');
    const install = `npm install --no-audit --no-fund --registry=${await registryOf()} && npm test && ls ~/.npm`;
    const installed = out(await clone.call('shell', { command: install, access: ['network'] }));
    expect(installed).toMatch(/greeted\n[^]*_cacache\n[^]*\[exit code 0\]$/u);
    const command = [
      'rm -rf node_modules && npm ci --offline --no-audit --no-fund && npm test',
      'git add -A && git commit -qm "lock the packages" && npm version minor -m "version %s"',
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
    for (const said of ['greeted', 'v1.1.0', 'merged', 'version 1.1.0']) expect(printed).toContain(said);
    expect(installed + printed).not.toMatch(/EROFS|canary|start by themselves/u);
    expect(readdirSync(path.join(clone.home, '.npm/_cacache/index-v5'))).toEqual(['00']);
    expect(readdirSync(path.join(clone.home, '.npm'))).toEqual(['_cacache']);
    expect(clone.person('git fsck --no-dangling && git tag && git status --short')).toBe('v1.1.0\n');
  });

  it.runIf(isLong && has('cargo'))('U-1 builds, tests and commits with cargo', async () => {
    const clone = await cloneWith({
      'lib/Cargo.toml': '[package]\nname = "greet"\nversion = "0.1.0"\n',
      'lib/src/lib.rs': 'pub fn greet() -> u8 { 7 }\n',
    });
    const command = [
      'cargo init --name shop --vcs none . && cargo add --offline --path lib greet',
      'echo "#[test] fn greets() { assert_eq!(greet::greet(), 7) }" >> src/main.rs && cargo test --offline',
      'git init -q && git add -A && git commit -qm first && git log --oneline',
    ].join(' && ');
    const cargo = findProgram('cargo', (process.env['PATH'] ?? '').split(path.delimiter)) as string;
    vi.stubEnv('RUSTUP_HOME', process.env['RUSTUP_HOME'] ?? path.resolve(cargo, '../../../.rustup'));
    const printed = out(await clone.call('shell', { command, timeout: 300 }));
    vi.unstubAllEnvs();
    expect(printed).toMatch(/test greets \.\.\. ok[^]*first\n[^]*\[exit code 0\]$/u);
  });

  it.runIf(isLong && has('pip'))('U-1 installs and tests with pip', async () => {
    const clone = await cloneWith({
      'w/greet.py': 'word = "greeted"\n',
      'w/greet-1.dist-info/METADATA': 'Metadata-Version: 2.1\nName: greet\nVersion: 1\n',
      'w/greet-1.dist-info/WHEEL': 'Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
      'w/greet-1.dist-info/RECORD': 'greet.py,,\n',
    });
    clone.person("cd w && python3 -c \"import shutil; shutil.make_archive('../g', 'zip')\" && mv ../g.zip ../greet-1-py3-none-any.whl");
    const command =
      'python3 -m pip install --no-index --target packages ./greet-1-py3-none-any.whl && PYTHONPATH=packages python3 -c "import greet; print(greet.word)"';
    const printed = out(await clone.call('shell', { command, timeout: 300 }));
    expect(printed).toMatch(/greeted\n\[exit code 0\]$/u);
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
