/**
 * Several real `pith` processes over one sandbox, which a test kills, stops, moves through time and leaves without disk while all who have work
 * done later are at work. Each user of the jobs says what it begins and what people must see in the end, whatever does the work.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { testKernel } from 'pith/testing';
import type { JsonValue } from 'pith';
import { systemClock } from '@pith/promises';
import { expect, onTestFinished } from 'vitest';
import { openDatabase } from '../../../core/store/index.ts';
import { startOpenAiServer, type ChatBody } from '../../fixtures/openai-server.ts';
import type { ScriptedReply } from '../../fixtures/scripted-server.ts';
import { putFiles, runPith, startPith, type PithProcess } from '../../journeys/pith-process.ts';
import { realTime, until } from '../../waiting.ts';
import { mountDisk, takeAllBut } from '../full-disk.ts';

/** One kind of work that is done later. */
export interface User<Seen = unknown> {
  /** Files of the sandbox. */
  readonly files?: Readonly<Record<string, string>>;
  /** `extensions` of the settings. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Extensions with which a person has to agree. */
  readonly allow?: readonly string[];
  /** Once, while no process works. */
  prepare?(world: World): Promise<void>;
  /** What the model answers to its requests; undefined: it is not one of them. */
  reply?(body: ChatBody): ScriptedReply | undefined;
  /** Some more work. */
  begin(world: World): Promise<void>;
  /** All that it has begun, as people see it. */
  see(world: World): Promise<Seen>;
  isOver(seen: Seen): boolean;
  /** What is not as it must be once it is over. */
  wrong(seen: Seen): readonly string[];
}

export interface World {
  readonly sandbox: string;
  /** By the clock of its processes. */
  now(): number;
  /** What a command prints in JSON. It is given where nothing is worked on, again until it is taken. */
  told<T = JsonValue>(words: readonly string[]): Promise<T>;
  /** Calls a tool, likewise. */
  called(tool: string, input: JsonValue): Promise<void>;
  rows<Row>(sql: string): readonly Row[];
  /** A message to one of the processes, again until one has done what it says. */
  say(text: string): Promise<void>;
  /** Gives each user work; it goes on in the background. */
  begin(): void;
  /** Resolves when everything has ended, with what is not as it must be. */
  settled(): Promise<readonly string[]>;
  /** Ends a process at once, at a random moment, and starts another one. */
  kill(): Promise<void>;
  /** A process stands still for so long at least, and until all has ended without it. It changes nothing when it wakes. */
  stall(ms: number): Promise<void>;
  /** Sets the clock of all processes forward or back. */
  jumpClock(ms: number): void;
  /** So many KiB are left on the disk for a moment. */
  fillDisk(left: number): Promise<void>;
}

export interface WorldOptions {
  /** Default 2. */
  readonly processes?: number;
  /** It has a disk of its own. */
  readonly disk?: boolean;
}

/** How far apart kills may be from what begins. */
const MOMENTS_MS = 700;
/** In the long form the work of ten rounds waits. */
const LIMIT_MS = process.env['PITH_TEST_LONG'] === '1' ? 600_000 : 180_000;

/** Its file is as long at each time, so that one write replaces it. */
const CLOCK_BYTES = 16;

/**
 * Their clock is `clock` milliseconds ahead, read at each look: like the clock of one machine it jumps for all of them at once. Told by a signal,
 * a busy process would keep the old time for a while, and no timetable is right for two clocks that are a day apart.
 */
const CLOCK = `
import { openSync, readSync } from 'node:fs';
const now = Date.now;
const file = openSync(new URL('clock', import.meta.url), 'r');
const bytes = Buffer.alloc(${CLOCK_BYTES});
Date.now = () => now() + (readSync(file, bytes, 0, bytes.length, 0) === bytes.length ? Number(bytes.toString()) : 0);
`;

