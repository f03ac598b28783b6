import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { CodeBlock } from '../parts/code-block.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { type ApiError, read } from '../server/api.ts';

interface Context {
  readonly model: { readonly ref: string; readonly contextWindow: number | null };
  readonly system: string;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools: readonly { readonly name: string; readonly description: string }[];
  readonly tokens: { readonly total: number; readonly parts: readonly { readonly name: string; readonly tokens: number }[] };
}

/** What the model would be sent with the next message: its parts with their tokens, and all of it on demand. */
export function ContextView({ threadId }: { readonly threadId: string }): VNode {
  const [context, setContext] = useState<Context | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  useEffect(() => {
    read<Context>(`/api/threads/${encodeURIComponent(threadId)}/context`).then(setContext, (wrong: unknown) => setError(wrong as ApiError));
  }, [threadId]);
  if (context === null) return <Awaited of={{ value: context, error }} />;
  const { model, system, messages, tools, tokens } = context;
  const share =
    model.contextWindow === null ? '' : `, ${Math.min(100, Math.round((tokens.total / model.contextWindow) * 100))}% of what it takes`;
  return (
    <section class="context" aria-label="What the model sees">
      <p class="muted">
        {model.ref}: about {tokens.total.toLocaleString()} tokens{share}
      </p>
      <table>
        <tbody>
          {tokens.parts.map((part) => (
            <tr key={part.name}>
              <th scope="row">{part.name}</th>
              <td class="right">{part.tokens.toLocaleString()}</td>
              <td>
                <meter min={0} max={tokens.total} value={part.tokens} aria-label={`Share of ${part.name}`} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <details>
        <summary>System text</summary>
        <CodeBlock code={system} language="markdown" />
      </details>
      <details>
        <summary>Messages ({messages.length})</summary>
        <CodeBlock code={JSON.stringify(messages, null, 2)} language="json" />
      </details>
      <details>
        <summary>Tools ({tools.length})</summary>
        <ul>
          {tools.map(({ name, description }) => (
            <li key={name}>
              <code>{name}</code> {description}
            </li>
          ))}
        </ul>
      </details>
    </section>
  );
}
