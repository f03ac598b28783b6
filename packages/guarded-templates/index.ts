import { isTemplate, type TemplateProblem, type TemplateVariables } from './template.ts';

export { isTemplate, TemplateProblem, type TemplateVariables } from './template.ts';

/**
 * What keeps a template from being rendered: syntax, parts and names that there are not, names that `variables` does not have, and keys that
 * those named in `closed` do not have. At most 20.
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

/** Rejects with `TemplateProblem`: nothing is rendered that `checkTemplate` would not have accepted. */
export async function renderTemplate(text: string, variables: TemplateVariables, closed: readonly string[] = []): Promise<string> {
  if (!isTemplate(text)) return text;
  const { compiled } = await import('./compiling.ts');
  return compiled(text, variables, closed).render();
}
