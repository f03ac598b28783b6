import fs from 'node:fs';
import path from 'node:path';
import { stateFolder } from '@pith/safe-files';
import { expect, it, vi } from 'vitest';
import {
  buildOf,
  openIndex,
  packageRoot,
  RECORDS_FILE,
  recordsOf,
  shippedRecords,
  SURFACES_FILE,
} from '../../../core/declarations/index.ts';
import { folderWith, writeFiles } from '../../places.ts';
import { stampsHold } from '../../waiting.ts';
import { discoverIn, extension } from './sandbox-folder.ts';

/** A package with two extensions and an agent, and what its build keeps of them, in which each description tells that it comes from there. */
async function built(): Promise<string> {
  const root = folderWith({ 'dist/build.json': '{"build":"newest"}' });
  const sandbox = path.join(root, 'sandbox');
  writeFiles(sandbox, {
    ...extension('one', 'description: read\n'),
    ...extension('two', 'description: read\n'),
    'extensions/two/contract.ts': 'export {};\n',
    'agents/three/manifest.yaml': 'id: three\ndescription: read\nagent: { model: standard }\n',
    'agents/three/prompt.jinja2': 'Be kind.\n',
  });
  await stampsHold(sandbox);
  const index = openIndex(stateFolder(root, 'none'));
  const { declarations } = await discoverIn(sandbox, { index });
  const directories = [...declarations.values()].map(({ directory }) => directory);
  const text = recordsOf(index, sandbox, directories);
  expect(text).not.toContain(root);
  writeFiles(root, { [path.join('dist/newest', RECORDS_FILE)]: text.replaceAll('"description":"read"', '"description":"built"') });
  return root;
}

const indexOf = (root: string) => openIndex(stateFolder(root, 'none'), shippedRecords(root));

async function described(root: string, index = indexOf(root)): Promise<Readonly<Record<string, string | undefined>>> {
  const roots = [{ directory: path.join(root, 'sandbox'), shipped: true }];
  const { declarations } = await discoverIn('', { roots, index });
  for (const { id, file, directory, contract, prompt } of declarations.values()) {
    for (const each of [file, ...(contract ? [contract.file] : []), ...(prompt ? [prompt.file] : [])]) {
      expect(path.dirname(each)).toBe(directory);
      expect(fs.existsSync(each)).toBe(true);
    }
    expect([id, contract !== undefined, prompt?.text]).toEqual([id, id === 'two', id === 'three' ? 'Be kind.\n' : undefined]);
  }
  return Object.fromEntries([...declarations.values()].map(({ id, manifest }) => [id, manifest?.description]));
}

it('K3 a first start finds what the build read of the folders that ship, and reads no file where they are as they were', async () => {
  const root = await built();
  const opened = vi.spyOn(fs, 'openSync');
  expect(await described(root)).toEqual({ one: 'built', two: 'built', three: 'built' });
  expect(opened.mock.calls.map(([file]) => String(file)).filter((file) => file.includes('sandbox'))).toEqual([]);
  opened.mockRestore();
});

it('K3 what the build read holds wherever the package is installed, with other times', async () => {
  const root = await built();
  const installed = folderWith();
  fs.cpSync(root, installed, { recursive: true });
  expect(await described(installed)).toEqual({ one: 'built', two: 'built', three: 'built' });
});

it('K3 an extension that ships and was edited is read, also where its size stays, and also as a link to elsewhere', async () => {
  const root = await built();
  const file = (name: string) => path.join(root, 'sandbox', name, 'manifest.yaml');
  fs.writeFileSync(file('extensions/one'), fs.readFileSync(file('extensions/one'), 'utf8').replace('read', 'edit'));
  fs.writeFileSync(path.join(root, 'sandbox/extensions/two/more.ts'), '');
  const elsewhere = path.join(folderWith({ 'prompt.jinja2': 'Be kind.\n' }), 'prompt.jinja2');
  fs.rmSync(path.join(root, 'sandbox/agents/three/prompt.jinja2'));
  fs.symlinkSync(elsewhere, path.join(root, 'sandbox/agents/three/prompt.jinja2'));
  const { declarations } = await discoverIn('', {
    roots: [{ directory: path.join(root, 'sandbox'), shipped: true }],
    index: indexOf(root),
  });
  expect(declarations.get('one')?.manifest?.description).toBe('edit');
  expect(declarations.get('two')?.manifest?.description).toBe('read');
  expect(declarations.get('three')?.diagnostics).toMatchObject([{ code: 'prompt_invalid' }]);
});

