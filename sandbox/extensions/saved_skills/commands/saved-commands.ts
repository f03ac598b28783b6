import { PithError, type Clock, type Command, type CommandInput, type CommandIO } from 'pith';
import { localTime, PAGE_OPTIONS, pageOf, renderTable, textColumns, widthOf } from '@pith/command-line';
import { referenceOf, VISIBILITIES, type SavedSkill, type SkillFile } from '../domain/saved-skill.ts';
import { nextTimesOf } from '../domain/timetable.ts';
import type { Person } from '../domain/permissions.ts';
import { parseSkillFile, readSkillFile } from '../library/skill-file.ts';
import type { Library } from '../library/library.ts';
import { toolNameOf } from '../library/tool-names.ts';
import { listedSavedResult, savedResult, shownSavedResult, versionResult } from './results.ts';
import { skillJson, skillText, versionJson } from './view.ts';

export interface SavedCommandPorts {
  readonly library: Library;
  readonly clock: Clock;
  /** Tools that skills are may be others now. */
  readonly changed: () => void;
}

const SKILL = { name: 'skill', description: 'Its name, or owner/name', required: true };
const TEXT = { name: 'text', type: 'string', description: 'What a skill.yml would say, in place of a file' } as const;
const ON = { name: 'state', description: 'on (default) or off' };

/** Changes a skill; resolves with what it is now and what to tell the person, null where they left. */
type Act = (
  skill: string,
  input: CommandInput,
  context: { readonly io: CommandIO; readonly person: Person },
) => Promise<readonly [skill: SavedSkill, said: string] | null>;

