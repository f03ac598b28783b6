import fs from 'node:fs';
import path from 'node:path';
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { describe, expect, it, vi } from 'vitest';
import { manifestSchema } from '../../../core/trust/index.ts';
import { stateFolder } from '@pith/safe-files';
import { openIndex, sourceDigest } from '../../../core/declarations/index.ts';
import { folderWith, writeFiles } from '../../places.ts';
import { able, discoverIn, extension, indexIn } from './sandbox-folder.ts';
import { stampsHold } from '../../waiting.ts';

/** The folders whose manifests `work` reads. */
async function manifestsRead<T>(work: Promise<T>): Promise<readonly [T, readonly string[]]> {
  const opened = vi.spyOn(fs, 'openSync');
  try {
    const done = await work;
    const files = opened.mock.calls.map(([file]) => String(file)).filter((file) => file.endsWith('manifest.yaml'));
    return [done, [...new Set(files.map((file) => path.basename(path.dirname(file))))]];
  } finally {
    opened.mockRestore();
  }
}

describe('the persisted index', () => {
  it('K3 an unchanged start reads no manifest and finds the same', async () => {
    const { sandbox, first } = await indexed({ ...extension('one'), ...extension('two'), 'extensions/broken/manifest.yaml': 'id: x\n' });
    const [second, read] = await manifestsRead(discoverIn(sandbox));
    expect(read).toEqual([]);
    expect([...second.declarations]).toEqual([...first.declarations]);
    expect(second.failures.get('broken')).toMatchObject({ code: 'id_mismatch' });
  });

  it('K3 only what changed is read again, also when size and modification time stay', async () => {
    const { sandbox, first } = await indexed({ ...extension('one'), ...extension('two') });
    const file = path.join(sandbox, 'extensions/two/manifest.yaml');
    const { atime, mtime, size } = fs.statSync(file);
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('id: two', 'id: tow'));
    fs.utimesSync(file, atime, mtime);
    expect(fs.statSync(file).size).toBe(size);

    const [second, read] = await manifestsRead(discoverIn(sandbox));
    expect(read).toEqual(['two']);
    expect(second.failures.get('two')?.code).toBe('id_mismatch');
    expect(second.declarations.get('one')).toEqual(first.declarations.get('one'));
  });

  it('K3 a rewrite within one step of the file clock is seen by its bytes', async () => {
    const sandbox = folderWith(extension('one', 'description: a\n'));
    const index = indexIn(sandbox);
    await discoverIn(sandbox, { index });
    writeFiles(sandbox, extension('one', 'description: b\n'));
    const { declarations } = await discoverIn(sandbox, { index });
    expect(declarations.get('one')!.manifest!.description).toBe('b');
  });

  it('K3 the digest follows helper files, not data, hidden files or packages', async () => {
    const sandbox = folderWith(extension('one'));
    const digest = async () => (await discoverIn(sandbox)).declarations.get('one')!.digest;
    const before = await digest();
    writeFiles(sandbox, {
      'extensions/one/data/state': 'x',
      'extensions/one/.cache/x': 'x',
      'extensions/one/node_modules/p/index.js': 'x',
    });
    expect(await digest()).toBe(before);
    expect(sourceDigest(path.join(sandbox, 'extensions/one'))).toBe(before);
    writeFiles(sandbox, { 'extensions/one/parts/data/helper.ts': 'x' });
    expect(await digest()).not.toBe(before);
  });

  for (const [name, text] of [
    ['torn', '{"version":"'],
    ['not an index', '[]'],
    ['with broken parts', '{"version":"1","folders":{"/x":7},"surfaces":{}}'],
  ] as const) {
    it(`K3 an index that is ${name} is rebuilt, which is told once`, async () => {
      const { sandbox } = await indexed(extension('one'));
      fs.writeFileSync(path.join(sandbox, 'data/.cache/index.json'), text);
      const index = indexIn(sandbox);
      const found = await discoverIn(sandbox, { index });
      expect(able(found)).toEqual(['one']);
      expect(found.diagnostics).toMatchObject([{ severity: 'info', message: expect.stringContaining('rebuilt') }]);
      expect(await index.save()).toBeNull();
      expect(indexIn(sandbox).diagnostics).toEqual([]);
    });
  }

  for (const [name, damage] of [
    ['a manifest of another shape', (text: string) => text.replace(/"manifest":\{.*?\},"diagnostics"/u, '"manifest":{},"diagnostics"')],
    ['another value', (text: string) => text.replace('main.ts', 'mine.ts')],
    ['a folder that is gone', (text: string) => text.replace(/"folders":\{.*\},"surfaces"/u, '"folders":{},"surfaces"')],
    ['no digest', (text: string) => text.replace(/"digest":"[0-9a-f]{64}",/u, '')],
    ['another list of surfaces', (text: string) => text.replace(/"surfaces":\{.*\}\}\}$/u, '"surfaces":[7]}}')],
  ] as const) {
    it(`K3 an index that is well formed but has ${name} is rebuilt, and everything is found`, async () => {
      const { sandbox, first } = await indexed(extension('one'));
      const file = path.join(sandbox, 'data/.cache/index.json');
      const text = fs.readFileSync(file, 'utf8');
      const damaged = damage(text);
      expect(damaged).not.toBe(text);
      expect(() => void JSON.parse(damaged)).not.toThrow();
      fs.writeFileSync(file, damaged);
      const found = await discoverIn(sandbox);
      expect(able(found)).toEqual(['one']);
      expect([...found.declarations]).toEqual([...first.declarations]);
      expect(found.diagnostics).toMatchObject([{ severity: 'info', message: expect.stringContaining('damaged') }]);
    });
  }

  it('K3 two writers in a process leave one whole index', async () => {
    const { sandbox } = await indexed(extension('one'));
    const [one, two] = [indexIn(sandbox), indexIn(sandbox)];
    one.putSurface('one', 'k', 'x'.repeat(1_000_000));
    two.putSurface('one', 'k', 'y');
    expect(await Promise.all([one.save(), two.save()])).toEqual([null, null]);
    expect(indexIn(sandbox).diagnostics).toEqual([]);
    expect(fs.readdirSync(path.dirname(one.file))).toEqual(['index.json']);
  });

  it('K3 an index of another version is rebuilt', async () => {
    const { sandbox } = await indexed(extension('one'));
    const file = path.join(sandbox, 'data/.cache/index.json');
    const content = JSON.parse(fs.readFileSync(file, 'utf8')) as { version: string };
    fs.writeFileSync(file, JSON.stringify({ ...content, version: content.version.replace(/node\d+$/, 'node1') }));
    expect(indexIn(sandbox).diagnostics).toMatchObject([{ severity: 'info', message: expect.stringContaining('another version') }]);
    expect(able(await discoverIn(sandbox))).toEqual(['one']);
  });

  it('K3 surfaces hold under their key, and the file is written only when something changed', async () => {
    const sandbox = folderWith({});
    const index = indexIn(sandbox);
    expect(await index.save()).toBeNull();
    expect(fs.existsSync(index.file)).toBe(false);
    index.putSurface('one', 'digest-1', { tools: ['a'] });
    expect(await index.save()).toBeNull();
    const { mtimeNs } = fs.statSync(index.file, { bigint: true });
    await index.save();
    expect(fs.statSync(index.file, { bigint: true }).mtimeNs).toBe(mtimeNs);
    const again = openIndex(stateFolder(path.dirname(index.file)));
    expect(again.surface('one', 'digest-1')).toEqual({ tools: ['a'] });
    expect(again.surface('one', 'digest-2')).toBeUndefined();
    again.putSurface('one', 'digest-2', 2);
    expect(again.surface('one', 'digest-1')).toBeUndefined();
  });

  it('K3 forgets folders that are gone, and what was kept for their ids', async () => {
    const { sandbox } = await indexed({ ...extension('one'), ...extension('two') });
    const index = indexIn(sandbox);
    for (const id of ['one', 'two']) index.putSurface(id, 'key', id);
    fs.rmSync(path.join(sandbox, 'extensions/two'), { recursive: true });
    expect([...(await discoverIn(sandbox, { index })).declarations.keys()]).toEqual(['one']);
    expect(index.folder(path.join(sandbox, 'extensions/two'))).toBeUndefined();
    expect(['one', 'two'].map((id) => index.surface(id, 'key'))).toEqual(['one', undefined]);
  });

  it('K3 a place that cannot be written costs a warning, not the start', async () => {
    const sandbox = folderWith({ ...extension('one'), data: 'a file where the folder should be' });
    const index = indexIn(sandbox);
    expect(able(await discoverIn(sandbox, { index }))).toEqual(['one']);
    expect(await index.save()).toMatchObject({ severity: 'warning', code: 'state_refused' });
  });

  it('K3 a folder in its place is said with the cure, and the start goes on without it', async () => {
    const { sandbox, first } = await indexed(extension('one'));
    const { file } = indexIn(sandbox);
    fs.rmSync(file);
    fs.mkdirSync(file);
    const index = indexIn(sandbox);
    const message = `${file} is not used: a folder is in its place, so every start reads all manifests`;
    const said = {
      severity: 'warning',
      code: 'state_refused',
      message,
      cure: expect.stringMatching(/^look at what it is, then move it away/u),
    };
    const { declarations, diagnostics } = await discoverIn(sandbox, { index });
    expect([...declarations]).toEqual([...first.declarations]);
    expect(diagnostics).toEqual([said]);
    expect(await index.save()).toEqual(said);
    expect(fs.readdirSync(path.dirname(file))).toEqual(['index.json']);
  });

  it('pins the schema of manifests: when this fails, raise INDEX_FORMAT and write the new digest here', async () => {
    const { sandbox } = await indexed(extension('one'));
    const { version } = JSON.parse(fs.readFileSync(path.join(sandbox, 'data/.cache/index.json'), 'utf8')) as { version: string };
    const shape = z.toJSONSchema(manifestSchema(), { io: 'input', unrepresentable: 'any' });
    const digest = createHash('sha256').update(JSON.stringify(shape, withoutDescriptions)).digest('hex').slice(0, 16);
    expect([version, digest]).toEqual([expect.stringMatching(/^28 /), '135795b03998879e']);
  });
});

function withoutDescriptions(key: string, value: unknown): unknown {
  return key === 'description' && typeof value === 'string' ? undefined : value;
}

/** A sandbox whose index is saved and whose files are old enough for their stamps to prove them. */
async function indexed(files: Readonly<Record<string, string>>) {
  const sandbox = folderWith(files);
  await stampsHold(sandbox);
  const index = indexIn(sandbox);
  const first = await discoverIn(sandbox, { index });
  expect(await index.save()).toBeNull();
  return { sandbox, first };
}
