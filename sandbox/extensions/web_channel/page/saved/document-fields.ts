import { namesIn } from '../parts/names.ts';

/** What a person writes of a saved skill, as `skill.yml` has it, and how a form shows it. */

export type FieldKind = 'line' | 'text' | 'number' | 'span' | 'switch' | 'tags' | 'tools' | 'skills' | 'model' | 'lane' | 'reactions';

export interface DocumentField {
  readonly key: string;
  readonly label: string;
  readonly about: string;
  readonly kind: FieldKind;
  /** Only administrators set it. */
  readonly isGranted?: true;
}

export interface FieldGroup {
  /** Empty: what a skill is. */
  readonly title: string;
  readonly fields: readonly DocumentField[];
}

const field = (key: string, kind: FieldKind, label: string, about: string): DocumentField => ({ key, kind, label, about });
const granted = (key: string, kind: FieldKind, label: string, about: string): DocumentField => ({
  ...field(key, kind, label, about),
  isGranted: true,
});

export const FIELD_GROUPS: readonly FieldGroup[] = [
  {
    title: '',
    fields: [
      field('name', 'line', 'Name', 'Lower-case letters, digits, - and _'),
      field('description', 'line', 'What it does', 'In one line, for people who choose it'),
      field('system_prompt', 'text', 'Instructions', 'What the model reads'),
      field('initial_message', 'text', 'First message', 'With {{ names }} of inputs; empty: the inputs themselves'),
      field('model_tier', 'model', 'Model', 'Which one works'),
      field('uses_skills', 'skills', 'Skills', 'Their text goes with each run'),
      field('tools', 'tools', 'Tools', 'As extension/tool'),
      field('tags', 'tags', 'Tags', 'Separated by commas'),
      field('version', 'line', 'Version', 'Such as 1.2.0; each save raises it unless you set it'),
    ],
  },
  {
    title: 'Limits and order',
    fields: [
      field('max_iterations', 'number', 'Steps at most', 'Empty: as the settings say'),
      field('max_tool_calls', 'number', 'Tool calls at most', 'Empty: as the settings say'),
      field('max_runtime', 'span', 'Time at most', 'Such as 90s or 5m; empty: as the settings say'),
      field('default_priority', 'number', 'Priority', 'Higher is run first; empty: the default'),
      granted('execution_lane', 'lane', 'Lane', 'Where its runs wait'),
      granted('extended_bounds', 'switch', 'Extended limits', 'It may have those that administrators grant'),
      granted('parallel_composition_allowed', 'switch', 'Parallel runs', 'It may run other skills at the same time'),
    ],
  },
  {
    title: 'For agents',
    fields: [
      field('expose_as_chatbot_tool', 'switch', 'Tool for agents', 'As a tool, with its inputs'),
      field('chatbot_tool_name', 'line', 'Name of the tool', 'Empty: its own name'),
      field('chatbot_tool_description', 'line', 'What agents read of it', 'Empty: what it does'),
      field('chatbot_channel_filter', 'line', 'Only in the channel', 'Empty: in every one'),
    ],
  },
  {
    title: 'Reactions',
    fields: [
      field('default_emoji', 'line', 'Emoji', 'Where a channel shows reactions'),
      field(
        'state_react_emoji',
        'reactions',
        'Emoji by moment',
        'One a line, as __start__: 🚀; also __end__, __error__ and names of tools',
      ),
    ],
  },
];

/** These have rows and boxes of their own. */
export const OWN_FIELDS: readonly string[] = ['input_schema', 'output_target'];

/** What the page of a saved skill decides, where it is asked about or checked. */
export const DECIDED_ELSEWHERE: readonly string[] = [
  'schedule',
  'time_zone',
  'visibility',
  'shared_with',
  'deprecated_by_agent_id',
  'webhook_ip_allowlist',
  'webhook_legacy_signature',
];

/** What no form shows: it stays as it is. */
export const KEPT: readonly string[] = ['id', 'pending_approval'];

/** What the boxes of a field show; everything is a text until it is sent. */
export function textOf(kind: FieldKind, value: unknown): string {
  if (value === undefined || value === null) return '';
  switch (kind) {
    case 'tags':
    case 'tools':
    case 'skills':
      return (value as readonly string[]).join(', ');
    case 'reactions':
      return Object.entries(value as Readonly<Record<string, string>>)
        .map(([moment, emoji]) => `${moment}: ${emoji}`)
        .join('\n');
    case 'number':
      return value === 0 ? '' : String(value);
    case 'span':
      return value === '0s' ? '' : String(value);
    case 'switch':
      return value === true ? 'true' : '';
    default:
      return String(value);
  }
}

/** As the document has it. What is no number, or no moment, goes to the server as it was typed: it says what is wrong. */
export function valueOf(kind: FieldKind, text: string): unknown {
  const bare = text.trim();
  switch (kind) {
    case 'tags':
    case 'tools':
    case 'skills':
      return namesIn(text);
    case 'reactions':
      return reactionsIn(text);
    case 'number':
      return bare === '' ? 0 : /^[+-]?\d+$/u.test(bare) ? Number(bare) : bare;
    case 'span':
      return bare === '' ? '0s' : bare;
    case 'switch':
      return text === 'true';
    case 'text':
      return text;
    default:
      return bare;
  }
}

function reactionsIn(text: string): unknown {
  const lines = text.split('\n').flatMap((line) => line.trim() || []);
  const pairs = lines.map((line) => /^([^:\s]+)\s*:\s*(\S+)$/u.exec(line));
  return pairs.every((pair) => pair !== null) ? Object.fromEntries(pairs.map(([, moment = '', emoji = '']) => [moment, emoji])) : text;
}
