import type { PromptVariables } from './prompt.ts';
import { checkTemplate, type TemplateFinding } from './template-check.ts';
import { runTemplate } from './template-run.ts';
import { parseTemplate, TemplateProblem, type TemplateNode } from './template-tree.ts';
import { mapOf } from './template-values.ts';

export { TemplateProblem } from './template-tree.ts';

/** A template that may be run, or what keeps it from that. */
export type ReadTemplate =
  | { readonly root: TemplateNode; readonly findings: readonly [] }
  | { readonly root: null; readonly findings: readonly TemplateFinding[] };

/** The one door: whoever has a root from here has one that was accepted as a whole. */
export function readTemplate(text: string, skills: readonly string[]): ReadTemplate {
  try {
    const root = parseTemplate(text);
    const findings = checkTemplate(root, skills);
    return findings.length === 0 ? { root, findings: [] } : { root: null, findings };
  } catch (error) {
    const { message, line = 1, column = 1 } = error instanceof TemplateProblem ? error : new TemplateProblem(String(error));
    return {
      root: null,
      findings: [
        { code: 'prompt_invalid', message: `the prompt cannot be parsed: ${message}`, cure: 'correct the template', line, column },
      ],
    };
  }
}

/** Throws `TemplateProblem`, for the first finding too. */
export function renderTemplate(text: string, variables: PromptVariables): string {
  const { root, findings } = readTemplate(text, Object.keys(variables.skills));
  const [finding] = findings;
  if (root === null) throw new TemplateProblem(finding?.message ?? 'it was refused', finding?.line, finding?.column);
  const { agent, skills, ...texts } = variables;
  return runTemplate(root, mapOf([...Object.entries(texts), ['agent', copied(agent)], ['skills', copied(skills)]]));
}

/** Of texts alone. */
function copied(record: object): unknown {
  return mapOf(Object.entries(record).filter(([, value]) => typeof value === 'string'));
}
