import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { followLink } from '../router.ts';
import { ApiError } from '../server/api.ts';
import type { ChangeRequest, Cure } from '../server/cure.ts';
import { isAdministrator } from '../server/session.ts';
import { CodeWords } from './code-words.tsx';
import { change } from './confirm.tsx';

/** What a button is named that sends this request; what is in brackets is what it is about. Others stay commands of a terminal. */
const REQUESTS: readonly (readonly [request: RegExp, name: (of: string) => string])[] = [
  [/^POST \/api\/extensions\/([^/]+)\/allow$/u, (id) => `Allow ${id}`],
  [/^POST \/api\/extensions\/([^/]+)\/reload$/u, (id) => `Reload ${id}`],
  [/^POST \/api\/extensions\/([^/]+)\/rollback$/u, (id) => `Roll ${id} back`],
  [/^POST \/api\/mcp\/([^/]+)\/trust$/u, (name) => `Review and trust ${name}`],
  [/^POST \/api\/jobs\/([^/]+)\/retry$/u, () => 'Try it again'],
  [/^POST \/api\/restart()$/u, () => 'Restart'],
];

/** Where on this page is done or seen what a command does. */
interface Place {
  /** The words with which the command begins. */
  readonly begins: string;
  readonly name: string;
  readonly href: string;
  /** The view is about one thing, which the next word names. */
  readonly ofOne?: true;
  /** With more words it is another command. */
  readonly isWhole?: true;
  readonly isForAll?: true;
}

const SKILLS = { name: 'Skills', href: '/skills', isForAll: true } as const;
const SAVED = { name: 'Saved skills', href: '/saved', isForAll: true } as const;
const WORK = { name: 'Work', href: '/work', isForAll: true } as const;

/** The first that fits counts. */
const PLACES: readonly Place[] = [
  { begins: 'extensions show', name: 'Show', href: '/system/extensions', ofOne: true },
  { begins: 'extensions list', name: 'Extensions', href: '/system/extensions' },
  { begins: 'setup', name: 'Settings of', href: '/system/extensions', ofOne: true },
  { begins: 'setup', name: 'Settings', href: '/system/settings' },
  { begins: 'settings', name: 'Settings', href: '/system/settings' },
  { begins: 'agents list', name: 'Agents', href: '/system/agents' },
  { begins: 'mcp', name: 'MCP servers', href: '/system/mcp', isWhole: true },
  { begins: 'tokens', name: 'Users and tokens', href: '/system/users' },
  { begins: 'doctor', name: 'Health', href: '/system' },
  { begins: 'skills proposals', name: 'Proposals', href: '/skills/proposals' },
  ...['list', 'show', 'trust', 'accept'].map((verb) => ({ begins: `skills ${verb}`, ...SKILLS })),
  ...['list', 'show', 'versions'].map((verb) => ({ begins: `saved ${verb}`, ...SAVED })),
  ...['jobs list', 'runs list', 'tasks list'].map((begins) => ({ begins, ...WORK })),
  ...['jobs', 'runs', 'tasks', 'approvals'].map((begins) => ({ begins, ...WORK, isWhole: true }) as const),
  { begins: 'threads list', name: 'Chat', href: '/chat', isForAll: true },
];

/** null: the command is given in a terminal. */
function placeOf(command: string | undefined): { readonly href: string; readonly name: string } | null {
  const words = command?.replace(/^pith /u, '') ?? '';
  for (const { begins, name, href, ofOne = false, isWhole = false, isForAll = false } of PLACES) {
    if (!`${words} `.startsWith(`${begins} `) || !(isForAll || isAdministrator())) continue;
    const [next = ''] = words.slice(begins.length + 1).split(' ');
    if (isWhole && !/^(?:-|$)/u.test(next)) continue;
    if (!ofOne) return { href, name };
    if (/^\w[\w-]*$/u.test(next)) return { href: `${href}/${encodeURIComponent(next)}`, name: `${name} ${next}` };
  }
  return null;
}

/** null: it is not sent from here, or not by this person. */
function buttonOf(request: Cure['request']): { readonly request: ChangeRequest; readonly name: string } | null {
  if (request === undefined || request.method === 'GET' || (request.need === 'admin' && !isAdministrator())) return null;
  const said = `${request.method} ${request.path}`;
  const [pattern, name] = REQUESTS.find(([each]) => each.test(said)) ?? [];
  if (pattern === undefined || name === undefined) return null;
  return { request, name: name(decodeURIComponent(pattern.exec(said)?.[1] ?? '')) };
}

interface CureViewProps {
  readonly cure: Cure | null | undefined;
  /** Something was changed. */
  done?(): void;
}

/** What cures a problem: in words, and as a button or a link where it is done on this page, else as a command of a terminal. */
export function CureView({ cure, done }: CureViewProps): VNode | null {
  const [said, setSaid] = useState<{ readonly text: string; readonly isError: boolean } | null>(null);
  if (cure === null || cure === undefined) return null;
  const { text, command, request } = cure;
  const place = placeOf(command);
  const button = buttonOf(request);
  const act = async ({ method, path }: ChangeRequest): Promise<void> => {
    setSaid(null);
    try {
      if ((await change(method, path)) === null) return;
      setSaid({ text: 'Done.', isError: false });
      done?.();
    } catch (wrong) {
      if (!(wrong instanceof ApiError)) throw wrong;
      setSaid({ text: wrong.message, isError: true });
    }
  };
  return (
    <span class="muted">
      {text !== undefined && (
        <>
          {' — '}
          <CodeWords text={text} />
        </>
      )}{' '}
      {button !== null ? (
        <button type="button" onClick={() => void act(button.request)}>
          {button.name}
        </button>
      ) : place !== null ? (
        <a href={place.href} onClick={followLink}>
          {place.name}
        </a>
      ) : (
        command !== undefined && (
          <>
            {text === undefined ? 'In' : '— in'} a terminal: <code>{command}</code>
          </>
        )
      )}
      {said !== null && <span role={said.isError ? 'alert' : 'status'}> {said.text}</span>}
    </span>
  );
}
