import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderTree, isProgram, withContents } from '@pith/skill-files';
import { folderWith } from '../../places.ts';
import { words } from '../../words.ts';

const named = (name: string): boolean => isProgram({ path: name, executable: false });

describe('S14 what can be run', () => {
  it.each(
    words(`
      Makefile makefile GNUmakefile sub/Makefile.linux Justfile .justfile Dockerfile Rakefile CMakeLists.txt
      package.json deno.json pyproject.toml .envrc scripts/notes.txt Scripts/notes.txt toolsets/a
    `),
  )('S14 %s is known by its name', (name) => expect([named(name), named(name.toUpperCase())]).toEqual([true, true]));

  it.each(
    words(`
      vbs vbe wsf ksh csh fish awk lua tcl r jl swift kts groovy scpt applescript reg lnk desktop jar class wasm so
      dll dylib pyc pyz ipynb nix gradle js mjs cts tsx py sh rb pl php ps1 bat cmd exe node go rs scr hta mk
    `),
  )('S14 .%s is known by its ending, in either case', (ending) =>
    expect([named(`a.b.${ending}`), named(`A.${ending.toUpperCase()}`), named(`a.${ending}. `)]).toEqual([true, true, true]),
  );

  it.each(words('SKILL.md README references/forms.md assets/logo.svg data.json a.csv .hidden package.json.md js r .py.md'))(
    'S14 %s is for reading',
    (name) => expect(named(name)).toBe(false),
  );

  it('S14 what begins with #! is a program once it has been read, marked or not', async () => {
    const folder = folderWith({ 'a.txt': '#!/bin/sh\n', 'b.txt': '# !/bin/sh\n', c: '#', d: '' });
    writeFileSync(path.join(folder, 'e'), Buffer.from([0x23, 0x21, 0xff]));
    const tree = await folderTree(folder);
    expect(tree.files.filter(isProgram)).toEqual([]);
    expect((await withContents(tree)).files.filter(isProgram).map(({ path: name }) => name)).toEqual(['a.txt', 'e']);
  });
});