/** `pith saved …`: what people do with saved skills besides running them. */
export function savedCommands({ library, clock, changed: publish }: SavedCommandPorts): readonly Command[] {
  /** A command that changes one skill and says what it is now. */
  const change = (path: string, description: string, more: Pick<Command, 'arguments' | 'options'>, act: Act): Command => ({
    path,
    description,
    result: async () => savedResult(),
    arguments: [SKILL, ...(more.arguments ?? [])],
    ...(more.options === undefined ? {} : { options: more.options }),
    async run(input, io) {
      const person = await library.person(io);
      const changed = await act(String(input.arguments['skill']), input, { io, person });
      if (changed === null) return 1;
      publish();
      const [skill, said] = changed;
      io.json(skillJson(skill));
      io.print(said);
      return 0;
    },
  });

  const shown = async (input: CommandInput, io: CommandIO) => {
    const { skill } = await library.find(String(input.arguments['skill']), await library.person(io), 'show');
    return { skill, versions: await library.skills.versions(skill.id) };
  };

  /** One of the flags that only administrators set. */
  const grant = (path: string, description: string, set: Partial<SavedSkill>, said: string): Command =>
    change(path, description, {}, async (skill, _input, { person }) => {
      const changed = await library.govern(skill, person, 'pin', () => set);
      return [changed, `${referenceOf(changed)}: ${said}`];
    });

  return [
    {
      path: 'saved list',
      result: async () => listedSavedResult().array(),
      description: 'List the saved skills that you may see',
      options: [
        { name: 'tag', type: 'string', description: 'Only those with this tag' },
        { name: 'deprecated', type: 'boolean', description: 'Those that were retired, with what took their place' },
        { name: 'scheduled', type: 'boolean', description: 'Only those on a timetable: your own, or all for administrators' },
        ...PAGE_OPTIONS,
      ],
      async run({ options }, io) {
        const person = await library.person(io);
        const tag = typeof options['tag'] === 'string' ? { tag: options['tag'] } : {};
        const isScheduled = options['scheduled'] === true;
        const found = isScheduled
          ? await library.scheduled(person)
          : await library.list(person, { ...tag, deprecated: options['deprecated'] === true });
        const all = pageOf(found, { options }, (name) => (skill) => skill.id === name || referenceOf(skill) === name);
        io.json(await Promise.all(all.map(async (skill) => ({ ...skillJson(skill), successor: await library.successorOf(skill) }))));
        if (all.length === 0)
          return io.print(isScheduled ? 'None runs on a timetable' : 'No saved skills. Save one with: pith saved new NAME');
        const successors = await Promise.all(all.map((skill) => library.successorOf(skill)));
        const rows = all.map((skill, at) => [
          referenceOf(skill),
          skill.version,
          skill.visibility,
          skill.pinned_version_id === null ? '' : 'yes',
          skill.next_run_at === null ? '' : localTime(skill.next_run_at, clock.now()),
          skill.tags.join(', '),
          successors[at] ? `use ${successors[at]}` : skill.description,
        ]);
        const titles = ['SKILL', 'VERSION', 'VISIBILITY', 'PINNED', 'NEXT', 'TAGS', 'WHAT IT DOES'];
        io.print(renderTable(rows, textColumns(titles), widthOf(io)));
      },
    },
    {
      path: 'saved show',
      result: async () => shownSavedResult(),
      description: 'Show a saved skill: inputs, limits, who may use it, its text',
      arguments: [SKILL],
      async run(input, io) {
        const { skill, versions } = await shown(input, io);
        const successor = await library.successorOf(skill);
        const [runnable = null] = await library.runnable([skill], await library.person(io));
        io.json({
          ...skillJson(skill),
          successor,
          next_runs: [...nextTimesOf(skill, clock.now(), 3)],
          run_inputs: runnable && runnable.inputs.map((field) => ({ ...field })),
          versions: versions.map(versionJson),
        });
        io.print(skillText(skill, versions, successor));
      },
    },
    {
      path: 'saved versions',
      result: async () => versionResult().array(),
      description: 'List the versions of a saved skill, newest first',
      arguments: [SKILL],
      async run(input, io) {
        const { skill, versions } = await shown(input, io);
        io.json(versions.map(versionJson));
        const rows = versions.map(({ id, number, version, createdAt, authoredBy }) => [
          String(number),
          version,
          localTime(createdAt, clock.now()),
          authoredBy ?? 'Pith',
          id === skill.pinned_version_id ? 'yes' : '',
          id,
        ]);
        io.print(renderTable(rows, textColumns(['NUMBER', 'VERSION', 'SAVED', 'BY', 'PINNED', 'ID']), widthOf(io)));
      },
    },
    {
      path: 'saved new',
      result: async () => savedResult(),
      description: 'Save a skill: from a file, or by answering questions',
      arguments: [{ name: 'name', description: 'Lower-case letters, digits, - and _', required: true }],
      options: [{ name: 'file', type: 'string', description: 'A skill.yml that describes it' }, TEXT],
      async run(input, io) {
        const person = await library.person(io);
        const file = await contentOf(input, io, null);
        if (file === null) return 1;
        const { name: _, ...content } = file;
        const skill = await library.create(String(input.arguments['name']), content, person);
        io.json(skillJson(skill));
        io.print(`Saved ${referenceOf(skill)} ${skill.version}. Run it with: pith run ${skill.name}`);
        return 0;
      },
    },
    change(
      'saved edit',
      'Change a saved skill: from a file, or by answering questions',
      { options: [{ name: 'file', type: 'string', description: 'A skill.yml with the changes' }, TEXT] },
      async (reference, input, { io, person }) => {
        const { skill } = await library.find(reference, person, 'edit');
        const file = await contentOf(input, io, skill);
        if (file === null) return null;
        const saved = await library.edit(reference, file, person);
        return [saved, `Saved ${referenceOf(saved)} ${saved.version}`];
      },
    ),
    {
      path: 'saved delete',
      description: 'Delete a saved skill with its versions',
      arguments: [SKILL],
      options: [
        { name: 'yes', type: 'boolean', description: 'Do not ask' },
        { name: 'despite-mentions', type: 'boolean', description: 'Also where its name is in the text of a skill that may run others' },
      ],
      async run(input, io) {
        const person = await library.person(io);
        const reference = String(input.arguments['skill']);
        const { skill } = await library.deletable(reference, person);
        if (!(await agrees(`Delete ${referenceOf(skill)} with all its versions?`, input.options['yes'] === true, io))) {
          io.print('Nothing was deleted');
          return 1;
        }
        await library.remove(reference, person, { despiteMentions: input.options['despite-mentions'] === true });
        io.json({ ok: true, id: skill.id });
        io.print(`Deleted ${referenceOf(skill)}`);
        return 0;
      },
    },
    change(
      'saved pin',
      'Let others run a saved skill, as one version of it is (administrators)',
      { arguments: [{ name: 'version', description: 'Its version, number or id (default: the newest)' }] },
      async (reference, input, { person }) => {
        const version = input.arguments['version'];
        const pinned = await library.pin(reference, typeof version === 'string' ? version : null, person);
        const pinnedVersion = (await library.skills.versions(pinned.id)).find(({ id }) => id === pinned.pinned_version_id);
        return [pinned, `Others now run version ${pinnedVersion?.version ?? ''} of ${referenceOf(pinned)}`];
      },
    ),
    change('saved unpin', 'Stop others from running a saved skill (administrators)', {}, async (reference, _input, { person }) => {
      const unpinned = await library.unpin(reference, person);
      return [unpinned, `${referenceOf(unpinned)} is not pinned any more`];
    }),
    change(
      'saved share',
      'Set who may see and run a saved skill',
      {
        arguments: [{ name: 'visibility', description: VISIBILITIES.join(', '), required: true }],
        options: [{ name: 'with', type: 'string', multiple: true, description: 'A user, for shared' }],
      },
      async (reference, input, { io, person }) => {
        const visibility = VISIBILITIES.find((each) => each === input.arguments['visibility']);
        if (visibility === undefined)
          throw new PithError('usage', `'${String(input.arguments['visibility'])}' is not a visibility`, {
            cure: `use one of ${VISIBILITIES.join(', ')}`,
          });
        const users = input.options['with'] as readonly string[] | undefined;
        if (users !== undefined && visibility !== 'shared')
          throw new PithError('usage', `--with names users for shared, not for ${visibility}`, {
            cure: `write: pith saved share ${reference} shared --with ${users.join(' --with ')}`,
          });
        const shared = await library.govern(reference, person, 'share', () => ({
          visibility,
          ...(users === undefined ? {} : { shared_with: [...users] }),
        }));
        const said = `${referenceOf(shared)} is ${visibility}${visibility === 'shared' ? `: ${shared.shared_with.join(', ') || 'nobody yet'}` : ''}`;
        const isUnpinned = visibility !== 'private' && shared.pinned_version_id === null && shared.source === 'manual';
        const hint = `\nOthers can run it when an administrator has pinned a version: pith saved pin ${referenceOf(shared)}`;
        return [shared, isUnpinned && !io.quiet ? said + hint : said];
      },
    ),
    change(
      'saved schedule',
      'Run a saved skill on a timetable, or stop that',
      {
        arguments: [{ name: 'cron', description: '"0 9 * * 1-5", @daily and the like, or off', required: true }],
        options: [{ name: 'time-zone', type: 'string', description: 'Such as Europe/Rome (default: this machine’s)' }],
      },
      async (reference, input, { person }) => {
        const cron = String(input.arguments['cron']);
        const zone = typeof input.options['time-zone'] === 'string' ? input.options['time-zone'] : null;
        const saved = await library.schedule(reference, cron === 'off' ? null : cron, zone, person);
        const next = saved.next_run_at === null ? null : localTime(saved.next_run_at);
        const when = next === null ? 'has no schedule' : `runs next at ${next} of this machine's time, while a chat or \`pith serve\` runs`;
        return [saved, `${referenceOf(saved)} ${when}`];
      },
    ),
    change(
      'saved expose',
      'Offer a saved skill to agents as a tool, or stop that',
      {
        arguments: [ON],
        options: [
          { name: 'as', type: 'string', description: 'The name of the tool (default: the skill’s)' },
          { name: 'channel', type: 'string', description: 'Only in conversations of this channel' },
        ],
      },
      async (reference, input, { person }) => {
        const isOn = onOrOff(input.arguments['state']);
        const saved = await library.govern(reference, person, 'edit', (skill) => ({
          expose_as_chatbot_tool: isOn,
          chatbot_tool_name: typeof input.options['as'] === 'string' ? input.options['as'] : skill.chatbot_tool_name,
          chatbot_channel_filter: typeof input.options['channel'] === 'string' ? input.options['channel'] : skill.chatbot_channel_filter,
        }));
        return [
          saved,
          isOn ? `Chats have it as the tool '${toolNameOf(saved)}'; each call is a run` : `${referenceOf(saved)} is no longer a tool`,
        ];
      },
    ),
    change(
      'saved set-lane',
      'Let a saved skill wait and run in another lane (administrators)',
      { arguments: [{ name: 'lane', description: 'One of the settings, or default', required: true }] },
      async (reference, input, { person }) => {
        const lane = String(input.arguments['lane']);
        const saved = await library.govern(reference, person, 'pin', () => ({ execution_lane: lane === 'default' ? '' : lane }));
        return [saved, `${referenceOf(saved)} runs in ${saved.execution_lane || 'the default lane'}`];
      },
    ),
    change(
      'saved set-priority',
      'Set the priority of runs of a saved skill',
      {
        arguments: [{ name: 'priority', description: 'Higher is run first; 0 is the default', required: true }],
        options: [
          { name: 'preemptible', type: 'string', description: 'on: a more urgent run may end a run of this skill; off (default)' },
          { name: 'yes', type: 'boolean', description: 'Do not ask about --preemptible' },
        ],
      },
      async (reference, input, { io, person }) => {
        const priority = Number(input.arguments['priority']);
        if (!Number.isInteger(priority))
          throw new PithError('usage', `'${String(input.arguments['priority'])}' is not a whole number`, {
            cure: 'write one, such as 2 or -1',
          });
        const wanted = input.options['preemptible'];
        const preemptible = wanted === undefined ? {} : { preemptible: onOrOff(wanted) };
        if ('preemptible' in preemptible && preemptible.preemptible) {
          await library.find(reference, person, 'edit');
          const warning =
            'A run that gives its slot to a more urgent one ends there: what it has done stays done, and it is not tried again.';
          const isSure = input.options['yes'] === true;
          if (isSure) io.error(`pith: ${warning}`);
          if (!(await agrees(`${warning} Allow that?`, isSure, io))) {
            io.print('Nothing was changed');
            return null;
          }
        }
        const saved = await library.govern(reference, person, 'edit', () => ({ default_priority: priority, ...preemptible }));
        const preempted = saved.preemptible ? ' and gives way to more urgent runs' : '';
        return [saved, `${referenceOf(saved)} has priority ${saved.default_priority}${preempted}`];
      },
    ),
    grant(
      'saved grant-extended',
      'Grant a saved skill the extended limits (administrators)',
      { extended_bounds: true },
      'it may have the extended limits',
    ),
    grant(
      'saved revoke-extended',
      'Revoke the extended limits (administrators)',
      { extended_bounds: false },
      'runs have the default limits again',
    ),
    grant(
      'saved grant-parallel',
      'Let a saved skill run others side by side (administrators)',
      { parallel_composition_allowed: true },
      'it may run others side by side',
    ),
    grant(
      'saved revoke-parallel',
      'Let a saved skill run others only one at a time (administrators)',
      { parallel_composition_allowed: false },
      'it runs other skills one at a time',
    ),
    change(
      'saved retire',
      'Hide a saved skill in favour of an agent or another skill, or list it again',
      {
        options: [
          { name: 'by', type: 'string', description: 'The agent or skill that takes its place' },
          { name: 'clear', type: 'boolean', description: 'List it again' },
        ],
      },
      async (reference, input, { person }) => {
        const { by, clear } = input.options;
        if ((typeof by === 'string') === (clear === true))
          throw new PithError('usage', 'say what takes its place, or that nothing does', {
            cure: 'write: pith saved retire NAME --by AGENT, or --clear',
          });
        const saved = await library.retire(reference, typeof by === 'string' ? by : null, person);
        const isListed = saved.deprecated_by_agent_id === null;
        return [
          saved,
          `${referenceOf(saved)} is ${isListed ? 'listed again' : 'retired; it still runs by its name, schedule and webhook'}`,
        ];
      },
    ),
  ];
}

