import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { CommandContext, JsonValue, PithError } from 'pith';
import commands from '../../../../sandbox/extensions/skill_registry/commands.ts';
import { commandContext, recordingIO, skillSandbox, type SkillSandbox, usePlaces } from '../skill-sandbox.ts';

export interface Outcome {
  readonly code: number;
  /** What the command threw, as `code: message`; empty where it ended by itself. */
  readonly error: string;
  readonly text: string;
  readonly json: JsonValue;
  readonly asked: readonly string[];
}

export interface Given {
  readonly json?: boolean;
  /** The answer of a person on a terminal; absent: there is nobody. */
  readonly answer?: string | null;
  readonly signal?: AbortSignal;
  readonly [option: string]: unknown;
}

export interface InstallSandbox extends SkillSandbox {
  readonly home: string;
  readonly context: CommandContext;
  /** `skills install`'s first argument is `given`; other names are options. */
  run(command: string, argument: string | readonly string[], given?: Given): Promise<Outcome>;
  /** Names in sandbox/skills, hidden ones too. */
  skills(): readonly string[];
  lock(): { readonly [id: string]: { readonly origin: JsonValue; readonly commit: string | null; readonly digest: string } };
}

export async function installSandbox(files: Readonly<Record<string, string>> = {}): Promise<InstallSandbox> {
  const box = await skillSandbox(files);
  const home = path.join(box.project, 'home');
  await mkdir(home);
  const context = { ...commandContext(box), use: usePlaces({ sandbox: box.sandbox, home }) };
  return {
    ...box,
    home,
    context,
    async run(name, argument, { json = false, answer, signal = new AbortController().signal, ...options } = {}) {
      const command = commands(context).find((one) => one.path === `skills ${name}`)!;
      const asked: string[] = [];
      const recording = recordingIO({ json, columns: answer === undefined ? 0 : 100 });
      const io = {
        ...recording,
        ask: async (question: string) => {
          asked.push(question);
          return answer ?? null;
        },
      };
      const first = command.arguments?.[0]?.name ?? '';
      let code = 0;
      let error = '';
      try {
        code = (await command.run({ arguments: { [first]: argument }, options: options as never }, io, signal)) ?? 0;
      } catch (thrown) {
        const { code: why, message, cure, where } = thrown as PithError;
        error = `${why}: ${message} (${where ?? ''}); ${cure ?? ''}`;
        code = 1;
      }
      return { code, error, text: recording.text(), json: recording.values[0] ?? null, asked };
    },
    skills: () => readdirSync(path.join(box.sandbox, 'skills')).sort(),
    lock() {
      const file = path.join(box.sandbox, 'skills.lock.json');
      return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { skills: ReturnType<InstallSandbox['lock']> }).skills : {};
    },
  };
}
