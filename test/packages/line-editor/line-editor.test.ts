import { describe, expect, it, vi } from 'vitest';
import { DOWN, ESC, LEFT, paste, typist, UP } from './typist.ts';

const signal = new AbortController().signal;

describe('one message', () => {
  it.each([
    ['letters and a wide one', 'a日b\r', 'a日b'],
    ['Shift-Enter as kitty says it', `one${ESC}[13;2utwo\r`, 'one\ntwo'],
    ['Shift-Enter as xterm says it', `one${ESC}[27;2;13~two\r`, 'one\ntwo'],
    ['Alt-Enter', `one${ESC}\rtwo\r`, 'one\ntwo'],
    ['a backslash at the end', 'one \\\rtwo\r', 'one \ntwo'],
    ['Home, End, Ctrl-A and Ctrl-E', `b${ESC}[Ha${ESC}[Fc\u0001<\u0005>\r`, '<abc>'],
    ['Ctrl-W, Ctrl-U and Ctrl-Y', 'one two\u0017\u0015three \u0019\r', 'three one '],
    ['Ctrl-K', `one two${LEFT}${LEFT}${LEFT}\u000b\r`, 'one '],
    ['words by Ctrl-Left and Ctrl-Right', `one two${ESC}[1;5D>${ESC}[1;5D${ESC}[1;5D${ESC}[1;5C<\r`, 'one< >two'],
    ['an emoji of several parts is erased whole', 'a👨‍👩‍👧\u007f!\r', 'a!'],
    ['unknown sequences mean nothing', `a${ESC}[?1;2c${ESC}[I${ESC}]11;rgb:0/0/0\u0007${ESC}[<0;3;4Mb${ESC}[99;9~\r`, 'ab'],
    ['a key of the keypad that ends a line', `a${ESC}OM`, 'a'],
    ['keys with modifiers as kitty says them', `ab${ESC}[97;5u<\r`, '<ab'],
  ])('U20 %s', async (_name, typed, text) => {
    const { editor, type } = typist();
    const said = editor.next('› ');
    await type(typed);
    expect(await said).toBe(text);
  });

  it('U20 what is pasted is one insertion, which sends nothing; what would steer a terminal goes, and Up brings it back whole', async () => {
    const { editor, type, raw } = typist();
    const said = editor.next('› ');
    const lines = Array.from({ length: 40 }, (_, line) => `line ${line}`).join('\r');
    await type(paste(`${lines}\r${ESC}[2J\u009b31mend\r\n`));
    await type('.\r');
    const text = await said;
    expect(text).toBe(`${lines.replaceAll('\r', '\n')}\n[2J31mend\n.`);
    expect(raw().split('\u001b[2J')).toHaveLength(1);
    const again = editor.next('› ');
    await type(`${UP}\r`);
    expect(await again).toBe(text);
  });

  it('U20 Up and Down move between lines first, then through history; what was being typed comes back', async () => {
    const { editor, type, screen } = typist({ history: ['second\nof two lines', 'first'] });
    void editor.next('› ');
    await type('draft');
    await type(UP);
    expect(screen.text()).toContain('› second\n  of two lines');
    await type(UP); // to its first line
    expect(screen.beforeCursor()).toBe('› second');
    await type(UP);
    expect(screen.text()).toBe('› first');
    await type(UP); // stays at the oldest
    await type(DOWN + DOWN + DOWN);
    expect(screen.text()).toBe('› draft');
  });

  it('U20 Ctrl-Z where no shell can have the terminal changes nothing', async () => {
    const { editor, type, screen } = typist();
    void editor.next('› ');
    await type('one\u001a two');
    expect(screen.text()).toBe('› one two');
  });

  it('U20 a search that finds nothing gives back the draft, and Enter sends nothing', async () => {
    const { editor, type, screen } = typist({ history: ['older'] });
    const said = editor.next('› ');
    await type('my draft');
    await type('\u0012nowhere\r');
    expect(screen.text()).toContain('› my draft');
    await type('\r');
    expect(await said).toBe('my draft');
  });

  it('U20 Ctrl-R searches, Ctrl-R again goes further back, Enter sends, Esc gives back what was typed', async () => {
    const { editor, type, screen } = typist({ history: ['git push', 'npm test', 'git pull'] });
    const said = editor.next('› ');
    await type('draft\u0012git');
    expect(screen.text()).toBe("search 'git': git push");
    await type('\u0012');
    expect(screen.text()).toBe("search 'git': git pull");
    await type(`${ESC}[27u`);
    expect(screen.text()).toBe('› draft');
    await type('\u0012zzz');
    expect(screen.text()).toContain("not found 'zzz'");
    await type('\u007f\u007f\u007fnpm\r');
    expect(await said).toBe('npm test');
  });

  it('U20 Esc alone stops, Ctrl-C gives what was typed, Ctrl-D leaves on an empty line only', async () => {
    const { editor, type, stops, screen } = typist();
    const said = editor.next('› ');
    await type(ESC);
    await expect.poll(() => stops).toEqual(['Esc']);
    await type('ab\u0001\u0004');
    expect(screen.text()).toBe('› b');
    await type('\u0003\u0004');
    expect(stops).toEqual(['Esc', 'b']);
    expect(await said).toBeNull();
  });
});

