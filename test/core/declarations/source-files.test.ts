import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { digestOf, sourceDigest } from '../../../core/declarations/index.ts';

const MAX_FILES = 5000;
import { folderWith, writeFiles } from '../../places.ts';
import { discoverIn, extension, indexIn } from './sandbox-folder.ts';

it('K3 finds manifest and prompt beside more files than are looked at, and says what is not seen', async () => {
  const sandbox = folderWith({
    ...extension('crowded'),
    'agents/busy/manifest.yaml': 'id: busy\nagent: {}\n',
    'agents/busy/prompt.jinja2': 'Hello.',
  });
  for (const folder of ['extensions/crowded/assets', 'agents/busy/assets']) {
    fs.mkdirSync(path.join(sandbox, folder));
    const first = path.join(sandbox, folder, '0.txt');
    fs.writeFileSync(first, '');
    for (let number = 1; number <= MAX_FILES; number++) fs.linkSync(first, path.join(sandbox, folder, `${number}.txt`)); // quicker than to write
  }
  const index = indexIn(sandbox);
  const { declarations, diagnostics } = await discoverIn(sandbox, { index });
  expect(diagnostics).toEqual([]);
  expect(declarations.get('busy')!.prompt?.text).toBe('Hello.');
  const crowded = declarations.get('crowded')!;
  expect(crowded.manifest?.entrypoint).toBe('main.ts');
  expect(crowded.diagnostics).toMatchObject([{ severity: 'warning', message: expect.stringContaining('more than 5000 files') }]);
  writeFiles(sandbox, extension('crowded', 'description: changed\n'));
  expect((await discoverIn(sandbox, { index })).declarations.get('crowded')!.manifest?.description).toBe('changed');
});

it('K3 does not follow links to folders elsewhere, says so, and follows those inside', async () => {
  const elsewhere = folderWith({ 'big/one.ts': '1' });
  const sandbox = folderWith({ ...extension('linking'), 'extensions/linking/parts/two.ts': '2' });
  const own = path.join(sandbox, 'extensions/linking');
  fs.symlinkSync(path.join(elsewhere, 'big'), path.join(own, 'away'));
  const { declarations } = await discoverIn(sandbox);
  expect(declarations.get('linking')).toMatchObject({
    manifest: { entrypoint: 'main.ts' },
    diagnostics: [{ severity: 'warning', file: path.join(own, 'away'), message: expect.stringContaining('elsewhere') }],
  });
  const before = sourceDigest(own);
  writeFiles(elsewhere, { 'big/one.ts': 'changed' });
  expect(sourceDigest(own)).toBe(before);
  fs.symlinkSync('parts', path.join(own, 'also'));
  expect((await discoverIn(sandbox)).declarations.get('linking')!.diagnostics).toHaveLength(1);
});

it('K3 reads no more bytes than sources can have: of what is larger, size and time tell a change', () => {
  const folder = folderWith({ 'a.bin': 'x'.repeat(100), 'b.ts': 'b' });
  const digest = () => digestOf(folder, ['a.bin', 'b.ts'], 50);
  const before = digest();
  expect(digest()).toBe(before);
  writeFiles(folder, { 'b.ts': 'c' });
  expect(digest()).not.toBe(before);
  writeFiles(folder, { 'b.ts': 'b' });
  expect(digest()).toBe(before);
  fs.utimesSync(path.join(folder, 'a.bin'), 1, 1);
  expect(digest()).not.toBe(before);
  expect(sourceDigest(folder)).toBe(digestOf(folder, ['a.bin', 'b.ts']));
});
