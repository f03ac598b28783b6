import { codeOf, type Diagnostic, messageOf, PithError } from '../../contract/index.ts';
import { FINDINGS } from '../calls/surface.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import { callProvider } from './handle.ts';

/** What extensions that run say is wrong in their own matters. Never rejects: that one does not say it is a finding. */
export async function extensionFindings(lifecycle: Lifecycle): Promise<readonly Diagnostic[]> {
  const asked = [...lifecycle.slots.values()].filter(({ current }) => current?.surface.operations.has(FINDINGS));
  const found = await Promise.all(asked.map(({ id }) => findingsOf(lifecycle, id)));
  return lifecycle.runtime.secrets.redactJson(found.flat());
}

async function findingsOf(lifecycle: Lifecycle, id: string): Promise<readonly Diagnostic[]> {
  try {
    const found = await callProvider(lifecycle, id, FINDINGS, []);
    if (Array.isArray(found) && found.every(isDiagnostic)) return found;
    throw new PithError('provider_failed', 'it returned no list of { severity, code, message, file?, line?, column?, cure? }');
  } catch (error) {
    const code = codeOf(error, 'provider_failed');
    if (code === 'interrupted' || code === 'stopped') return []; // it ended or was replaced meanwhile
    const message = `the extension '${id}' cannot say what it finds: ${messageOf(error)}`;
    return [{ severity: 'error', code, message, cure: `correct the source of ${id}` }];
  }
}

function isDiagnostic(value: unknown): value is Diagnostic {
  if (typeof value !== 'object' || value === null) return false;
  const { severity, code, message, file = '', line = 1, column = 1, cure = '' } = value as Readonly<Record<string, unknown>>;
  return (
    ['error', 'warning', 'info'].includes(String(severity)) &&
    [code, message, file, cure].every((text) => typeof text === 'string') &&
    [line, column].every(Number.isInteger)
  );
}
