import {
  askedPath,
  askText,
  examinedAsk,
  type Manifest,
  manifestAsks,
  manifestSchema,
  narrowed,
  protectedPlaces,
  type Trust,
  trustOf,
  trustSandbox,
  whyNever,
} from '../../../core/trust/index.ts';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { words } from '../../words.ts';

vi.stubEnv('TMPDIR', '/tmp'); // no extension is given anything below /dev

/** 1,000 in the long form (`npm run test:soak`). */
const MANIFESTS = process.env['PITH_TEST_LONG'] === '1' ? 1000 : 100;

let root: string;
let home: string;
let sandbox: string;
let data: string;
const made = (more: object): Manifest => manifestSchema().parse({ id: 'helper', entrypoint: 'main.ts', provides: ['tool'], ...more });

beforeAll(() => {
  root = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'pith-grants-')));
  home = path.join(root, 'home');
  sandbox = path.join(root, 'project/sandbox');
  data = path.join(sandbox, 'data');
  for (const folder of [sandbox, data, path.join(sandbox, 'extensions'), path.join(home, '.ssh'), path.join(root, 'project/docs')])
    mkdirSync(folder, { recursive: true });
  symlinkSync(path.join(home, '.ssh'), path.join(root, 'project/keys'));
  symlinkSync(home, path.join(root, 'project/alias'));
  symlinkSync(path.join(sandbox, 'extensions'), path.join(root, 'project/~\\x'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const trusted = (accepts = false): Trust => trustOf({ sandbox, shipped: '/nowhere', home, accepts });
const granted = (manifest: Manifest, trust = trusted()) => trust.grant('helper', manifest, false, data);

describe('what a manifest asks for', () => {
  it('A3 what lies in the folder of Pith itself has what it asks for, a guard too', () => {
    const manifest = made({ provides: ['guard'], permissions: { network: true } });
    expect(trusted().grant('helper', manifest, true, data)).toMatchObject({ manifest: { permissions: { network: true } }, withheld: [] });
  });

  it('T10 F11: counts once a person has agreed to that list; a wider one runs without the addition', () => {
    const first = made({
      secrets: ['A_KEY'],
      permissions: { network: true, read: ['docs'] },
      events: { handles: [{ topic: 'user.message', handler: 'hear' }] },
    });
    const wider = made({ ...first, secrets: ['A_KEY', 'B_KEY'], permissions: { ...first.permissions, write: ['docs'] } });
    trustSandbox(trusted().file, sandbox);
    expect(granted(first).manifest).toMatchObject({ secrets: [], permissions: { network: false, read: [] }, events: { handles: [] } });
    trusted().allow('helper', manifestAsks(first));
    expect(granted(first)).toEqual({ manifest: first, withheld: [] });
    expect(granted(wider).manifest).toMatchObject({ secrets: ['A_KEY'], permissions: { network: true, read: ['docs'], write: [] } });
    expect(granted(wider).withheld).toEqual([
      { ask: 'secret B_KEY', never: null },
      { ask: 'write docs', never: null },
    ]);
  });

  it('T10: an id that every object has is an id as others are', () => {
    const manifest = made({ secrets: ['A_KEY'] });
    trustSandbox(trusted().file, sandbox);
    trusted().allow('helper', ['network']);
    const given = () => trusted().grant('constructor', manifest, false, path.join(sandbox, 'data')).withheld;
    expect(given()).toEqual([{ ask: 'secret A_KEY', never: null }]);
    trusted().allow('constructor', ['secret A_KEY']);
    expect(given()).toEqual([]);
  });

  it('T10: one that asks for nothing needs no question, also when it publishes', () => {
    const manifest = made({ events: { publishes: ['notify'] } });
    expect(manifestAsks(manifest)).toEqual([]);
    expect(granted(manifest)).toEqual({ manifest, withheld: [] });
  });

  it.each(['user.message', 'notify', 'task.changed'])(
    'T10 F11: who says that it publishes %s hears it only when a person agreed',
    (topic) => {
      const manifest = made({ events: { publishes: [topic], handles: [{ topic, handler: 'hear' }] } });
      expect(manifestAsks(manifest)).toEqual([`hears ${topic}`]);
      const given = trusted().grant('hearer', manifest, false, data);
      expect(given.manifest.events).toEqual({ publishes: [topic], handles: [] });
      expect(given.withheld).toEqual([{ ask: `hears ${topic}`, never: null }]);
      expect(narrowed(manifest, new Set([`hears ${topic}`]))).toEqual(manifest);
    },
  );

  it('T10: --trust agrees for this process, and writes nothing down', () => {
    const manifest = made({ secrets: ['OTHER_KEY'] });
    expect(granted(manifest, trusted(true)).withheld).toEqual([]);
    expect(granted(manifest).withheld).toHaveLength(1);
  });

  const READ = words(String.raw`
    ~/.ssh ~/.ssh/id_rsa ~/.pith/secrets.json keys keys/id_rsa sandbox/pith.yaml docs/../sandbox/data/pith.db .env .env.staging
    alias /run /var/run/docker.sock /srv/someone/.ssh /etc/shadow / /proc/1 ~//.ssh
  `);
  const WRITE = words(String.raw`
    ~\x /etc/cron.d /usr/local/bin /var/spool/cron ~/bin sandbox . ~/ / sandbox/extensions/other sandbox/agents sandbox/recipes
    .git/hooks ~/.config/autostart ~/.bashrc
  `);
  it.each([...READ.map((file) => ['read', file] as const), ...WRITE.map((file) => ['write', file] as const)])(
    'T10 F11: nobody can be given %s %s by a manifest, not even with --trust',
    (how, file) => {
      const manifest = made({ permissions: { [how]: [file] } });
      expect(granted(manifest, trusted(true)).manifest.permissions[how]).toEqual([]);
      expect(granted(manifest, trusted(true)).withheld).toEqual([{ ask: `${how} ${file}`, never: expect.any(String) }]);
    },
  );

  it.each([
    ['write', '.git/hooks'],
    ['write', 'sandbox/skills'],
    ['write', '~/.bashrc'],
    ['read', '~/other/.env'],
    ['write', '~/other/.env'],
  ] as const)('T10: a link to what nobody is given is not given either: %s %s', (how, target) => {
    const project = path.dirname(sandbox);
    const at = target.startsWith('~/') ? path.join(home, target.slice(2)) : path.join(project, target);
    mkdirSync(path.dirname(at), { recursive: true });
    if (!existsSync(at)) writeFileSync(at, '');
    const link = path.join(project, `to-${path.basename(at)}-${how}`);
    symlinkSync(at, link);
    expect(whyNever(`${how} ${path.basename(link)}`, { sandbox, home, dataDirectory: data })).toEqual(expect.any(String));
  });

  it.each([
    ['network', 'asks to use the network: everything this machine can reach'],
    ['secret KEY', 'asks to have the secret KEY'],
    ['read docs', 'asks to read docs'],
    ['write docs', 'asks to write docs'],
    ['hears acme.thing.changed', 'asks to hear the topic acme.thing.changed'],
    ['agent librarian', 'asks to start turns of the agent librarian'],
  ])('T10: %s is said as English', (ask, said) => {
    expect(`asks to ${askText(ask)}`).toContain(said);
  });

  it('T1 T10: what a path leads to is shown, and what it is never given', () => {
    symlinkSync('/srv', path.join(path.dirname(sandbox), 'elsewhere'));
    const places = { sandbox, home, dataDirectory: data };
    expect(examinedAsk('read elsewhere', places)).toEqual({ text: 'read elsewhere (leads to /srv)', never: false });
    expect(examinedAsk('read ~/../other', places).text).toContain(`(leads to ${path.join(path.dirname(home), 'other')})`);
    expect(examinedAsk('read .env', places)).toEqual({ text: expect.stringMatching(/^\(never given: .*\) read \.env$/), never: true });
    expect(askedPath('read', '~/notes/', places).named).toBe(path.join(home, 'notes'));
  });

  it('T10: what lies in a folder that an extension may write is not given: it could lead elsewhere by the next start', () => {
    const project = path.dirname(sandbox);
    mkdirSync(path.join(project, 'out'), { recursive: true });
    mkdirSync(path.join(home, 'work/b'), { recursive: true });
    symlinkSync(path.join(project, 'out/deep'), path.join(project, 'way'));
    const file = trusted().file;
    trustSandbox(file, sandbox, { grants: { writer: ['write out'] }, files: [] });
    trustSandbox(file, path.join(home, 'other/sandbox'), { grants: { another: ['write ~/work'] }, files: [] });
    const manifest = made({ permissions: { write: ['out', 'out/a'], read: ['out', 'out/r', 'way', '~/work/b', '~/work'] } });
    const given = granted(manifest, trusted(true));
    expect(given.manifest.permissions).toMatchObject({ write: ['out'], read: ['out', '~/work'] });
    expect(given.withheld.map(({ never }) => never)).toEqual(given.withheld.map(() => expect.stringContaining('could lead elsewhere')));
    // Also when both are asked for by one manifest, of which nothing was recorded yet.
    const fresh = trustOf({ sandbox, shipped: path.join(root, 'shipped'), home: path.join(root, 'nobody'), accepts: true });
    expect(fresh.grant('one', made({ permissions: { write: ['docs', 'docs/a'] } }), false, data).manifest.permissions.write).toEqual([
      'docs',
    ]);
    expect(fresh.writable()).toContain(path.join(project, 'docs'));
    // What is never given stands in nobody's way.
    const greedy = made({ permissions: { write: ['/', '~'], read: ['notes'] } });
    expect(fresh.grant('two', greedy, false, data).manifest.permissions).toMatchObject({ write: [], read: ['notes'] });
  });

  it('T10: a link to nothing is shown with where it leads, and a name says nothing of its own', () => {
    const places = { sandbox, home, dataDirectory: data };
    symlinkSync('../Later', path.join(path.dirname(sandbox), 'later'));
    expect(examinedAsk('write later', places).text).toContain(`(leads to ${path.join(path.dirname(path.dirname(sandbox)), 'Later')})`);
    expect(examinedAsk('read docs (leads to ~/safe)', places).text).toBe('read "docs (leads to ~/safe)"');
  });

  it('T10: another sandbox that is trusted is not written, and a project in a folder of the system is the person’s', () => {
    const other = path.join(home, 'second/sandbox');
    trustSandbox(trusted().file, other);
    const manifest = made({ permissions: { write: ['~/second/sandbox/pith.yaml', '~/second/sandbox/extensions/x', '~/second'] } });
    expect(granted(manifest, trusted(true)).manifest.permissions.write).toEqual([]);
    expect(whyNever('write out', { sandbox: '/usr/src/app/sandbox', home, dataDirectory: data })).toBeNull();
    expect(whyNever('write /usr/local/bin', { sandbox: '/usr/src/app/sandbox', home, dataDirectory: data })).toEqual(expect.any(String));
  });

  it.each(['~/notes', 'docs', '/srv/notes', 'sandbox/notes'])('T10: a person may agree to read and write %s', (file) => {
    for (const how of ['read', 'write']) expect(whyNever(`${how} ${file}`, { sandbox, home, dataDirectory: data })).toBeNull();
  });

  it(`T10 F11: of ${MANIFESTS} manifests that ask for too much none gets a protected place, and none more than was agreed to`, () => {
    const steps = fc.constantFrom(
      ...words('~ .. . sandbox data extensions agents .ssh .pith .aws docs keys pith.yaml home'),
      root.slice(1),
      '',
    );
    const file = fc.array(steps, { minLength: 1, maxLength: 6 }).map((parts) => parts.join('/') || '/');
    const files = fc.array(file, { maxLength: 4 });
    const names = fc.array(fc.stringMatching(/^[A-Z][A-Z0-9_]{0,8}$/), { maxLength: 3 });
    const asking = fc.record({ network: fc.boolean(), read: files, write: files, agents: fc.constantFrom([], ['orchestrator']) });
    const inside = (at: string, folder: string) => at === folder || at.startsWith(`${folder}${path.sep}`);
    const real = (at: string): string => {
      try {
        return realpathSync(at);
      } catch {
        return at === path.dirname(at) ? at : path.join(real(path.dirname(at)), path.basename(at));
      }
    };
    const nobodys = protectedPlaces({ sandbox, home, dataDirectory: data }).map(real);
    let opened = 0;
    fc.assert(
      fc.property(asking, names, (permissions, secrets) => {
        const manifest = made({ permissions, secrets });
        const asks = manifestAsks(manifest);
        const half = new Set(asks.filter((_, index) => index % 2 === 0));
        expect(manifestAsks(narrowed(manifest, half)).every((ask) => half.has(ask))).toBe(true);
        const { manifest: given } = granted(manifest, trusted(true)); // with a shared one, what each may write adds up
        for (const how of ['read', 'write'] as const)
          for (const one of given.permissions[how]) {
            opened += 1;
            const at = real(
              one.startsWith('~') && /^~(?:$|\/)/.test(one) ? path.join(home, one.slice(1)) : path.resolve(path.dirname(sandbox), one),
            );
            const wrong = nobodys.filter((place) => inside(at, place) || (how === 'write' && inside(place, at)));
            expect(wrong).toEqual([]);
          }
      }),
      { numRuns: MANIFESTS },
    );
    expect(opened).toBeGreaterThan(MANIFESTS / 10); // it says no to what it must, and not to everything
  });
});
