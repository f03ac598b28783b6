/** Real `pith` processes over one sandbox, whose model is a server of the test: they are killed, stopped and replaced while they run saved skills. */
import path from 'node:path';
import { testKernel } from 'pith/testing';
import { expect, onTestFinished } from 'vitest';
import { openDatabase } from '../../../core/store/index.ts';
import { startOpenAiServer, type ChatBody } from '../../fixtures/openai-server.ts';
import type { ScriptedReply } from '../../fixtures/scripted-server.ts';
import { projectFolder, startPith, type PithProcess } from '../../journeys/pith-process.ts';
import { realTime, until } from '../../waiting.ts';
import { changesIn, idOf, newRun, openRuns, record, rowsIn, wrongIn } from './shared-store.ts';

const LANES = { 'skill-default': { slots: 6 } };
const BATCH = 12;

/** Plain ones say two things and end; every third runs another one, and ends with its result. */
const SKILLS = {
  inner: { system_prompt: 'You are the inner one.', tools: ['update_status'] },
  plain: { system_prompt: 'You are the plain one.', tools: ['update_status'] },
  outer: { system_prompt: 'You are the outer one.', tools: ['skill_invoke'] },
};

function reply({ messages }: ChatBody): ScriptedReply {
  const since = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  const results = since.filter(({ role }) => role === 'tool');
  const id = `call-${results.length}`;
  if (JSON.stringify(messages[0]).includes('outer')) {
    if (results.length === 0) return { calls: [{ id, name: 'skill_invoke', input: { skill: 'inner', inputs: {} } }] };
    return { text: `heard ${JSON.stringify(results[0]?.content)}` };
  }
  return results.length < 2 ? { calls: [{ id, name: 'update_status', input: { text: id } }] } : { text: 'done' };
}

export interface Served {
  /** Each of them falls due at once, so many times. Returns how many runs each has had. */
  ticks(times: number): Promise<readonly number[]>;
  /** One of the processes is killed at a random point of some runs. Returns in how many milliseconds each of its runs was taken over. */
  kill(): Promise<readonly number[]>;
  /** One of the processes stops for so long at least and until others have ended its runs, and goes on. Returns how many runs it had. */
  stall(ms: number): Promise<number>;
  /** Everything ended once, as it should. Returns how many runs there were, and how many attempts. */
  check(): { readonly runs: number; readonly attempts: number };
}

