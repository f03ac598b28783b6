import path from 'node:path';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { pinnedGitAddress, originOf } from '../../../sandbox/extensions/skill_install/install/git-origin.ts';
import { serverOf } from '../../places.ts';
import { skillText } from '../skill_registry/skill-sandbox.ts';
import { gitIn, installSandbox, type InstallSandbox } from './install-sandbox.ts';
import { zipOf } from './zip-writer.ts';
import { words } from '../../words.ts';

const backend = path.join(spawnSync('git', ['--exec-path']).stdout?.toString().trim() ?? '', 'git-http-backend');
const servesGit = existsSync(backend);
const ZIP = zipOf([{ name: 'letters/SKILL.md', text: skillText({ name: 'letters' }) }]);

/** The address of a server, and what it was asked for. */
async function serve(answer: RequestListener): Promise<{ readonly at: string; readonly asked: readonly string[] }> {
  const asked: string[] = [];
  const at = await serverOf((request, response) => {
    asked.push(request.url ?? '');
    answer(request, response);
  });
  return { at, asked };
}

/** git's own server for the repositories in a folder. */
function gitServer(root: string): RequestListener {
  return (request, response) => {
    const { pathname, search } = new URL(request.url ?? '/', 'http://localhost');
    const child = spawn(backend, {
      env: {
        PATH: process.env['PATH'],
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: pathname,
        QUERY_STRING: search.slice(1),
        REQUEST_METHOD: request.method ?? 'GET',
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    request.pipe(child.stdin);
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.on('close', () => {
      const whole = Buffer.concat(chunks);
      const end = whole.indexOf('\r\n\r\n');
      const headers = whole
        .subarray(0, end)
        .toString()
        .split('\r\n')
        .map((line) => line.split(': ') as [string, string]);
      const status = Number(headers.find(([name]) => name === 'Status')?.[1].slice(0, 3) ?? 200);
      response.writeHead(status, Object.fromEntries(headers.filter(([name]) => name !== 'Status'))).end(whole.subarray(end + 4));
    });
  };
}

async function repository(box: InstallSandbox): Promise<string> {
  const folder = path.join(box.project, 'origins/pack.git');
  await mkdir(path.join(folder, 'letters'), { recursive: true });
  await writeFile(path.join(folder, 'letters/SKILL.md'), skillText({ name: 'letters' }));
  const git = gitIn(folder, box.home);
  git('init', '-q');
  git('add', '-A');
  git('commit', '-qm', 'x');
  return path.dirname(folder);
}

describe('where skills are fetched from', () => {
  it.each(
    words(`
    http://127.0.0.1:1/latest/meta-data/a.zip http://169.254.169.254/a.zip http://169.254.169.254/a.git
    http://[::ffff:7f00:1]/a.git https://2130706433/a git://127.0.0.1/a.git ssh://git@10.0.0.1/a.git git@localhost:a/b.git
    git@127.0.0.1:a/b.git
  `),
  )('T17 an origin in a lock file, which came with the project, must be public: %s', async (location) => {
    const box = await installSandbox();
    const kind = location.endsWith('.zip') ? 'zip' : 'git';
    const origin = { kind, location: URL.canParse(location) ? new URL(location).href : location };
    const letters = { origin, commit: null, digest: 'x', installedAt: '' };
    await box.write('sandbox/skills.lock.json', JSON.stringify({ version: 1, skills: { letters } }));
    const { json } = await box.run('update', [], { json: true });
    expect(json).toMatchObject([
      { id: 'letters', state: 'failed', error: { code: 'address_refused', message: expect.stringMatching(/settings|private_origins/) } },
    ]);
  });

  it('T17 an address that a person typed is fetched from wherever it lies; later only where the settings name it', async () => {
    const { at, asked } = await serve((_request, response) => void response.end(ZIP));
    const box = await installSandbox();
    expect((await box.run('install', `${at}/a.zip`)).error).toBe('');
    expect(asked).toEqual(['/a.zip']);
    expect((await box.run('update', [], { json: true })).json).toMatchObject([{ state: 'failed', error: { code: 'address_refused' } }]);
    expect(asked).toEqual(['/a.zip']);
    const config = { private_origins: [at] };
    expect((await box.run('update', [], { json: true, config })).json).toMatchObject([{ state: 'current' }]);
    expect(asked).toEqual(['/a.zip', '/a.zip']);
  });

  it.skipIf(!servesGit)(
    'S83 T17 a plugin in another repository is installed as its marketplace lists it; where it cannot be fetched the rest is installed',
    async () => {
      const box = await installSandbox({ 'from/near/skills/notes/SKILL.md': skillText({ name: 'notes' }) });
      await box.write('origins/pack.git/skills/pdf/SKILL.md', skillText({ name: 'pdf' }));
      await box.write('origins/pack.git/commands/hi.md', 'Say hi.\n');
      const { at } = await serve(gitServer(await repository(box)));
      const source = { source: 'url', url: `${at}/pack.git` };
      const plugins = [
        { name: 'near', source: './near' },
        { name: 'listed', source, skills: ['./letters'] },
        { name: 'whole', source },
        { name: 'gone', source: { source: 'url', url: `${at}/gone.git` } },
      ];
      await box.write('from/.claude-plugin/marketplace.json', JSON.stringify({ name: 'team', plugins }));
      const from = path.join(box.project, 'from');
      const config = { private_origins: [at] };
      const { code, error, json } = await box.run('install', from, { plugin: ['near', 'gone', 'listed'], yes: true, json: true, config });
      expect([code, error, Object.keys(box.lock())]).toEqual([0, '', ['listed:letters', 'near:notes']]);
      expect(json).toMatchObject({
        commit: null,
        skills: [
          { id: 'near:notes', state: 'installed' },
          {
            id: 'listed:letters',
            state: 'installed',
            origin: { location: `${at}/pack.git` },
            commit: box.lock()['listed:letters']!.commit,
          },
        ],
        others: [
          { kind: 'plugin', id: 'gone', state: 'refused' },
          { kind: 'recipe', id: 'hi', state: 'installed' },
        ],
      });
      expect(box.lock()['listed:letters']).toMatchObject({ origin: { kind: 'git', location: `${at}/pack.git`, path: 'letters' } });
      const refused = await box.run('install', from, { plugin: ['near', 'whole'], yes: true, force: true });
      expect([refused.code, refused.text]).toEqual([
        0,
        expect.stringContaining('pith: plugin whole was not installed: 127.0.0.1 is not on'),
      ]);
      const whole = await box.run('install', from, { plugin: ['whole'], skill: ['pdf'], yes: true, config });
      expect([whole.error, Object.keys(box.lock())]).toEqual(['', ['listed:letters', 'near:notes', 'whole:pdf']]);
      expect(whole.text).not.toContain('recipe'); // one skill was asked for
      const commit = box.lock()['listed:letters']!.commit!.slice(0, 12);
      const all = await box.run('install', from, { plugin: ['whole'], yes: true, force: true, config });
      expect(all.text).toContain(`Installed whole:pdf into sandbox/skills (commit ${commit}); 1 was not.`);
    },
  );

  it('T17 a typed address leads to no other that is private: archives', async () => {
    const inside = await serve((_request, response) => void response.end(ZIP));
    const { at } = await serve((_request, response) => void response.writeHead(302, { location: `${inside.at}/a.zip` }).end());
    const box = await installSandbox();
    expect((await box.run('install', `${at}/a.zip`)).error).toMatch(/^address_refused: 127\.0\.0\.1 is not on the public internet/);
    expect([inside.asked, box.skills()]).toEqual([[], []]);
  });

  it.skipIf(!servesGit)('T17 git: a typed address is fetched from, and its redirects are followed within it only', async () => {
    const box = await installSandbox();
    const git = gitServer(await repository(box));
    const { at, asked } = await serve((request, response) => {
      if (!request.url?.startsWith('/old.git')) return git(request, response);
      response.writeHead(301, { location: request.url.replace('/old.git', '/pack.git') }).end();
    });
    expect((await box.run('install', `${at}/old.git`)).error).toBe('');
    expect(box.skills()).toEqual(['letters']);
    expect(asked).toContain('/pack.git/git-upload-pack');
    expect((await box.run('update', [], { json: true })).json).toMatchObject([{ state: 'failed', error: { code: 'address_refused' } }]);
    const before = asked.length;
    const leading = await serve(
      (request, response) => void response.writeHead(302, { location: `${at}/pack.git${request.url?.slice('/x.git'.length)}` }).end(),
    );
    expect((await box.run('install', `${leading.at}/x.git`, { force: true })).error).toMatch(/^address_refused: /);
    expect(asked).toHaveLength(before);
  });

  it.skipIf(!servesGit)('T17 git itself follows no redirect: not one that comes after the first look', async () => {
    const box = await installSandbox();
    const inside = await serve(gitServer(await repository(box)));
    let looks = 0;
    const { at } = await serve((request, response) => {
      looks += 1;
      if (looks === 1) response.end('001e# service=git-upload-pack\n');
      else response.writeHead(302, { location: `${inside.at}/pack.git${request.url?.slice('/x.git'.length)}` }).end();
    });
    expect((await box.run('install', `${at}/x.git`)).error).toMatch(/^git_failed: git fetch failed: /);
    expect([looks > 1, inside.asked]).toEqual([true, []]);
  });

  it('T17 git is sent nowhere before the address has been looked at', async () => {
    const stop = AbortSignal.abort(new Error('no network here'));
    await expect(pinnedGitAddress('https://1.1.1.1/a.git', [], stop)).rejects.toThrow('no network here');
    expect(await pinnedGitAddress('ssh://git@1.1.1.1/a.git', [])).toEqual({ location: 'ssh://git@1.1.1.1/a.git', options: [] });
    expect(await pinnedGitAddress('file:///somewhere/a.git', [])).toEqual({ location: 'file:///somewhere/a.git', options: [] });
    expect(await pinnedGitAddress('git@inside:a/b', ['git@inside:a/b'])).toEqual({ location: 'git@inside:a/b', options: [] });
    expect(['git@host:a', 'ssh://git@host:22/a', 'https://host/a', '/a', 'file:///a'].map(originOf)).toEqual([
      'ssh://host',
      'ssh://host:22',
      'https://host',
      null,
      null,
    ]);
  });
});
