import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { useAttempt } from '../parts/attempt.ts';
import { change } from '../parts/confirm.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { Problem } from '../parts/problem.tsx';
import { Table } from '../parts/table.tsx';
import { useLoaded } from '../server/loaded.ts';
import { Findings } from './findings.tsx';
import { changesSkills, type Finding, type Skill } from './skill.ts';

interface LintResult {
  readonly path: string;
  readonly valid: boolean;
  readonly diagnostics: readonly Finding[];
}

/** What lint says of a skill. */
export function Advice({ skill: { source, id } }: { readonly skill: Skill }): VNode {
  const [loaded] = useLoaded<readonly LintResult[]>(`/api/all-skills/lint?skill=${encodeURIComponent(`${source}/${id}`)}`, changesSkills);
  const { value } = loaded.value;
  const findings = value?.flatMap(({ diagnostics }) => diagnostics) ?? [];
  return (
    <>
      <Awaited of={loaded.value} />
      {value !== null && findings.length === 0 && <p class="good">No advice.</p>}
      <Findings findings={findings} />
    </>
  );
}

interface Side {
  readonly name: string;
  readonly runs: number;
  readonly passed: number;
  readonly loaded: number;
}

interface Evaluation {
  readonly tasks: number;
  readonly k: number;
  readonly problems: readonly string[];
  readonly refused: string | null;
  readonly rankers: readonly {
    readonly name: string;
    readonly cases: number;
    readonly recallAt1: number;
    readonly recallAt5: number;
    readonly notLoad: { readonly cases: number; readonly passed: number };
    readonly failed: readonly { readonly text: string; readonly should: string; readonly rank: number | null }[];
  }[];
  readonly skills: readonly {
    readonly id: string;
    readonly model: string | null;
    readonly verdict: string;
    readonly cases: readonly { readonly prompt: string; readonly verdict: string | null; readonly sides: readonly Side[] }[];
  }[];
}

/** What its own cases say: how it is found, and what a model does with and without it. */
export function Measured({ skill: { source, id } }: { readonly skill: Skill }): VNode {
  const { error, isBusy, attempt } = useAttempt();
  const [found, setFound] = useState<Evaluation | null>(null);
  const measure = (offline: boolean) => (): void =>
    void attempt(async () => setFound(await change<Evaluation>('POST', '/api/skills/evals', { ids: [`${source}/${id}`], offline })));
  return (
    <>
      <div class="row">
        <button type="button" disabled={isBusy} onClick={measure(true)}>
          Measure how it is found
        </button>
        <button type="button" disabled={isBusy} onClick={measure(false)}>
          Also run its tasks with a model
        </button>
        <span role="status">{isBusy && 'Measuring …'}</span>
      </div>
      <Problem error={error} />
      {found !== null && <Figures {...found} />}
    </>
  );
}

function Figures({ rankers, skills, problems, refused, tasks }: Evaluation): VNode {
  return (
    <>
      {[...problems, ...(refused === null ? [] : [refused])].map((text) => (
        <p key={text} class="warn">
          {text}
        </p>
      ))}
      {rankers.every(({ cases, notLoad }) => cases + notLoad.cases === 0) ? (
        <p class="muted">It has no cases of search: add examples to its frontmatter, or evals/evals.yaml.</p>
      ) : (
        <Table label="How it is found" columns={['Ranker', 'Cases', 'First', 'Among five', 'Correctly not found']}>
          {rankers.map(({ name, cases, recallAt1, recallAt5, notLoad }) => (
            <tr key={name}>
              <td>{name}</td>
              <td>{cases}</td>
              <td>{percent(recallAt1)}</td>
              <td>{percent(recallAt5)}</td>
              <td>{notLoad.cases === 0 ? '–' : `${notLoad.passed} of ${notLoad.cases}`}</td>
            </tr>
          ))}
        </Table>
      )}
      {rankers.at(-1)?.failed.map(({ text, should, rank }) => (
        <p key={text} class="warn">
          {should === 'not_load' ? `First for “${text}”, and should not be` : `${rank === null ? 'Not found' : `At ${rank}`} for “${text}”`}
        </p>
      ))}
      {skills.map(({ id, model, verdict, cases }) => (
        <section key={id}>
          <p class={verdict === 'worse' ? 'bad' : 'good'}>
            {verdict}
            {model !== null && <span class="muted"> with {model}</span>}
          </p>
          <Table label="Tasks" columns={['Task', ...(cases[0]?.sides.map(({ name }) => name) ?? []), 'Verdict']}>
            {cases.map(({ prompt, sides, verdict: said }) => (
              <tr key={prompt}>
                <td>{prompt}</td>
                {sides.map(({ name, passed, runs }) => (
                  <td key={name}>
                    {passed} of {runs}
                  </td>
                ))}
                <td>{said ?? 'not measured'}</td>
              </tr>
            ))}
          </Table>
        </section>
      ))}
      {skills.length === 0 && tasks > 0 && <p class="muted">{tasks} tasks were not run.</p>}
    </>
  );
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}
