import { existsSync } from 'node:fs';
import path from 'node:path';
import { codeOf, type Command, type CommandIO, type CommandProvider, type ExtensionContext } from 'pith';
import { SkillLibrary, type SkillRecord } from 'pith/skill_registry';
import { actingUser } from '@pith/command-line';
import { isInside } from '@pith/safe-files';
import { diagnosticJson, diagnosticText, lintSkill, type LintResult, skillFilesOf } from '@pith/skill-files';

/** Advises authors of skills. */
export default class SkillLint implements CommandProvider {
  constructor(private readonly context: ExtensionContext) {}

  getCommands(): readonly Command[] {
    return [
      {
        path: 'skills lint',
        description: 'Check skills as validate does, and give advice: what is hard to find, to distinguish or to follow',
        arguments: [{ name: 'skill', description: 'ids, or folders of skills; without, all skills', variadic: true }],
        run: async (input, io) => {
          const results = await this.lint([input.arguments['skill'] ?? []].flat(), io);
          if (io.wantsJson)
            io.json(results.map(({ path, valid, diagnostics }) => ({ path, valid, diagnostics: diagnostics.map(diagnosticJson) })));
          for (const { diagnostics } of results) for (const diagnostic of diagnostics) io.print(diagnosticText(diagnostic));
          if (!io.quiet) io.print(summaryOf(results));
          return results.every(({ valid }) => valid) ? 0 : 1;
        },
      },
    ];
  }

  private async lint(given: readonly string[], io: CommandIO): Promise<readonly LintResult[]> {
    const { workingDirectory } = io;
    const isElsewhere = actingUser(io).asAdmin !== undefined; // it may know of skills, and of nothing else on this machine
    const { adviseOn } = await import('./advise-on.ts');
    const { skills } = await this.context.use(SkillLibrary).records();
    const files: string[] = given.length === 0 ? skills.map(({ file }) => file) : [];
    const results: LintResult[] = [];
    for (const one of given) {
      if (isElsewhere) {
        files.push(...(await this.known(one, workingDirectory, skills)));
        continue;
      }
      const skill = existsSync(path.resolve(workingDirectory, one)) ? null : await this.named(one);
      const found = skill === null ? await skillFilesOf(one, workingDirectory) : [skill.file];
      if (found.length === 0) results.push(await lintSkill(one, workingDirectory));
      files.push(...found);
    }
    const named = new Set(given.length === 0 ? [] : files);
    const apart = skills.filter(({ state, file }) => state !== 'offered' && !named.has(file));
    const advised = await adviseOn([...new Set(files)], {
      beside: skills.map(({ file }) => file),
      apart: new Set(apart.map(({ file }) => file)),
      shipped: new Set(skills.filter(({ source }) => source.startsWith('bundled')).map(({ file }) => file)),
      ids: new Map(skills.map(({ file, id }) => [file, id])),
    });
    return [...results, ...advised];
  }

  /** The skill of this name, or those in this folder. Rejects `skill_not_found`, whatever else is there. */
  private async known(reference: string, directory: string, skills: readonly SkillRecord[]): Promise<readonly string[]> {
    const folder = path.resolve(directory, reference);
    const within = skills.filter(({ file }) => isInside(file, folder)).map(({ file }) => file);
    return within.length > 0 ? within : [(await this.context.use(SkillLibrary).named(reference)).file];
  }

  private async named(reference: string): Promise<SkillRecord | null> {
    try {
      return await this.context.use(SkillLibrary).named(reference);
    } catch (error) {
      if (codeOf(error, '') === 'skill_not_found') return null;
      throw error;
    }
  }
}

function summaryOf(results: readonly LintResult[]): string {
  const counts = new Map<string, number>();
  for (const { diagnostics } of results) for (const { severity } of diagnostics) counts.set(severity, (counts.get(severity) ?? 0) + 1);
  const found = [...counts].map(([severity, count]) => `${count} ${severity}${count === 1 || severity === 'info' ? '' : 's'}`).join(', ');
  return `${results.length} ${results.length === 1 ? 'skill' : 'skills'} checked: ${found || 'nothing to say'}`;
}
