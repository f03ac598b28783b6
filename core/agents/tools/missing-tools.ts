import type { AgentSpec } from '../../contract/index.ts';
import type { ExtensionsPort } from '../ports.ts';

/** `; 'x' failed, and its tools are missing: see 'pith doctor'` where an extension that an agent uses cannot run, else nothing. For the end of a message. */
export function missingTools({ usesTools }: AgentSpec, extensions: Pick<ExtensionsPort, 'ids' | 'state'>): string {
  const named = usesTools.map((entry) => entry.split('/', 1)[0] as string);
  const wanted = new Set(named.includes('*') ? [...named, ...extensions.ids()] : named);
  const broken = [...wanted].filter((id) => ['failed', 'blocked'].includes(extensions.state(id) ?? '')).sort();
  if (broken.length === 0) return '';
  const names = broken.map((id) => `'${id}'`).join(', ');
  return `; ${names} failed, and ${broken.length === 1 ? 'its' : 'their'} tools are missing: see 'pith doctor'`;
}
