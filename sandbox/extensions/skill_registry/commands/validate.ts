import { existsSync } from 'node:fs';
import path from 'node:path';
import { Places, type Command, type CommandContext } from 'pith';
import { printableLine } from '@pith/plain-text';
import { diagnosticJson, diagnosticText } from '@pith/skill-files';

export function validate(context: CommandContext): Command {
  return {
    path: 'skills validate',
    description: 'Check skills against the specification; fails when one has errors',
    arguments: [
      {
        name: 'path',
        description: 'folder of a skill or of several, a SKILL.md, or the id of a skill',
        required: true,
        variadic: true,
      },
    ],
    async run(input, io) {
      const { lintSkills } = await import('@pith/skill-files');
      const paths = await placesOf([input.arguments['path'] ?? []].flat(), context, io.workingDirectory);
      const results = (await Promise.all(paths.map((given) => lintSkills(given, io.workingDirectory)))).flat();
      if (io.wantsJson)
        io.json(results.map(({ path, valid, diagnostics }) => ({ path, valid, diagnostics: diagnostics.map(diagnosticJson) })));
      for (const { path, valid, diagnostics } of results) {
        for (const diagnostic of diagnostics) io.print(diagnosticText(diagnostic));
        io.print(
          `${printableLine(path)}: ${valid ? 'valid' : 'invalid'}${valid && diagnostics.length > 0 ? `, ${diagnostics.length} to look at` : ''}`,
        );
      }
      return results.every(({ valid }) => valid) ? 0 : 1;
    },
  };
}

/** A path stays one; anything else may name a skill of any source, as `skills lint` takes it. */
async function placesOf(given: readonly string[], context: CommandContext, directory: string): Promise<readonly string[]> {
  const isThere = (one: string) => existsSync(path.resolve(directory, one));
  if (given.every(isThere)) return given;
  const { withRegistry } = await import('./open-registry.ts');
  const { findSkill } = await import('../scan/names.ts');
  return withRegistry(context, (_, snapshot) =>
    given.map((one) => (isThere(one) ? one : (findSkill(snapshot, one)?.directory ?? inSandbox(one, context.use(Places).sandbox)))),
  );
}

/** A folder of that name that is not a skill: the report says what it lacks. */
function inSandbox(given: string, sandbox: string): string {
  const folder = path.join(sandbox, 'skills', given);
  return /^[\p{L}\p{N}-]+$/u.test(given) && existsSync(folder) ? folder : given;
}
