import { PithError, type Command } from 'pith';
import type { Builder } from '../builder.ts';
import { requireId } from '../places.ts';

export function rollbackCommand(builder: Builder): Command {
  return {
    path: 'extensions rollback',
    needsTrust: true,
    description: 'Go back to a former version of an extension; the last five are kept',
    arguments: [{ name: 'id', description: 'The extension', required: true }],
    options: [{ name: 'to', type: 'number', description: 'The version (default: the one before the active one)' }],
    async run({ arguments: given, options }, io, signal) {
      const id = requireId('extensions', String(given['id']));
      const to = options['to'] === undefined ? null : Number(options['to']);
      const asker = { by: 'person', threadId: io.session?.threadId ?? null, userId: null };
      const result = await builder.activation.rollBack(id, to, asker, signal);
      if (!result.ok)
        throw new PithError('start_failed', `version ${result.version} of ${id} failed: ${result.reason}`, {
          cure: `version ${result.former} stays`,
        });
      const versions = await builder.versions.list(id);
      io.json({ ok: true, id, version: result.version, before: result.former, versions: versions.map((each) => ({ ...each })) });
      io.print(`${id} is at version ${result.version}${result.former === null ? '' : ` (was ${result.former})`}`);
      return 0;
    },
  };
}
