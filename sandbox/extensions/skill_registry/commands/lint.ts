import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Command, CommandContext } from 'pith';
import type { LintResult } from '../lint.ts';
import { withRegistry } from './open-registry.ts';
import { diagnosticJson, diagnosticText } from './rows.ts';

export function lint(context: CommandContext): Command {
  return {
    path: 'skills lint',
    description: 'Check skills as validate does, and give advice: what is hard to find, to tell apart or to follow',
    arguments: [{ name: 'skill', description: 'ids, or folders of skills; without, all skills', variadic: true }],
    run: (input, io) =>
      withRegistry(context, async (_, snapshot) => {
        const { adviseOn } = await import('../linting/advise-on.ts');
        const { lintSkill, skillFilesOf } = await import('../lint.ts');
        const { findSkill } = await import('../scan/names.ts');
        const directory = io.workingDirectory;
        const winners = [...snapshot.skills.values()];
        const given = [input.arguments['skill'] ?? []].flat();
        const files: string[] = given.length === 0 ? winners.map(({ file }) => file) : [];
        const results: LintResult[] = [];
        for (const one of given) {
          const skill = existsSync(path.resolve(directory, one)) ? undefined : findSkill(snapshot, one);
          const found = skill === undefined ? await skillFilesOf(one, directory) : [skill.file];
          if (found.length === 0) results.push(await lintSkill(one, directory));
          files.push(...found);
        }
        const named = new Set(given.length === 0 ? [] : files);
        const apart = winners.filter(({ state, file }) => state !== 'offered' && !named.has(file)).map(({ file }) => file);
        const shipped = winners.filter(({ source }) => source.startsWith('bundled')).map(({ file }) => file);
        const beside = winners.map(({ file }) => file);
        results.push(...(await adviseOn([...new Set(files)], { beside, apart: new Set(apart), shipped: new Set(shipped) })));
        if (io.wantsJson)
          io.json(results.map(({ path, valid, diagnostics }) => ({ path, valid, diagnostics: diagnostics.map(diagnosticJson) })));
        for (const { diagnostics } of results) for (const diagnostic of diagnostics) io.print(diagnosticText(diagnostic));
        if (!io.quiet) io.print(summaryOf(results));
        return results.every(({ valid }) => valid) ? 0 : 1;
      }),
  };
}

function summaryOf(results: readonly LintResult[]): string {
  const counts = new Map<string, number>();
  for (const { diagnostics } of results) for (const { severity } of diagnostics) counts.set(severity, (counts.get(severity) ?? 0) + 1);
  const found = [...counts].map(([severity, count]) => `${count} ${severity}${count === 1 || severity === 'info' ? '' : 's'}`).join(', ');
  return `${results.length} ${results.length === 1 ? 'skill' : 'skills'} checked: ${found || 'nothing to say'}`;
}