/** What is to be saved: of a file or a text, else by questions. null: the person left. */
async function contentOf({ options }: CommandInput, io: CommandIO, before: SavedSkill | null): Promise<SkillFile | null> {
  const { file, text } = options;
  if (typeof text === 'string') return parseSkillFile(text, 'skill.yml');
  if (typeof file === 'string') return readSkillFile(file, io.workingDirectory);
  if (!io.interactive && io.session === undefined)
    throw new PithError('usage', 'say what the skill is made of', { cure: 'name a file: --file skill.yml' });
  return askSkill(io, before);
}

function onOrOff(given: unknown): boolean {
  const state = String(given ?? 'on');
  if (state === 'on' || state === 'off') return state === 'on';
  throw new PithError('usage', `'${state}' is neither on nor off`, { cure: 'write on or off' });
}

/** Whether a person agrees; `yes`: they said so already. Rejects `usage` where nobody can be asked. */
async function agrees(question: string, yes: boolean, io: CommandIO): Promise<boolean> {
  if (yes) return true;
  const answer = await io.ask(question, { choices: ['yes', 'no'] });
  if (answer === null && !io.interactive && io.session === undefined)
    throw new PithError('usage', 'nothing was changed: nobody can be asked here', { cure: 'add --yes' });
  return answer === 'yes';
}

