import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';

const CLOSE_ON_EXEC = 0o2000000;

/** `stdio` for a process to start that gets nothing of what Pith's own parent left open: what it would get is empty. `close` after the start. */
export function coverInherited<Each>(stdio: readonly Each[]): { readonly stdio: (Each | 'ignore' | number)[]; close(): void } {
  const inherited = inheritedDescriptors().filter((descriptor) => descriptor >= stdio.length);
  if (inherited.length === 0) return { stdio: [...stdio], close: () => undefined };
  const empty = openSync('/dev/null', 'r');
  const covered: (Each | 'ignore' | number)[] = [...stdio];
  for (let at = stdio.length; at <= Math.max(...inherited); at += 1) covered.push(inherited.includes(at) ? empty : 'ignore');
  return { stdio: covered, close: () => closeSync(empty) };
}

/** Descriptors above the three standard ones that programs which we start would get from us: Pith's own parent left them open. */
function inheritedDescriptors(folder = '/proc/self'): readonly number[] {
  return names(`${folder}/fd`)
    .map(Number)
    .filter((descriptor) => descriptor > 2 && isInherited(`${folder}/fdinfo/${descriptor}`));
}

function isInherited(file: string): boolean {
  try {
    const flags = /^flags:\s*(\d+)/mu.exec(readFileSync(file, 'latin1'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    return false; // it has been closed
  }
}

function names(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // there is no /proc
  }
}
