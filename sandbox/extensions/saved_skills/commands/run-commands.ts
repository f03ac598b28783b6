import { PithError, type Clock, type Command, type CommandInput, type CommandIO } from 'pith';
import { AFTER, countOption, localTime, OPEN, renderTable, textColumns, widthOf } from '@pith/command-line';
import { positionalInputs, coerce, type GivenInputs, type InputField } from '../domain/inputs.ts';
import { referenceOf } from '../domain/saved-skill.ts';
import type { Library } from '../library/library.ts';
import { rulesOf } from '../runs/lanes.ts';
import { hasEnded, RUN_STATES, type Run, type RunState } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import type { Runner } from '../running/runner.ts';
import { cancelledRunResult, runResult, shownRunResult } from './results.ts';
import { runJson, runText } from './view.ts';
import { didYouMean, printableLine } from '@pith/plain-text';

export interface RunCommandPorts {
  readonly library: Library;
  readonly runs: RunStore;
  readonly clock: Clock;
  readonly runner: Pick<Runner, 'settled'>;
}

const RUN = { name: 'run', description: 'The run, as runs list shows it', required: true };
/** Options of `run` itself: an input of such a name is given by --input. */
const OWN = ['input', 'draft', 'priority', 'background'];

/** A run that is not there any more is a place in the list too. */
const RUN_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/u;

export function runCommands(ports: RunCommandPorts): readonly Command[] {
  const { library, runs, clock } = ports;
  return [
    {
      path: 'run',
      result: async () => runResult(),
      description: 'Run a saved skill and wait for its result',
      arguments: [
        { name: 'skill', description: 'Its name, or owner/name', required: true },
        { name: 'value', description: 'Inputs, in their order', variadic: true },
      ],
      options: [
        { name: 'input', type: 'string', multiple: true, description: 'An input by its name: city=Rome; --city Rome does the same' },
        { name: 'priority', type: 'number', description: 'Above 0: more urgent than the default; below: less' },
        { name: 'draft', type: 'boolean', description: 'The draft, not the pinned version (administrators)' },
        { name: 'background', type: 'boolean', description: 'Do not wait: print the id of the run' },
      ],
      allowUnknownOptions: true,
      run: (input, io, signal) => run(ports, input, io, signal),
      runBeforeStart: (input, io, _, signal) => run(ports, input, io, signal), // it works on its own run, and begins nothing that it would cut
    },
    {
      path: 'runs list',
      result: async () => runResult().array(),
      description: 'List runs of saved skills, newest first',
      options: [
        { name: 'state', type: 'string', description: `Only those: ${RUN_STATES.join(', ')}` },
        OPEN,
        { name: 'skill', type: 'string', description: 'Only those of this skill' },
        { name: 'limit', type: 'number', description: 'At most this many', default: 20 },
        AFTER,
      ],
      async run({ options }, io) {
        const person = await library.person(io);
        const skillId = options['skill'] === undefined ? {} : { skillId: (await library.find(String(options['skill']), person)).skill.id };
        const state = options['state'] === undefined ? {} : { state: stateOf(options['state']) };
        const whose = person.isAdmin ? {} : { userId: io.userId };
        const after: { readonly after?: string } = options['after'] === undefined ? {} : { after: String(options['after']) };
        const isRun = after.after === undefined || RUN_ID.test(after.after) || (await runs.byId(after.after)) !== null;
        if (!isRun) throw new PithError('usage', `'${after.after}' is not a run`, { cure: 'list them from the beginning again' });
        const all = await runs.list({
          limit: countOption({ options }, 'limit'),
          isOpen: options['open'] === true,
          ...skillId,
          ...state,
          ...whose,
          ...after,
        });
        io.json(all.map(runJson));
        io.print(all.length === 0 ? 'No runs yet. Run a saved skill with: pith run NAME' : table(all, io));
      },
    },
    {
      path: 'runs lanes',
      description: 'List the lanes with their slots, and how many of your runs are in them; for administrators those of all',
      async run(_input, io) {
        const { isAdmin, userId } = await library.person(io);
        await library.ready();
        const open = await runs.openByLane(isAdmin ? undefined : userId);
        const { config } = library.context;
        const lanes = [...new Set([...Object.keys(config.lanes), ...open.keys()])].map((lane) => {
          const { running, queued } = open.get(lane) ?? { running: 0, queued: 0 };
          return { lane, slots: rulesOf(config, lane).slots, running, queued };
        });
        io.json(lanes);
        const rows = lanes.map(({ lane, slots, running, queued }) => [lane, String(slots), String(running), String(queued)]);
        io.print(renderTable(rows, textColumns(['LANE', 'SLOTS', 'RUNNING', 'QUEUED']), widthOf(io)));
      },
    },
    {
      path: 'runs show',
      result: async () => shownRunResult(),
      description: 'Show a run: inputs, steps, use, result',
      arguments: [RUN],
      async run(input, io) {
        const found = await named(ports, input, io);
        const steps = await runs.steps(found);
        io.json({ ...runJson(found), history: steps.map(({ at, what }) => ({ at, what })) });
        io.print(runText(found, steps));
      },
    },
    {
      path: 'runs cancel',
      result: async () => cancelledRunResult(),
      description: 'End a run',
      arguments: [RUN],
      async run(input, io) {
        const found = await named(ports, input, io);
        if (!(await runs.cancel(found)))
          throw new PithError('run_ended', `run ${found.id} has ended: ${found.state}`, { cure: `see: pith runs show ${found.id}` });
        io.json({ ok: true, id: found.id });
        const isOver = (await runs.byId(found.id))?.state === 'cancelled';
        io.print(isOver ? `Run ${found.id} is cancelled` : `Run ${found.id} was asked to end; see: pith runs show ${found.id}`);
      },
    },
  ];

  function table(all: readonly Run[], io: CommandIO): string {
    const rows = all.map(({ id, state, skill, userId, cause, queuedAt, error, sealed, output, statusLine }) => [
      id,
      state,
      skill,
      `${userId} (${cause})`,
      localTime(queuedAt, clock.now()),
      error?.message ?? (sealed === null ? null : '(encrypted)') ?? output ?? statusLine ?? '',
    ]);
    return renderTable(rows, textColumns(['RUN', 'STATE', 'SKILL', 'BY', 'WHEN', 'RESULT']), widthOf(io));
  }
}

