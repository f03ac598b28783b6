import path from 'node:path';

export interface SandboxRoot {
  readonly directory: string;
  readonly shipped: boolean;
}

/** What ships lies below the user's sandbox; when the sandbox is Pith's own there is one layer. */
export function sandboxRoots(sandbox: string, packageRoot: string, withShipped: boolean): readonly SandboxRoot[] {
  const own = path.join(packageRoot, 'sandbox');
  if (path.resolve(sandbox) === own) return [{ directory: own, shipped: true }];
  return [...(withShipped ? [{ directory: own, shipped: true }] : []), { directory: sandbox, shipped: false }];
}
