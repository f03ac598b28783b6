import { basename, resolve } from 'node:path';
import type { Command, JsonValue } from 'pith';
import type { Builder } from '../builder.ts';
import { findingText } from '../finding.ts';
import { readSources } from '../sources.ts';
import { tryHere } from '../trial/inside.ts';
import { tryExtension } from '../trial/trial.ts';

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