/** Two processes serve a sandbox until the test ends. `scheduled`: so many skills have a schedule. */
export async function served(scheduled: number): Promise<Served> {
  const server = await startOpenAiServer();
  onTestFinished(() => server.close());
  const answer = (body: ChatBody): ScriptedReply => {
    server.script(answer);
    return reply(body);
  };
  server.script(answer);
  const folder = await projectFolder();
  onTestFinished(() => folder.remove());
  const file = path.join(folder.sandbox, 'data/pith.db');
  await saveSkills(folder.sandbox, scheduled);
  record(file);
  const { runs, store, close } = await openRuns(file);
  onTestFinished(close);
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'sk-test', PITH_MODEL: 'openai/test' };
  const processes: PithProcess[] = [];
  const start = () => processes.push(startPith(['chat', '--lines', '--json'], { cwd: folder.path, env, input: null }));
  onTestFinished(async () => {
    for (const { child } of processes) child.kill('SIGKILL');
    await Promise.all(processes.map(({ ended }) => ended));
  });
  const kept = rowsIn<{ id: string; name: string; version: string }>(
    file,
    `SELECT skills.id, name, versions.id AS version FROM saved_skills__skills AS skills JOIN saved_skills__versions AS versions ON skill_id = skills.id`,
  );
  const ids: string[] = [];

  async function queue(count: number): Promise<readonly string[]> {
    const numbers = Array.from({ length: count }, () => ids.push(idOf(ids.length + 1)));
    for (const number of numbers) {
      const name = number % 3 === 0 ? 'outer' : 'plain';
      const { id = '', version = '' } = kept.find((skill) => skill.name === name) ?? {};
      const rules = { slots: LANES['skill-default'].slots, preemptionMs: 30_000 };
      await runs.arrive(newRun(number, { skill_id: id, skill: `ada/${name}`, version_id: version }), rules);
    }
    return numbers.map(idOf);
  }
  const open = () =>
    rowsIn<{ n: number }>(file, "SELECT count(*) AS n FROM saved_skills__runs WHERE state IN ('queued', 'running')")[0]?.n ?? 0;
  const allEnded = () => until(() => open() === 0, 120_000, 50);
  /** Runs that a process has now. */
  const heldBy = ({ child }: PithProcess) =>
    rowsIn<{ id: string; attempt: number }>(
      file,
      "SELECT id, attempt FROM saved_skills__runs WHERE state = 'running' AND parent_id IS NULL AND holder LIKE ?",
      `${child.pid}-%`,
    );
  const hasTaken = ({ child }: PithProcess, after: number) =>
    changesIn(file)
      .slice(after)
      .some(({ holder, to }) => to === 'running' && holder?.startsWith(`${child.pid}-`));
  /** Gives a process runs until it has taken one. */
  const awake = (process: PithProcess, after: number) =>
    until(async () => hasTaken(process, after) || (await queue(1), false), 30_000, 120);
  const busiest = () => processes.toSorted((a, b) => heldBy(b).length - heldBy(a).length)[0] as PithProcess;
  const isFree = () => {
    const database = openDatabase(file);
    try {
      database.exec('BEGIN IMMEDIATE; ROLLBACK');
      return true;
    } catch {
      return false; // it was stopped while it wrote
    } finally {
      database.close();
    }
  };
  const ownRows = (own: readonly string[]) =>
    own.map((id) => [
      rowsIn(file, 'SELECT * FROM saved_skills__runs WHERE id = ? OR parent_id = ? ORDER BY id', id, id),
      rowsIn(file, 'SELECT * FROM saved_skills__steps WHERE run_id = ? ORDER BY number', id),
    ]);

  start();
  start();
  for (const process of processes) await awake(process, 0);
  await allEnded();

  return {
    async ticks(times) {
      const counts = () =>
        rowsIn<{ n: number }>(
          file,
          "SELECT (SELECT count(*) FROM saved_skills__runs WHERE skill_id = skills.id AND cause = 'schedule') AS n FROM saved_skills__skills AS skills WHERE schedule IS NOT NULL",
        ).map(({ n }) => n);
      for (let tick = 1; tick <= times; tick += 1) {
        const now = Date.now();
        await store.write((run) => void run('UPDATE saved_skills__skills SET next_run_at = ? WHERE schedule IS NOT NULL', now));
        await until(() => counts().every((count) => count >= tick), 30_000, 50);
      }
      await allEnded();
      for (const process of processes) await awake(process, changesIn(file).length); // both have looked again since
      await allEnded();
      return counts();
    },
    async kill() {
      const batch = await queue(BATCH);
      await until(() => changesIn(file).some(({ id, to }) => id === batch[0] && to === 'running'), 15_000, 10);
      await realTime(Math.random() * 500, 'a kill at a random moment');
      const victim = busiest();
      victim.child.kill('SIGKILL');
      await victim.ended;
      const killedAt = Date.now();
      const lost = heldBy(victim);
      processes.splice(processes.indexOf(victim), 1);
      start();
      await allEnded();
      const changes = changesIn(file);
      return lost.map(({ id, attempt }) => {
        const next = changes.find((change) => change.id === id && change.attempt === attempt + 1);
        return next === undefined ? Infinity : next.at - killedAt;
      });
    },
    async stall(ms) {
      let stopped: PithProcess;
      let had: readonly { readonly id: string }[];
      for (;;) {
        await queue(BATCH);
        await until(() => heldBy(busiest()).length > 0, 15_000, 5);
        stopped = busiest();
        stopped.child.kill('SIGSTOP');
        had = heldBy(stopped);
        if (had.length > 0 && isFree()) break;
        stopped.child.kill('SIGCONT');
        await allEnded();
      }
      const since = Date.now();
      await allEnded();
      await until(() => Date.now() - since >= ms, ms + 5_000, 50);
      const own = had.map(({ id }) => id);
      const before = ownRows(own);
      const after = changesIn(file).length;
      stopped.child.kill('SIGCONT');
      await awake(stopped, after);
      await allEnded();
      expect(ownRows(own)).toEqual(before);
      return own.length;
    },
    check() {
      const changes = changesIn(file);
      expect(wrongIn(changes, ids)).toEqual([]);
      expect(Math.max(...changes.map(({ running }) => running))).toBeLessThanOrEqual(LANES['skill-default'].slots);
      const all = rowsIn<{ state: string; output: string; parent_id: string | null; attempt: number }>(
        file,
        'SELECT state, output, parent_id, attempt FROM saved_skills__runs',
      );
      expect(all.filter(({ state }) => state !== 'ok')).toEqual([]);
      expect([...new Set(all.map(({ output }) => output))].toSorted()).toEqual(['done', 'heard "done"']);
      const parents = all.flatMap(({ parent_id }) => parent_id ?? []);
      expect(new Set(parents).size).toBe(parents.length);
      return { runs: all.length, attempts: all.reduce((sum, { attempt }) => sum + attempt, 0) };
    },
  };
}

async function saveSkills(sandbox: string, scheduled: number): Promise<void> {
  const settings = JSON.stringify({ admins: ['admin'], extensions: { saved_skills: { lanes: LANES } } });
  const pith = await testKernel({ sandbox, files: { 'pith.yaml': settings } });
  const ticking = Array.from({ length: scheduled }, (_, at) => [`tick-${at}`, SKILLS.plain] as const);
  for (const [name, skill] of [...Object.entries(SKILLS), ...ticking]) {
    await pith.write(`files/${name}.yml`, JSON.stringify(skill));
    await pith.command(['saved', 'new', name, '--file', `${sandbox}/files/${name}.yml`], { userId: 'ada' });
  }
  for (const [name] of ticking) await pith.command(['saved', 'schedule', name, '0 0 1 1 *'], { userId: 'ada' });
  await pith.stop();
}
