import { isTemplate, renderTemplate, type TemplateProblem, type TemplateVariables } from '@pith/guarded-templates';
import { PithError } from '../../contract/index.ts';

/** The prompt template of an agent that an extension declares, and the plain values for it. */
export interface PromptTemplate {
  readonly text: string;
  readonly file: string | null;
  readonly variables: TemplateVariables;
}

/** Variables of a prompt that have the keys they are given and no others. */
export const CLOSED_VARIABLES = ['skills'] as const;

/** Rejects `prompt_invalid` with file and line. */
export async function renderPrompt({ text, file, variables }: PromptTemplate): Promise<string> {
  if (!isTemplate(text)) return text;
  try {
    return await renderTemplate(text, variables, CLOSED_VARIABLES);
  } catch (error) {
    const { message, line } = error as TemplateProblem;
    throw new PithError('prompt_invalid', `the prompt cannot be rendered: ${message}`, {
      cause: error,
      where: file === null ? undefined : `${file}:${line}`,
      cure: 'correct the template',
    });
  }
}
