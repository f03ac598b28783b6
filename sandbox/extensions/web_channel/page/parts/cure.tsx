import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { followLink } from '../router.ts';
import { ApiError } from '../server/api.ts';
import type { Cure } from '../server/cure.ts';
import { isAdministrator } from '../server/session.ts';
import { change } from './confirm.tsx';

/** A command that a person gives on this page: by its request, or on a page of its own. */
interface KnownCommand {
  /** Its words without `pith`; what is in brackets is what it is about. */
  readonly command: RegExp;
  readonly name: (of: string) => string;
  /** The address of the page where it is done or seen; without one, its request does it. */
  readonly leads?: (of: string) => string;
  readonly isForAll?: true;
}

const KNOWN: readonly KnownCommand[] = [
  { command: /^extensions allow (\S+)/u, name: (id) => `Allow ${id}` },
  { command: /^extensions reload (\S+)/u, name: (id) => `Reload ${id}` },
  { command: /^extensions rollback (\S+)/u, name: (id) => `Take ${id} back` },
  { command: /^mcp trust (\S+)/u, name: (id) => `Agree to ${id}` },
  { command: /^jobs retry (\S+)/u, name: () => 'Try it again', isForAll: true },
  { command: /^restart()$/u, name: () => 'Restart' },
  { command: /^extensions show (\S+)/u, name: (id) => `Show ${id}`, leads: (id) => `/system/extensions/${encodeURIComponent(id)}` },
  { command: /^setup (\w[\w-]*)/u, name: (id) => `Settings of ${id}`, leads: (id) => `/system/extensions/${encodeURIComponent(id)}` },
  { command: /^(?:setup|settings)()\b/u, name: () => 'Settings', leads: () => '/system/settings' },
  { command: /^extensions list()/u, name: () => 'Extensions', leads: () => '/system/extensions' },
  { command: /^agents list()/u, name: () => 'Agents', leads: () => '/system/agents' },
  { command: /^mcp()$/u, name: () => 'MCP servers', leads: () => '/system/mcp' },
  { command: /^tokens()\b/u, name: () => 'Users and tokens', leads: () => '/system/users' },
  { command: /^doctor()$/u, name: () => 'Health', leads: () => '/system' },
  { command: /^skills proposals()\b/u, name: () => 'Proposals', leads: () => '/skills/proposals' },
  { command: /^skills (?:list|show|trust|accept)()\b/u, name: () => 'Skills', leads: () => '/skills', isForAll: true },
  { command: /^saved (?:list|show|versions)()\b/u, name: () => 'Saved skills', leads: () => '/saved', isForAll: true },
  { command: /^(?:jobs|runs|tasks|approvals)(?: list)?()(?: -|$)/u, name: () => 'Work', leads: () => '/work', isForAll: true },
  { command: /^threads list()/u, name: () => 'Chat', leads: () => '/chat', isForAll: true },
];

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
  const words = command?.replace(/^pith /u, '') ?? '';
  const known = KNOWN.find((each) => each.command.test(words) && (each.isForAll === true || isAdministrator()));
  const of = known?.command.exec(words)?.[1] ?? '';
  const place = known?.leads?.(of);
  const sent = known !== undefined && request !== undefined && request.method !== 'GET' ? request : null;
  const act = async (path: string): Promise<void> => {
    setSaid(null);
    try {
      if ((await change('POST', path)) === null) return;
      setSaid({ text: 'Done.', isError: false });
      done?.();
    } catch (wrong) {
      if (!(wrong instanceof ApiError)) throw wrong;
      setSaid({ text: wrong.message, isError: true });
    }
  };
  return (
    <span class="muted">
      {text !== undefined && ` — ${text}`}{' '}
      {place !== undefined ? (
        <a href={place} onClick={followLink}>
          {known?.name(of)}
        </a>
      ) : sent !== null ? (
        <button type="button" onClick={() => void act(sent.path)}>
          {known?.name(of)}
        </button>
      ) : (
        command !== undefined && (
          <>
            In a terminal: <code>{command}</code>
          </>
        )
      )}
      {said !== null && <span role={said.isError ? 'alert' : 'status'}> {said.text}</span>}
    </span>
  );
}
