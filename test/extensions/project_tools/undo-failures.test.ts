import { expect, it } from 'vitest';
import type { CommandIO, CommandInput } from 'pith';
import { FileRefused, refusalOf } from '@pith/safe-files';
import type { Changes } from '../../../sandbox/extensions/project_tools/changes/change-tools.ts';
import { undoCommand } from '../../../sandbox/extensions/project_tools/changes/undo-command.ts';
import type { Project } from '../../../sandbox/extensions/project_tools/files/project.ts';

/** Takes back a change of `a.txt`, whose state cannot be found out. */
async function undone(error: unknown): Promise<readonly string[]> {
  const printed: string[] = [];
  const changes = [{ path: 'a.txt', before: null, after: 'digest' }];
  const project = { names: (path: string) => [path], jail: { stat: () => Promise.reject(error as Error) } } as unknown as Project;
  const undo = { last: async () => [{ message: 'm', changes, commands: [] }] };
  const input = { arguments: {}, options: { thread: 'thread' } } as unknown as CommandInput;
  const io = { print: (line: string) => void printed.push(line), json: () => undefined } as unknown as CommandIO;
  await undoCommand(project, { undo } as unknown as Changes).run(input, io, new AbortController().signal);
  return printed;
}

it('U5 a file that is refused stays as it is, and a failure of the system is no refusal', async () => {
  expect(await undone(new FileRefused('file_changed', 'it changed'))).toEqual(['a.txt stays as it is: it changed']);
  for (const code of ['EMFILE', 'EIO']) {
    const failure = refusalOf(Object.assign(new Error(code), { code }), 'a.txt');
    await expect(undone(failure), code).rejects.toBe(failure);
  }
});
