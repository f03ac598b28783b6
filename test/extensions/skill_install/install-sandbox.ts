import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { JsonValue } from 'pith';
import { type Answered, type Asked, skillSandbox, type SkillSandbox } from '../skill_registry/skill-sandbox.ts';

export interface Outcome extends Omit<Answered, 'error'> {
  /** What the command threw, as `code: message`; empty where it ended by itself. */
  readonly error: string;
}

export interface Given extends Pick<Asked, 'json' | 'answer' | 'signal' | 'config'> {
  readonly [option: string]: unknown;
}

export interface InstallSandbox extends Omit<SkillSandbox, 'run'> {
  readonly home: string;
  /** The first argument is `argument`; names that are not of `Given` are options. */
  run(command: string, argument: string | readonly string[], given?: Given): Promise<Outcome>;
  /** `skills install` from a folder or file of the project. */
  install(from: string, given?: Given): Promise<Outcome>;
  /** Names in sandbox/skills, hidden ones too. */
  skills(): readonly string[];
  lock(): { readonly [id: string]: { readonly origin: JsonValue; readonly commit: string | null; readonly digest: string } };
}

/** git in a folder, as somebody with this home. Says what git says. */
export function gitIn(cwd: string, home: string): (...args: readonly string[]) => string {
  const settings = ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'init.defaultBranch=main'];
  const env = { PATH: process.env['PATH'], HOME: home, GIT_CONFIG_NOSYSTEM: '1' };
  return (...args) => execFileSync('git', [...settings, ...args], { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

const FIRST: Readonly<Record<string, string>> = { install: 'from', validate: 'path', lint: 'skill' };

export async function installSandbox(files: Readonly<Record<string, string>> = {}): Promise<InstallSandbox> {
  const box = await skillSandbox(files);
  const home = path.join(box.project, 'home');
  await mkdir(home);
  const run: InstallSandbox['run'] = async (name, argument, { json, answer, signal, config, ...options } = {}) => {
    const input = { arguments: { [FIRST[name] ?? 'id']: argument }, options: options as Asked['options'] };
    const asked = { ...input, home, json, answer, signal, config } as Asked;
    const answered = await box.attempt(`skills ${name}`, asked);
    const { code, message, where, cure } = answered.error ?? {};
    return { ...answered, error: answered.error === null ? '' : `${code}: ${message} (${where ?? ''}); ${cure ?? ''}` };
  };
  return {
    ...box,
    home,
    run,
    install: (from, given) => run('install', path.join(box.project, from), given),
    skills: () => readdirSync(path.join(box.sandbox, 'skills')).sort(),
    lock() {
      const file = path.join(box.sandbox, 'skills.lock.json');
      return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { skills: ReturnType<InstallSandbox['lock']> }).skills : {};
    },
  };
}
