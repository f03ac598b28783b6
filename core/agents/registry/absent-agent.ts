import { PithError } from '../../contract/errors.ts';
import type { Diagnostic } from '../../contract/index.ts';
import { didYouMean } from '../../contract/nearest.ts';

/** Nothing declares it. */
export function unknownAgent(id: string, known: Iterable<string>): PithError {
  return new PithError('agent_unknown', `there is no agent '${id}'${didYouMean(id, known)}`, { where: id, cure: "see 'pith agents list'" });
}

/** It is declared and cannot run. */
export function failedAgent({ id, notes }: { readonly id: string; readonly notes: readonly Diagnostic[] }): PithError {
  const errors = notes.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  if (errors.length > 1) {
    const reasons = errors.map((each, index) => `(${index + 1}) ${reasonOf(each)}`).join(' ');
    return new PithError('agent_failed', `the agent '${id}' cannot run: ${reasons}`);
  }
  return new PithError('agent_failed', `the agent '${id}' cannot run: ${first?.message ?? 'its declaration is broken'}`, {
    where: first && placeOf(first),
    cure: first === undefined ? `see 'pith doctor' for ${id}` : (first.cure ?? 'correct it there'),
  });
}

export function reasonOf(finding: Diagnostic): string {
  const place = placeOf(finding);
  return `${finding.message}${place === undefined ? '' : ` (${place})`}${finding.cure === undefined ? '' : `; ${finding.cure}`}`;
}

function placeOf({ file, line }: Diagnostic): string | undefined {
  return file === undefined || line === undefined ? file : `${file}:${line}`;
}
