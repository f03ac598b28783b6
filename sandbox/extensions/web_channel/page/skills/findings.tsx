import { CureView } from '../parts/cure.tsx';
import type { VNode } from 'preact';
import type { Finding } from './skill.ts';

/** What was found, the worst as it is, each with its cure. */
export function Findings({ findings }: { readonly findings: readonly Finding[] }): VNode {
  return (
    <>
      {findings.map(({ severity, message, cure, line }, at) => (
        <p key={at} class={severity === 'error' ? 'bad' : severity === 'warning' ? 'warn' : ''}>
          {line !== undefined && `Line ${line}: `}
          {message}
          <CureView cure={cure} />
        </p>
      ))}
    </>
  );
}
