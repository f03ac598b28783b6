import { findProgram, probeSandboxing } from '@pith/supervised-process';
import { createServer } from 'node:http';
import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { firstWord, hostFolder, isAlive, runs, type HostFolder, stopped } from './hosts.ts';
import { until } from '../../waiting.ts';
import { folderWith, onDisk, writeFiles } from '../../places.ts';
import { words } from '../../words.ts';

onDisk();

const sandboxing = await probeSandboxing();
const why = sandboxing.available ? '' : ` (skipped: ${sandboxing.why})`;

describe.runIf(sandboxing.available)(`a process in bubblewrap${why}`, () => {
  let folder: HostFolder;
  let outside: string;
  beforeEach(async () => {
    folder = await hostFolder();
    outside = folderWith({ 'secret.txt': 'secret' });
    writeFiles(folder.data, { 'other/state.json': 'other', 'pith.db': 'threads' });
    writeFiles(folder.project, { 'notes.md': 'notes' });
  });

  /** What each action gave: its value, or the code of its error. */
  async function tried(actions: Readonly<Record<string, string>>, permissions = {}, home?: string): Promise<Record<string, unknown>> {
    const attempts = Object.entries(actions).map(([name, code]) => `[${JSON.stringify(name)}, async () => ${code}]`);
    const host = await folder.launch(
      `const results = {};
      for (const [name, run] of [${attempts.join(',')}]) {
        try { results[name] = (await run()) ?? 'done'; } catch (error) { results[name] = error.cause?.code ?? error.code ?? error.message; }
      }
      say(results);`,
      { sandboxing, home, permissions: { network: false, read: [], write: [], ...permissions } },
    );
    const results = await firstWord(host, folder.lines);
    await stopped(host);
    return results as Record<string, unknown>;
  }
  const read = (file: string): string => `fs.readFileSync(${JSON.stringify(file)}, 'utf8')`;
  const write = (file: string): string => `fs.writeFileSync(${JSON.stringify(file)}, 'written')`;

  it('T10 F11 sees no keys: not in a home folder that it may read, not in the project, not by a link that came later', async () => {
    const home = path.join(outside, 'home');
    writeFiles(home, { '.ssh/id_rsa': 'key', '.netrc': 'password', 'notes.txt': 'notes' });
    writeFiles(folder.project, { '.env': 'KEY=1' });
    await symlink(path.join(home, '.ssh'), path.join(folder.project, 'docs'));
    const results = await tried(
      {
        notes: read(path.join(home, 'notes.txt')),
        ssh: read(path.join(home, '.ssh/id_rsa')),
        netrc: read(path.join(home, '.netrc')),
        env: read(path.join(folder.project, '.env')),
        link: read(path.join(folder.project, 'docs/id_rsa')),
      },
      { read: ['~/', 'docs'], write: ['docs'] },
      home,
    );
    expect(results).toEqual({ notes: 'notes', ssh: 'ENOENT', netrc: 'EACCES', env: 'ENOENT', link: 'ENOENT' });
  });

  it('P20: writes no skill, whatever it may write: around it, it, or in it', async () => {
    const places = ['sandbox/skills/old', '.claude/skills/theirs', 'notes'];
    for (const place of places) writeFiles(folder.project, { [`${place}/SKILL.md`]: 'kept' });
    const at = (place: string) => path.join(folder.project, place, 'SKILL.md');
    const [own, theirs, notes] = places.map((place) => path.join(folder.project, place)) as [string, string, string];
    for (const allowed of [
      [folder.sandbox, path.join(folder.project, '.claude'), notes],
      [path.dirname(own), path.dirname(theirs), notes],
      [own, theirs, notes],
    ]) {
      const results = await tried(Object.fromEntries(places.map((place) => [place, write(at(place))])), { write: allowed });
      expect(results).toEqual({ 'sandbox/skills/old': 'EROFS', '.claude/skills/theirs': 'EROFS', notes: 'done' });
    }
    expect(await readFile(at('sandbox/skills/old'), 'utf8')).toBe('kept');
  });

  it('T10: starts whatever the paths are that it may read and write: with a slash, twice, a link, below a link, of the system', async () => {
    const home = path.join(outside, 'home');
    writeFiles(home, { 'docs/b/notes.txt': 'notes' });
    await symlink(path.join(home, 'docs'), path.join(home, 'link'));
    const notes = (at: string) => read(path.join(home, at, 'b/notes.txt'));
    const named = words('~/docs/ ~/link ~/link/b /etc/localtime /bin /usr/bin/sh ~/docs/b/notes.txt/x loop loop/y');
    const paths = [...named, 'x'.repeat(300), 'a\0b'];
    await symlink('loop', path.join(folder.project, 'loop'));
    const results = await tried({ docs: notes('docs'), link: notes('link') }, { read: paths, write: ['~/link', '~/docs'] }, home);
    expect(results).toEqual({ docs: 'notes', link: 'notes' });
  });

  it('K10 starts also where a file is in the place of the folder of caches', async () => {
    await writeFile(path.join(folder.data, '.cache'), '');
    expect(await tried({ notes: read(path.join(folder.project, 'notes.md')) })).toEqual({ notes: 'notes' });
  });

  it.each([
    ['nothing more', []],
    ['the project', ['.']],
    ['the folder above the project', ['..']],
  ] as const)(
    'T10 F11 sees no environment file of the project, however it came there while it runs, that may read %s',
    async (_, permitted) => {
      const at = (name: string) => path.join(folder.project, name);
      for (const name of ['.env', '.env.local', '.ENV.Staging', '.envrc', '.environment']) await writeFile(at(name), 'KEY=1');
      await rm(at('.env.local'));
      await mkdir(at('docs'));
      await symlink('.env', at('link'));
      await symlink('docs', at('papers'));
      const names = ['.env', '.env.local', '.ENV.Staging', '.envrc', '.environment', 'link', 'papers/text.md'];
      const host = await folder.launch(
        `const look = () => ${JSON.stringify(names)}.map((name) => {
          try { return fs.readFileSync(${JSON.stringify(folder.project)} + '/' + name, 'utf8'); } catch (error) { return error.code; }
        });
        socket.on('data', () => say(look()));
        say(look());`,
        { sandboxing, permissions: { network: false, read: permitted.slice(), write: [] } },
      );
      const none = (text: string) => ['ENOENT', 'ENOENT', 'ENOENT', 'ENOENT', 'KEY=1', 'ENOENT', text];
      expect(await firstWord(host, folder.lines)).toEqual(none('ENOENT'));
      await writeFile(at('.env.new'), 'KEY=2');
      await rename(at('.env.new'), at('.env'));
      await writeFile(at('.env.local'), 'KEY=3');
      await writeFile(at('docs/text.md'), 'text'); // below its entries everything is as it is outside
      host.socket.write('again');
      expect(await firstWord(host, folder.lines)).toEqual(none('text'));
      await stopped(host);
    },
  );

  it('K10 sees the project read-only, its own data folder, and nothing else', async () => {
    const results = await tried({
      project: read(path.join(folder.project, 'notes.md')),
      projectWrite: write(path.join(folder.project, 'notes.md')),
      extensionWrite: write(path.join(folder.sandbox, 'extensions', 'mine', 'new.ts')),
      own: write(path.join(folder.data, 'mine', 'state.json')),
      others: read(path.join(folder.data, 'other', 'state.json')),
      threads: read(path.join(folder.data, 'pith.db')),
      beside: write(path.join(folder.data, 'pith.db')),
      outside: read(path.join(outside, 'secret.txt')),
      home: `fs.readdirSync(${JSON.stringify(os.homedir())}).length`,
      shadow: read('/etc/shadow'),
      temporary: write('/tmp/mine.txt'),
      processes: `fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name)).length < 5`,
    });
    expect(results).toEqual({
      project: 'notes',
      projectWrite: 'EROFS',
      extensionWrite: 'EROFS',
      own: 'done',
      others: 'ENOENT',
      threads: 'ENOENT',
      beside: 'EROFS',
      outside: 'ENOENT',
      home: 'ENOENT',
      shadow: 'ENOENT',
      temporary: 'done',
      processes: true,
    });
  });

  it('K10 where the project is the home folder, it sees the sandbox of it and nothing else', async () => {
    await writeFile(path.join(folder.sandbox, 'agent.md'), 'agent');
    const results = await tried(
      {
        project: read(path.join(folder.project, 'notes.md')),
        sandbox: read(path.join(folder.sandbox, 'agent.md')),
        sandboxWrite: write(path.join(folder.sandbox, 'agent.md')),
        threads: read(path.join(folder.data, 'pith.db')),
      },
      {},
      folder.project,
    );
    expect(results).toEqual({ project: 'ENOENT', sandbox: 'agent', sandboxWrite: 'EROFS', threads: 'ENOENT' });
  });

  it('K10 other paths are open as its permissions say', async () => {
    const inside = path.join(folder.project, 'out');
    await mkdir(inside);
    const results = await tried(
      { read: read(path.join(outside, 'secret.txt')), written: write(path.join(outside, 'b.txt')), out: write(path.join(inside, 'a.txt')) },
      { read: [outside], write: ['out', 'missing'] },
    );
    expect(results).toEqual({ read: 'secret', written: 'EROFS', out: 'done' });
  });

  it('K10 the network is open only to those that ask for it', async () => {
    const server = createServer((_, response) => response.end('here')).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const fetched = { fetched: `(await fetch('http://127.0.0.1:${(server.address() as AddressInfo).port}')).text()` };
    expect(await tried(fetched)).toEqual({ fetched: 'ECONNREFUSED' });
    expect(await tried(fetched, { network: true })).toEqual({ fetched: 'here' });
    server.close();
    server.closeAllConnections();
  });

  it('K10 says how it ended, and nothing that it started is left', async () => {
    const abort = await folder.launch('process.abort()', { sandboxing });
    expect(await abort.ended).toMatchObject({ message: 'its process was ended by the signal SIGABRT' });
    const sleeper = `spawn('sleep', ['61.5'], { detached: true, stdio: 'ignore', env: {} }); say('started');`;
    const host = await folder.launch(sleeper, { sandboxing });
    await firstWord(host, folder.lines);
    await stopped(host);
    await until(() => !isAlive(host.pid) && !runs('61.5'));
  });

  it('T12 F7: no place outside of its own can be filled: the root, /dev and /etc are read-only, the rest is small', async () => {
    const fill = (file: string): string =>
      `(() => { const to = fs.openSync(${JSON.stringify(file)}, 'w'); let mb = 0; const part = Buffer.alloc(1048576);
        try { for (; mb < 200; mb += 1) fs.writeSync(to, part); } catch (error) { if (error.code !== 'ENOSPC') throw error; }
        fs.rmSync(${JSON.stringify(file)}); fs.closeSync(to); return mb; })()`;
    const places = ['/big', '/dev/x', '/etc/x', '/run/x', '/home/x', '/dev/shm/x', '/tmp/x'];
    const results = await tried(Object.fromEntries(places.map((file) => [file, fill(file)])));
    expect(results).toMatchObject({ '/big': 'EROFS', '/dev/x': 'EROFS', '/etc/x': 'EROFS' });
    for (const missing of ['/run/x', '/home/x']) expect(results[missing]).toMatch(/EROFS|ENOENT/);
    for (const small of ['/dev/shm/x', '/tmp/x']) expect(results[small]).toBeLessThanOrEqual(64);
  });

  /** How a process ends that may hold 150 MB. */
  async function endOfMemory(code: string) {
    const host = await folder.launch(`${code}; setInterval(() => {}, 1000);`, { sandboxing, memoryMb: 150 });
    return host.ended;
  }
  const OVER = { code: 'process_limit', message: expect.stringMatching(/took [1-9]\d\d MB of memory; its limit is 150 MB/) };

  it.each([
    ['files in /tmp and /dev/shm', `for (const at of ['/tmp/x', '/dev/shm/x']) fs.writeFileSync(at, Buffer.alloc(62 * 1048576))`],
    [
      'files that are deleted and held open',
      `for (const at of ['/tmp/x', '/dev/shm/x']) { const to = fs.openSync(at, 'w'); fs.writeSync(to, Buffer.alloc(62 * 1048576)); fs.rmSync(at); }`,
    ],
    [
      'a file system in memory of its own',
      `spawn('unshare', ['-Urm', 'sh', '-c', 'mount -t tmpfs none /tmp && head -c 200000000 /dev/zero > /tmp/x; sleep 60'], { stdio: 'ignore' })`,
    ],
  ])('T12 F7: %s count as memory', async (_, code) => {
    expect(await endOfMemory(code)).toMatchObject(OVER);
  });

  const MEMFD = `my $name = 'big'; my $fd = syscall(319, $name, 0); open(my $to, '>&=', $fd); for (1..200) { syswrite($to, 'x' x 1048576); } sleep 60;`;
  it.runIf(process.arch === 'x64' && findProgram('perl') !== null)('T12 F7: files in memory without a name count as memory', async () => {
    expect(await endOfMemory(`spawn('perl', ['-e', ${JSON.stringify(MEMFD)}], { stdio: 'ignore' })`)).toMatchObject(OVER);
  });
});
