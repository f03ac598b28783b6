import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { CodeBlock } from '../parts/code-block.tsx';
import { change } from '../parts/confirm.tsx';
import { Markdown } from '../parts/markdown.tsx';
import { Problem } from '../parts/problem.tsx';
import { followLink, goTo } from '../router.ts';
import { ApiError, read } from '../server/api.ts';
import { useLoaded } from '../server/loaded.ts';
import { person } from '../server/session.ts';
import { changesSkills, type Skill } from './skill.ts';

interface WholeSkill extends Skill {
  readonly body: string;
  readonly sha256: string;
  readonly allowedTools: readonly string[] | null;
  readonly scripts: readonly string[];
  readonly examples: readonly string[];
  readonly resources?: readonly { readonly path: string; readonly size: number }[];
  readonly diagnostics: readonly { readonly severity: string; readonly message: string; readonly cure?: string }[];
}

interface Version {
  readonly number: number;
  readonly version: string | null;
  readonly at: number | string;
  readonly why: string | null;
}

/** One skill: its text beside its source, and what can be done with it. */
export function SkillPage({ id }: { readonly id: string }): VNode {
  const path = `/api/skills/${encodeURIComponent(id)}`;
  const [loaded, again] = useLoaded<WholeSkill>(path, changesSkills);
  const [isSource, setSource] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const skill = loaded.value.value;
  if (skill === null)
    return (
      <main class="view">
        <Problem error={loaded.value.error} />
      </main>
    );
  const act = async (work: () => Promise<unknown>): Promise<void> => {
    setError(null);
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setError(error);
    }
    again();
  };
  const subject = `${skill.source}/${skill.id}`;
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
          {skill.source} · {skill.tokens.toLocaleString()} tokens{skill.version !== undefined && ` · ${skill.version}`}
        </span>
      </div>
      <p>{skill.description}</p>
      {skill.reason !== undefined && <p class="warn">{skill.reason}</p>}
      {skill.diagnostics.map(({ severity, message, cure }) => (
        <p key={message} class={severity === 'error' ? 'bad' : 'warn'}>
          {message}
          {cure !== undefined && <span class="muted"> — {cure}</span>}
        </p>
      ))}
      <Problem error={error} />
      {person.value?.role === 'admin' && (
        <div class="row">
          {skill.state === 'untrusted' && (
            <button type="button" class="main" onClick={() => void act(() => change('POST', '/api/skills/trust', { source: subject }))}>
              Trust
            </button>
          )}
          {skill.state === 'draft' && (
            <button type="button" class="main" onClick={() => void act(() => change('POST', `${path}/accept`))}>
              Accept
            </button>
          )}
          <button
            type="button"
            onClick={() => void act(async () => ((await change('DELETE', path)) === null ? undefined : goTo('/skills')))}
            disabled={skill.source === 'bundled'}
          >
            Remove
          </button>
        </div>
      )}
      <div class="row" role="group" aria-label="How it is shown">
        <button type="button" aria-pressed={!isSource} onClick={() => setSource(false)}>
          Text
        </button>
        <button type="button" aria-pressed={isSource} onClick={() => setSource(true)}>
          Source
        </button>
      </div>
      {isSource ? <CodeBlock code={skill.body.trim()} language="markdown" /> : <Markdown text={skill.body} />}
      <Explain path={path} />
      <History path={path} />
    </main>
  );
}

/** How it ranks for a message. */
function Explain({ path }: { readonly path: string }): VNode {
  const [text, setText] = useState('');
  const [answer, setAnswer] = useState<string | null>(null);
  const explain = async (event: Event): Promise<void> => {
    event.preventDefault();
    const said = await read<Readonly<Record<string, unknown>>>(`${path}/explain?text=${encodeURIComponent(text)}`).catch(
      (error: unknown) => ({
        error: String(error),
      }),
    );
    setAnswer(JSON.stringify(said, null, 2));
  };
  return (
    <section>
      <h2>Would it be found?</h2>
      <form class="row" onSubmit={(event) => void explain(event)}>
        <input
          value={text}
          placeholder="A message"
          aria-label="A message to find it by"
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <button type="submit">Explain</button>
      </form>
      {answer !== null && <CodeBlock code={answer} language="json" />}
    </section>
  );
}

function History({ path }: { readonly path: string }): VNode | null {
  const [loaded, again] = useLoaded<readonly Version[]>(`${path}/history`, changesSkills);
  const versions = loaded.value.value ?? [];
  if (versions.length === 0) return null;
  return (
    <section>
      <h2>History</h2>
      <table>
        <tbody>
          {versions.map(({ number, version, at, why }) => (
            <tr key={number}>
              <td>{number}</td>
              <td>{version}</td>
              <td>{new Date(at).toLocaleString()}</td>
              <td>{why}</td>
              <td>
                {number !== versions[0]?.number && person.value?.role === 'admin' && (
                  <button
                    type="button"
                    onClick={() => void change('POST', `${path}/rollback`, { version: String(number) }).then(again, again)}
                  >
                    Go back to it
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
