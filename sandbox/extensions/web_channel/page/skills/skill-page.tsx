import { skillTokens } from '../parts/tokens.ts';
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { useAttempt } from '../parts/attempt.ts';
import { CodeBlock } from '../parts/code-block.tsx';
import { change } from '../parts/confirm.tsx';
import { Markdown } from '../parts/markdown.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { Problem } from '../parts/problem.tsx';
import { Section } from '../parts/section.tsx';
import { followLink, goTo } from '../router.ts';
import { useLoaded } from '../server/loaded.ts';
import { isAdministrator } from '../server/session.ts';
import { Advice, Measured } from './checks.tsx';
import { Explain } from './explain.tsx';
import { CureView } from '../parts/cure.tsx';
import { Findings } from './findings.tsx';
import { History } from './history.tsx';
import { Resources, useResource } from './resources.tsx';
import { changesSkills, type Finding, type Skill } from './skill.ts';
import { Switch } from './switch.tsx';
import { Use } from './use.tsx';

interface WholeSkill extends Skill {
  readonly body: string;
  readonly diagnostics: readonly Finding[];
}

type SkillForm = 'text' | 'source' | 'both';

/** One skill: its text beside its source, what is known of it, and what can be done with it. */
export function SkillPage({ id }: { readonly id: string }): VNode {
  const path = `/api/skills/${encodeURIComponent(id)}`;
  const [loaded, again] = useLoaded<WholeSkill>(path, changesSkills);
  const [shown, setShown] = useState<SkillForm>(() => (matchMedia('(min-width: 64rem)').matches ? 'both' : 'text'));
  const skill = loaded.value.value;
  if (skill === null)
    return (
      <main class="view">
        <p>
          <a href="/skills" onClick={followLink}>
            Skills
          </a>
        </p>
        <Awaited of={loaded.value} />
      </main>
    );
  const isAdmin = isAdministrator();
  return (
    <main class="view">
      <p>
        <a href="/skills" onClick={followLink}>
          Skills
        </a>
      </p>
      <div class="row">
        <h1>{skill.name}</h1>
        <span class={`chip ${skill.state === 'offered' ? 'good' : 'warn'}`}>{skill.state}</span>
        <span class="muted">
          {skill.source} · {skillTokens(skill)}
          {skill.version !== undefined && ` · ${skill.version}`}
        </span>
        {skill.tags?.map((tag) => (
          <span key={tag} class="chip">
            {tag}
          </span>
        ))}
      </div>
      <p>{skill.description}</p>
      {skill.reason !== undefined && (
        <p class="warn">
          {skill.reason}
          <CureView cure={skill.cure} />
        </p>
      )}
      <Findings findings={skill.diagnostics} />
      {isAdmin && <Actions skill={skill} path={path} tag={loaded.value.tag} again={again} />}
      <div class="row" role="group" aria-label="How it is shown">
        {(['text', 'source', 'both'] as const).map((each) => (
          <button key={each} type="button" aria-pressed={shown === each} onClick={() => setShown(each)}>
            {NAMES[each]}
          </button>
        ))}
      </div>
      <div class={shown === 'both' ? 'beside' : ''}>
        {shown !== 'source' && <Markdown text={skill.body} />}
        {shown !== 'text' && <Source path={path} body={skill.body} />}
      </div>
      <Section title="Resources">{() => <Resources path={path} />}</Section>
      <Section title="Would it be found?">{() => <Explain path={path} />}</Section>
      {isAdmin && (
        <>
          <Section title="Use">{() => <Use path={path} />}</Section>
          <Section title="Advice">{() => <Advice skill={skill} />}</Section>
          <Section title="Measured">{() => <Measured skill={skill} />}</Section>
        </>
      )}
      <Section title="History">{() => <History path={path} tag={loaded.value.tag} changed={again} />}</Section>
    </main>
  );
}

const NAMES: Readonly<Record<SkillForm, string>> = { text: 'Text', source: 'Source', both: 'Side by side' };

/** The whole file; where it cannot be read, what a model is given of it. */
function Source({ path, body }: { readonly path: string; readonly body: string }): VNode {
  const file = useResource(path, 'SKILL.md').value;
  return <CodeBlock code={(file !== null && 'text' in file ? file.text : body).trim()} language="markdown" />;
}

interface ActionsProps {
  readonly skill: Skill;
  readonly path: string;
  readonly tag: string | null;
  again(): Promise<void>;
}

function Actions({ skill, path, tag, again }: ActionsProps): VNode {
  const { error, isBusy, attempt } = useAttempt(again);
  const subject = `${skill.source}/${skill.id}`;
  const act = (work: () => Promise<unknown>) => (): void => void attempt(work);
  const isOwn = skill.source === 'sandbox/skills' || skill.source === 'drafts' || skill.source.startsWith('~');
  return (
    <>
      <div class="row">
        {skill.state === 'untrusted' && (
          <button
            type="button"
            class="main"
            disabled={isBusy}
            onClick={act(() => change('POST', '/api/skills/trust', { source: subject }))}
          >
            Trust
          </button>
        )}
        {skill.state === 'offered' && !isOwn && !skill.source.startsWith('bundled') && (
          <button type="button" disabled={isBusy} onClick={act(() => change('POST', '/api/skills/untrust', { source: subject }))}>
            Stop trusting it
          </button>
        )}
        {skill.state === 'draft' && (
          <>
            <button type="button" class="main" disabled={isBusy} onClick={act(() => change('POST', `${path}/accept`, {}, { match: tag }))}>
              Accept
            </button>
            <button type="button" disabled={isBusy} onClick={act(() => change('POST', `${path}/discard`, {}, { match: tag }))}>
              Discard
            </button>
          </>
        )}
        <Switch skill={skill} again={again} />
        {isOwn && skill.state !== 'draft' && (
          <button
            type="button"
            disabled={isBusy}
            onClick={act(async () => ((await change('DELETE', path, {}, { match: tag })) === null ? undefined : goTo('/skills')))}
          >
            Remove
          </button>
        )}
      </div>
      <Problem error={error} />
    </>
  );
}
