import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { splitWords } from '@pith/plain-text';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { pithHere } from './pith-here.ts';
import { projectFolder, type Folder } from './pith-process.ts';

const ROOT = path.resolve('.');
const PAGES = [
  'README.md',
  ...readdirSync(path.join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
const BUILT = existsSync(path.join(ROOT, 'dist/build.json'));
/** No key, no server, no look at the local ports. */
const OFFLINE = { PITH_MODEL: 'offline/librarian', NO_COLOR: '1' };

interface Block {
  readonly language: string;
  /** Where its text stands, for blocks that show a whole file. */
  readonly file: string | undefined;
  readonly text: string;
}

const blocksOf = (page: string): readonly Block[] =>
  [...readFileSync(path.join(ROOT, page), 'utf8').matchAll(/^```([a-z]+)(?: file=(\S+))?\n([\s\S]*?)^```/gm)].map(
    ([, language = '', file, text = '']) => ({ language, file, text }),
  );

const commandsOf = (page: string): readonly string[] =>
  blocksOf(page)
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => text.split('\n').filter((line) => line.startsWith('npx pith ')));

describe.skipIf(!BUILT)('commands in the pages (needs dist/build.json: npm run build)', () => {
  /** As `pith init` makes it; each page has a copy. */
  let fresh: Folder;
  beforeAll(async () => {
    fresh = await projectFolder();
    const { code, err } = await pithHere(['init', '.'], { cwd: fresh.path, env: OFFLINE });
    if (code !== 0) throw new Error(err);
  });
  afterAll(() => fresh.remove());
  let folder: Folder | undefined;
  afterEach(() => folder?.remove());

  it('there are some', () => {
    expect(PAGES.flatMap(commandsOf).length).toBeGreaterThan(12);
  });

  it('every other line of a shell block is one too', () => {
    const other = PAGES.flatMap((page) =>
      blocksOf(page)
        .filter(({ language }) => language === 'sh')
        .flatMap(({ text }) => text.split('\n'))
        .filter((line) => line !== '' && !line.startsWith('npx pith ')),
    );
    expect(other).toEqual([]);
  });

  it.each(PAGES.filter((page) => commandsOf(page).length > 0))(
    '%s',
    async (page) => {
      folder = await projectFolder();
      await cp(fresh.path, folder.path, { recursive: true });
      for (const { file, text } of blocksOf(page)) {
        if (file === undefined) continue;
        await mkdir(path.dirname(path.join(folder.path, file)), { recursive: true });
        await writeFile(path.join(folder.path, file), text);
      }
      for (const line of commandsOf(page)) {
        const [command = '', expected = '0'] = line.split(/\s+# exit /);
        const { code, out, err } = await pithHere(splitWords(command).slice(2), { cwd: folder.path, env: OFFLINE });
        expect({ line, code, err: code === Number.parseInt(expected, 10) ? '' : err }, out).toEqual({
          line,
          code: Number.parseInt(expected, 10),
          err: '',
        });
      }
    },
    120_000,
  );

  it("the README's transcript is what happens; otherwise paste it again", async () => {
    const transcript =
      /<!-- transcript:start -->\n```console\n([\s\S]*?)```/
        .exec(readFileSync(path.join(ROOT, 'README.md'), 'utf8'))?.[1]
        ?.trimEnd()
        .split('\n') ?? [];
    const [, said = ''] = /printf '(.+)\\n'/u.exec(transcript[0] ?? '') ?? [];
    folder = await projectFolder();
    const { code, out } = await pithHere(['chat', '--sandbox', path.join(ROOT, 'sandbox')], {
      cwd: folder.path,
      env: { ...OFFLINE, PITH_DATA_DIR: path.join(folder.path, 'data') },
      input: `${said}\n`,
    });
    expect(code).toBe(0);
    const printed = out.replaceAll(ROOT, '…').trimEnd().split('\n');
    expect(transcript.slice(transcript.findIndex((line) => line.startsWith('From ')))).toEqual(printed);
  });
});
