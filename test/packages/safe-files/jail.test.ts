import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { Jail, reachOf, type Reach } from '@pith/safe-files';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { folderWith } from '../../places.ts';

const WAYS: readonly Reach[] = ['descriptor', 'working_folder'];
const SECRET = 'SECRET-OUTSIDE';

/** A jail beside a folder with the same names. */
function place(): { readonly root: string; readonly jailed: string; readonly outside: string } {
  const root = folderWith({
    'outside/file.txt': SECRET,
    'outside/only.txt': SECRET,
    'outside/b/file.txt': SECRET,
    'outside/b/only.txt': SECRET,
  });
  for (const folder of ['outside/empty', 'outside/b/empty']) fs.mkdirSync(path.join(root, folder));
  const jailed = path.join(root, 'jailed');
  remake(jailed);
  return { root, jailed, outside: path.join(root, 'outside') };
}

function remake(jailed: string): void {
  fs.rmSync(jailed, { recursive: true, force: true });
  fs.mkdirSync(path.join(jailed, 'a/b/empty'), { recursive: true });
  fs.writeFileSync(path.join(jailed, 'a/b/file.txt'), 'inside');
}

/** All names below a folder, with what the files hold. */
function contents(folder: string): readonly string[] {
  return fs
    .readdirSync(folder, { withFileTypes: true, recursive: true })
    .map((entry) => {
      const file = path.join(entry.parentPath, entry.name);
      return `${path.relative(folder, file)} ${entry.isFile() ? fs.readFileSync(file, 'utf8') : ''}`;
    })
    .sort();
}

const OPERATIONS: Readonly<Record<string, (jail: Jail) => Promise<unknown>>> = {
  read: (jail) => jail.read(['a', 'b', 'file.txt'], async (handle) => (await handle.readFile()).toString()),
  'read what is only outside': (jail) => jail.read(['a', 'b', 'only.txt'], async (handle) => (await handle.readFile()).toString()),
  stat: (jail) => jail.stat(['a', 'b', 'only.txt']),
  list: (jail) => jail.list(['a', 'b'], 10),
  names: (jail) => jail.names(['a', 'b']),
  replace: async (jail) => (await jail.stage(['a', 'b', 'file.txt'], Buffer.from('new'))).commit(),
  add: async (jail) => (await jail.stage(['a', 'b', 'new.txt'], Buffer.from('new'))).commit({ replace: false }),
  'make folders': async (jail) => (await jail.stage(['a', 'b', 'c', 'd', 'new.txt'], Buffer.from('new'))).commit(),
  discard: async (jail) => (await jail.stage(['a', 'b', 'file.txt'], Buffer.from('new'))).discard(),
  'move out of it': (jail) => jail.move(['a', 'b', 'file.txt'], ['moved.txt']),
  'move into it': async (jail) => {
    (await jail.stage(['free.txt'], Buffer.from('free'))).commit();
    await jail.move(['free.txt'], ['a', 'b', 'file.txt']);
  },
  'move shown content': (jail) => jail.move(['a', 'b', 'file.txt'], ['a', 'b', 'moved.txt'], Buffer.from('shown')),
  remove: (jail) => jail.remove(['a', 'b', 'file.txt']),
  'remove a folder': (jail) => jail.remove(['a', 'b', 'empty']),
};

const isLong = process.env['PITH_TEST_LONG'] === '1';
/** So many calls later; in the long form at more of them. */
const UNDONE_AFTER = isLong ? [1, 2, 3, 4, 6, Number.POSITIVE_INFINITY] : [1, Number.POSITIVE_INFINITY];

/** What the jail holds after each. */
const [FILE, EMPTY] = ['a/b/file.txt inside', 'a/b/empty '];
const LEFT: Readonly<Record<string, readonly string[]>> = {
  read: [FILE, EMPTY],
  stat: [FILE, EMPTY],
  list: [FILE, EMPTY],
  names: [FILE, EMPTY],
  replace: ['a/b/file.txt new', EMPTY],
  add: ['a/b/new.txt new', FILE, EMPTY],
  'make folders': ['a/b/c ', 'a/b/c/d ', 'a/b/c/d/new.txt new', FILE, EMPTY],
  discard: [FILE, EMPTY],
  'move out of it': ['moved.txt inside', EMPTY],
  'move into it': ['a/b/file.txt free', EMPTY],
  'move shown content': ['a/b/moved.txt shown', EMPTY],
  remove: [EMPTY],
  'remove a folder': [FILE],
};

type Swap = (at: (name: string) => string, outside: string) => void;

