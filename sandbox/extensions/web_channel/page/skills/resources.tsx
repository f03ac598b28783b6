import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { CodeBlock } from '../parts/code-block.tsx';
import { Markdown } from '../parts/markdown.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { type Loaded, useLoaded } from '../server/loaded.ts';
import { changesSkills } from './skill.ts';

interface Files {
  readonly files: readonly { readonly path: string; readonly size: number }[];
  readonly total: number;
  readonly more: boolean;
}

type Resource =
  | { readonly kind: 'text'; readonly text: string; readonly part: number; readonly parts: number }
  | { readonly kind: 'binary'; readonly type: string; readonly size: number; readonly sha256: string };

/** One file of a skill. */
export function useResource(path: string, file: string, part = 1): Loaded<Resource> {
  const [loaded] = useLoaded<Resource>(`${path}/resources?path=${encodeURIComponent(file)}&part=${part}`, changesSkills);
  return loaded.value;
}

/** The files beside a SKILL.md, each as an agent reads it. */
export function Resources({ path }: { readonly path: string }): VNode {
  const [loaded] = useLoaded<Files>(`${path}/resources`, changesSkills);
  const [chosen, setChosen] = useState<string | null>(null);
  const { value } = loaded.value;
  return (
    <>
      <Awaited of={loaded.value} />
      {value?.files.length === 0 && <p class="muted">There are no files beside its SKILL.md.</p>}
      <ul class="files">
        {value?.files.map(({ path: file, size }) => (
          <li key={file}>
            <button type="button" class="quiet" aria-pressed={file === chosen} onClick={() => setChosen(file === chosen ? null : file)}>
              {file}
            </button>
            <span class="muted">{size.toLocaleString()} bytes</span>
          </li>
        ))}
      </ul>
      {value !== null && (value.more || value.total > value.files.length) && (
        <p class="muted">
          The first {value.files.length} of {value.total}
          {value.more && ' or more'}
        </p>
      )}
      {chosen !== null && <ResourceView key={chosen} path={path} file={chosen} />}
    </>
  );
}

function ResourceView({ path, file }: { readonly path: string; readonly file: string }): VNode {
  const [part, setPart] = useState(1);
  const loaded = useResource(path, file, part);
  const { value } = loaded;
  if (value === null) return <Awaited of={loaded} />;
  if (value.kind === 'binary')
    return (
      <p>
        {value.type}, {value.size.toLocaleString()} bytes, sha256 <code>{value.sha256}</code>
      </p>
    );
  return (
    <section aria-label={file}>
      {/\.md$/iu.test(file) ? <Markdown text={value.text} /> : <CodeBlock code={value.text} language={file.split('.').at(-1) ?? ''} />}
      {value.parts > 1 && (
        <div class="row">
          <button type="button" disabled={part === 1} onClick={() => setPart(part - 1)}>
            Before
          </button>
          <span class="muted" role="status">
            Part {part} of {value.parts}
          </span>
          <button type="button" disabled={part === value.parts} onClick={() => setPart(part + 1)}>
            After
          </button>
        </div>
      )}
    </section>
  );
}
