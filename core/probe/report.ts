import type { Diagnostic, Failure, ToolDescriptor } from '../contract/index.ts';

/** What is asked of an extension before it is trusted with anything, in this order. */
export type ProbeCheck = 'manifest' | 'imports' | 'load' | 'contract' | 'tests' | 'smoke';

export interface ProbeFinding extends Diagnostic {
  readonly check: ProbeCheck;
}

/** What loading an extension for trial has shown. */
export interface ProbeReport {
  readonly id: string;
  /** No finding is an error. */
  readonly ok: boolean;
  readonly findings: readonly ProbeFinding[];
  readonly tools: readonly Pick<ToolDescriptor, 'name' | 'description' | 'effect' | 'needsApproval'>[];
  /** What was called: `greet_person`, `getContext`, `main.test.ts`. */
  readonly tried: readonly string[];
}

/** The check that a failure belongs to. */
export function checkOf({ phase, code }: Pick<Failure, 'phase' | 'code'>): ProbeCheck {
  if (code === 'import_forbidden') return 'imports';
  if (IN_THE_CONTRACT.has(code)) return 'contract';
  if (phase === 'discover' || phase === 'validate' || phase === 'order') return 'manifest';
  return phase === 'tool call' || phase === 'getContext' || phase === 'call' ? 'smoke' : 'load';
}

const IN_THE_CONTRACT: ReadonlySet<string> = new Set(['provides_mismatch', 'config_invalid', 'tool_name_invalid', 'tool_input_invalid']);

export function findingOf(failure: Failure): ProbeFinding {
  const { phase, code, message, file, line, cure } = failure;
  return {
    check: checkOf(failure),
    severity: 'error',
    code,
    message: phase === 'bundle' ? message : `${message} (in ${phase})`,
    ...(file === undefined ? {} : { file }),
    ...(line === undefined ? {} : { line }),
    ...(cure === undefined ? {} : { cure }),
  };
}
