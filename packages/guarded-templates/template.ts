/** The variables of a template: texts, and maps of texts. */
export type TemplateVariables = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

interface ProblemOptions {
  readonly code?: TemplateProblem['code'];
  readonly cure?: string | undefined;
  readonly key?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly cause?: unknown;
}

/** A problem of a template with its place, from 1. */
export class TemplateProblem extends Error {
  readonly retryable = false;
  readonly code: 'template_invalid' | 'template_name_unknown';
  readonly cure: string;
  /** The unknown key of a closed variable. */
  readonly key: string | undefined;
  readonly line: number;
  readonly column: number;

  constructor(message: string, options: ProblemOptions = {}) {
    super(message, { cause: options.cause });
    this.code = options.code ?? 'template_invalid';
    this.cure = options.cure ?? 'correct the template';
    this.key = options.key;
    this.line = options.line ?? 1;
    this.column = options.column ?? 1;
  }
}

/** Whether a text has template marks. Without them it is used as it is, and the engine is never loaded. */
export function isTemplate(text: string): boolean {
  return text.includes('{{') || text.includes('{%') || text.includes('{#');
}