async function run(
  { library, runs, runner }: RunCommandPorts,
  { arguments: words, options }: CommandInput,
  io: CommandIO,
  signal: AbortSignal,
): Promise<number> {
  const person = await library.person(io);
  const { skill } = await library.find(String(words['skill']), person, 'run');
  const isDraft = options['draft'] === true;
  const { snapshot } = await library.versionFor(skill, person, isDraft);
  const fields = snapshot.input_schema;
  const byFlag = Object.entries(options).filter(([name]) => !OWN.includes(name)) as [string, string][];
  const names = fields.map(({ name }) => name);
  const wrong = byFlag.find(([name]) => !names.includes(name) && !name.startsWith('__'))?.[0];
  if (wrong !== undefined) {
    const guess = didYouMean(
      `--${wrong}`,
      [...names, ...OWN].map((name) => `--${name}`),
    );
    throw new PithError('usage', `unknown option '--${printableLine(wrong, 80)}'${guess}`, {
      cure: names.length === 0 ? `'${referenceOf(skill)}' has no inputs` : `its inputs: ${names.map((name) => `--${name}`).join(' ')}`,
    });
  }
  const given = givenOnce([
    ...Object.entries(positionalInputs(fields, (words['value'] ?? []) as readonly string[])),
    ...((options['input'] ?? []) as readonly string[]).map(pair),
    ...byFlag,
  ]);
  const inputs = await askInputs(fields, given, io);
  if (inputs === null) {
    io.print('Nothing was run');
    return 1;
  }
  const origin = { channelId: io.session === undefined ? null : 'cli', threadId: io.session?.threadId ?? null, message: null };
  const priority = typeof options['priority'] === 'number' ? options['priority'] : undefined;
  const queued = await library.run(referenceOf(skill), person, { inputs, cause: 'manual', origin, draft: isDraft, priority });
  if (options['background'] === true) {
    io.json(runJson(queued));
    io.print(`Run ${queued.id} is ${queued.state}. It is executed while a chat or \`pith serve\` runs. See: pith runs show ${queued.id}`);
    return 0;
  }
  const ended = await watchRun({ runs, runner }, queued, io, signal);
  io.json(runJson(ended));
  if (ended.output !== null) io.print(ended.output);
  if (ended.delivery === 'waiting' && !io.quiet) io.error('Its result is delivered while a chat or `pith serve` runs');
  if (ended.sealed !== null) io.error(`pith: the result of run ${ended.id} is encrypted: ${ended.sealed}`);
  if (ended.state === 'waiting') io.error(`pith: run ${ended.id} waits for an answer: see: pith approvals`);
  else if (hasEnded(ended) && ended.state !== 'ok')
    io.error(
      `pith: run ${ended.id} of '${ended.skill}' ended: ${ended.state}${ended.error === null ? '' : `: ${ended.error.message}`}; see: pith runs show ${ended.id}`,
    );
  return ended.state === 'ok' ? 0 : 1;
}

