import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { openKernel } from '../../../core/cli/index.ts';
import { folderWith } from '../../places.ts';
import { cli } from './fakes.ts';

const KEY = 'sk-proj-abcdefghijklmnopqrst';
const FILES = {
  'sandbox/extensions/post/manifest.yaml': '{id: post, entrypoint: main.ts, provides: [tool]}',
  'sandbox/extensions/post/main.ts': `import { z } from 'pith';
export default class {
  static config = z.strictObject({ servers: z.array(z.strictObject({ url: z.string(), note: z.string().default('') })).default([]) });
  getTools() { return []; }
}
`,
  'sandbox/pith.yaml': `extensions:\n  post:\n    isolation: in_process\n    servers: [{ url: "https://x.example/?key=${KEY}" }] # ours\n`,
};

it('W15 W21 a key is not shown among settings, and stays what it was when what is shown is sent back', async () => {
  const folder = folderWith(FILES);
  const run = (...argv: string[]) => cli(argv, { cwd: folder, openKernel });
  const set = (value: unknown) => run('settings', 'set', `extensions.post.servers=${JSON.stringify(value)}`, '--json');
  const written = (): string => readFileSync(path.join(folder, 'sandbox/pith.yaml'), 'utf8');
  const shown = await run('settings', 'post', '--json');
  expect(shown).toMatchObject({ code: 0, out: expect.not.stringContaining(KEY) });
  const { values } = JSON.parse(shown.out) as { readonly values: { readonly servers: readonly { readonly url: string }[] } };
  expect(values.servers[0]?.url).toContain('[hidden]');
  expect(await set([{ ...values.servers[0], note: 'mine' }])).toMatchObject({ code: 0, out: expect.not.stringContaining(KEY) });
  expect(written()).toContain(KEY);
  expect(written()).toContain('mine');
  const before = written();
  expect(await set([{ url: 'https://y.example/?key=[hidden]' }])).toMatchObject({ code: 1, err: expect.stringContaining('by hand') });
  expect(written()).toBe(before);
});

it('K7 K44 a setting and a log of a name that nothing has are refused with the nearest name, and nothing is written', async () => {
  const folder = folderWith(FILES);
  const run = (...argv: string[]) => cli(argv, { cwd: folder, openKernel });
  const before = readFileSync(path.join(folder, 'sandbox/pith.yaml'), 'utf8');
  expect(await run('settings', 'set', 'nothing=1')).toMatchObject({
    code: 1,
    err: "pith: there is no setting 'nothing'; see: pith settings\n",
  });
  expect(await run('settings', 'set', 'defualt_agent=x')).toMatchObject({
    code: 1,
    err: expect.stringContaining("did you mean 'default_agent'"),
  });
  expect(await run('settings', 'set', 'admins=x')).toMatchObject({ code: 1, err: expect.stringContaining('by hand') });
  expect(readFileSync(path.join(folder, 'sandbox/pith.yaml'), 'utf8')).toBe(before);
  expect(await run('logs', 'psot')).toMatchObject({ code: 1, err: expect.stringContaining("did you mean 'post'") });
  expect(await run('logs', 'post')).toMatchObject({ code: 0, out: 'The log has nothing of it\n' });
});
