import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { scriptedModel, testKernel, type ModelRequest, type ScriptedReply, type TestKernel } from 'pith/testing';
import { expect, it, onTestFinished } from 'vitest';
import { startPith } from '../journeys/pith-process.ts';
import { ownServer } from '../journeys/until-test-ends.ts';
import { folderWith, writeFiles } from '../places.ts';
import { until } from '../waiting.ts';

/** 60, in the long form 1,000. `PITH_TEST_SEED` begins with another round. */
const isLong = process.env['PITH_TEST_LONG'] === '1';
const ROUNDS = isLong ? 1000 : 60;
/** In the long form the second chat of every tenth round is a process of its own. */
const ROUNDS_OF_PROCESS = 10;
const SEED = Number(process.env['PITH_TEST_SEED'] ?? 1);

/** Files of the project, which a person agrees to, and of the sandbox, where notes need nobody. */
const PROJECT = ['docs/a.txt', 'docs/b.txt', 'docs/c.txt'];
const SANDBOX = ['notes/d.txt', 'notes/e.txt', 'notes/f.txt'];

/** What each file holds; each line once in all files. */
type Tree = Readonly<Record<string, string>>;

interface Call {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** What it does to a tree: what the model is told of it, and the tree afterwards. */
  readonly effect: (tree: Tree) => readonly [told: string, after: Tree];
}

/** Told of what changed nothing, for the sake of what others did or a person said. */
const NOTHING_DONE: ReadonlySet<string> = new Set(['approval_denied', 'approval_needed', 'file_changed']);

function random(seed: number) {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { below: (most: number) => Math.floor(next() * most), of: <T>(all: readonly T[]) => all[Math.floor(next() * all.length)] as T };
}
type Random = ReturnType<typeof random>;

const without = (tree: Tree, name: string): Tree => Object.fromEntries(Object.entries(tree).filter(([each]) => each !== name));
const has = (text: string | undefined, line: string) => text?.split('\n').includes(line) === true;
const swapped = (text: string, line: string, next: string) =>
  text
    .split('\n')
    .map((each) => (each === line ? next : each))
    .join('\n');

/** A call as a model may make it that saw `tree`, or something older. */
function callOf({ below, of }: Random, tree: Tree, word: () => string): Call {
  const lineOf = (name: string) => of([...(tree[name]?.split('\n').filter(Boolean) ?? []), 'gone']);
  const content = () => Array.from({ length: 1 + below(4) }, () => `${word()}\n`).join('');
  const [p, s, other] = [of(PROJECT), of(SANDBOX), of(SANDBOX)];
  const to = other === s ? 'notes/g.txt' : other;
  const [line, next] = [word(), word()];
  const patch = (text: string, effect: Call['effect']): Call => ({ name: 'apply_patch', input: { patch: text }, effect });
  switch (below(12)) {
    case 0:
    case 1:
      return {
        name: 'read_file',
        input: { path: p },
        effect: (now) => {
          const text = now[p];
          const shown = text
            ?.split('\n')
            .slice(0, -1)
            .map((each, index) => `${String(index + 1).padStart(6)}\t${each}`);
          return [shown === undefined ? 'file_unavailable' : shown.length === 0 ? `${p} is empty` : [p, ...shown].join('\n'), now];
        },
      };
    case 2:
    case 3:
    case 4: {
      const edits = Array.from({ length: 1 + below(2) }, () => [lineOf(p), word()] as const);
      return {
        name: 'edit_file',
        input: { path: p, edits: edits.map(([old_text, new_text]) => ({ old_text, new_text })) },
        effect: (now) => {
          let text = now[p];
          if (text === undefined) return ['file_unavailable', now];
          for (const [from, into] of edits) {
            if (!has(text, from)) return ['edit_no_match', now];
            text = swapped(text, from, into);
          }
          return ['ok', { ...now, [p]: text }];
        },
      };
    }
    case 5: {
      const text = below(4) === 0 ? (tree[p] ?? content()) : content();
      return {
        name: 'write_file',
        input: { path: p, content: text },
        effect: (now) => (now[p] === text ? ['edit_empty', now] : ['ok', { ...now, [p]: text }]),
      };
    }
    case 6:
      return { name: 'file', input: { action: 'read', path: s }, effect: (now) => [now[s] ?? 'file_unavailable', now] };
    case 7: {
      const text = content();
      return { name: 'file', input: { action: 'write', path: s, content: text }, effect: (now) => ['ok', { ...now, [s]: text }] };
    }
    case 8:
      return {
        name: 'file',
        input: { action: 'delete', path: s },
        effect: (now) => (now[s] === undefined ? ['file_unavailable', now] : ['ok', without(now, s)]),
      };
    case 9: {
      const overwrite = below(2) === 0;
      return {
        name: 'file',
        input: { action: 'move', path: s, to, overwrite },
        effect: (now) => {
          if (now[to] !== undefined && !overwrite) return ['target_exists', now];
          const text = now[s];
          return text === undefined ? ['file_unavailable', now] : ['ok', { ...without(now, s), [to]: text }];
        },
      };
    }
    case 10: {
      const from = lineOf(s);
      const rename = `diff --git a/${s} b/${to}\nsimilarity index 50%\nrename from ${s}\nrename to ${to}\n--- a/${s}\n+++ b/${to}\n@@ -1 +1 @@\n-${from}\n+${next}\n`;
      return patch(rename, (now) => {
        const text = now[s];
        if (text === undefined) return ['file_unavailable', now];
        if (!has(text, from)) return ['patch_failed', now];
        return now[to] === undefined ? ['ok', { ...without(now, s), [to]: swapped(text, from, next) }] : ['target_exists', now];
      });
    }
    default: {
      const changed = [s, ...(other === s ? [] : [other])].map((name) => ({ name, from: lineOf(name), into: name === s ? line : next }));
      const text = changed.map(({ name, from, into }) => `--- a/${name}\n+++ b/${name}\n@@ -1 +1 @@\n-${from}\n+${into}\n`).join('');
      return patch(text, (now) => {
        let after = now;
        for (const { name, from, into } of changed) {
          const before = now[name];
          if (before === undefined) return ['file_unavailable', now];
          if (!has(before, from)) return ['patch_failed', now];
          after = { ...after, [name]: swapped(before, from, into) };
        }
        return ['ok', after];
      });
    }
  }
}