/** Asks a person what a skill is made of; what they leave empty stays. null: they left. */
async function askSkill(io: CommandIO, before: SavedSkill | null): Promise<SkillFile | null> {
  io.print(before === null ? 'A skill needs instructions; the rest may stay empty.' : 'Enter keeps what there is.');
  const questions = [
    before === null ? 'Instructions (what it does, in a few sentences):' : 'Instructions:',
    'What it does, in one line for people who choose it:',
    'Tools it may call, as extension/tool, separated by commas:',
    'Inputs, as name:type (string, int, float, bool, user, channel, url), separated by commas; add ! to a required one, as in city:string!:',
  ];
  const answers: string[] = [];
  for (const question of questions) {
    const answer = (await io.ask(question))?.trim();
    if (answer === undefined || (answer === '' && answers.length === 0 && before === null)) return null;
    answers.push(answer);
  }
  const [prompt = '', description = '', tools = '', inputs = ''] = answers;
  const listed = (text: string) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
  return {
    ...(prompt === '' ? {} : { system_prompt: prompt }),
    ...(description === '' ? {} : { description }),
    ...(tools === '' ? {} : { tools: listed(tools) }),
    ...(inputs === '' ? {} : { input_schema: listed(inputs).map(fieldOf) }),
  };
}

function fieldOf(text: string): SavedSkill['input_schema'][number] {
  const [name = '', type = 'string'] = text.replace(/!$/, '').split(':', 2);
  return {
    name: name.trim(),
    description: '',
    type: type.trim() as SavedSkill['input_schema'][number]['type'],
    required: text.endsWith('!'),
    default: null,
    choices: [],
  };
}
