import { type CommandInput, type CommandIO, PithError } from '../../contract/index.ts';
import { printableLine } from '@pith/plain-text';
import type { Kernel } from '../../compose/index.ts';
import type { Permission } from '../../agent/index.ts';
import { colours, printTable, timeOf } from './text.ts';

/** Lists what Pith no longer asks about: in a chat, for the project and this conversation; else for all conversations. */
export async function listPermissions(kernel: Kernel, _input: CommandInput, io: CommandIO): Promise<void> {
  const found = await permissionsOf(kernel, io);
  io.json(found.map(({ number, scope, threadId, tool, covers, at }) => ({ number, scope, thread: threadId, tool, covers, at })));
  printTable(
    io,
    found,
    [
      { title: '#', value: ({ number }) => String(number) },
      { title: 'ALLOWED', value: ({ covers }) => printableLine(covers) },
      { title: 'TOOL', value: ({ tool }) => printableLine(tool) },
      { title: 'WHERE', value: ({ scope, threadId }) => (scope === 'project' ? 'this project' : placeOf(io, threadId)) },
      { title: 'SINCE', value: ({ at }) => timeOf(at) },
    ],
    'Nothing is allowed always',
  );
  if (found.length > 0) io.print(colours(io).dim('Take one back: pith permissions remove <number>'));
}

/** Rejects `usage` for an unknown number. */
export async function removePermissions(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const found = await permissionsOf(kernel, io);
  const { number } = input.arguments;
  const isAll = input.options['all'] === true;
  if (isAll === (number !== undefined))
    throw new PithError('usage', 'say which permission to take back, or --all', { cure: 'see: pith permissions' });
  const wanted = isAll ? found : found.filter((each) => String(each.number) === number);
  if (!isAll && wanted.length === 0)
    throw new PithError('usage', `there is no permission ${printableLine(String(number))}`, { cure: 'see: pith permissions' });
  for (const permission of wanted) {
    await kernel.approvals.takeBack(permission);
    io.print(`Taken back: ${printableLine(permission.covers)} (${printableLine(permission.tool)})`);
  }
  if (wanted.length === 0) io.print('Nothing is allowed always');
  io.json(wanted.map(({ scope, threadId, tool, covers }) => ({ scope, thread: threadId, tool, covers })));
}

async function permissionsOf(
  { approvals }: Kernel,
  { session }: CommandIO,
): Promise<readonly (Permission & { readonly number: number })[]> {
  return (await approvals.permissions(session?.threadId)).map((permission, index) => ({ ...permission, number: index + 1 }));
}

function placeOf({ session }: CommandIO, threadId: string | null): string {
  return session === undefined ? `conversation ${printableLine(threadId ?? '')}` : 'this chat';
}