type Told = Call & { readonly told: string };

/** Calls of one answer that may run side by side. */
function groupsOf(calls: readonly Told[]): readonly (readonly Told[])[] {
  const groups: Told[][] = [];
  for (const call of calls) {
    const last = groups.at(-1);
    if (call.name === 'read_file' && last?.[0]?.name === 'read_file') last.push(call);
    else groups.push([call]);
  }
  return groups;
}

/** Whether some order of what both chats did, in which each kept its own, explains all that they were told and what is there now. */
function isExplained(chats: readonly (readonly (readonly Told[])[])[], start: Tree, end: Tree): boolean {
  const keyOf = (tree: Tree) => JSON.stringify(Object.entries(tree).sort());
  const seen = new Set<string>();
  const wanted = keyOf(end);
  const search = (rest: readonly (readonly (readonly Told[])[])[], tree: Tree): boolean => {
    const key = `${rest.map((groups) => groups.map(({ length }) => length).join('.')).join('|')} ${rest.map(([group]) => group?.map(({ input }) => JSON.stringify(input)).join()).join()} ${keyOf(tree)}`;
    if (seen.has(key)) return false;
    seen.add(key);
    if (rest.every(({ length }) => length === 0)) return keyOf(tree) === wanted;
    return rest.some(([group, ...later], at) =>
      group?.some((call) => {
        const [told, after] = NOTHING_DONE.has(call.told) ? [call.told, tree] : call.effect(tree);
        if (told !== call.told) return false;
        const left = group.filter((each) => each !== call);
        return search(
          rest.map((groups, chat) => (chat === at ? (left.length === 0 ? later : [left, ...later]) : groups)),
          after,
        );
      }),
    );
  };
  return search(chats, start);
}

/** What a model was told of a call, in the words of `Call.effect`. */
function saidIn(text: string): string {
  if (!text.startsWith('{')) return /^(?:changed|created) /u.test(text) ? 'ok' : text;
  const { error, text: read } = JSON.parse(text) as { readonly error?: { readonly code: string }; readonly text?: string };
  return error?.code ?? read ?? 'ok';
}

function toldIn({ messages }: ModelRequest): readonly string[] {
  const last = messages.at(-1);
  if (last?.role !== 'tool') throw new Error(`the model was sent no results but ${JSON.stringify(last)}`);
  return last.content.map((part) => {
    const output = part.type === 'tool-result' ? part.output : null;
    return saidIn(output?.type === 'text' ? output.value : JSON.stringify((output as { value: unknown }).value));
  });
}

const MAIN =
  'id: main\nname: Main\nversion: 1.0.0\ndescription: x\nagent: { description: x, uses_tools: [core_tools/file, core_tools/apply_patch, project_tools] }\n';

async function kernelOn(sandbox: string) {
  const model = scriptedModel();
  const test = await testKernel({ sandbox, model, only: ['core_tools', 'project_tools'] });
  onTestFinished(() => test.stop());
  return { test, model };
}

interface Person {
  readonly answers: 'always' | 'once' | 'some';
  readonly random: Random;
}

/** One message in a thread of its own, its answer of these calls, and what the model was told of them. */
async function chat(
  { test, model }: { test: TestKernel; model: ReturnType<typeof scriptedModel> },
  threadId: string,
  calls: readonly Call[],
  person: Person,
): Promise<readonly Told[]> {
  let told: readonly string[] = [];
  /** Both chats of a kernel take steps from one script. */
  const step = (request: ModelRequest) => replies.get(threadOf(request))?.(request) ?? { text: 'nobody asked' };
  replies.set(threadId, (request) => {
    if (request.messages.at(-1)?.role === 'user')
      return { calls: calls.map(({ name, input }, index) => ({ name, input: input as never, id: `${threadId}-${index}` })) };
    told = toldIn(request);
    return { text: 'done' };
  });
  model.add(step, step);
  const { approvals } = test.kernel;
  let turn = await test.run(`go ${threadId}.`, { threadId });
  while (turn.reason === 'awaiting_approval') {
    const open = (await approvals.list()).find((each) => each.threadId === threadId);
    const answer = person.answers === 'some' && person.random.below(4) === 0 ? 'no' : person.answers === 'always' ? 'always' : 'once';
    await approvals.answer(open!.id, { answer, by: 'ann' });
    turn = await test.run('', { input: undefined, threadId, resume: true });
  }
  expect(turn, threadId).toMatchObject({ reason: 'done', text: 'done' });
  expect(told).toHaveLength(calls.length);
  return calls.map((call, index) => ({ ...call, told: told[index] ?? '' }));
}

