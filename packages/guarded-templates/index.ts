import { isTemplate, type TemplateProblem, type TemplateVariables } from './template.ts';

export { isTemplate, TemplateProblem, type TemplateVariables } from './template.ts';

/**
 * The problems that prevent rendering, at most 20: syntax, unknown parts and names, names that are not in `variables`, and unknown keys of
 * the variables in `closed`.
 */
export async function checkTemplate(
  text: string,
  variables: TemplateVariables,
  closed: readonly string[] = [],
): Promise<readonly TemplateProblem[]> {
  if (!isTemplate(text)) return [];
  const { compiled } = await import('./compiling.ts');
  return compiled(text, variables, closed).problems;
}

/** Rejects with `TemplateProblem` for any template that `checkTemplate` would not accept. */
export async function renderTemplate(text: string, variables: TemplateVariables, closed: readonly string[] = []): Promise<string> {
  if (!isTemplate(text)) return text;
  const { compiled } = await import('./compiling.ts');
  return compiled(text, variables, closed).render();
}
