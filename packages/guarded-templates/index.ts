import { isTemplate, type TemplateProblem, type TemplateVariables } from './template.ts';

export { isTemplate, TemplateProblem, type TemplateVariables } from './template.ts';

/**
 * What keeps a template from being rendered: syntax, parts and names that are not on the list, names that `variables` does not have, and
 * keys that those named in `closed` do not have. At most 20.
 */
export async function checkTemplate(
  text: string,
  variables: TemplateVariables,
  closed: readonly string[] = [],
): Promise<readonly TemplateProblem[]> {
  if (!isTemplate(text) || simple(text, variables)) return [];
  const { acceptedTemplate } = await import('./accepted.ts');
  return acceptedTemplate(text, variables, closed).problems;
}

/** Rejects with `TemplateProblem`: nothing is rendered that `checkTemplate` would not have accepted. */
export async function renderTemplate(text: string, variables: TemplateVariables, closed: readonly string[] = []): Promise<string> {
  if (!isTemplate(text)) return text;
  const plain = simple(text, variables);
  if (plain) return plain.join('');
  const { renderAccepted } = await import('./rendering.ts');
  return renderAccepted(text, variables, closed);
}

/** `{{ name }}`, `{{ agent.name }}` and `{{ skills['name'] }}`. */
const PLACE = /\{\{ *([a-z_]+)(?:\.([a-z_]+)|\[(?:'([^'"\\{}]+)'|"([^'"\\{}]+)")\])? *\}\}/g;

/** The pieces of a template of nothing but such places with values; null for any other: the engine, 100 KB, is for those. */
function simple(text: string, variables: TemplateVariables): readonly string[] | null {
  const pieces: string[] = [];
  let end = 0;
  for (const found of text.matchAll(PLACE)) {
    const value = valueOf(variables, found[1] as string, found[2] ?? found[3] ?? found[4]);
    const before = text.slice(end, found.index);
    if (value === undefined || isTemplate(before)) return null;
    pieces.push(before, value);
    end = found.index + found[0].length;
  }
  const rest = text.slice(end);
  return isTemplate(rest) ? null : [...pieces, rest];
}

function valueOf(variables: TemplateVariables, name: string, key: string | undefined): string | undefined {
  const own = (target: object, property: string): unknown =>
    Object.hasOwn(target, property) ? (target as Readonly<Record<string, unknown>>)[property] : undefined;
  const value = own(variables, name);
  const found = key === undefined ? value : typeof value === 'object' && value !== null ? own(value, key) : undefined;
  return typeof found === 'string' ? found : undefined;
}
