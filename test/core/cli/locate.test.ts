import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { isElsewhere, locateSandbox } from '../../../core/cli/index.ts';
import { packageRoot } from '../../../core/kernel/index.ts';
import { folderWith } from '../../places.ts';

let project: string;
beforeEach(() => (project = folderWith()));

const folder = (...names: string[]): string => {
  const made = path.join(project, ...names);
  mkdirSync(made, { recursive: true });
  return made;
};

describe('the sandbox of a command line', () => {
  it('is the nearest one upwards, from outside and from inside of it', () => {
    folder('sandbox', 'skills');
    const below = folder('a', 'b');
    expect(locateSandbox(null, below)).toBe(path.join(project, 'sandbox'));
    expect(locateSandbox(null, folder('sandbox', 'skills', 'x'))).toBe(path.join(project, 'sandbox'));
  });

  it('may be empty', () => {
    const empty = folder('sandbox');
    expect(locateSandbox(null, project)).toBe(empty);
  });

  it("is not somebody else's folder of that name; then it is the one that ships", () => {
    writeFileSync(path.join(folder('sandbox'), 'castle.txt'), '');
    expect(locateSandbox(null, project)).toBe(path.join(packageRoot(), 'sandbox'));
  });

  it('is the one that is named, which must be a folder', () => {
    expect(locateSandbox('here', path.dirname(folder('here')))).toBe(path.join(project, 'here'));
    expect(() => locateSandbox('nowhere', project)).toThrow("the sandbox 'nowhere' is not a folder");
  });

  it('is not a folder that holds other things, such as the project around the sandbox', () => {
    folder('mine', 'sandbox', 'agents');
    folder('other', 'src');
    folder('begun', 'data');
    expect(() => locateSandbox('mine', project)).toThrow(
      expect.objectContaining({ code: 'usage', cure: `did you mean '${path.join('mine', 'sandbox')}'?` }),
    );
    expect(() => locateSandbox('other', project)).toThrow(
      expect.objectContaining({ code: 'usage', cure: 'make one with: pith init other' }),
    );
    expect(locateSandbox('begun', project)).toBe(path.join(project, 'begun'));
  });

  it("is elsewhere when it is Pith's own and the project is not", () => {
    const own = path.join(packageRoot(), 'sandbox');
    expect(isElsewhere(own, project)).toBe(true);
    expect(isElsewhere(own, path.join(packageRoot(), 'core'))).toBe(false);
    expect(isElsewhere(folder('sandbox'), project)).toBe(false);
  });
});