/** As many looks for a moment to stall at as a little work lasts. */
const LOOKS_OF_ONE_LOAD = 150;

/** They end with the test. */
export async function worldOf(users: readonly User[], { processes: count = 2, disk = false }: WorldOptions = {}): Promise<World> {
  const folder = await realpath(await mkdtemp(path.join(os.tmpdir(), 'pith-jobs-')));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  if (disk) onTestFinished(mountDisk(folder));
  const server = await startOpenAiServer();
  onTestFinished(() => server.close());
  const answer = (body: ChatBody): ScriptedReply => {
    server.script(answer);
    return users.map((user) => user.reply?.(body)).find((reply) => reply !== undefined) ?? { text: 'heard' };
  };
  server.script(answer);

  const sandbox = path.join(folder, 'sandbox');
  const file = path.join(sandbox, 'data', 'pith.db');
  const settings = { extensions: Object.assign({}, ...users.map((user) => user.settings)) as object };
  const files = Object.assign({ 'pith.yaml': JSON.stringify(settings) }, ...users.map((user) => user.files)) as Record<string, string>;
  await putFiles(sandbox, files);
  await putFiles(folder, { 'clock.mjs': CLOCK, clock: clockText(0) });
  const env = {
    OPENAI_BASE_URL: server.url,
    OPENAI_API_KEY: 'sk-test',
    PITH_MODEL: 'openai/test',
    NODE_OPTIONS: `--import ${path.join(folder, 'clock.mjs')}`,
  };
  for (const id of users.flatMap(({ allow = [] }) => allow)) {
    const { code, err } = await runPith(['extensions', 'allow', id, '--yes'], { cwd: folder, env });
    expect(code, err).toBe(0);
  }

  let ahead = 0;
  const now = () => Date.now() + ahead;
  const client = await testKernel({ sandbox, clock: { ...systemClock, now } });
  onTestFinished(() => client.stop());
  const processes: PithProcess[] = [];
  onTestFinished(async () => {
    for (const process of processes) signal(process, 'SIGKILL');
    await Promise.all(processes.map(({ ended }) => ended));
  });
  let crash: (why: Error) => void = () => undefined;
  const crashed = new Promise<never>((_, reject) => (crash = reject));
  crashed.catch(() => undefined);
  const asked = new Map<PithProcess, number>();
  const begun = new Set<Promise<void>>();

  const world: World = {
    sandbox,
    now,
    told: (words) =>
      until(async () => {
        const { code, values, text } = await client.command(words, { json: true });
        expect(code, text).toBe(0);
        return values.at(-1) as never;
      }, LIMIT_MS),
    called: (tool, input) =>
      until(async () => {
        const { kernel } = client;
        expect(await kernel.agents.callTool(kernel.settings.default_agent, tool, input)).toMatchObject({ ok: true });
      }, LIMIT_MS),
    rows(sql) {
      const database = openDatabase(file);
      try {
        return database.all(sql) as never;
      } finally {
        database.close();
      }
    },
    async say(text) {
      while (!(await answered(anyOf(processes), text)));
    },
    begin() {
      for (const user of users) {
        const work = user
          .begin(world)
          .catch(crash)
          .finally(() => begun.delete(work));
        begun.add(work);
      }
    },
    async settled() {
      await Promise.all(begun);
      const seen = await over();
      expect(world.rows('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
      return users.flatMap((user, index) => user.wrong(seen[index]));
    },
    async kill() {
      await realTime(Math.random() * MOMENTS_MS, 'a kill at a random moment');
      const [victim] = processes.splice(Math.floor(Math.random() * processes.length), 1) as [PithProcess];
      signal(victim, 'SIGKILL');
      await victim.ended;
      start();
    },
    async stall(ms) {
      await realTime(Math.random() * MOMENTS_MS, 'a kill at a random moment');
      const still = processes[0] as PithProcess;
      let looks = 0;
      await until(
        () => {
          if ((looks += 1) % LOOKS_OF_ONE_LOAD === 0) world.begin(); // the other may have taken what there was
          signal(still, 'SIGSTOP');
          if (hasJobs(still) && isFree()) return true;
          signal(still, 'SIGCONT');
          return false;
        },
        LIMIT_MS,
        20,
      );
      processes.shift(); // who gives it work goes to another
      const longEnough = realTime(ms, 'load over time');
      await Promise.all(begun);
      const seen = await over();
      await longEnough;
      signal(still, 'SIGCONT');
      processes.push(still);
      await until(() => answered(still, 'are you awake'), LIMIT_MS);
      expect(await over()).toEqual(seen);
    },
    jumpClock(ms) {
      ahead += ms;
      const file = openSync(path.join(folder, 'clock'), 'r+');
      writeSync(file, clockText(ahead), 0);
      closeSync(file);
    },
    async fillDisk(left) {
      const fill = path.join(folder, 'fill');
      await realTime(Math.random() * MOMENTS_MS, 'a kill at a random moment');
      takeAllBut(left, fill);
      await realTime(Math.random() * MOMENTS_MS, 'a kill at a random moment');
      await rm(fill);
    },
  };

  for (const user of users) await user.prepare?.(world);
  for (let number = 0; number < count; number += 1) start();
  await Promise.all(processes.map((process) => until(() => answered(process, 'are you there'), LIMIT_MS)));
  return world;

  function start(): void {
    const process = startPith(['chat', '--lines', '--json'], { cwd: folder, env, input: null, ownGroup: true });
    processes.push(process);
    void process.ended.then(
      ({ code, err }) => processes.includes(process) && crash(new Error(`a process ended by itself with ${code}: ${err}`)),
    );
  }

  /** Whether it was, as it should: not where the process is no longer one of them. */
  async function answered(process: PithProcess, text: string): Promise<boolean> {
    const number = asked.get(process) ?? 0;
    asked.set(process, number + 1);
    process.child.stdin.write(`${text}\n`);
    const how = until(
      () => {
        if (!processes.includes(process)) return 'gone';
        return [...process.out().matchAll(/"type":"turn-end","reason":"(\w+)"/g)].at(number)?.[1] ?? false;
      },
      LIMIT_MS,
      20,
    );
    return (await Promise.race([how, crashed])) === 'done';
  }

  function over(): Promise<readonly unknown[]> {
    const ended = until(
      async () => {
        const seen = await Promise.all(users.map((user) => user.see(world)));
        const waiting = users.flatMap((user, index) => (user.isOver(seen[index]) ? [] : [seen[index]]));
        if (waiting.length === 0) return seen;
        throw new Error(
          `this has not ended within ${LIMIT_MS} ms: ${JSON.stringify(waiting)}; its jobs: ${JSON.stringify(world.rows("SELECT * FROM jobs WHERE state NOT IN ('done')"))}`,
        );
      },
      LIMIT_MS,
      200,
    );
    return Promise.race([ended, crashed]);
  }

  /** Of several kinds. */
  function hasJobs({ child }: PithProcess): boolean {
    return world.rows(`SELECT DISTINCT name FROM jobs WHERE state = 'running' AND holder LIKE '${child.pid}-%'`).length > 2;
  }

  /** It was not stopped while it wrote. */
  function isFree(): boolean {
    const database = openDatabase(file);
    try {
      database.exec('BEGIN IMMEDIATE; ROLLBACK');
      return true;
    } catch {
      return false;
    } finally {
      database.close();
    }
  }
}

function clockText(ahead: number): string {
  return String(ahead).padStart(CLOCK_BYTES);
}

function anyOf<T>(all: readonly T[]): T {
  return all[Math.floor(Math.random() * all.length)] as T;
}

/** To it and what it has started in its group. */
function signal({ child }: PithProcess, name: NodeJS.Signals): void {
  if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid as number), name);
}
