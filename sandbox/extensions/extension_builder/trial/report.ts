import { z } from 'pith';

/** What is asked of an extension before it is trusted with anything. */
const CHECKS = ['manifest', 'imports', 'load', 'contract', 'tests', 'smoke'] as const;
export type TrialCheck = (typeof CHECKS)[number];

export const trialFinding = z.object({
  check: z.enum(CHECKS),
  severity: z.enum(['error', 'warning', 'info']),
  code: z.string(),
  message: z.string(),
  file: z.string().optional(),
  line: z.number().optional(),
  cure: z.string().optional(),
});

/** What loading an extension for trial has shown. */
export const trialReport = z.object({
  id: z.string(),
  /** It was loaded, so that its tools and its tests could be tried. */
  loaded: z.boolean(),
  findings: z.array(trialFinding),
  tools: z.array(z.object({ name: z.string(), description: z.string(), effect: z.string(), needsApproval: z.string() })),
  /** What was called: `greet_person`, `getContext`, `main.test.ts`. */
  tried: z.array(z.string()),
});

export type TrialFinding = z.infer<typeof trialFinding>;
export type TrialReport = z.infer<typeof trialReport>;

/** What went wrong, as `pith extensions show` says it. */
type Failed = Partial<Omit<TrialFinding, 'check' | 'severity'>> & { readonly phase?: string | undefined };

const IN_THE_CONTRACT: readonly string[] = ['provides_mismatch', 'config_invalid', 'tool_name_invalid', 'tool_input_invalid'];
const IN_THE_MANIFEST: readonly string[] = ['discover', 'validate', 'order'];
const IN_A_CALL: readonly string[] = ['tool call', 'getContext', 'call'];

/** The check that a failure belongs to. */
export function checkOfFailure({ phase = 'order', code = '' }: Failed): TrialCheck {
  if (code === 'import_forbidden') return 'imports';
  if (IN_THE_CONTRACT.includes(code)) return 'contract';
  if (IN_THE_MANIFEST.includes(phase)) return 'manifest';
  return IN_A_CALL.includes(phase) ? 'smoke' : 'load';
}

export function findingOfFailure(failure: Failed): TrialFinding {
  const { phase = 'order', code = 'dependency_failed', message = 'it cannot run', file, line, cure } = failure;
  return {
    check: checkOfFailure(failure),
    severity: 'error',
    code,
    message: phase === 'bundle' ? message : `${message} (in ${phase})`,
    file,
    line,
    cure,
  };
}