it('K3 what another format of the index wrote, or something damaged, is not used', async () => {
  const root = await built();
  const file = path.join(root, 'dist/newest', RECORDS_FILE);
  for (const text of [fs.readFileSync(file, 'utf8').replace(/"format":\d+/, '"format":1'), '{', '[]']) {
    fs.writeFileSync(file, text);
    expect(await described(root)).toEqual({ one: 'read', two: 'read', three: 'read' });
  }
});

it('K3 what the extensions that ship offer is known in a new project, as long as sources and settings are those of the build', async () => {
  const root = await built();
  const file = path.join(root, 'dist/newest', SURFACES_FILE);
  const keep = (content: unknown) => fs.writeFileSync(file, JSON.stringify(content));
  const { format } = JSON.parse(fs.readFileSync(path.join(root, 'dist/newest', RECORDS_FILE), 'utf8')) as { format: number };
  const surfaces = { one: { key: 'as built', data: { tools: ['built'] } } };
  keep({ format, surfaces });
  const index = indexOf(root);
  expect(index.surface('one', 'as built')).toEqual({ tools: ['built'] });
  expect(index.surface('one', 'changed')).toBeUndefined();
  expect(index.surface('two', 'as built')).toBeUndefined();
  index.putSurface('one', 'changed', { tools: ['own'] });
  expect([index.surface('one', 'changed'), index.surface('one', 'as built')]).toEqual([{ tools: ['own'] }, { tools: ['built'] }]);
  for (const content of [{ format: 1, surfaces }, { format }, []]) {
    keep(content);
    expect(indexOf(root).surface('one', 'as built')).toBeUndefined();
  }
});

it('K3 the build knows what each extension offers that ships with a process of its own', () => {
  const sandbox = path.join(packageRoot(), 'sandbox/extensions');
  const read = (file: string) => fs.readFileSync(file, 'utf8');
  const manifests = fs.readdirSync(sandbox).filter((id) => fs.existsSync(path.join(sandbox, id, 'manifest.yaml')));
  const apart = manifests.filter((id) => !/^isolation: in_process$/mu.test(read(path.join(sandbox, id, 'manifest.yaml'))));
  const { surfaces } = JSON.parse(read(path.join(buildOf(packageRoot()), SURFACES_FILE))) as { readonly surfaces: object };
  expect(Object.keys(surfaces).toSorted()).toEqual(apart.filter((id) => fs.existsSync(path.join(sandbox, id, 'main.ts'))).toSorted());
  expect(apart).toContain('web');
});

it('K3 to ask the index of a folder writes nothing; who reads the folder keeps what the build read', async () => {
  const root = await built();
  const index = indexOf(root);
  expect(index.folder(path.join(root, 'sandbox/extensions/one'))).toBeDefined();
  expect(await index.save()).toBeNull();
  expect(fs.existsSync(index.file)).toBe(false);
  await described(root, index);
  expect(await index.save()).toBeNull();
  fs.rmSync(path.join(root, 'dist'), { recursive: true });
  expect(await described(root, indexOf(root))).toEqual({ one: 'built', two: 'built', three: 'built' });
  const { mtimeNs } = fs.statSync(index.file, { bigint: true });
  await described(root, index);
  await index.save();
  expect(fs.statSync(index.file, { bigint: true }).mtimeNs).toBe(mtimeNs);
});
