import path from 'node:path';
import type { ChatBody } from '../../fixtures/openai-server.ts';
import type { ScriptedReply } from '../../fixtures/scripted-server.ts';
import { serverOf } from '../../places.ts';
import type { User } from './harness.ts';

const SLOTS = 6;

interface Run {
  readonly id: string;
  readonly skill: string;
  readonly state: string;
  readonly output: string | null;
  readonly parent: string | null;
  readonly delivery: string | null;
  readonly error: { readonly message: string } | null;
}

interface Seen {
  readonly asked: readonly string[];
  readonly runs: readonly Run[];
  /** How often the result of each was taken by a server. */
  readonly taken: readonly string[];
}

/** Plain ones say two things and end, outer ones run another one and end with its result, reporting ones send theirs to a server. */
function reply({ messages }: ChatBody): ScriptedReply | undefined {
  const [, kind] = /You are the (plain|inner|outer|reporting) one/.exec(JSON.stringify(messages[0])) ?? [];
  if (kind === undefined) return undefined;
  const since = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  const results = since.filter(({ role }) => role === 'tool');
  const id = `call-${results.length}`;
  if (kind !== 'outer') return results.length < 2 ? { calls: [{ id, name: 'update_status', input: { text: id } }] } : { text: 'done' };
  if (results.length === 0) return { calls: [{ id, name: 'skill_invoke', input: { skill: 'inner', inputs: {} } }] };
  return { text: `heard ${JSON.stringify(results[0]?.content)}` };
}

/** Runs of saved skills in a lane of six slots. `excuse`: an error by which they may end, too, or of which the model of one may hear. */
export async function savedRuns(each: number, excuse?: RegExp): Promise<User<Seen>> {
  const taken = new Set<string>();
  const origin = await serverOf((request, response) => {
    taken.add(String(request.headers['webhook-id']));
    response.writeHead(204).end();
  });
  const skill = (kind: string, ...tools: readonly string[]) => ({ system_prompt: `You are the ${kind} one.`, tools });
  const skills = {
    inner: skill('inner', 'update_status'),
    plain: skill('plain', 'update_status'),
    outer: skill('outer', 'skill_invoke'),
    reporting: { ...skill('reporting', 'update_status'), output_target: { kind: 'channel', target: `${origin}/hook` } },
  };
  const asked: string[] = [];
  let most = 0;
  return {
    files: Object.fromEntries(Object.entries(skills).map(([name, file]) => [`files/${name}.yml`, JSON.stringify(file)])),
    settings: { saved_skills: { lanes: { 'skill-default': { slots: SLOTS } } }, skill_webhooks: { private_origins: [origin] } },
    reply,
    async prepare({ told, sandbox }) {
      for (const name of Object.keys(skills)) await told(['saved', 'new', name, '--file', path.join(sandbox, 'files', `${name}.yml`)]);
    },
    async begin({ told }) {
      for (let number = 0; number < each; number += 1) {
        const name = ['plain', 'outer', 'reporting'][number % 3] as string;
        asked.push((await told<Run>(['run', name, '--background'])).id);
      }
    },
    async see({ told }) {
      const runs = await told<readonly Run[]>(['runs', 'list', '--limit', '100000']);
      most = Math.max(most, runs.filter(({ state, parent }) => state === 'running' && parent === null).length);
      return { asked: [...asked], runs, taken: [...taken].toSorted() };
    },
    isOver: ({ asked: all, runs }) =>
      runs.length >= all.length && runs.every(({ state, delivery }) => state !== 'queued' && state !== 'running' && delivery !== 'waiting'),
    wrong({ asked: all, runs: every, taken: reports }) {
      const failed = every.filter(({ error, output }) => excuse?.test(error?.message ?? output ?? ''));
      const excused = new Set(failed.flatMap(({ id, parent }) => [id, parent]));
      const runs = every.filter(({ id, parent }) => !excused.has(id) && !excused.has(parent ?? id));
      const parents = runs.flatMap(({ parent }) => parent ?? []);
      const outer = runs.filter(({ skill: name }) => name.endsWith('/outer'));
      const reporting = runs.filter(({ skill: name }) => name.endsWith('/reporting')).map(({ id }) => id);
      return [
        ...runs.filter(({ state }) => state !== 'ok').map((run) => `a run ended wrongly: ${JSON.stringify(run)}`),
        ...runs
          .filter(({ output, skill: name }) => output !== (name.endsWith('/outer') ? 'heard "done"' : 'done'))
          .map((run) => `a run has another result: ${JSON.stringify(run)}`),
        ...all.filter((id) => every.filter((run) => run.id === id).length !== 1).map((id) => `run ${id} is not there once`),
        ...(parents.length === outer.length && new Set(parents).size === outer.length
          ? []
          : [`${outer.length} composed runs have ${parents.length} parts`]),
        ...(reports.join() === reporting.toSorted().join()
          ? []
          : [`results were sent of ${reports.join()} and not of ${reporting.join()}`]),
        ...(most <= SLOTS ? [] : [`${most} runs had a slot at once, of ${SLOTS}`]),
      ];
    },
  };
}