/** What another process does, and how it undoes that. */
const SWAPS: Readonly<Record<string, readonly [there: Swap, back: Swap]>> = {
  'a folder is swapped for a link': [
    (at, outside) => (fs.renameSync(at('a/b'), at('parked')), fs.symlinkSync(outside, at('a/b'))),
    (at) => (fs.unlinkSync(at('a/b')), fs.renameSync(at('parked'), at('a/b'))),
  ],
  'the folder above is swapped for a link': [
    (at, outside) => (fs.renameSync(at('a'), at('parked')), fs.symlinkSync(outside, at('a'))),
    (at) => (fs.unlinkSync(at('a')), fs.renameSync(at('parked'), at('a'))),
  ],
  'the folder above is replaced by another': [
    (at) => (fs.renameSync(at('a'), at('parked')), fs.mkdirSync(at('a')), fs.mkdirSync(at('a/b'))),
    (at) => (fs.rmSync(at('a'), { recursive: true }), fs.renameSync(at('parked'), at('a'))),
  ],
  'the file is swapped for a link': [
    (at, outside) => (fs.renameSync(at('a/b/file.txt'), at('parked')), fs.symlinkSync(path.join(outside, 'file.txt'), at('a/b/file.txt'))),
    (at) => (fs.unlinkSync(at('a/b/file.txt')), fs.renameSync(at('parked'), at('a/b/file.txt'))),
  ],
  'the file is swapped for a second name of one outside': [
    (at, outside) => (fs.renameSync(at('a/b/file.txt'), at('parked')), fs.linkSync(path.join(outside, 'file.txt'), at('a/b/file.txt'))),
    (at) => (fs.unlinkSync(at('a/b/file.txt')), fs.renameSync(at('parked'), at('a/b/file.txt'))),
  ],
};

const CALLS = [
  ...(
    ['openSync', 'lstatSync', 'readdirSync', 'renameSync', 'unlinkSync', 'rmdirSync', 'mkdirSync', 'linkSync', 'readlinkSync'] as const
  ).map((name) => [fs, name] as const),
  ...(['writeFile', 'fsync', 'closeSync'] as const).map((name) => [fs, name] as const),
  [fs.promises, 'open'] as const,
  [process, 'chdir'] as const,
  [process, 'cwd'] as const,
];

interface Outcome {
  readonly calls: number;
  /** Of the operation; of one that was refused its error. */
  readonly answer: unknown;
}

/** What happens right before a call to the system while an operation runs; not before the calls that it makes itself. */
let meddle: (() => void) | null = null;

// Once for all tests: this takes longer than most operations.
beforeAll(() => {
  const restores = [...CALLS, [fs, 'fsyncSync'] as const].map(([module, name]) => {
    const functions = module as unknown as Record<string, (...args: unknown[]) => unknown>;
    const original = functions[name]!;
    functions[name] = (...args) => {
      const act = meddle;
      if (act !== null && name === 'fsyncSync') return undefined; // not asked here, and slow
      meddle = null;
      try {
        act?.();
      } finally {
        meddle = act;
      }
      return original.apply(module, args);
    };
    return () => void (functions[name] = original);
  });
  syncBuiltinESMExports();
  return () => {
    for (const restore of restores) restore();
    syncBuiltinESMExports();
  };
});

/** Does something right before each call of the operation to the system, counted from 0. What it does is not counted. */
async function between(run: () => Promise<unknown>, before: (call: number) => void): Promise<Outcome> {
  let calls = 0;
  meddle = () => before(calls++);
  try {
    const answer = await run().catch((error: { code?: string; message: string }) => `${error.code} ${error.message}`);
    return { calls, answer };
  } finally {
    meddle = null;
  }
}

const attempt = (swap: () => void): boolean => {
  try {
    swap();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return false; // the operation has taken away what would be swapped
  }
};

