/** Why the system refused a file, by its error code: the system's message would show descriptors and absolute paths. */
export function systemReason(code: string): string {
  return ERRORS.get(code)?.why ?? 'the system refused it';
}

/** The cure for an error by its code or its cause's; undefined: not a system error, or no known cure. `place`: the unusable file. */
export function systemCure(error: unknown, place?: string): string | undefined {
  for (let each = error, depth = 0; each instanceof Error && depth < DEEPEST_CAUSE; each = each.cause, depth += 1) {
    const found = ERRORS.get((each as NodeJS.ErrnoException).code ?? '');
    if (found !== undefined) return found.cure(place ?? (each as NodeJS.ErrnoException).path ?? 'it');
  }
  return undefined;
}

const DEEPEST_CAUSE = 5;

interface SystemError {
  /** Ends a sentence. */
  readonly why: string;
  cure(place: string): string;
}

/** The one table of file errors, in words for people. */
const ERRORS: ReadonlyMap<string, SystemError> = new Map<string, SystemError>([
  ['EACCES', { why: 'permission denied', cure: (place) => `let this user read and write ${place}` }],
  ['EPERM', { why: 'the system does not allow it', cure: (place) => `let this user change ${place}, and take away what protects it` }],
  ['ENOSPC', { why: 'no space is left on the disk', cure: (place) => `the disk is full: free space on the disk of ${place}` }],
  ['EDQUOT', { why: 'the disk quota is used up', cure: (place) => `free space on the disk of ${place}, or have the quota raised` }],
  ['EFBIG', { why: 'the file would be larger than it may be', cure: () => 'raise the limit of the size of files (ulimit -f)' }],
  ['EROFS', { why: 'the disk is read-only', cure: (place) => `make the disk of ${place} writable` }],
  ['EIO', { why: 'the disk failed', cure: (place) => `check the disk of ${place}` }],
  ['ESTALE', { why: 'its network folder is gone', cure: (place) => `mount the folder of ${place} again` }],
  ['EMFILE', { why: 'too many files are open', cure: () => 'allow more open files, such as with `ulimit -n 1024`' }],
  ['ENFILE', { why: 'the system has too many files open', cure: () => 'allow more open files, such as with `ulimit -n 1024`' }],
  ['ENOMEM', { why: 'no memory is left', cure: () => 'end other programs, and try again' }],
  ['ENOENT', { why: 'it is not there', cure: (place) => `make sure that ${place} is there` }],
  ['EEXIST', { why: 'something is there already', cure: (place) => `move ${place} away` }],
  ['ENOTEMPTY', { why: 'the folder is not empty', cure: (place) => `look at what is in ${place}, and move it away` }],
  ['ENAMETOOLONG', { why: 'its name is too long', cure: () => 'use a shorter name' }],
  [
    'ELOOP',
    { why: 'there is a link where none may be, or links lead in a circle', cure: (place) => `put what is meant in the place of ${place}` },
  ],
  ['EISDIR', { why: 'it is a folder', cure: (place) => `move the folder ${place} away, or name a file` }],
  [
    'ENOTDIR',
    { why: 'a part of its path is not a folder', cure: (place) => `look at the path of ${place}: a file is where a folder should be` },
  ],
  ['EBUSY', { why: 'another program uses it', cure: (place) => `end what uses ${place}, and try again` }],
  ['ETXTBSY', { why: 'it is a program that runs', cure: (place) => `end ${place}, and try again` }],
  ['EXDEV', { why: 'it is on another disk', cure: (place) => `put ${place} on one disk` }],
]);
