import { statfsSync, statSync } from 'node:fs';
import { linkTarget } from '@pith/safe-files';
import { names, read } from './process-table.ts';

export interface HeldMemory {
  /** Shared pages count for each process, and a mapped file in memory counts as a file and as pages. */
  readonly bytes: number;
  /** Open files, counted only up to more than anybody needs. */
  readonly descriptors: number;
}

/**
 * The memory of processes as far as `/proc` shows it: their pages, the in-memory file systems that only they have mounted, and unnamed
 * in-memory files that they have open. System V segments and descriptors in transit through a socket are not visible.
 */
export function heldMemory(pids: readonly number[]): HeldMemory {
  const mounted = new Map<string, number>();
  const unnamed = new Map<string, number>();
  const spaces = new Set([mountsOf('self')]);
  let own: ReadonlySet<string> | undefined;
  let resident = 0;
  let descriptors = 0;
  for (const pid of pids) {
    resident += Number(/^VmRSS:\s*(\d+)/mu.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024;
    const files = names(`/proc/${pid}/fd`);
    descriptors += files.length;
    if (descriptors > MOST_LOOKED_AT) break;
    for (const file of files) addUnnamed(unnamed, `/proc/${pid}/fd/${file}`);
    const space = mountsOf(pid);
    if (spaces.has(space)) continue;
    spaces.add(space);
    own ??= new Set(memoryMounts('self').map(({ device }) => device));
    for (const { device, at } of memoryMounts(pid)) if (!own.has(device)) addMounted(mounted, device, `/proc/${pid}/root${at}`);
  }
  const bytes = [...mounted.values(), ...unnamed.values()].reduce((sum, each) => sum + each, resident);
  return { bytes, descriptors };
}

const MOST_LOOKED_AT = 20_000;
const TMPFS = 0x0102_1994;
const BLOCK = 512;

/** Identifies a process's mounts: equal for all that have the same. */
function mountsOf(pid: number | 'self'): string {
  return linkTarget(`/proc/${pid}/ns/mnt`) ?? '';
}

/** The fields of mountinfo: id, parent, device, root, place, …, a dash, the kind of file system. */
function memoryMounts(pid: number | 'self'): readonly { readonly device: string; readonly at: string }[] {
  return read(`/proc/${pid}/mountinfo`)
    .split('\n')
    .slice(0, MOST_MOUNTS)
    .filter((line) => / - (?:tmpfs|ramfs) /u.test(line))
    .flatMap((line) => {
      const [, , device, , at] = line.split(' ');
      return device !== undefined && at !== undefined ? [{ device, at: unescaped(at) }] : [];
    });
}

const MOST_MOUNTS = 1000;

/** mountinfo writes spaces and the like as octal numbers. */
function unescaped(at: string): string {
  return at.replace(/\\([0-7]{3})/gu, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

function addMounted(found: Map<string, number>, device: string, folder: string): void {
  if (found.has(device)) return;
  try {
    const { type, blocks, bfree, bsize } = statfsSync(folder);
    if (type === TMPFS) found.set(device, (blocks - bfree) * bsize);
  } catch {
    // The process has ended, or the place has another mount now.
  }
}

function addUnnamed(found: Map<string, number>, descriptor: string): void {
  const target = linkTarget(descriptor);
  if (!target?.startsWith('/memfd:')) return;
  try {
    const { ino, blocks } = statSync(descriptor);
    found.set(String(ino), blocks * BLOCK);
  } catch {
    // The descriptor has been closed.
  }
}