describe.each(WAYS)('a jail that reaches files by %s', (reach) => {
  it.each(Object.entries(LEFT))('K60 does each thing where nobody swaps anything: %s', async (operation, left) => {
    const { jailed, outside } = place();
    const before = contents(outside);
    const { calls } = await between(
      () => OPERATIONS[operation]!(new Jail(jailed, reach)),
      () => {},
    );
    expect(calls).toBeGreaterThan(3); // the calls are seen
    expect(contents(jailed)).toEqual([...left, 'a ', 'a/b '].sort());
    expect(contents(outside)).toEqual(before);
  });

  for (const [what, [there, back]] of Object.entries(SWAPS)) {
    it.each(Object.keys(OPERATIONS))(
      `K60 touches and tells nothing outside when ${what} before any one of its calls: %s`,
      async (operation) => {
        const { root, jailed, outside } = place();
        const untouched = contents(root);
        const wrong: unknown[] = [];
        const isOutside = (line: string) => line.startsWith('outside/');
        const before = untouched.filter(isOutside);
        const inJail = (name: string) => path.join(jailed, name);
        // A third of the calls, others for each operation: all of them begin alike, so that each call is one of some operation's.
        const [step, first] = isLong ? [1, 0] : [3, Object.keys(OPERATIONS).indexOf(operation)];
        for (const [number, undoneAfter] of UNDONE_AFTER.entries()) {
          for (let at = (first + number) % step, calls = at + 1; at < calls; at += step) {
            let swapped = false;
            const found = await between(
              () => OPERATIONS[operation]!(new Jail(jailed, reach)),
              (call) => {
                if (call === at) swapped = attempt(() => there(inJail, outside));
                if (swapped && call === at + undoneAfter) swapped = !attempt(() => back(inJail, outside));
              },
            );
            calls = found.calls;
            if (swapped) attempt(() => back(inJail, outside));
            const left = contents(root);
            // Asked of texts: `expect` takes longer than an operation, and there are thousands of them.
            const touched = left.filter(isOutside).join('\n') !== before.join('\n');
            const told = /SECRET|"only\.txt"/.test(JSON.stringify(found.answer) ?? '');
            if (touched || told) wrong.push({ at, undoneAfter, left, answer: found.answer });
            if (left.join() !== untouched.join()) remake(jailed);
          }
        }
        expect(wrong).toEqual([]);
      },
    );
  }

  it('E1 reads a file that another replaces meanwhile, time and again', async () => {
    const { jailed } = place();
    const file = path.join(jailed, 'a/b/file.txt');
    const handle = await fs.promises.open(file);
    const methods = Object.getPrototypeOf(handle) as { stat(this: unknown, ...args: unknown[]): unknown };
    await handle.close();
    const { stat } = methods;
    let times = 0;
    // Between its opening and the look at what was opened, which has no name any more then.
    const spy = vi.spyOn(methods, 'stat').mockImplementation(function (this: unknown, ...args: unknown[]) {
      times += 1;
      if (times > 5) return stat.apply(this, args);
      fs.writeFileSync(`${file}.new`, `version ${times}`);
      fs.renameSync(`${file}.new`, file);
      return stat.apply(this, args);
    });
    onTestFinished(() => spy.mockRestore());
    expect(await OPERATIONS['read']!(new Jail(jailed, reach))).toBe('version 5');
  });

  it('K60 gives out nothing of a file that is replaced at every reading', async () => {
    const { jailed } = place();
    const file = path.join(jailed, 'a/b/file.txt');
    const read = new Jail(jailed, reach).read(['a', 'b', 'file.txt'], async (handle) => {
      fs.writeFileSync(`${file}.new`, 'again');
      fs.renameSync(`${file}.new`, file);
      return (await handle.readFile()).toString();
    });
    await expect(read).rejects.toMatchObject({ code: 'file_unavailable' });
  });

  it('E1 commits only in the place of what was there before, and leaves nothing else behind', async () => {
    const { jailed } = place();
    const jail = new Jail(jailed, reach);
    const commit = async (name: string, former: string | null) => {
      const staged = await jail.stage(['a', 'b', name], Buffer.from('new'));
      staged.commit({ former: former === null ? null : Buffer.from(former) });
    };
    const before = contents(jailed);
    const refused = { code: 'file_changed', message: expect.stringContaining('was changed by another') };
    await expect(commit('file.txt', 'inside ')).rejects.toMatchObject(refused);
    await expect(commit('file.txt', null)).rejects.toMatchObject(refused);
    await expect(commit('gone.txt', 'x')).rejects.toMatchObject(refused);
    expect(contents(jailed)).toEqual(before);
    await expect(jail.remove(['a', 'b', 'file.txt'], { bytes: Buffer.from('else') })).rejects.toMatchObject(refused);
    await commit('file.txt', 'inside');
    await commit('fresh.txt', null);
    await commit('short.txt', null);
    await jail.remove(['a', 'b', 'short.txt'], { bytes: Buffer.from('new') });
    expect(contents(path.join(jailed, 'a/b'))).toEqual(['empty ', 'file.txt new', 'fresh.txt new']);
  });

  it('K60 does not commit to a folder that was replaced since', async () => {
    const { jailed, outside } = place();
    const before = contents(outside);
    const staged = await new Jail(jailed, reach).stage(['a', 'b', 'file.txt'], Buffer.from('new'));
    fs.renameSync(path.join(jailed, 'a'), path.join(jailed, 'parked'));
    fs.symlinkSync(outside, path.join(jailed, 'a'));
    expect(() => staged.commit()).toThrow(expect.objectContaining({ code: 'file_unavailable' }));
    expect(contents(outside)).toEqual(before);
    expect(fs.readFileSync(path.join(jailed, 'parked/b/file.txt'), 'utf8')).toBe('inside');
  });

  it('K60 moves a file to its own name without losing it, and keeps its mode', async () => {
    const { jailed } = place();
    fs.chmodSync(path.join(jailed, 'a/b/file.txt'), 0o755);
    const jail = new Jail(jailed, reach);
    await jail.move(['a', 'b', 'file.txt'], ['a', 'b', 'file.txt']);
    await jail.move(['a', 'b', 'file.txt'], ['moved.txt']);
    expect(fs.readFileSync(path.join(jailed, 'moved.txt'), 'utf8')).toBe('inside');
    expect(fs.statSync(path.join(jailed, 'moved.txt')).mode & 0o777).toBe(0o755);
    await jail.move(['moved.txt'], ['moved.txt'], Buffer.from('shown'));
    expect(fs.readFileSync(path.join(jailed, 'moved.txt'), 'utf8')).toBe('shown');
  });

  it('K60 never replaces what came meanwhile, where it may only add', async () => {
    const { jailed } = place();
    const staged = await new Jail(jailed, reach).stage(['new.txt'], Buffer.from('new'));
    fs.writeFileSync(path.join(jailed, 'new.txt'), 'theirs');
    expect(() => staged.commit({ replace: false })).toThrow(expect.objectContaining({ code: 'target_exists' }));
    expect(fs.readFileSync(path.join(jailed, 'new.txt'), 'utf8')).toBe('theirs');
    expect(fs.readdirSync(jailed).sort()).toEqual(['a', 'new.txt']);
  });

  it('K60 leaves no descriptor open and the process in its folder, also after refusals', async () => {
    const home = process.cwd();
    const { jailed } = place();
    const jail = new Jail(jailed, reach);
    fs.symlinkSync('/', path.join(jailed, 'slash'));
    const descriptors = () => fs.readdirSync('/proc/self/fd').length;
    await jail.names(['a']);
    const before = descriptors();
    for (let round = 0; round < 20; round += 1) {
      await expect(jail.read(['slash', 'etc', 'passwd'], async () => 'read')).rejects.toMatchObject({ code: 'file_unavailable' });
      await expect(jail.stage(['slash', 'x'], Buffer.from(''))).rejects.toMatchObject({ code: 'file_unavailable' });
      await expect(jail.remove(['a', 'b'])).rejects.toMatchObject({ code: 'folder_not_empty' });
      for (const operation of Object.values(OPERATIONS)) await operation(jail).catch(() => undefined); // some find nothing any more
    }
    expect(descriptors()).toBeLessThan(before + 10); // other files of tests in this process may open and close some
    expect(process.cwd()).toBe(home);
  });
});

