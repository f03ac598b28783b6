import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { stateFolder } from '@pith/safe-files';
import { loadSettings, openIndex } from '../../../core/declarations/index.ts';
import { folderWith } from '../../places.ts';
import { discoverIn, extension, indexIn } from './sandbox-folder.ts';

const AGENT = { 'agents/one/manifest.yaml': 'id: one\nagent: {}\n' };

function pipe(file: string): void {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  execFileSync('mkfifo', [file]);
}

async function promptFinding(place: (file: string, outside: string) => void) {
  const outside = path.join(folderWith({ 'secret.txt': 'not for models' }), 'secret.txt');
  const sandbox = folderWith(AGENT);
  const index = indexIn(sandbox);
  await discoverIn(sandbox, { index });
  const file = path.join(sandbox, 'agents/one/prompt.jinja2');
  place(file, outside);
  const one = (await discoverIn(sandbox, { index })).declarations.get('one')!;
  return { prompt: one.prompt, finding: one.diagnostics[0], file };
}

it.each([
  ['a link out of the folder', (file: string, outside: string) => fs.symlinkSync(outside, file), /leads out of the agent's folder/],
  ['a hard link', (file: string, outside: string) => fs.linkSync(outside, file), /several hard links/],
  ['a pipe', (file: string) => pipe(file), /is a pipe/],
  ['a device', (file: string) => fs.symlinkSync('/dev/zero', file), /is a device/],
] as const)('K41 takes no prompt from %s, and says so with the file', async (_what, place, message) => {
  const { prompt, finding, file } = await promptFinding(place);
  expect(prompt).toBeNull();
  expect(finding).toMatchObject({ severity: 'error', code: 'prompt_invalid', file, message: expect.stringMatching(message) });
  expect(finding?.cure).toBeTruthy();
});

it('K41 takes a prompt by a link inside the folder', async () => {
  const { prompt } = await promptFinding((file) => {
    fs.writeFileSync(path.join(path.dirname(file), 'text.md'), 'Hello.');
    fs.symlinkSync('text.md', file);
  });
  expect(prompt?.text).toBe('Hello.');
});

it('K1 an extension with a pipe among its files fails alone, without waiting', async () => {
  const sandbox = folderWith({ ...extension('good'), ...extension('bad') });
  pipe(path.join(sandbox, 'extensions/bad/h.ts'));
  const { declarations, failures } = await discoverIn(sandbox);
  expect([...failures.keys()]).toEqual(['bad']);
  expect(declarations.get('bad')!.diagnostics).toMatchObject([
    { severity: 'error', file: path.join(sandbox, 'extensions/bad/h.ts'), message: 'is a pipe, not a file' },
  ]);
});

it.each([
  ['a folder', (file: string) => fs.mkdirSync(file, { recursive: true })],
  ['a pipe', pipe],
])('K1 a manifest.yaml that is %s is told as that', async (what, place) => {
  const sandbox = folderWith({ 'extensions/bad/main.ts': '' });
  place(path.join(sandbox, 'extensions/bad/manifest.yaml'));
  const { diagnostics } = await discoverIn(sandbox);
  expect(diagnostics).toMatchObject([
    { severity: 'error', file: path.join(sandbox, 'extensions/bad/manifest.yaml'), message: `is ${what}, not a file` },
  ]);
});

it.each([
  ['a pipe', pipe],
  ['a device', (file: string) => fs.symlinkSync('/dev/zero', file)],
])('K7 settings that are %s are a finding, not a wait', async (what, place) => {
  const sandbox = folderWith({});
  const file = path.join(sandbox, 'pith.yaml');
  place(file);
  const options = { sandbox, env: {}, workingDirectory: sandbox, home: undefined, flags: undefined };
  const { diagnostics, settings } = await loadSettings(options);
  expect(settings.data_dir).toBe(path.join(sandbox, 'data'));
  expect(diagnostics).toMatchObject([{ code: 'settings_invalid', file, message: `cannot be read: is ${what}, not a file` }]);
});

it('K3 an index that is a pipe is rebuilt', async () => {
  const file = path.join(folderWith({}), 'index.json');
  pipe(file);
  const index = openIndex(stateFolder(path.dirname(file)));
  expect(index.diagnostics).toMatchObject([{ message: expect.stringContaining('a pipe is in its place') }]);
  expect(await index.save()).toBeNull();
  expect(openIndex(stateFolder(path.dirname(file))).diagnostics).toEqual([]);
});

it('K3 an index that cannot be written as JSON says so and rejects nothing', async () => {
  const index = openIndex(stateFolder(folderWith({})));
  const cyclic: Record<string, unknown> = {};
  cyclic['self'] = cyclic;
  index.putSurface('one', 'key', cyclic);
  expect(await index.save()).toMatchObject({ severity: 'warning', message: expect.stringContaining('cannot be written') });
});
