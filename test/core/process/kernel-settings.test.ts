import { createConfinedPrograms, probeSandboxing } from '@pith/supervised-process';
import { expect, it } from 'vitest';
import { firstWord, hostFolder, stopped } from './hosts.ts';
import { onDisk } from '../../places.ts';

onDisk();

const sandboxing = await probeSandboxing();
/** Opens for writing, and writes nothing. */
const PROGRAM = `
const opened = (file) => { try { fs.closeSync(fs.openSync(file, 'r+')); return 'opened'; } catch (error) { return error.code; } };
const files = [];
for (const folder of ['/proc/sys/vm', '/proc/sys/kernel', '/proc/irq']) for (const name of fs.existsSync(folder) ? fs.readdirSync(folder) : []) {
  if (fs.statSync(folder + '/' + name).isFile()) files.push(opened(folder + '/' + name));
}
const seen = { opened: files.filter((each) => each === 'opened').length, looked: files.length, trigger: opened('/proc/sysrq-trigger'), uid: process.getuid() };
`;
/** The program's answer, with whether it looked at enough to mean something. */
const answerOf = (said: unknown) => {
  const { looked, ...rest } = said as { looked: number; trigger: string };
  return { ...rest, trigger: rest.trigger === 'opened', isEnough: looked > 10 };
};
const HELD = { opened: 0, trigger: false, uid: 65534, isEnough: true };

it.skipIf(!sandboxing.available)(
  'S73 K10: no program in the sandbox opens settings of the system for writing, nor is it root there',
  async () => {
    const argv = [process.execPath, '-e', `const fs = require('node:fs'); ${PROGRAM}; console.log(JSON.stringify(seen))`];
    const { stdout, stderr } = await createConfinedPrograms({ env: {} }).run({
      argv,
      cwd: '/tmp',
      readOnly: [],
      timeoutMs: 10_000,
      maxOutputBytes: 10_000,
      sandbox: 'required',
    });
    expect(answerOf(JSON.parse(stdout || stderr))).toEqual(HELD);
    const folder = await hostFolder();
    const permissions = { network: true, read: [], write: [] };
    const host = await folder.launch(`${PROGRAM}; say(seen);`, { sandboxing, permissions });
    expect(answerOf(await firstWord(host, folder.lines))).toEqual(HELD);
    await stopped(host);
  },
);
