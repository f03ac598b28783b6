import { existsSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { messageOf, PithError, type Command, type JsonValue } from 'pith';
import { didYouMean } from '@pith/plain-text';
import type { Builder } from '../builder.ts';
import { checkJson, checkOf, findingText } from '../finding.ts';
import { readSources } from '../sources.ts';
import { tryHere } from '../trial/inside.ts';
import { tryExtension } from '../trial/trial.ts';
import { requireId } from '../places.ts';

export function validateCommand(builder: Builder): Command {
  return {
    path: 'extensions validate',
    needsTrust: true,
    description: 'Check extensions: manifest, imports, types, loading, contract, tests, a call of each tool that changes nothing',
    arguments: [{ name: 'what', description: 'An id or a folder (default: every extension of this sandbox)' }],
    async run({ arguments: given }, io, signal) {
      const what = given['what'];
      const folders =
        what === undefined ? await builder.extensionFolders() : [await folderOf(builder, String(what), io.workingDirectory, signal)];
      const results = [];
      for (const folder of folders) {
        const found = await checked(builder, folder, signal);
        results.push({
          id: found.id,
          path: folder,
          ok: found.ok,
          digest: found.digest,
          checks: found.checks.map((each) => checkJson(each, builder.sandbox)),
        });
        for (const { check, findings } of found.checks)
          for (const finding of findings) io.print(`${check}: ${findingText(finding, builder.sandbox)}`);
        io.print(
          `${found.id}: ${found.ok ? 'passes' : 'does not pass'}${found.tried.length > 0 ? ` (tried ${found.tried.join(', ')})` : ''}`,
        );
      }
      if (folders.length === 0) io.print('No extensions in this sandbox');
      io.json(results);
      return results.every(({ ok }) => ok) ? 0 : 1;
    },
  };
}

/** Of one that cannot be tried that is the finding: the others are checked all the same. */
async function checked(builder: Builder, folder: string, signal: AbortSignal) {
  try {
    return await builder.checkExtension(folder, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    const finding = {
      severity: 'error',
      message: messageOf(error),
      ...(error instanceof PithError && error.cure && { cure: error.cure }),
    } as const;
    return { id: basename(folder), ok: false, digest: null, checks: [checkOf('load', [finding])], tried: [] };
  }
}

async function folderOf(builder: Builder, what: string, directory: string, signal: AbortSignal): Promise<string> {
  const place = resolve(directory, what);
  if (/^[a-z0-9_]+$/.test(what)) {
    const folder = await builder.folderOf(what, signal);
    if (existsSync(folder)) return folder;
    if (!existsSync(place)) {
      const known = (await builder.extensionFolders()).map((each) => basename(each));
      throw new PithError('not_found', `no extension '${what}': nothing declares it${didYouMean(what, known)}`, {
        cure: 'see: pith extensions list',
      });
    }
  }
  if (!existsSync(place)) throw new PithError('not_found', `there is no folder ${place}`, { cure: 'give an id or a folder' });
  return statSync(place, { throwIfNoEntry: false })?.isFile() ? dirname(place) : place;
}

export function probeCommand(builder: Builder): Command {
  return {
    path: 'extensions probe',
    hidden: true,
    needsTrust: true,
    description: 'Test-load an extension in isolation',
    arguments: [{ name: 'dir', description: 'Its folder, in the sandbox or elsewhere', required: true }],
    options: [{ name: 'here', type: 'boolean', description: 'For programs: the sandbox is a trial, which has an extension of that name' }],
    async run({ arguments: given, options }, io, signal) {
      const folder = resolve(io.workingDirectory, String(given['dir']));
      const report =
        options['here'] === true
          ? await tryHere(basename(folder), builder, signal)
          : await tryExtension(folder, await readSources(folder), builder, signal);
      const { id, findings, tried } = report;
      const ok = findings.every(({ severity }) => severity !== 'error');
      io.json({ ok, ...(JSON.parse(JSON.stringify(report)) as Readonly<Record<string, JsonValue>>) });
      for (const finding of findings) io.print(`${finding.check}: ${findingText(finding, builder.sandbox)}`);
      if (!io.quiet) io.print(ok ? `${id} loads${tried.length > 0 ? `; tried: ${tried.join(', ')}` : ''}` : `${id} does not pass`);
      return ok ? 0 : 1;
    },
  };
}

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
