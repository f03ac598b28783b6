import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { systemClock } from '@pith/promises';
import { findProgram, installCommand } from './programs.ts';
import { ProcessFailed, startProcess } from './start-process.ts';
import { endOf } from './started.ts';

/** What bubblewrap supports on this machine. */
export type Sandboxing =
  | { readonly available: true; readonly program: string }
  | {
      readonly available: false;
      /** Ends a sentence, and contains the cure. */
      readonly why: string;
      readonly cure: string;
    };

const PROBE_LIMIT_MS = 5000;

/**
 * Whether bubblewrap can confine an extension's process here, tried by starting Node in it. Rejects `process_not_started` when it cannot be
 * tried now: "not now" must not count as "never".
 */
export async function probeSandboxing(): Promise<Sandboxing> {
  if (process.platform !== 'linux')
    return { available: false, why: 'bubblewrap exists for Linux only', cure: 'run Pith on Linux or in a container' };
  const program = findProgram('bwrap');
  if (program === null)
    return {
      available: false,
      why: 'bubblewrap is not installed',
      cure: `install the package bubblewrap: ${installCommand('bubblewrap')}`,
    };
  const args = [...namespaces(false), ...system(), '--', process.execPath, '--version'];
  const child = await startProcess([program, ...args], { env: {}, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  (child.stderr as Readable).setEncoding('utf8').on('data', (text: string) => void (said = `${said}${text}`.slice(0, MOST_SAID)));
  let isLate = false;
  const cancel = systemClock.after(PROBE_LIMIT_MS, () => {
    isLate = true;
    child.kill('SIGKILL');
  });
  const { code, signal } = await endOf(child);
  cancel();
  if (code === 0) return { available: true, program };
  if (isLate)
    throw new ProcessFailed('process_not_started', `bubblewrap did not answer within ${PROBE_LIMIT_MS / 1000} s`, {
      retryable: true,
      cure: 'try again when the machine is less busy, or set extensions_sandbox: off',
    });
  const why = `bubblewrap does not work here: ${said.trim().split('\n')[0] || `it ended with ${signal ?? code}`}`;
  return { available: false, why, cure: 'allow unprivileged user namespaces, or run where they are allowed' };
}

const MOST_SAID = 4096;

/** The namespaces that a confined process has for itself. */
export function namespaces(network: boolean): readonly string[] {
  const all = ['--unshare-all', ...(network ? ['--share-net'] : [])];
  return [...all, ...NOBODY, '--die-with-parent', '--new-session', '--clearenv', '--cap-drop', 'ALL'];
}

/** Also when root starts it: the kernel's settings check for root, not for capabilities. */
const NOBODY = ['--uid', '65534', '--gid', '65534'];

const TEMPORARY_BYTES = 64 * 1024 * 1024;

/** System folders that are visible unchanged. */
export const PROGRAMS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store'];
const CONFIGURATION = [
  'alternatives', // on Debian, programs such as awk, cc and java are links into it
  'ssl',
  'pki',
  'ca-certificates',
  'resolv.conf',
  'hosts',
  'nsswitch.conf',
  'localtime',
  'passwd',
  'group',
  'ld.so.cache',
];

export const SYSTEM_FILES = CONFIGURATION.map((name) => `/etc/${name}`);
export const DEVICE_FOLDERS = ['/dev', '/proc'];

/** All outside of the given places is memory without a limit, so it is made read-only. Must come last: nothing can be mounted after it. */
export const BASE_READ_ONLY = ['--remount-ro', '/dev', '--remount-ro', '/'];

/** Programs, libraries, certificates and host names: nobody's own files. */
export function system(): readonly string[] {
  return [
    ...PROGRAMS.flatMap(sameAsHere),
    ...SYSTEM_FILES.flatMap((file) => ['--ro-bind-try', file, file]),
    ...DEVICES,
    ...temporary('/dev/shm'),
    ...temporary('/tmp'),
    ...bound(process.execPath), // the program may be below one of these
  ];
}

/** Files that configure the kernel and its hardware. They belong to root, and a sandbox that root started could write them. */
const KERNEL_SETTINGS = ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs', 'acpi', 'scsi', 'mtrr', 'tty'].map((name) => `/proc/${name}`);
const DEVICES = ['--proc', '/proc', ...KERNEL_SETTINGS.flatMap((at) => ['--ro-bind-try', at, at]), '--dev', '/dev'];

function bound(file: string): readonly string[] {
  return ['--ro-bind', file, file];
}

function temporary(folder: string): readonly string[] {
  return ['--size', `${TEMPORARY_BYTES}`, '--tmpfs', folder];
}

function sameAsHere(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return lstatSync(folder).isSymbolicLink() ? ['--symlink', readlinkSync(folder), folder] : bound(folder);
}
