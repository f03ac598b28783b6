import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Command, CommandContext } from 'pith';
import { diagnosticJson, diagnosticText } from './rows.ts';

export function validate({ sandbox }: CommandContext): Command {
  return {
    path: 'skills validate',
    description: 'Hold skills to the specification; fails when one has errors',
    arguments: [
      {
        name: 'path',
        description: 'folder of a skill or of several, a SKILL.md, or the id of a skill of this sandbox',
        required: true,
        variadic: true,
      },
    ],
    async run(input, io) {
      const { lintSkills } = await import('../lint.ts');
      const paths = [input.arguments['path'] ?? []].flat().map((given) => placeOf(given, sandbox, io.workingDirectory));
      const results = (await Promise.all(paths.map((given) => lintSkills(given, io.workingDirectory)))).flat();
      if (io.wantsJson)
        io.json(results.map(({ path, valid, diagnostics }) => ({ path, valid, diagnostics: diagnostics.map(diagnosticJson) })));
      for (const { path, valid, diagnostics } of results) {
        for (const diagnostic of diagnostics) io.print(diagnosticText(diagnostic));
        io.print(`${path}: ${valid ? 'valid' : 'invalid'}${valid && diagnostics.length > 0 ? `, ${diagnostics.length} to look at` : ''}`);
      }
      return results.every(({ valid }) => valid) ? 0 : 1;
    },
  };
}

/** A path stays one; an id is looked for where this sandbox has its skills. */
function placeOf(given: string, sandbox: string, directory: string): string {
  const folder = path.join(sandbox, 'skills', given);
  return /^[\p{L}\p{N}-]+$/u.test(given) && !existsSync(path.resolve(directory, given)) && existsSync(folder) ? folder : given;
}
