import { SkillProvider, type TurnRequest } from 'pith';
import { printableLine } from '@pith/plain-text';
import type { ChatContext } from './conversation.ts';

type Attachment = NonNullable<TurnRequest['attachments']>[number];

/** A skill that a person asked for by its name, to be sent with a message. */
export interface LoadedSkill {
  readonly id: string;
  /** Of the whole SKILL.md. */
  readonly sha256: string;
  readonly attachment: Attachment;
}

/** null where the agent may read no skill of that name. */
export async function loadSkill(
  context: Pick<ChatContext, 'agents' | 'find'>,
  agentId: string,
  name: string,
  signal: AbortSignal,
): Promise<LoadedSkill | null> {
  const agent = await context.agents.find(agentId);
  for (const provider of context.find(SkillProvider)) {
    const readable = (await provider.readableSkills?.(agent, signal)) ?? [];
    if (!readable.includes(name)) continue;
    const content = await provider.getSkillContent(name, signal);
    return { id: content.id, sha256: content.sha256, attachment: { name: `skill ${name}`, text: envelope(content) } };
  }
  return null;
}

/** As a model is given a skill that it reads itself. */
function envelope({ id, version, sha256, body }: Awaited<ReturnType<SkillProvider['getSkillContent']>>): string {
  const name = printableLine(id);
  const end = /<\/skill/iu.test(body) ? `</skill sha256="${sha256}">` : '</skill>'; // no text can imitate it
  return [
    `[Skill: ${name}]`,
    `version: ${version === null ? 'none' : printableLine(version)}`,
    `sha256: ${sha256}`,
    'The person has loaded this skill for their message. Other files of it are read with the tools for skills.',
    '',
    `<skill id="${name.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')}" sha256="${sha256}">`,
    body,
    end,
    '',
    `[End of skill: ${name}, sha256 ${sha256.slice(0, 12)}]`,
  ].join('\n');
}
