import { expect, it } from 'vitest';
import type { CommandIO, CommandInput } from 'pith';
import { FileRefused, refusalOf } from '@pith/safe-files';
import type { Changes } from '../../../sandbox/extensions/project_tools/changes/change-tools.ts';
import { undoCommand } from '../../../sandbox/extensions/project_tools/changes/undo-command.ts';
import type { Project } from '../../../sandbox/extensions/project_tools/files/project.ts';

/** Takes back a change of two files; the state of the first cannot be found out, and the second is as it was before. */
async function undone(error: unknown): Promise<readonly string[]> {
  const printed: string[] = [];
  const changes = ['a.txt', 'b.txt'].map((path) => ({ path, before: null, after: 'digest' }));
  const stat = async ([name]: readonly string[]) => (name === 'a.txt' ? Promise.reject(error as Error) : null);
  const project = { names: (path: string) => [path], jail: { stat } } as unknown as Project;
  const undo = { last: async () => [{ message: 'm', changes, commands: [] }] };
  const input = { arguments: {}, options: { thread: 'thread' } } as unknown as CommandInput;
  const io = { print: (line: string) => void printed.push(line), json: () => undefined } as unknown as CommandIO;
  await undoCommand(project, { undo } as unknown as Changes).run(input, io, new AbortController().signal);
  return printed;
}

it('U5 a file that is refused, or that the system does not let us use, stays as it is and costs no other', async () => {
  const refused = [new FileRefused('file_changed', 'it changed'), ...['EMFILE', 'EIO', 'EACCES'].map(failureOf)];
  for (const error of refused) {
    const [first, second] = await undone(error);
    expect([first, second]).toEqual([`a.txt stays as it is: ${error.message}`, expect.stringContaining('b.txt')]);
  }
});

function failureOf(code: string): Error {
  return refusalOf(Object.assign(new Error(code), { code }), 'a.txt') as Error;
}
