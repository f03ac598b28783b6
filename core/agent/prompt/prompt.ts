import { checkTemplate } from '@pith/guarded-templates';
import type { Diagnostic } from '../../contract/index.ts';
import { CLOSED_VARIABLES } from '../../kernel/index.ts';

/** The variables of a prompt template. */
export type PromptVariables = {
  readonly agent: Readonly<Record<'id' | 'name' | 'description' | 'model', string>>;
  /** By the name in `uses_skills`. */
  readonly skills: Readonly<Record<string, string>>;
  readonly sandbox_dir: string;
  /** `YYYY-MM-DD`, the day the thread began. */
  readonly date: string;
  readonly channel: string;
  readonly user: string;
};

const NONE: PromptVariables = {
  agent: { id: '', name: '', description: '', model: '' },
  skills: {},
  sandbox_dir: '',
  date: '',
  channel: '',
  user: '',
};

export const PROMPT_VARIABLES: readonly string[] = Object.keys(NONE);

/** Findings of a prompt before it is ever rendered: syntax, what is not on the list of what a template may use, unknown names, unbound skills. */
export async function checkPrompt(text: string, file: string | null, bound: readonly string[]): Promise<readonly Diagnostic[]> {
  const skills = Object.fromEntries(bound.map((name) => [name, '']));
  const problems = await checkTemplate(text, { ...NONE, skills }, CLOSED_VARIABLES);
  return problems.map(({ code, message, cure, key, line, column }) => ({
    severity: 'error',
    code: code === 'template_invalid' ? 'prompt_invalid' : 'prompt_symbol_unknown',
    message,
    cure: key === undefined ? cure : `add '${key}' to uses_skills`,
    file: file ?? undefined,
    line,
    column,
  }));
}
