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
import { type RankerDocument, type SkillLibrary, type SkillRecord, SkillWriter } from 'pith/skill_registry';
import { printable, printableLine, withCure } from '@pith/plain-text';
import { offeredSkills } from '../commands.ts';
import { writeRequests } from './request-writer.ts';
import { digestOf, type WrittenExamples } from './written-examples.ts';

/** More need a confirmation: each costs a call of the model. */
const UNASKED = 10;

type Outcome =
  | { readonly id: string; readonly state: 'written' | 'kept' | 'known'; readonly requests: readonly string[] }
  | { readonly id: string; readonly state: 'failed'; readonly error: string };

/** `pith skills enrich`: the connected model writes requests that help to find skills. */
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
      // With --all, a skill that cannot be written is not a failure.
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

      async function asked(document: RankerDocument): Promise<readonly string[]> {
        if (!io.wantsJson && !io.quiet) io.error(`Asking the model for ${printableLine(document.id)} …`);
        return writeRequests(context.agents, document, signal);
      }

      async function enrichOne({ id, ...record }: SkillRecord, { options }: CommandInput): Promise<Outcome> {
        try {
          const document = await library.document(`${record.source}/${id}`);
          const kept = written.of(digestOf(document));
          const known = kept.length > 0 ? kept : document.examples;
          if (options['all'] === true && known.length > 0 && (options['write'] !== true || kept.length === 0))
            return { id, state: 'known', requests: known };
          const requests = kept.length > 0 && options['write'] === true ? kept : await asked(document);
          await written.keep(document, requests);
          if (options['write'] !== true) return { id, state: 'kept', requests };
          const { writeIntoSkill } = await import('./write-into-skill.ts');
          await writeIntoSkill(context.use(SkillWriter), { id, ...record }, requests);
          await written.forget(id);
          return { id, state: 'written', requests };
        } catch (error) {
          if (signal.aborted || (error instanceof PithError && error.code === 'model_offline')) throw error;
          return { id, state: 'failed', error: withCure(messageOf(error), error instanceof PithError ? error.cure : undefined) };
        }
      }
    },
  };
}

/** Whether a skill is in a folder that Pith writes, and was not installed. */
async function writable(context: Pick<ExtensionContext, 'use'>): Promise<(skill: SkillRecord) => boolean> {
  const writer = context.use(SkillWriter);
  const places = await Promise.all(
    (await writer.places()).map(
      async ({ source, label }) => [label, new Set((await writer.installed(source)).map(({ id }) => id))] as const,
    ),
  );
  return ({ source, id }) => places.some(([label, installed]) => label === source && !installed.has(id));
}

/** Throws `usage` without a choice: each skill costs a call of the model. */
async function skillsOf(input: CommandInput, library: Remote<SkillLibrary>): Promise<readonly SkillRecord[]> {
  if ([input.arguments['ids'] ?? []].flat().length === 0 && input.options['all'] !== true)
    throw new PithError('usage', 'no skill was named', { cure: 'name skills, or take --all' });
  return offeredSkills(input, library);
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
