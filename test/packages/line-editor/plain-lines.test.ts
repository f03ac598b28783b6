import { PassThrough, Writable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PlainLines } from '@pith/line-editor';

const { signal } = new AbortController();

function plain(columns?: number) {
  let raw = false;
  let shown = '';
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (on: boolean) => (raw = on) });
  const writable = new Writable({
    write(chunk, _encoding, done) {
      shown += String(chunk);
      done();
    },
  });
  const output = Object.assign(writable, { columns });
  const lines = new PlainLines({ terminal: { input, output }, escaped: () => undefined });
  onTestFinished(() => lines.close());
  const type = async (text: string) => {
    input.write(text);
    for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  return { lines, type, isRaw: () => raw, shown: () => shown };
}

describe('U23 a hidden answer where nothing is drawn again', () => {
  it('U23 can be corrected: the terminal edits nothing then', async () => {
    const { lines, type, isRaw, shown } = plain();
    const asked = lines.ask('KEY: ', signal, true);
    expect(isRaw()).toBe(true);
    await type('wrong\u0015sexx\u007f\bcret\r');
    expect(await asked).toBe('secret');
    expect(isRaw()).toBe(false);
    expect(shown()).toBe('KEY: \n');
  });

  it('U23 is left by Ctrl-C, by the end and by whoever withdraws it; the terminal is given back, and nothing of it becomes a message', async () => {
    const { lines, type, isRaw } = plain();
    const asked = lines.ask('KEY: ', signal, true);
    await type('sec\u0003');
    expect(await asked).toBeNull();
    expect(isRaw()).toBe(false);
    const said = lines.next('> ');
    await type('hello\n');
    expect(await said).toBe('hello');
    const abort = new AbortController();
    const withdrawn = lines.ask('KEY: ', abort.signal, true);
    abort.abort();
    expect(await withdrawn).toBeNull();
    expect(isRaw()).toBe(false);
    const open = lines.ask('KEY: ', signal, true);
    lines.close();
    expect(await open).toBeNull();
    expect(isRaw()).toBe(false);
  });
});

it('U23 a long question breaks between words, and ends before what is typed', async () => {
  const { lines, type, shown } = plain(30);
  const asked = lines.choose('Allow? [y]es, [a]lways in this chat, [n]o ', 'yan', signal);
  await type('y\n');
  expect(await asked).toBe('y');
  expect(shown()).toBe('Allow? [y]es, [a]lways in this\nchat, [n]o ');
});
