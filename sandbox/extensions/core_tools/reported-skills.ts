import path from 'node:path';
import { SkillProvider, type AgentSpec, type Diagnostic, type ExtensionContext, type SkillSummary } from 'pith';

/** What a report may tell an agent of skills. */
export interface ReportedSkills {
  /** null: all of it, for the agent may read every skill that is offered. */
  readonly counts: Readonly<Record<string, number>> | null;
  /** Whether a finding tells of nothing that the agent may not see. */
  tells(finding: Pick<Diagnostic, 'message' | 'file'>): boolean;
}

const ALL: ReportedSkills = { counts: null, tells: () => true };

/** Of an agent that may not read every skill those that it may not read are not there. */
export async function reportedSkills(
  context: Pick<ExtensionContext, 'find'>,
  agent: AgentSpec,
  signal: AbortSignal,
): Promise<ReportedSkills> {
  const [provider] = context.find(SkillProvider);
  if (provider === undefined) return ALL;
  const skills = await provider.listSkills(signal);
  const readable = new Set(await readableBy(provider, agent, signal));
  const isReadable = ({ id, state }: SkillSummary) => state === 'offered' && readable.has(id);
  const hidden = skills.filter((skill) => !isReadable(skill));
  if (hidden.every(({ state }) => state !== 'offered')) return ALL;
  return {
    counts: { offered: skills.length - hidden.length },
    tells: ({ message = '', file }) => hidden.every((skill) => !message.includes(`'${skill.id}'`) && !(file && isOf(skill, file))),
  };
}

async function readableBy(provider: SkillProvider, agent: AgentSpec, signal: AbortSignal): Promise<readonly string[]> {
  try {
    return (await provider.readableSkills?.(agent, signal)) ?? [];
  } catch {
    return []; // where it cannot be known, nothing is reported
  }
}

function isOf(skill: SkillSummary, file: string): boolean {
  const folder = path.extname(skill.path) === '' ? skill.path : path.dirname(skill.path);
  return file === folder || file.startsWith(folder + path.sep);
}
