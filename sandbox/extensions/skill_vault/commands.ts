import { actingUser } from '@pith/command-line';
import { PithError, type Command, type CommandIO, type Remote } from 'pith';
import type { SavedSkills } from 'pith/saved_skills';
import type { Vault } from './vault.ts';

const SKILL = { name: 'skill', description: 'Its name, or owner/name', required: true };
const ON =
  'What its runs keep will be encrypted from now on. Do not keep PITH_MASTER_KEY beside backups: with both, everything is readable; without the key, nothing is.';
const OFF = 'What its runs keep will be plain from now on. What is encrypted stays so, and still needs PITH_MASTER_KEY.';

/** `pith saved encrypt`, `pith saved rotate-key` */
export function vaultCommands(vault: Vault, skills: () => Remote<SavedSkills>): readonly Command[] {
  return [
    {
      path: 'saved encrypt',
      description: 'Encrypt what a saved skill keeps, or stop that',
      arguments: [SKILL, { name: 'state', description: 'on or off', required: true }],
      options: [{ name: 'yes', type: 'boolean', description: 'Do not ask' }],
      async run({ arguments: { skill, state }, options }, io) {
        if (state !== 'on' && state !== 'off')
          throw new PithError('usage', `'${String(state)}' is neither on nor off`, { cure: 'write on or off' });
        const isOn = state === 'on';
        const id = await skills().idOf(String(skill), actingUser(io));
        if (isOn) vault.requireKey();
        if (!(await agrees(isOn ? ON : OFF, options['yes'] === true, io))) {
          io.print('Nothing was changed');
          return 1;
        }
        await vault.switchTo(id, isOn); // first, because it needs the master key
        await skills().changeEncryption(String(skill), actingUser(io), isOn);
        io.json({ ok: true, skill: String(skill), encrypted: isOn });
        io.print(`${String(skill)}: encryption is ${state}`);
        return 0;
      },
    },
    {
      path: 'saved rotate-key',
      description: 'Encrypt what a saved skill keeps with a new key',
      arguments: [{ ...SKILL, required: false }],
      options: [
        {
          name: 'master',
          type: 'boolean',
          description: 'Encrypt all keys with the new PITH_MASTER_KEY; PITH_MASTER_KEY_OLD is the former one',
        },
        { name: 'accept', type: 'boolean', description: 'First accept what was changed from outside' },
      ],
      async run({ arguments: { skill }, options }, io) {
        const isOfAll = options['master'] === true;
        const isAccepted = options['accept'] === true;
        if (isOfAll && typeof skill === 'string') throw misused('--master is for all skills, and one is named', 'leave one of them out');
        if (isOfAll && isAccepted) throw misused('--accept is for one skill', `write: ${PATH} NAME --accept`);
        if (!isOfAll && typeof skill !== 'string')
          throw misused('the skill is missing', `write: ${PATH} NAME${isAccepted ? ' --accept' : ', or --master for the keys of all'}`);
        const id = typeof skill === 'string' ? await skills().idOf(skill, actingUser(io)) : null;
        vault.requireKey();
        if (id !== null && isAccepted) await vault.accept(id);
        const count = id === null ? await vault.rewrap() : await vault.rotate(id);
        io.json({ ok: true, count: count ?? 0 });
        if (count === null) return io.print('Nothing is encrypted yet: no saved skill keeps anything that needs a key');
        io.print(
          typeof skill === 'string'
            ? count === 0
              ? `${skill} keeps nothing that is encrypted`
              : `${count} ${count === 1 ? 'row is' : 'rows are'} encrypted with the new key`
            : count === 0
              ? 'Everything is encrypted with PITH_MASTER_KEY; PITH_MASTER_KEY_OLD is no longer needed'
              : `${count} ${count === 1 ? 'key is' : 'keys are'} encrypted with the new master key; PITH_MASTER_KEY_OLD is no longer needed`,
        );
      },
    },
  ];
}

const PATH = 'pith saved rotate-key';

function misused(why: string, cure: string): PithError {
  return new PithError('usage', `wrong use of 'saved rotate-key': ${why}`, { cure });
}

/** Asks; where nobody can be asked, prints the warning, which --yes accepts. */
async function agrees(warning: string, yes: boolean, io: CommandIO): Promise<boolean> {
  if (yes) {
    io.error(`pith: ${warning}`);
    return true;
  }
  const answer = await io.ask(`${warning} Go on?`, { choices: ['yes', 'no'] });
  if (answer === null && !io.interactive && io.session === undefined)
    throw new PithError('usage', `you must agree to this, and cannot be asked here: ${warning}`, { cure: 'if you agree, add --yes' });
  return answer === 'yes';
}
