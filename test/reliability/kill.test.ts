import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { openDatabase } from '../../core/store/index.ts';
import { linesOf, runPith, startPith } from '../journeys/pith-process.ts';
import { ownFolder, ownServer } from '../journeys/until-test-ends.ts';
import { realTime } from '../waiting.ts';

/** 1, in the long form 200; before a release `PITH_TEST_ROUNDS=2000 npm run test:soak`. */
const ROUNDS = Number(process.env['PITH_TEST_ROUNDS'] ?? (process.env['PITH_TEST_LONG'] === '1' ? 200 : 1));
const MESSAGES = 40;

it(
  'kill -9 at random points of conversations: no torn file, no acknowledged turn lost, ready again',
  async () => {
    const server = await ownServer();
    const folder = await ownFolder({ 'pith.yaml': 'default_agent: orchestrator\n' });
    const acknowledged: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      server.script(
        ...Array.from({ length: MESSAGES * 2 }, (_, index) =>
          index % 2 === 0 ? { calls: [{ name: 'kv_set', input: { key: `round-${round}`, value: index } }] } : { text: `answer ${index}` },
        ),
      );
      const input = Array.from({ length: MESSAGES }, (_, index) => `message ${round}.${index}`).join('\n');
      const process = startPith(['chat', '--lines', '--json', '--thread', `thread-${round}`], { cwd: folder.path, env: server.env, input });
      const wanted = 1 + Math.floor(Math.random() * 11);
      await new Promise<void>((resolve) => {
        process.child.stdout.on('data', () => (process.out().split('"turn-end"').length > wanted ? resolve() : undefined));
        process.child.on('close', () => resolve());
      });
      await realTime(Math.random() * 30, 'a kill at a random moment');
      process.child.kill('SIGKILL');
      const { out } = await process.ended;
      const whole = out.slice(0, out.lastIndexOf('\n') + 1);
      const ended = linesOf(whole).filter(({ type }) => type === 'turn-end');
      expect(ended.filter(({ reason }) => reason !== 'done')).toEqual([]);
      acknowledged.push(...ended.map((_, index) => `message ${round}.${index}`));
      server.script(); // what is left of the script belongs to no one
      await drained(server.url);
    }
    expect(acknowledged.length).toBeGreaterThan(0);

    const database = openDatabase(path.join(folder.sandbox, 'data', 'pith.db'));
    expect(database.get('PRAGMA integrity_check')).toMatchObject({ integrity_check: 'ok' });
    database.close();
    const texts = new Map<string, string>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const shown = await runPith(['threads', 'show', `thread-${round}`, '--last', '1000', '--json'], { cwd: folder.path });
      texts.set(`${round}`, shown.out);
      expect(shown.err === '' || /no thread/u.test(shown.err), shown.err).toBe(true);
    }
    const lost = acknowledged.filter((message) => !texts.get(message.split(/[ .]/u)[1] as string)?.includes(`"${message}"`));
    expect(lost).toEqual([]);

    for (const file of await readdir(path.join(folder.sandbox, 'data'), { recursive: true, withFileTypes: true })) {
      if (file.isFile() && file.name.endsWith('.json')) JSON.parse(await readFile(path.join(file.parentPath, file.name), 'utf8'));
    }
    const doctor = await runPith(['doctor'], { cwd: folder.path });
    expect(doctor.code, doctor.out).toBe(0);
  },
  60_000 + ROUNDS * 6000,
);

/** Takes the steps that the killed process left out of the script. */
async function drained(url: string): Promise<void> {
  for (;;) {
    const response = await fetch(`${url}/chat/completions`, { method: 'POST', body: '{"model":"drain","messages":[]}' });
    await response.text();
    if (response.status === 500) return;
  }
}
