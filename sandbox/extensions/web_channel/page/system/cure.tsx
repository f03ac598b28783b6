import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { change } from '../parts/confirm.tsx';
import { followLink } from '../router.ts';
import { ApiError } from '../server/api.ts';

/** A command in a cure that the page can give: by a request, or on a page of its own. */
interface Known {
  readonly command: RegExp;
  readonly name: (id: string) => string;
  /** The address of a request that does it. */
  readonly does?: (id: string) => string;
  /** The page where a person does it. */
  readonly leads?: (id: string) => string;
}

const of = encodeURIComponent;
const KNOWN: readonly Known[] = [
  { command: /pith extensions allow ([\w-]+)/, name: (id) => `Allow ${id}`, does: (id) => `/api/extensions/${of(id)}/allow` },
  { command: /pith extensions reload ([\w-]+)/, name: (id) => `Reload ${id}`, does: (id) => `/api/extensions/${of(id)}/reload` },
  { command: /pith extensions rollback ([\w-]+)/, name: (id) => `Take ${id} back`, does: (id) => `/api/extensions/${of(id)}/rollback` },
  { command: /pith extensions show ([\w-]+)/, name: (id) => `Show ${id}`, leads: (id) => `/system/extensions/${of(id)}` },
  { command: /pith mcp trust ([\w-]+)/, name: (id) => `Agree to ${id}`, does: (id) => `/api/mcp/${of(id)}/trust` },
  { command: /pith jobs retry ([\w-]{8,})/, name: () => 'Try it again', does: (id) => `/api/jobs/${of(id)}/retry` },
  { command: /pith doctor --restart()/, name: () => 'Restart', does: () => '/api/restart' },
  { command: /pith setup ([\w-]+)/, name: (id) => `Settings of ${id}`, leads: (id) => `/system/extensions/${of(id)}` },
  { command: /pith setup()/, name: () => 'Settings', leads: () => '/system/settings' },
  { command: /pith skills (?:trust|show)() /, name: () => 'Skills', leads: () => '/skills' },
  { command: /pith jobs list()/, name: () => 'Work', leads: () => '/work' },
];

interface CureProps {
  readonly message: string;
  readonly cure?: string | undefined;
  /** Something was changed. */
  done(): void;
}

/** What cures a problem, with a button where a command of its text does. */
export function Cure({ message, cure, done }: CureProps): VNode {
  const [error, setError] = useState<string | null>(null);
  const text = `${message} ${cure ?? ''}`;
  const known = KNOWN.find(({ command }) => command.test(text));
  const id = known?.command.exec(text)?.[1] ?? '';
  const act = async (path: string): Promise<void> => {
    setError(null);
    try {
      await change('POST', path);
      done();
    } catch (wrong) {
      if (!(wrong instanceof ApiError)) throw wrong;
      setError(wrong.message);
    }
  };
  return (
    <span class="muted">
      {cure !== undefined && ` — ${cure}`}{' '}
      {known?.does !== undefined && (
        <button type="button" onClick={() => void act(known.does?.(id) ?? '')}>
          {known.name(id)}
        </button>
      )}
      {known?.leads !== undefined && (
        <a href={known.leads(id)} onClick={followLink}>
          {known.name(id)}
        </a>
      )}
      {error !== null && <span role="alert"> {error}</span>}
    </span>
  );
}