describe('the area below what is printed', () => {
  it('U24 keeps an unfinished line above the prompt and never tears it; U20 what is typed meanwhile is shown and queued', async () => {
    const { editor, type, screen } = typist();
    const said = editor.next('› ');
    await type('go\r');
    await said;
    editor.write('The ans');
    await type('next');
    expect(screen.text()).toBe('› go\nThe ans\n› next');
    editor.write('wer\nmore');
    await type('\r');
    expect(screen.text()).toBe('› go\nThe answer\nmore\nqueued: next\n›');
    await type(`${UP}!`); // back to be edited
    expect(screen.text()).toBe('› go\nThe answer\nmore\n› next!');
    await type('\rlast\r');
    editor.write('\n');
    expect(await editor.next('› ')).toBe('next!');
    expect(await editor.next('› ')).toBe('last');
    await type('');
    expect(screen.text()).toBe('› go\nThe answer\nmore\n› next!\n› last\n›');
  });

  it('U20 the queue comes back into the editor', async () => {
    const { editor, type, screen } = typist();
    void editor.next('› ');
    await type('go\r');
    await type('one\rtwo\rthr');
    editor.takeBack();
    await type('ee');
    expect(screen.text()).toBe('› go\n› one\n  two\n  three');
    editor.close();
    expect(screen.text().trimEnd()).toBe('› go');
  });

  it.each([40, 12])('U23 fits %i columns, also after the width has changed', async (columns) => {
    const below = (room: number) => ['main · test/model · 12% · 3 tasks'.slice(0, room)];
    const { editor, type, screen, resize } = typist({ below }, 80);
    void editor.next('› ');
    editor.write('printed\n');
    const text = 'words 日本語 and more words '.repeat(4).trim();
    await type(text);
    await resize(columns);
    await type('!');
    for (const line of screen.window()) expect(line.length).toBeLessThanOrEqual(columns);
    const shown = screen.text().replaceAll(/\n */gu, '');
    expect(shown.replaceAll(' ', '')).toContain(`${text}!`.replaceAll(' ', ''));
  });

  it('U20 a text longer than the window is shown around its cursor', async () => {
    const { editor, type, screen } = typist({}, 40, 10);
    const said = editor.next('› ');
    await type(Array.from({ length: 30 }, (_, line) => `line ${line}`).join(`${ESC}\r`));
    expect(screen.window().length).toBeLessThanOrEqual(10);
    expect(screen.text()).toContain('line 29');
    expect(screen.text()).not.toContain('line 3\n');
    await type('\r');
    await said;
    await type('');
    expect(screen.text()).toContain('› line 0\n  line 1\n');
  });

  it('U20 a key in a draft of 500 lines measures the line that it changes, and no other', async () => {
    const { editor, type, screen } = typist({ history: [Array.from({ length: 500 }, (_, line) => `line ${line} of many`).join('\n')] });
    void editor.next('› ');
    await type(UP);
    const measured = vi.spyOn(Intl.Segmenter.prototype, 'segment');
    await type('!');
    expect(screen.text()).toContain('line 499 of many!');
    expect(measured.mock.calls.length).toBeLessThan(1000); // the screen of this test measures too
    measured.mockRestore();
  });

  it('U20 many pasted lines are one mark in the draft, which Backspace takes whole; they are sent, kept and edited whole', async () => {
    const lines = Array.from({ length: 60 }, (_, line) => `line ${line}`).join('\n');
    const edits: string[] = [];
    const { editor, type, screen } = typist({ editElsewhere: async (text) => (edits.push(text), null) });
    const said = editor.next('› ');
    await type(`see ${paste(lines)} and ${paste(`${lines}!`)}${paste(lines)}\u007f`);
    expect(screen.text()).toBe('› see [60 lines] and [60 lines, 2]');
    await type('\u0007');
    expect(edits).toEqual([`see ${lines} and ${lines}!`]);
    await type('\r');
    expect(await said).toBe(`see ${lines} and ${lines}!`);
    await type('');
    expect(screen.text()).toContain('› see [60 lines] and [60 lines, 2]\n');
    const again = editor.next('› ');
    await type(`${UP}\r`);
    expect(await again).toBe(`see ${lines} and ${lines}!`);
  });

  it('U20 Ctrl-G gives the terminal and the text to another program; what is printed meanwhile waits, and its text comes back', async () => {
    let end: (text: string) => void = () => undefined;
    const { editor, type, screen, raw } = typist({ editElsewhere: () => new Promise((resolve) => (end = resolve)) });
    const said = editor.next('› ');
    await type('draft\u0007');
    expect(raw().endsWith(`${ESC}[?2004l`)).toBe(true);
    editor.write('printed\n');
    await type('');
    expect(screen.text()).not.toContain('printed');
    end('better\ntext\n');
    await type('');
    await type(' now\r');
    expect(await said).toBe('better\ntext now');
    expect(screen.text()).toContain('printed\n› better\n  text now');
  });

  it('U20 a question that comes while another program has the terminal waits for what was written there', async () => {
    let end: (text: string) => void = () => undefined;
    const { editor, type, screen } = typist({ editElsewhere: () => new Promise((resolve) => (end = resolve)) });
    const said = editor.next('› ');
    await type('\u0007');
    const answer = editor.choose('Run it? ', 'yn', signal);
    end('my draft\n');
    await type('');
    expect(screen.text()).toContain('A question waits');
    await type('\r');
    expect(await said).toBe('my draft');
    await type('y');
    expect(await answer).toBe('y');
  });

  it('U21 Ctrl-V inserts what stands for the clipboard; the terminal’s focus is reported', async () => {
    const focus: boolean[] = [];
    const { editor, type } = typist({ clipboard: async () => '[image 1]', focused: (has) => focus.push(has) });
    const said = editor.next('› ');
    await type('see \u0016');
    await type(`${ESC}[O${ESC}[I!\r`);
    expect(await said).toBe('see [image 1]!');
    expect(focus).toEqual([false, true]);
  });

  it('U21 Tab completes what is certain and lists what is not; a list goes with the next key', async () => {
    const complete = async (text: string) => ({
      from: 0,
      items: ['/agents list', '/agents show', '/help'].filter((each) => each.startsWith(text)),
    });
    const { editor, type, screen } = typist({ complete });
    const said = editor.next('› ');
    await type('/a\t');
    expect(screen.text()).toBe('› /agents\n/agents list  /agents show');
    await type('s\t');
    expect(screen.text()).toBe('› /agents show');
    await type('\r');
    expect(await said).toBe('/agents show');
  });
});

