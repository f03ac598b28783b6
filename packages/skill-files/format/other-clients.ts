/** Frontmatter fields beyond the specification that other clients read, from their documentation. Pith keeps them. */
const FIELDS_OF_CLIENTS: readonly (readonly [client: string, fields: readonly string[]])[] = [
  [
    'Claude Code',
    [
      'when_to_use',
      'argument-hint',
      'arguments',
      'disable-model-invocation',
      'user-invocable',
      'disallowed-tools',
      'model',
      'effort',
      'context',
      'agent',
      'hooks',
      'paths',
      'shell',
    ],
  ],
  ['Copilot', ['argument-hint', 'user-invocable', 'disable-model-invocation']],
  ['Cursor', ['disable-model-invocation', 'paths', 'globs', 'alwaysApply']],
  ['OpenClaw', ['homepage', 'user-invocable', 'disable-model-invocation', 'command-dispatch', 'command-tool', 'command-arg-mode']],
  ['Hermes', ['author', 'platforms', 'environments', 'prerequisites', 'required_environment_variables', 'required_credential_files']],
  ['Roo Code', ['mode', 'modeSlugs']],
];

/** The clients that read a field, by its name. */
export const CLIENTS_OF: ReadonlyMap<string, readonly string[]> = clientsByField();

function clientsByField(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const [client, fields] of FIELDS_OF_CLIENTS) for (const field of fields) found.set(field, [...(found.get(field) ?? []), client]);
  return found;
}
