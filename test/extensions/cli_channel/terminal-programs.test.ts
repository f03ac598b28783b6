import { writeFileSync } from 'node:fs';
import { stateFolder } from '@pith/safe-files';
import { describe, expect, it } from 'vitest';
import { Attention, type Notifications } from '../../../sandbox/extensions/cli_channel/attention.ts';
import { clipboardImage } from '../../../sandbox/extensions/cli_channel/clipboard-image.ts';
import { ownCommandOf, runOwnCommand, whyNotRun } from '../../../sandbox/extensions/cli_channel/own-command.ts';
import { editInProgram } from '../../../sandbox/extensions/cli_channel/text-program.ts';
import { folderWith } from '../../places.ts';
import { png } from '../../fixtures/images.ts';
import { fakeClock } from 'pith/testing';
import { says, talking } from './chats.ts';

describe('programs of the person', () => {
  it('U20 an editor gets the draft and gives its text back; one that fails leaves it, and says so', async () => {
    const folder = folderWith();
    const state = stateFolder(folder);
    expect(await editInProgram('one two\n', state, 'sed -i.old s/two/three/')).toEqual({ text: 'one three\n' });
    expect(await editInProgram('x', state, 'false')).toEqual({ why: 'the editor ended with code 1: the text is as it was' });
    expect(await editInProgram('x', state, 'no-such-editor-7 2>&-')).toEqual({ why: 'there is no such editor: set EDITOR to one' });
    expect(await editInProgram('x', state, "sh -c 'kill -9 $$'")).toEqual({ why: 'the editor ended with code 137: the text is as it was' });
    expect(state.list()).toEqual([`draft-${process.pid}.md.old`]);
  });

  it('U21 an image comes from the first program that finds one in the clipboard; else it says why there is none', async () => {
    const folder = folderWith();
    writeFileSync(`${folder}/a.png`, png());
    const none = { argv: ['no-such-program-7'], as: 'bytes' } as const;
    const empty = { argv: ['false'], as: 'bytes' } as const;
    const image = { mediaType: 'image/png', data: png().toString('base64') };
    const shell = (text: string, as: 'bytes' | 'hex' | 'base64') => ({ argv: ['sh', '-c', text, 'sh', `${folder}/a.png`], as });
    expect(await clipboardImage([none, empty, shell('cat "$1"', 'bytes')])).toEqual(image);
    expect(await clipboardImage([shell('base64 "$1"', 'base64')])).toEqual(image);
    expect(await clipboardImage([shell(`printf '«data PNGf%s»' ${png().toString('hex').toUpperCase()}`, 'hex')])).toEqual(image);
    expect(await clipboardImage([none])).toEqual({ why: expect.stringContaining('install wl-clipboard') });
    expect(await clipboardImage([none, empty])).toEqual({ why: 'there is no image in the clipboard' });
  });

  it('U20 !command runs in the person’s shell; its output is shown as it comes and goes with their next message only', async () => {
    const { ada, chat } = await talking([says('I see'), says('and now?')], [], { workingDirectory: folderWith({ 'here.txt': '' }) });
    ada.type(String.raw`!ls; printf '\033[1;31m%s\033[0m\n' $((6 * 7)) >&2; exit 3` + '\r');
    await ada.sees('here.txt', '42', 'exit code 3; it goes with your next message');
    expect(chat.requests).toEqual([]);
    await ada.type('why?\r', 'I see', '› ');
    await ada.type('and?\r', 'and now?');
    await ada.end();
    const text = expect.stringMatching(/^The person ran this .*exit code 3\n\$ ls; .*\nhere\.txt\n42\n$/su);
    expect(chat.requests).toMatchObject([{ input: 'why?', attachments: [{ text }] }, { input: 'and?' }]);
    expect(chat.requests[1]?.attachments).toEqual([]);
  });

  it('U20 !command is ended by Esc with all that it started; what it said goes along, and of much the beginning and the end', async () => {
    const { ada, chat } = await talking([says('I see')], [], { workingDirectory: folderWith() });
    ada.type('!echo begun; sleep 600 | cat\r');
    await ada.sees('begun\n');
    ada.type('\u001b[27u');
    await ada.sees('stopped; it goes with');
    await ada.type('why?\r', 'I see');
    await ada.end();
    expect(chat.requests[0]?.attachments).toMatchObject([{ text: expect.stringMatching(/: stopped\n.*\nbegun\n$/su) }]);
    let shown = 0;
    const place = { folder: '/', clock: fakeClock(), write: (text: string) => void (shown += text.length) };
    const { attachment } = await runOwnCommand('seq 200000', place, new AbortController().signal);
    expect(attachment).toMatchObject({ text: expect.stringMatching(/\n1\n2\n.*\[… left out here …\].*\n200000\n$/su) });
    expect(('text' in attachment && attachment.text.length) || 0).toBeLessThan(40_000);
    expect(shown).toBeLessThan(300_000);
    let painted = '';
    const many = String.raw`yes "$(printf '\033[31mx\033[0m\r')" | head -c 220000`;
    await runOwnCommand(many, { ...place, write: (text) => (painted += text) }, new AbortController().signal);
    expect(painted).toMatch(/^(?:x\n){18333}\S*\s*$/u);
    expect(['!', '! ', '!!', '![a](b)', 'no !ls', '! git  log '].map(ownCommandOf)).toEqual(['', '', null, null, null, 'git  log']);
    const alone = ['', 'cd src', 'export A=1', 'cd src && ls', 'cdrecord', 'export'].map((command) => whyNotRun(command, '/p'));
    expect(alone).toEqual([expect.stringContaining('!git status'), expect.stringContaining('in /p'), expect.any(String), null, null, null]);
  });
});

it.each([
  ['osc9', '\u001b]9;Pith: a question waits\u0007\u0007'],
  ['osc777', '\u001b]777;notify;Pith;Pith: a question waits\u0007\u0007'],
  ['bell', '\u0007'],
  ['off', ''],
] as [Notifications, string][])('U24 %s calls a person who looks elsewhere, and nobody else', async (how, sent) => {
  let written = '';
  const clock = fakeClock();
  const attention = new Attention({ write: (text) => (written += text) }, how, clock);
  const called = () => {
    written = '';
    attention.call('a question waits');
    return written;
  };
  expect(called()).toBe('');
  await clock.advance(11_000);
  expect(called()).toBe(sent);
  attention.seen();
  expect(called()).toBe('');
  attention.focused(false);
  expect(called()).toBe(sent);
  attention.focused(true);
  await clock.advance(11_000);
  expect(called()).toBe('');
});