describe('questions', () => {
  it('U10 one key answers on an empty line; another begins a line that Enter answers; empty lines do not', async () => {
    const { editor, type, screen } = typist();
    const first = editor.choose('Allow? ', 'yn', signal);
    await type('y');
    expect(await first).toBe('y');
    const second = editor.choose('Allow? ', 'yn', signal);
    await type('\r\rone\u007f\u007f');
    expect(screen.text()).toContain('No single key now: Enter answers with this line, Ctrl-U brings the keys back\nAllow? o');
    await type('\u0015ok\r');
    expect(await second).toBe('ok');
    await type('');
    expect(screen.text()).toContain('Allow? y\nAllow? ok');
    editor.close();
    expect(await editor.choose('Allow? ', 'yn', signal)).toBeNull();
  });

  it('U10 who types the whole word has answered with its first letter: the rest is no message', async () => {
    const { editor, type } = typist({ isAnswer: (word) => word === 'yes' });
    const asked = editor.choose('Allow? ', 'yn', signal);
    await type('y');
    expect(await asked).toBe('y');
    await type('es\r');
    const next = editor.next('› ');
    await type('es\r');
    expect(await next).toBe('es');
    const more = editor.choose('Allow? ', 'yn', signal);
    await type('y');
    expect(await more).toBe('y');
    await type('es, but why?\r');
    expect(await editor.next('› ')).toBe('yes, but why?');
    const another = editor.next('› ');
    await type('es ist falsch\r');
    expect(await another).toBe('es ist falsch');
    const atOnce = editor.choose('Allow? ', 'yn', signal);
    await type('no, never\r');
    expect(await atOnce).toBe('no, never');
  });

  it('U20 a question waits for the message that is being typed, so that no letter of it is an answer', async () => {
    const { editor, type, screen } = typist();
    void editor.next('› ');
    await type('go\rplease ');
    const asked = editor.choose('Allow? ', 'yn', signal);
    await type('y');
    expect(screen.text()).toBe('› go\nA question waits: send or clear this message first\n› please y');
    await type('es\r');
    expect(screen.text()).toBe('› go\nqueued: please yes\nAllow?');
    await type('n');
    expect(await asked).toBe('n');
  });

  it('K61 what is hidden is neither shown nor remembered; a withdrawn question leaves nothing', async () => {
    const { editor, type, raw, screen } = typist();
    const abort = new AbortController();
    const gone = editor.ask('KEY: ', abort.signal, true);
    await type('sec');
    abort.abort();
    expect(await gone).toBeNull();
    const asked = editor.ask('KEY: ', signal, true);
    await type(`${paste('secret\\\n')}\r`);
    expect(await asked).toBe('secret\\');
    expect(raw()).not.toContain('sec');
    void editor.next('› ');
    await type(UP);
    expect(screen.text()).toBe('KEY:\n›');
  });
});

it('gives the terminal back', async () => {
  const { editor, type, raw, end } = typist();
  const said = editor.next('› ');
  await type('half');
  end();
  expect(await said).toBeNull();
  editor.close();
  expect(raw().endsWith(`${ESC}[?2004l`)).toBe(true);
});
