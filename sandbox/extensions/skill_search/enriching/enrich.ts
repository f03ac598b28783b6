import {
  type Command,
  type CommandInput,
  type CommandIO,
  type ExtensionContext,
  type JsonValue,
  messageOf,
  PithError,
  type Remote,
} from 'pith';
import { type SkillLibrary, type SkillRecord, SkillWriter } from 'pith/skill_registry';
import { printable, printableLine } from '@pith/plain-text';
import { writeRequests } from './request-writer.ts';
import { digestOf, type WrittenExamples } from './written-examples.ts';

/** More are not written without a word: each costs a call of the model. */
const UNASKED = 10;

type Outcome =
  | { readonly id: string; readonly state: 'written' | 'kept' | 'known'; readonly requests: readonly string[] }
  | { readonly id: string; readonly state: 'failed'; readonly error: string };

/** `pith skills enrich`: the connected model writes requests by which skills are found. */
export function enrich(
  context: Pick<ExtensionContext, 'agents' | 'use'>,
  library: Remote<SkillLibrary>,
  written: WrittenExamples,
): Command {
  return {
    path: 'skills enrich',
    description: 'Let the connected model write requests by which skills are found',
    arguments: [{ name: 'ids', description: 'ids, display names or source/id', variadic: true }],
    options: [
      { name: 'all', type: 'boolean', description: 'every offered skill that has none yet' },
      { name: 'write', type: 'boolean', description: "write them into the SKILL.md, as its 'examples'" },
      { name: 'yes', short: 'y', type: 'boolean', description: `do not ask before more than ${UNASKED} skills` },
    ],
    async run(input, io, signal) {
      const all = await skillsOf(input, library);
      // With --all what cannot be written is no failure.
      const isWritable = input.options['write'] === true && input.options['all'] === true ? await writable(context) : () => true;
      const skills = all.filter(isWritable);
      await written.look();
      if (!(await agreed(skills.length, input, io))) return io.print('Nothing was written.');
      const outcomes: Outcome[] = [];
      for (const skill of skills) {
        signal.throwIfAborted();
        const outcome = await enrichOne(skill, input);
        outcomes.push(outcome);
        print(io, outcome);
      }
      io.json(
        outcomes.map((outcome): JsonValue => ({ ...outcome, ...('requests' in outcome ? { requests: [...outcome.requests] } : {}) })),
      );
      if (skills.length === 0) io.print('There is no skill that could be enriched.');
      return outcomes.some(({ state }) => state === 'failed') ? 1 : 0;

      async function enrichOne({ id, ...record }: SkillRecord, { options }: CommandInput): Promise<Outcome> {
        try {
          const document = await library.document(`${record.source}/${id}`);
          const kept = written.of(digestOf(document));
          const known = kept.length > 0 ? kept : document.examples;
          if (options['all'] === true && known.length > 0 && (options['write'] !== true || kept.length === 0))
            return { id, state: 'known', requests: known };
          if (!io.wantsJson && !io.quiet) io.error(`Asking the model for ${printableLine(id)} …`);
          const requests = kept.length > 0 && options['write'] === true ? kept : await writeRequests(context.agents, document, signal);
          await written.keep(document, requests);
          if (options['write'] !== true) return { id, state: 'kept', requests };
          const { writeIntoSkill } = await import('./write-into-skill.ts');
          await writeIntoSkill(context.use(SkillWriter), { id, ...record }, requests);
          await written.forget(id);
          return { id, state: 'written', requests };
        } catch (error) {
          if (signal.aborted || (error instanceof PithError && error.code === 'model_offline')) throw error;
          const cure = error instanceof PithError && error.cure !== undefined ? `; ${error.cure}` : '';
          return { id, state: 'failed', error: `${messageOf(error)}${cure}` };
        }
      }
    },
  };
}

/** Whether a skill lies in a folder that Pith writes, and was not installed. */
async function writable(context: Pick<ExtensionContext, 'use'>): Promise<(skill: SkillRecord) => boolean> {
  const writer = context.use(SkillWriter);
  const places = await Promise.all(
    (await writer.places()).map(
      async ({ source, label }) => [label, new Set((await writer.installed(source)).map(({ id }) => id))] as const,
    ),
  );
  return ({ source, id }) => places.some(([label, installed]) => label === source && !installed.has(id));
}

async function skillsOf({ arguments: given, options }: CommandInput, library: Remote<SkillLibrary>): Promise<readonly SkillRecord[]> {
  const ids = [given['ids'] ?? []].flat();
  if (ids.length > 0 === (options['all'] === true))
    throw new PithError('usage', ids.length > 0 ? 'ids and --all cannot be used together' : 'no skill was named', {
      cure: 'name skills, or take --all',
    });
  if (ids.length === 0) return (await library.records()).skills.filter(({ state }) => state === 'offered');
  const skills = await Promise.all(ids.map((id) => library.named(id)));
  const hidden = skills.find(({ state }) => state !== 'offered');
  if (hidden === undefined) return skills;
  throw new PithError('skill_not_offered', `skill '${printableLine(hidden.id)}' is ${hidden.state}: nothing finds it`, {
    where: hidden.file,
  });
}

async function agreed(count: number, { options }: CommandInput, io: CommandIO): Promise<boolean> {
  if (count <= UNASKED || options['yes'] === true) return true;
  const what = `up to ${count} skills would be sent to the connected model, one call each`;
  if (!io.interactive) throw new PithError('confirmation_needed', `${what}, and nobody can be asked`, { cure: 'add --yes' });
  return (await io.ask(`${what}. Go on?`, { choices: ['yes', 'no'] })) === 'yes';
}

const SAID = { kept: 'is also found by', written: 'has in its SKILL.md now', known: 'is found by these already' };

function print(io: CommandIO, outcome: Outcome): void {
  const id = printableLine(outcome.id);
  if (outcome.state === 'failed') return io.error(`pith: ${id}: ${printable(outcome.error)}`);
  io.print([`${id} ${SAID[outcome.state]}:`, ...outcome.requests.map((one) => `  ${printableLine(one)}`)].join('\n'));
}