/** Which of two would count nobody can know. */
function givenOnce(pairs: readonly (readonly [string, GivenInputs[string]])[]): GivenInputs {
  const twice = pairs.find(([name], at) => pairs.findIndex(([other]) => other === name) < at)?.[0];
  if (twice === undefined) return Object.fromEntries(pairs);
  throw new PithError('usage', `the input '${printableLine(twice, 80)}' is given twice`, { cure: 'give it once' });
}

function pair(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new PithError('usage', `wrong use of --input: '${text}' has no name`, { cure: 'write: --input name=value' });
}

function stateOf(value: unknown): RunState {
  const state = RUN_STATES.find((each) => each === value);
  if (state !== undefined) return state;
  throw new PithError('usage', `wrong use of --state: there is no state '${String(value)}'`, {
    cure: `use one of ${RUN_STATES.join(', ')}`,
  });
}

/** A run that this person may look at: theirs, or for an administrator any. */
async function named({ library, runs }: RunCommandPorts, { arguments: words }: CommandInput, io: CommandIO): Promise<Run> {
  const id = String(words['run']);
  const person = await library.person(io);
  const found = await runs.byId(id.toUpperCase());
  if (found !== null && (person.isAdmin || found.userId === io.userId || found.actsAs === io.userId)) return found;
  throw new PithError('not_found', `there is no run '${id}'`, { cure: 'see: pith runs list' });
}

/** Asks a person for what a skill needs and was not given, one input after the other. null: they left. */
async function askInputs(fields: readonly InputField[], given: GivenInputs, io: CommandIO): Promise<GivenInputs | null> {
  const answers: Record<string, string> = {};
  for (const field of fields) {
    if (!io.interactive || !field.required || field.default !== null || given[field.name] !== undefined) continue;
    const answer = await askOne(field, io);
    if (answer === null) return null;
    answers[field.name] = answer;
  }
  return { ...given, ...answers };
}

async function askOne({ name, description, type, choices }: InputField, io: CommandIO): Promise<string | null> {
  const question = `${description === '' ? name : `${description} (${name})`}${type === 'string' || choices.length > 0 ? '' : `, ${type}`}:`;
  for (;;) {
    const answer = await io.ask(question, choices.length > 0 ? { choices } : {});
    if (answer === null || answer.trim() === '') return null;
    const read = coerce(type, answer);
    if ('value' in read) return answer;
    io.print(`It ${read.problem}`);
  }
}

/** Follows a run until it has ended or waits for a person, and shows what it does. Leaving cancels it. */
async function watchRun(
  { runs, runner }: Pick<RunCommandPorts, 'runs' | 'runner'>,
  first: Run,
  io: CommandIO,
  signal: AbortSignal,
): Promise<Run> {
  let shown = 0;
  let before: Pick<Run, 'state' | 'statusLine'> | null = null;
  const show = async (run: Run) => {
    if (io.quiet) return;
    if (run.state !== before?.state && !hasEnded(run)) io.error(`Run ${run.id} is ${run.state}`);
    if (run.statusLine !== before?.statusLine && run.statusLine !== null) io.error(`  ${printableLine(run.statusLine)}`);
    before = run;
    const steps = await runs.steps(run);
    for (const { what } of steps.slice(shown)) io.error(`  ${printableLine(what, 160)}`);
    shown = steps.length;
  };
  try {
    return await runner.settled(first, signal, show);
  } catch (error) {
    if (!signal.aborted) throw error;
    return runs.known(first.id);
  }
}
