import { kernelCommands } from '@pith/command-line';
import { CommandProvider, type ExtensionContext } from 'pith';

/** Whose jobs have changed up to a number that grows with each change, in whichever process; null: nobody's. */
export interface ChangedJobs {
  readonly number: number;
  readonly owners: readonly (string | null)[];
}

const COMMAND = 'jobs changes';

/** Those that have changed since `number`; null: only the present number is asked. null as result: nothing here knows of jobs. */
export async function changedJobs({ find }: Pick<ExtensionContext, 'find'>, number: number | null): Promise<ChangedJobs | null> {
  const kernel = kernelCommands(find(CommandProvider));
  if ((await kernel.find(COMMAND)) === null) return null;
  const options: Readonly<Record<string, number>> = number === null ? {} : { since: number };
  const { values } = await kernel.run(COMMAND, { options }, new AbortController().signal);
  return values[0] as unknown as ChangedJobs;
}
