import { activeSpan, type Attributes, carried, isCollected, startSpan } from '@pith/genai-spans';
import type { SkillUsed } from './contract.ts';

type Below = (work: () => void) => void;

/** Names skills on the spans of what used them. */
export class SkillSpans {
  /** Runs work below the span of a turn under way, by id: what comes with its message may be told outside of it. */
  readonly #turns = new Map<string, Below>();

  /** `factsOf`: what to say of a skill where its publisher did not. */
  constructor(private readonly factsOf: (skillId: string) => Pick<SkillUsed, 'skillName' | 'source'>) {}

  /** Call below its span. */
  began(turnId: string): void {
    if (isCollected()) this.#turns.set(turnId, below());
  }

  ended(turnId: string): void {
    this.#turns.delete(turnId);
  }

  /** Names the skill on the span of the tool call that used it; a skill that came with the message gets a span of its own, below that of its turn. */
  add(use: SkillUsed): void {
    if (use.state === 'dropped' || !isCollected()) return;
    const attributes = attributesOf({ ...this.factsOf(use.skillId), ...use });
    const active = activeSpan();
    if (active?.operation === 'execute_tool') return active.set(attributes);
    const turn = this.#turns.get(use.turnId ?? '') ?? (active === null ? undefined : below());
    if (use.state === 'loaded') turn?.(() => addLoad(attributes, use.correlationId));
  }
}

function below(): Below {
  return carried((work) => work());
}

function addLoad(attributes: Attributes, correlationId: string | null): void {
  const tool: Attributes = { 'gen_ai.tool.name': 'load_skill', 'gen_ai.tool.type': 'extension' };
  startSpan({ operation: 'execute_tool', correlationId, attributes: { ...tool, ...attributes } }).end();
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