type Talk = (threadId: string, calls: readonly Call[], person: Person) => Promise<readonly Told[]>;

/** The same in a process of its own, which a person allows all that it asks. */
async function processOn(root: string): Promise<Talk> {
  const server = await ownServer();
  const allowed = ['edit_file', 'write_file'].flatMap((tool) => ['--allow', `${tool}:docs/`]);
  const argv = ['chat', '--lines', '--json', '--thread', 'process', '--yes', ...allowed];
  const { child, ended, out } = startPith(argv, { cwd: root, env: { ...server.env, HOME: folderWith() }, input: null });
  onTestFinished(async () => {
    child.stdin.end();
    await ended;
  });
  let turns = 0;
  return async (id, calls) => {
    server.script({ calls: calls.map(({ name, input }, index) => ({ name, input, id: `${id}-${index}` })) }, { text: 'done' });
    child.stdin.write(`go ${id}.\n`);
    turns += 1;
    await until(() => out().split('"turn-end"').length > turns);
    const results = server.requests
      .at(-1)
      ?.body.messages.filter(({ role, tool_call_id: of }) => role === 'tool' && of?.startsWith(`${id}-`));
    expect(results, id).toHaveLength(calls.length);
    return calls.map((call, index) => ({ ...call, told: saidIn(String(results?.[index]?.content)) }));
  };
}

const replies = new Map<string, (request: ModelRequest) => ScriptedReply>();
const threadOf = ({ messages }: ModelRequest) => /go ([^.]+)\./u.exec(JSON.stringify(messages))?.[1] ?? '';

it(
  `E1 E2 random answers of two chats in one project, of one kernel and of two, with a person and without: what a model is told is what happened, and no change is lost (${ROUNDS} rounds)`,
  async () => {
    const root = realpathSync(folderWith());
    const sandbox = path.join(root, 'sandbox');
    writeFiles(root, { 'sandbox/agents/main/manifest.yaml': MAIN, 'sandbox/pith.yaml': 'default_agent: main\n' });
    for (const folder of ['docs', 'sandbox/notes']) mkdirSync(path.join(root, folder));
    const at = (name: string) => path.join(name.startsWith('docs') ? root : sandbox, name);
    const all = [...PROJECT, ...SANDBOX, 'notes/g.txt'];
    const treeNow = (): Tree =>
      Object.fromEntries(all.filter((name) => existsSync(at(name))).map((name) => [name, readFileSync(at(name), 'utf8')]));
    for (const [index, name] of [...PROJECT, ...SANDBOX].entries())
      writeFileSync(at(name), `first${index}\nsecond${index}\nthird${index}\n`);
    const [one, two] = (await Promise.all([kernelOn(sandbox), kernelOn(sandbox)])).map(
      (kernel): Talk =>
        (...asked) =>
          chat(kernel, ...asked),
    ) as [Talk, Talk];
    const apart = isLong ? await processOn(root) : two;
    const count = { ok: 0, refused: 0 };
    for (let round = SEED; round < SEED + ROUNDS; round += 1) {
      const made = random(round);
      let words = 0;
      const word = () => `w${round}x${(words += 1)}y`;
      const start = treeNow();
      const answers = made.of(['always', 'once', 'some'] as const);
      const most = made.of([1, 2, 4, 12]);
      const calls = [0, 1].map(() => Array.from({ length: 1 + made.below(most) }, () => callOf(made, start, word)));
      const second = round % ROUNDS_OF_PROCESS === 0 ? apart : made.below(2) === 0 ? one : two;
      const told = await Promise.all(
        [one, second].map((talk, index) => talk(`r${round}c${index}`, calls[index] ?? [], { answers, random: random(round * 2 + index) })),
      );
      const end = treeNow();
      const seen = { start, told: told.map((said) => said.map(({ name, input, told: what }) => [name, input, what])), end };
      const unexplained = isExplained(told.map(groupsOf), start, end) ? null : seen;
      expect(unexplained, `round ${round}: PITH_TEST_SEED=${round}`).toBeNull();
      for (const { told: said } of told.flat()) count[/^[a-z]+_[a-z_]+$/u.test(said) ? 'refused' : 'ok'] += 1;
    }
    expect(count.ok).toBeGreaterThan(count.refused / 2);
    expect(readdirSync(path.join(root, 'docs')).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  },
  60_000 + ROUNDS * 2000,
);
