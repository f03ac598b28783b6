import type { VNode } from 'preact';
import { CodeBlock } from '../parts/code-block.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { never, useLoaded } from '../server/loaded.ts';
import { useAtRest } from './at-rest.ts';
import type { Conversation } from './conversation.ts';

interface Part {
  readonly name: string;
  /** null: it is the agent's, the conversation's or the kernel's. */
  readonly extensionId: string | null;
  readonly isOfMessage: boolean;
  readonly tokens: number;
}

interface Context {
  readonly model: { readonly ref: string; readonly contextWindow: number | null };
  readonly system: string;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools: readonly { readonly name: string; readonly description: string }[];
  readonly tokens: { readonly total: number; readonly parts: readonly Part[] };
}

/** What the model would be sent with the next message: its parts with their tokens, and all of it on demand. */
export function ContextView({ conversation }: { readonly conversation: Conversation }): VNode {
  const [loaded, again] = useLoaded<Context>(`/api/threads/${encodeURIComponent(conversation.id)}/context`, never);
  useAtRest(conversation, () => void again());
  const context = loaded.value.value;
  if (context === null) return <Awaited of={loaded.value} />;
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
              <th scope="row">
                {wordsOf(part)} {part.extensionId !== null && <span class="muted">{part.extensionId}</span>}
              </th>
              <td class="right">{part.tokens.toLocaleString()}</td>
              <td>
                <meter min={0} max={tokens.total} value={part.tokens} aria-label={`Share of ${wordsOf(part)}`} />
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

/** What a part is: those of the kernel by their names, those of extensions by whose they are. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ['prompt', 'Instructions'],
  ['instructions', 'Instructions from the settings'],
  ['history', 'Earlier messages'],
  ['message', 'This message'],
  ['tools', 'Tools'],
  ['skill_registry', 'Skills'],
  ['project_instructions', 'Project'],
  ['project_tools', 'Files of the project'],
  ['task_engine', 'Tasks'],
]);

function wordsOf({ name, extensionId, isOfMessage }: Part): string {
  const words = WORDS.get(extensionId ?? name) ?? (extensionId === null ? name : 'Text from');
  return isOfMessage ? `${words}, for this message` : words;
}
