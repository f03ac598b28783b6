import { type AgentSpec, codeOf, type Diagnostic, messageOf, type Remote, type SkillContent, SkillProvider } from '../../contract/index.ts';
import type { Cleaning, ExtensionFacts, Providers } from '../../kernel/index.ts';

/** One entry of `uses_skills` as it is now: its content, or why there is none. */
export interface BoundSkill {
  /** As the manifest names it. */
  readonly name: string;
  readonly content: SkillContent | null;
  /** An `error` fails the agent, a `warning` degrades it; null when all is well. */
  readonly note: Diagnostic | null;
}

/** Reads bound skills and keeps the last good body of each, so that a removal does not take an agent down. */
export interface BoundSkills {
  read(agent: Pick<AgentSpec, 'id' | 'usesSkills'>, signal?: AbortSignal): Promise<readonly BoundSkill[]>;
}

/** What skills are read from; bodies stand in prompts, and hold no secrets. */
export interface SkillHost {
  readonly extensions: Pick<ExtensionFacts, 'keepsNames'>;
  readonly providers: Pick<Providers, 'active'>;
  readonly secrets: Pick<Cleaning, 'redactJson'>;
}

export function createBoundSkills({ extensions, providers, secrets }: SkillHost): BoundSkills {
  const lastGood = new Map<string, SkillContent>();

  async function readOne(provider: Remote<SkillProvider>, name: string, signal?: AbortSignal): Promise<BoundSkill> {
    try {
      const content = secrets.redactJson(await provider.getSkillContent(name, signal));
      if (content.stale !== undefined) return { name, content, note: staleNote(name, content.stale) };
      lastGood.set(name, content);
      return { name, content, note: null };
    } catch (error) {
      const kept = lastGood.get(name);
      const code = codeOf(error, 'provider_failed');
      if (code === 'skills_disabled') return { name, content: null, note: offNote(`skill '${name}' is left out: ${messageOf(error)}`) };
      if (code === 'skill_not_found' || code === 'skill_not_offered') {
        if (kept !== undefined && code === 'skill_not_found') return { name, content: kept, note: staleNote(name, 'it was removed') };
        return { name, content: null, note: refusal(code, name, error) };
      }
      // The provider itself is in trouble: that never silences an agent.
      const why = messageOf(error);
      if (kept !== undefined) return { name, content: kept, note: staleNote(name, `it cannot be read now (${why})`) };
      return { name, content: null, note: { severity: 'warning', code, message: `skill '${name}' is left out: ${why}` } };
    }
  }

  return {
    async read({ id, usesSkills: names }, signal) {
      if (names.length === 0) return [];
      let provider: Remote<SkillProvider> | undefined;
      let why = 'no running extension provides skills';
      try {
        [provider] = await providers.active(SkillProvider);
      } catch (error) {
        why = messageOf(error);
      }
      const found = provider;
      if (found === undefined) return names.map((name) => ({ name, content: null, note: offNote(`skill '${name}' is left out: ${why}`) }));
      const read = await Promise.all(names.map((name) => readOne(found, name, signal)));
      // A person who keeps a skill back from an agent that ships broke nothing.
      const isTheirs = (note: Diagnostic) => note.code === 'skill_not_offered' && extensions.keepsNames(id);
      return read.map((each) => (each.note && isTheirs(each.note) ? { ...each, note: { ...each.note, severity: 'warning' } } : each));
    },
  };
}

function offNote(message: string): Diagnostic {
  return { severity: 'warning', code: 'skills_disabled', message, cure: 'switch skills on to use it' };
}

function staleNote(name: string, why: string): Diagnostic {
  return {
    severity: 'warning',
    code: 'skill_not_found',
    message: `skill '${name}' is used as it was last read: ${why}`,
    cure: `restore it, or take '${name}' out of uses_skills`,
  };
}

function refusal(code: string, name: string, error: unknown): Diagnostic {
  const cure = typeof error === 'object' && error !== null && 'cure' in error && typeof error.cure === 'string' ? error.cure : undefined;
  return {
    severity: code === 'skill_not_found' ? 'warning' : 'error', // a name that nothing has; else one that a person keeps back
    code,
    message: `uses_skills '${name}': ${messageOf(error)}`,
    cure: cure ?? `make '${name}' available, or take it out of uses_skills`,
  };
}
