import type { Command, CommandContext } from 'pith';
import { diagnosticJson, diagnosticText } from './rows.ts';

export function validate(_context: CommandContext): Command {
  return {
    path: 'skills validate',
    description: 'Hold skills to the specification; fails when one has errors',
    arguments: [{ name: 'path', description: 'folder of a skill or of several, or a SKILL.md', required: true, variadic: true }],
    async run(input, io) {
      const { lintSkills } = await import('../lint.ts');
      const paths = [input.arguments['path'] ?? []].flat();
      const results = (await Promise.all(paths.map(lintSkills))).flat();
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
