import { SkillProvider } from 'pith';
import type { ChatContext } from './conversation.ts';

/**
 * What a person means who types the name of a skill with a slash, as some do elsewhere: a message that asks for the skill.
 * null where the agent may read no skill of that name.
 */
export async function skillMessage(context: Pick<ChatContext, 'agents' | 'find'>, agentId: string, line: string): Promise<string | null> {
  const [, name = '', rest = ''] = /^\/(\S+)\s*([^]*)$/u.exec(line.trim()) ?? [];
  if (name === '') return null;
  const agent = await context.agents.find(agentId);
  for (const provider of context.find(SkillProvider)) {
    const readable = (await provider.readableSkills?.(agent)) ?? [];
    if (readable.includes(name)) return rest === '' ? `Use the skill \`${name}\`.` : `Use the skill \`${name}\`: ${rest}`;
  }
  return null;
}
