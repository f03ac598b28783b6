import { lstatSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, type Command, CommandProvider, type CommandIO, type ExtensionContext, messageOf, Places, PithError } from 'pith';
import { kernelCommands } from '@pith/command-line';
import { fieldsOf } from '@pith/plain-data';
import { NAMES } from './instruction-files.ts';
import { outlineOf } from './project-outline.ts';

/** `/init`: the agent writes the instructions of the project, or improves those that are there. Without a model a file is made from what is found. */
export function initCommand(context: Pick<ExtensionContext, 'use' | 'find'>): Command {
  return {
    path: 'init',
    description: 'Have AGENTS.md written or improved: what agents must know of this project (pith init makes a sandbox)',
    arguments: [{ name: 'request', description: 'What it should pay attention to' }],
    rawArgument: true,
    async run(input, io, signal) {
      const { project } = context.use(Places);
      if (io.session !== undefined && project === null && io.interactive) return askToTrust(context, io, signal);
      if (io.session === undefined || project === null)
        throw new PithError('usage', project === null ? 'there is no project here that you trust' : 'init needs a conversation', {
          cure: 'in the folder of the project, run: pith trust; start pith there, and write /init',
        });
      const there = NAMES.find((name) => lstatSync(path.join(project, name), { throwIfNoEntry: false }) !== undefined) ?? null;
      if (!(await isOffline(context, io, signal))) return io.session.send(messageFor(there, String(input.arguments['request'] ?? '')));
      if (there !== null) return io.print(`${there} is there, and only a model can improve it: /setup connects one`);
      await writeOutline(project, io, signal);
    },
  };
}

/** As `/trust` does: what there is to look at is not used before, and the next start opens the project. */
async function askToTrust({ find }: Pick<ExtensionContext, 'find'>, io: CommandIO, signal: AbortSignal): Promise<number | void> {
  const trust = await kernelCommands(find(CommandProvider)).find('trust');
  return trust?.run({ arguments: {}, options: {} }, io, signal);
}

function messageFor(there: string | null, request: string): string {
  const task =
    there === null
      ? 'Write AGENTS.md for this project: look at it first, then make the file in its root with write_file. Then tell the person that agents are given it once they agree to it by `/trust`.'
      : `Improve ${there} of this project: read it, look at the project, and correct what is wrong or missing with edit_file. Keep what is right in the words of its authors.`;
  return [
    task,
    'It is for agents that work here, so it has what they cannot guess: how to install, build, run one test and all, check types and format; what each folder contains; the conventions of the code; what must not be changed by hand.',
    'Take it from the files: package and build files, CI, README, a few sources. Leave out what you have not seen, and advice that is true everywhere. At most 60 lines.',
    ...(request.trim() === '' ? [] : [`Pay attention to this: ${request.trim()}`]),
  ].join('\n');
}

/** Whether nothing but Pith's own offline model answers. */
async function isOffline({ find }: Pick<ExtensionContext, 'find'>, { session }: CommandIO, signal: AbortSignal): Promise<boolean> {
  try {
    const asked = session?.model === undefined ? {} : { arguments: { ref: session.model } };
    return String(fieldsOf((await kernelCommands(find(CommandProvider)).run('model', asked, signal)).values.at(-1))['ref']).startsWith(
      'offline/',
    );
  } catch {
    return false; // the message that is sent says what is wrong with the model
  }
}

async function writeOutline(project: string, io: CommandIO, signal: AbortSignal): Promise<void> {
  const text = await outlineOf(project, signal);
  io.print(`No model is connected, so this is only what the files of the project say:\n\n${text}`);
  if ((await io.ask('Write it as AGENTS.md?', { choices: ['yes', 'no'] })) !== 'yes') return io.print('Nothing was written');
  try {
    await writeFile(path.join(project, 'AGENTS.md'), text, { flag: 'wx' });
  } catch (error) {
    const why = codeOf(error, '') === 'EEXIST' ? 'it has appeared meanwhile' : messageOf(error);
    throw new PithError('file_unavailable', `AGENTS.md cannot be written: ${why}`, { where: project, cause: error });
  }
  io.print('AGENTS.md is written. Agents are given it once you have agreed to it: /trust');
}
