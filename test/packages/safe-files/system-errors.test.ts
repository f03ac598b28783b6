import { describe, expect, it } from 'vitest';
import { FileRefused, isForbidden, isPassing, refusalOf, systemCure, systemReason, unavailable, unlessRefused } from '@pith/safe-files';
import { words } from '../../words.ts';

const error = (code: string, more = {}) => Object.assign(new Error(`${code}: /secret/place`), { code, ...more });

describe('S13 errors of the system', () => {
  it.each(
    words(
      'EACCES EPERM ENOSPC EDQUOT EFBIG EROFS EIO EMFILE ENFILE ENOMEM ENAMETOOLONG ELOOP EISDIR ENOTDIR EBUSY ETXTBSY EXDEV ENOTEMPTY ESTALE',
    ),
  )('S13 %s says what it is and what to do', (code) => {
    expect(systemReason(code)).not.toBe(systemReason('EWHATEVER'));
    expect(systemCure(error(code), '/x')).toMatch(/^[a-z]/u);
  });

  it('S13 a full disk asks for space and never for leave to write', () => {
    expect(systemCure(error('ENOSPC'), '/data')).toBe('the disk is full: free space on the disk of /data');
    expect(systemCure(new Error('outer', { cause: error('ENOSPC', { path: '/y' }) }))).toBe(
      'the disk is full: free space on the disk of /y',
    );
    expect(systemCure(error('EROFS'), '/data')).toBe('make the disk of /data writable');
    expect(systemCure(new Error('no error of the system'))).toBeUndefined();
  });

  it('S13 a refusal for one says both, and no place but the one that was asked for', () => {
    expect(refusalOf(error('ENOSPC', { path: '/secret/place' }), 'a.txt')).toMatchObject({
      code: 'file_failed',
      message: "'a.txt' could not be used: no space is left on the disk (ENOSPC)",
      cure: "the disk is full: free space on the disk of 'a.txt'",
    });
  });

  it('S7 S13 what the system could not do is not taken for a refusal of ours: whether a person must be asked is not known then', async () => {
    const failing = (failure: unknown) => unlessRefused(() => Promise.reject(failure), 'nobody is asked');
    await expect(failing(unavailable('a.txt'))).resolves.toBe('nobody is asked');
    for (const code of ['EACCES', 'EIO', 'EMFILE'])
      await expect(failing(refusalOf(error(code), 'a.txt'))).rejects.toBeInstanceOf(FileRefused);
    expect([isForbidden(refusalOf(error('EACCES'), 'a')), isPassing(refusalOf(error('EIO'), 'a'))]).toEqual([true, true]);
    expect([isForbidden(unavailable('a')), isPassing(unavailable('a'))]).toEqual([false, false]);
  });
});
