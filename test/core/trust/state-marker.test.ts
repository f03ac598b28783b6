import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { adoptState, stateOwnership, userHome } from '../../../core/trust/index.ts';
import { folderWith } from '../../places.ts';

function box() {
  const base = folderWith();
  onTestFinished(() => fs.rmSync(base, { recursive: true, force: true }));
  const home = path.join(base, 'home');
  fs.mkdirSync(home);
  return { base, home, data: path.join(base, 'data'), states: path.join(home, '.pith', 'states.json') };
}

describe('whose state it is', () => {
  it('T6: a folder that is missing or empty is new, and known once it was adopted', () => {
    const { data, home, states } = box();
    expect(stateOwnership(data, home).owner).toBe('new');
    fs.mkdirSync(data);
    expect(stateOwnership(data, home).owner).toBe('new');
    adoptState(data, home);
    expect(stateOwnership(data, home).owner).toBe('known');
    expect((fs.statSync(states).mode & 0o777).toString(8)).toBe('600');
    const id = fs.readFileSync(path.join(data, 'state-id'), 'utf8');
    expect(id).toMatch(/^[0-9a-f-]{36}\n$/); // no name of a machine, no path
    adoptState(data, home);
    expect(fs.readFileSync(path.join(data, 'state-id'), 'utf8')).toBe(id);
  });

  it('T6: a copy of a folder elsewhere is known too, and to nobody else', () => {
    const { base, data, home } = box();
    adoptState(data, home);
    fs.cpSync(data, path.join(base, 'moved'), { recursive: true });
    expect(stateOwnership(path.join(base, 'moved'), home).owner).toBe('known');
    const other = path.join(base, 'other');
    fs.mkdirSync(other);
    expect(stateOwnership(data, other).owner).toBe('unknown');
  });

  it('T6 F2: state without a marker, or with one that nobody here wrote, is unknown until a person agrees; nothing is deleted', () => {
    const { data, home } = box();
    fs.mkdirSync(data);
    fs.writeFileSync(path.join(data, 'pith.db'), 'x');
    expect(stateOwnership(data, home).owner).toBe('unknown');
    const planted = '00000000-0000-4000-8000-000000000000\n';
    fs.writeFileSync(path.join(data, 'state-id'), planted);
    expect(stateOwnership(data, home).owner).toBe('unknown');
    adoptState(data, home);
    expect(stateOwnership(data, home).owner).toBe('known');
    // An id that somebody else knows must not become one of ours.
    expect(fs.readFileSync(path.join(data, 'state-id'), 'utf8')).not.toBe(planted);
    expect(fs.readFileSync(path.join(data, 'pith.db'), 'utf8')).toBe('x');
  });

  it.each([
    ['a link', (file: string, known: string) => fs.symlinkSync(known, file)],
    ['a hard link', (file: string, known: string) => fs.linkSync(known, file)],
    ['a pipe', (file: string) => void execFileSync('mkfifo', [file])],
    ['a folder', (file: string) => fs.mkdirSync(file)],
    ['too long', (file: string, known: string) => fs.writeFileSync(file, fs.readFileSync(known, 'utf8') + ' '.repeat(10_000))],
    ['no id', (file: string) => fs.writeFileSync(file, '../../..\n')],
    ['empty', (file: string) => fs.writeFileSync(file, '')],
  ] as const)('T6 F24: a marker that is %s is unknown', (_what, place) => {
    const { base, data, home } = box();
    const own = path.join(base, 'own');
    adoptState(own, home);
    fs.mkdirSync(data);
    place(path.join(data, 'state-id'), path.join(own, 'state-id'));
    expect(stateOwnership(data, home).owner).toBe('unknown');
  });

  it('T6: a data folder that is a link, also one that leads to known state, is unknown and not adopted', () => {
    const { base, data, home } = box();
    const own = path.join(base, 'own');
    adoptState(own, home);
    fs.symlinkSync(own, data);
    expect(stateOwnership(data, home).owner).toBe('unknown');
    expect(() => adoptState(data, home)).toThrow(expect.objectContaining({ code: 'state_refused', where: data }));
  });

  it('T6: a damaged list of what is known makes nothing known, and is not written over', () => {
    const { data, home, states } = box();
    adoptState(data, home);
    fs.writeFileSync(states, '{"ids":');
    expect(stateOwnership(data, home).owner).toBe('unknown');
    expect(() => adoptState(data, home)).toThrow(expect.objectContaining({ code: 'state_refused', where: states }));
    expect(fs.readFileSync(states, 'utf8')).toBe('{"ids":');
  });

  it('T6: who is killed between the two files is asked again, and then it is known', () => {
    const { data, home, states } = box();
    fs.mkdirSync(data);
    fs.writeFileSync(path.join(data, 'pith.db'), 'x');
    // Known before it is written: the state after the first of the two writes.
    fs.mkdirSync(path.dirname(states));
    fs.writeFileSync(states, '{"ids":["00000000-0000-4000-8000-000000000000"]}', { mode: 0o600 });
    expect(stateOwnership(data, home).owner).toBe('unknown');
    adoptState(data, home);
    expect(stateOwnership(data, home).owner).toBe('known');
    expect(JSON.parse(fs.readFileSync(states, 'utf8')).ids).toHaveLength(2);
  });

  it('T6: without a home folder that can be written nothing is adopted', () => {
    const { data, base } = box();
    fs.writeFileSync(path.join(base, 'file'), '');
    expect(() => adoptState(data, path.join(base, 'file'))).toThrow(/ENOTDIR|EEXIST/);
    expect(fs.existsSync(path.join(data, 'state-id'))).toBe(false);
  });
});

it('T6: a user without a home folder is told to set HOME', () => {
  vi.stubEnv('HOME', '');
  const nobody = vi.spyOn(os, 'userInfo').mockImplementation(() => {
    throw new Error('ENOENT');
  });
  onTestFinished(() => nobody.mockRestore());
  expect(() => userHome()).toThrow(expect.objectContaining({ code: 'state_refused', cure: expect.stringContaining('set HOME') }));
  vi.unstubAllEnvs();
});
