import { PithError, type CommandIO } from 'pith';
import type { StagedSkill } from './staged-skill.ts';

/**
 * Whether to go on. A person on a terminal is asked, unless they said `--yes` and nothing is of severity high; where nobody can
 * answer it goes on. Throws `scan_blocked` where nobody can answer and something is of severity high.
 */
export async function consent(question: string, skills: readonly StagedSkill[], io: CommandIO, yes: boolean): Promise<boolean> {
  const flagged = skills.filter(({ inspection }) => inspection.findings.some(({ severity }) => severity === 'high'));
  if (yes && flagged.length === 0) return true;
  if (io.interactive)
    return (
      (await io.ask(flagged.length > 0 ? `${question} The scan found something serious.` : question, { choices: ['yes', 'no'] })) === 'yes'
    );
  if (flagged.length === 0) return true;
  const finding = flagged[0]!.inspection.findings[0]!;
  throw new PithError('scan_blocked', `the scan found something serious in '${flagged[0]!.id}': ${finding.message}`, {
    where: `${finding.file}:${finding.line}`,
    cure: 'look at the findings and answer on a terminal, or copy the folder by hand',
  });
}
