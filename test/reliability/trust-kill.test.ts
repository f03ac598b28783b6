import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { projectFolder, runPith, startPith, type Folder } from '../journeys/pith-process.ts';
import { realTime } from '../waiting.ts';

/** 1, in the long form 200. */
const ROUNDS = Number(process.env['PITH_TEST_ROUNDS'] ?? (process.env['PITH_TEST_LONG'] === '1' ? 200 : 1));
/** What an earlier version kept in `data/<id>`. */
const FORMER = { 'skill_registry/kept/note.txt': 'of the registry\n', 'extension_builder/kept.txt': 'of the builder\n' };

it(
  'T6 T7 kill -9 while a sandbox and its state are taken over: every decision is kept whole or not at all, no data is lost or there twice, and the next command works',
  async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const folder = await projectFolder({ 'pith.yaml': 'default_agent: orchestrator\n' });
      try {
        expect(await oneRound(folder)).toEqual(Object.values(FORMER));
      } finally {
        await folder.remove();
      }
    }
  },
  60_000 + ROUNDS * 8000,
);

/** Kills commands at random points. Returns what is there in the end of what was there, from each of the places where it may be. */
async function oneRound(folder: Folder): Promise<readonly string[]> {
  const env = { PITH_TRUST: '0', PITH_MODEL: 'offline/librarian' };
  const data = path.join(folder.sandbox, 'data');
  for (const [name, text] of Object.entries(FORMER)) {
    mkdirSync(path.dirname(path.join(data, name)), { recursive: true });
    writeFileSync(path.join(data, name), text);
  }
  const killed = async (argv: readonly string[], mostMs: number) => {
    const running = startPith(argv, { cwd: folder.path, env });
    await realTime(Math.random() * mostMs, 'a kill at a random moment');
    running.child.kill('SIGKILL');
    await running.ended;
  };
  await killed(['trust', '--yes', '--state'], 400);
  await killed(['trust', '--yes', '--state'], 400);
  expectWhole(folder);

  const trusted = await runPith(['trust', '--yes', '--state'], { cwd: folder.path, env });
  expect(trusted, trusted.err).toMatchObject({ code: 0 });
  await killed(['chat', '-p', 'hello'], 900);
  await killed(['skills', 'list'], 900);
  expectWhole(folder);

  const answered = await runPith(['chat', '-p', 'hello'], { cwd: folder.path, env });
  expect(answered, answered.err).toMatchObject({ code: 0 });
  expect(answered.err).not.toContain('restricted');
  expect(answered.err).not.toContain('fresh state');
  const places = Object.keys(FORMER).flatMap((name) => [path.join(data, name), path.join(data, 'extensions', name)]);
  return places.filter((file) => existsSync(file)).map((file) => readFileSync(file, 'utf8'));
}

/** Whatever is kept by a name that Pith reads is whole. */
function expectWhole({ path: home, sandbox }: Folder): void {
  for (const folder of [path.join(home, '.pith'), path.join(sandbox, 'data')]) {
    if (!existsSync(folder)) continue;
    for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
      if (file.endsWith('.json')) JSON.parse(readFileSync(path.join(folder, file), 'utf8'));
  }
}
