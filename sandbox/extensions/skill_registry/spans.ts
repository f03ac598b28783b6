import { activeSpan, type Attributes, startSpan } from '@pith/genai-spans';
import type { SkillUsed } from './contract.ts';

/** Names the skill on the span of the tool call that used it; a skill that came with the message gets a span of its own, below that of its turn. */
export function addSkill(use: SkillUsed): void {
  if (use.state === 'dropped') return;
  const active = activeSpan();
  if (active === null) return;
  if (active.operation === 'execute_tool') return active.set(attributesOf(use));
  if (use.state !== 'loaded') return;
  const tool: Attributes = { 'gen_ai.tool.name': 'load_skill', 'gen_ai.tool.type': 'extension' };
  startSpan({ operation: 'execute_tool', correlationId: use.correlationId, attributes: { ...tool, ...attributesOf(use) } }).end();
}

function attributesOf({ skillId, skillName, source, path, exit, how, state }: SkillUsed): Attributes {
  return {
    'gen_ai.skill.name': skillName ?? skillId,
    'gen_ai.skill.source.uri': source,
    'gen_ai.skill.resource.name': path,
    'process.exit.code': exit ?? undefined,
    'pith.skill.id': skillId,
    'pith.skill.how': how ?? state,
  };
}