describe('what a system has', () => {
  it('K60 is the descriptors of folders, else the working folder of a process, else nothing', () => {
    expect(reachOf('linux', true, true)).toBe('descriptor');
    expect(reachOf('darwin', false, true)).toBe('working_folder');
    expect(reachOf('darwin', false, false)).toBe(null); // a thread may not change it
    expect(reachOf('win32', false, true)).toBe(null);
  });

  it('K60 with nothing everything is refused, with a cure', async () => {
    const { jailed } = place();
    const jail = new Jail(jailed, null);
    for (const operation of Object.values(OPERATIONS)) {
      await expect(operation(jail)).rejects.toMatchObject({ code: 'jail_unavailable', message: expect.stringContaining('WSL') });
    }
    expect(contents(jailed)).toEqual(contents(place().jailed));
  });

  it('K60 without /proc refuses before it starts when the process could not come back', async () => {
    const { jailed } = place();
    const home = process.cwd();
    const gone = folderWith({});
    process.chdir(gone);
    fs.rmdirSync(gone);
    onTestFinished(() => process.chdir(home));
    await expect(new Jail(jailed, 'working_folder').remove(['a', 'b', 'file.txt'])).rejects.toMatchObject({ code: 'jail_unavailable' });
    expect(fs.existsSync(path.join(jailed, 'a/b/file.txt'))).toBe(true);
  });
});
