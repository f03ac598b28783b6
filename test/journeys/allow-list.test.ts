import { realpathSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { folderWith } from '../places.ts';
import { pithHere } from './pith-here.ts';
import { linesOf, type Folder } from './pith-process.ts';
import { bare } from './sandbox-files.ts';
import { ownFolder, ownServer, type OwnServer } from './until-test-ends.ts';

let server: OwnServer;
let folder: Folder;
let home: string;

beforeEach(async () => {
  [server, folder, home] = [await ownServer(), await ownFolder(bare(['cli_channel', 'openai_compatible', 'project_tools'])), folderWith()];
});

const pith = (...argv: string[]) => pithHere(argv, { cwd: folder.path, env: { HOME: home, ...server.env } });
const write = (file: string) => ({ calls: [{ name: 'write_file', input: { path: file, content: 'one\n' } }] });

describe('what a script may do', () => {
  it('U14 --allow names a folder and all below it in the words of the tool; elsewhere a pipe is refused and says how to allow', async () => {
    server.script(
      write('src/a.txt'),
      write(path.join(realpathSync(folder.path), 'src/deep/b.txt')),
      { text: 'Both are there.' },
      write('other/c.txt'),
    );
    const first = await pith('-p', 'write them', '--json', '--yes', '--allow', 'write_file:src/');
    expect(first.code, first.err).toBe(0);
    const ends = linesOf(first.out).filter(({ type }) => type === 'turn-end' || type === 'approval-request');
    expect(ends).toMatchObject([{ type: 'turn-end', reason: 'done', text: expect.stringContaining('Both are there.') }]);
    const second = await pith('-p', 'and another', '--allow', 'write_file:src/');
    expect(second.code).toBe(1);
    expect(second.err).toMatch(
      /^pith: not run: create other\/c\.txt \(1 line\): nobody can be asked here; allow it in advance with --allow "write_file:other", or /mu,
    );
    expect((await pith('-p', 'hi', '--yes')).code).toBe(2);
  });

  it('U10 U12 --project is kept in the home folder, covers the next conversation, and permissions takes it back', async () => {
    server.script(write('src/a.txt'), { text: 'Done.' }, write('src/b.txt'), { text: 'Again.' }, write('src/c.txt'));
    expect((await pith('-p', 'one', '--thread', 'one')).code).toBe(1);
    const shown = await pith('approvals', '1');
    expect(shown.out).toMatch(/create src\/a\.txt.*always covers: ordinary files of this project/su);
    const approved = await pith('approvals', 'approve', '1', '--project');
    expect(approved.out).toMatch(/allowed always in this project.*Done\./su);
    expect((await pith('-p', 'two')).out).toContain('Again.');
    expect((await pith('permissions')).out).toMatch(/ordinary files of this project.*this project/su);
    expect((await pith('permissions', 'remove', '1')).out).toContain('Taken back: ordinary files of this project');
    expect((await pith('permissions')).out).toContain('Nothing is allowed always');
    expect((await pith('-p', 'three')).code).toBe(1);
  });
});
