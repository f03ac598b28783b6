import { sha256 } from '@pith/plain-data';
import { defineTool, type Tool, toolResult, z } from 'pith';

const STATUS = ['pending', 'in_progress', 'completed'] as const;
const MARKS: Readonly<Record<Status, string>> = { pending: '[ ]', in_progress: '[>]', completed: '[x]' };

type Status = (typeof STATUS)[number];

/** The agent's list of what it has to do. The conversation keeps it: the newest stays whole when that is shortened. */
export function todoTool(): Tool {
  return defineTool({
    name: 'todo_write',
    description:
      'Keep a todo list where work has three steps or more: the whole list each time, at the start and when an item begins or ends. The person sees it.',
    input: z.object({
      todos: z.array(z.object({ content: z.string().trim().min(1).max(300), status: z.enum(STATUS) })).max(50),
    }),
    effect: 'read', // it changes nothing outside the conversation
    permission: { authoring: 'anyone', safeToShare: true },
    execute({ todos }) {
      const done = todos.filter(({ status }) => status === 'completed').length;
      const open = todos.filter(({ status }) => status !== 'completed');
      const now = open.find(({ status }) => status === 'in_progress');
      const count = `${done} of ${todos.length} done`;
      // Without what is done: each later step of the model costs it again.
      const text = [`Todo list: ${count}`, ...open.map(({ content, status }) => `${MARKS[status]} ${content}`)].join('\n');
      return toolResult(text, {
        title: `Todo list: ${count}${now === undefined ? '' : `, now: ${now.content}`}`,
        metadata: { checklist: todos },
        retain: { key: 'todo list', digest: sha256(text).slice(0, 12) },
      });
    },
  });
}
